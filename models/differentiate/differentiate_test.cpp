#include "models/differentiate/differentiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "models/emitter.h"
#include "models/testing/finite_differences_test.h"

namespace assay::models {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string message_of(const Graph& graph, const JointOptions& options = {}) {
  try {
    joint_graph(graph, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(JointGraph, NamesEveryOperatorWithoutARule) {
  GraphBuilder builder("tangled");
  Emitter emit(builder);
  const ValueId x = builder.input("x", DType::f32, {4, 4});
  const ValueId a = emit.call("aten::special_airy_ai.default", {{"x", ValueArg{x}}});
  const ValueId b = emit.call("aten::nextafter.default", {{"self", ValueArg{x}}, {"other", ValueArg{a}}});
  builder.output(emit.add(a, b));
  EXPECT_THAT(
      message_of(builder.build()),
      AllOf(HasSubstr("tangled"), HasSubstr("aten::nextafter.default, aten::special_airy_ai.default")));
}

// A rule for real numbers is none for complex ones.
TEST(JointGraph, NamesOperatorsWithoutARuleForComplexNumbers) {
  GraphBuilder builder("turned");
  Emitter emit(builder);
  const ValueId x = builder.input("x", DType::f32, {4, 2});
  const ValueId z = emit.call("aten::view_as_complex.default", {{"self", ValueArg{x}}});
  const ValueId sums = emit.call("aten::cumsum.default", {{"self", ValueArg{z}}, {"dim", int64_t{0}}});
  builder.output(emit.call("aten::view_as_real.default", {{"self", ValueArg{sums}}}));
  EXPECT_THAT(message_of(builder.build()), HasSubstr("aten::cumsum.default (of complex numbers)"));
}

// Operators that the loss does not go through need no rule.
TEST(JointGraph, IgnoresWhatNoGradientPasses) {
  GraphBuilder builder("side");
  Emitter emit(builder);
  const ValueId x = builder.input("x", DType::f64, {2, 2});
  builder.output(emit.sum_all(emit.mul(x, x)));
  builder.output(emit.call("aten::argmax.default", {{"self", ValueArg{x}}}));
  emit.call("aten::special_airy_ai.default", {{"x", ValueArg{x}}});
  FiniteDifferences(builder.build(), {drawn("x", {2, 2})}).expect_gradients(1e-8);
}

TEST(JointGraph, AddsUpOverEveryUseAndDecomposesComposites) {
  GraphBuilder builder("shared");
  Emitter emit(builder);
  const ValueId x = builder.input("x", DType::f64, {2, 3});
  const ValueId w = builder.input("w", DType::f64, {3, 3});
  const ValueId h = emit.call("aten::linear.default", {{"input", ValueArg{x}}, {"weight", ValueArg{w}}});
  const ValueId y = emit.call("aten::softplus.default", {{"self", ValueArg{emit.add(h, x)}}});
  builder.output(emit.mul(y, h));
  builder.output(emit.unary("exp", x));
  FiniteDifferences(builder.build(), {drawn("x", {2, 3}), drawn("w", {3, 3})}).expect_gradients(1e-8);
}

TEST(JointGraph, WhatTheLossDoesNotReachHasZeroGradient) {
  GraphBuilder builder("zero");
  Emitter emit(builder);
  const ValueId x = builder.input("x", DType::f64, {2});
  builder.input("y", DType::f64, {3});
  builder.output(emit.sum_all(x));
  const FiniteDifferences differences(builder.build(), {drawn("x", {2}), drawn("y", {3})});
  differences.expect_gradients(1e-8);
  EXPECT_EQ(differences.joint().inputs.size(), 2u) << "a scalar loss is seeded with 1";
}

TEST(JointGraph, ParametersComeFirst) {
  GraphBuilder builder("layer");
  Emitter emit(builder);
  const ValueId x = builder.input("x", DType::f32, {2, 3});
  const ValueId w = builder.input("p_w", DType::f32, {3, 4}, InputKind::parameter, "layer.w");
  builder.output(emit.mm(x, w));
  const Graph joint = joint_graph(builder.build());
  ASSERT_EQ(joint.outputs.size(), 2u);
  EXPECT_EQ(joint.values.at(static_cast<std::size_t>(joint.outputs[1].value)).shape, (Shape{3, 4}));
  EXPECT_EQ(joint.inputs.back().target, "grad_0");
}

TEST(JointGraph, RefusesWhatHasNoGradient) {
  GraphBuilder builder("integers");
  const ValueId x = builder.input("x", DType::i64, {2});
  builder.output(Emitter(builder).add(x, x));
  const Graph graph = builder.build();
  EXPECT_THAT(message_of(graph), HasSubstr("no input has a gradient"));
  EXPECT_THAT(message_of(graph, {{"z"}, {}, true}), HasSubstr("'z', which is no input"));
  EXPECT_THAT(message_of(graph, {{"x"}, {0}, true}), HasSubstr("'x' is not a tensor of a real floating"));
}

// A 16-bit argument of a wider operation gets its gradient summed first and rounded once.
TEST(JointGraph, GradientsHaveTheDtypeOfTheirValue) {
  GraphBuilder builder("mixed");
  Emitter emit(builder);
  const ValueId x = builder.input("x", DType::bf16, {2, 1});
  const ValueId y = builder.input("y", DType::f32, {2, 5});
  builder.output(emit.mul(x, y));
  const Graph joint = joint_graph(builder.build());
  EXPECT_EQ(joint.values.at(static_cast<std::size_t>(joint.outputs[1].value)).dtype, DType::bf16);
  EXPECT_EQ(joint.values.at(static_cast<std::size_t>(joint.outputs[2].value)).dtype, DType::f32);
}

}  // namespace
}  // namespace assay::models
