#include "core/graph/float_dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/error.h"
#include "core/graph/builder.h"

namespace assay {
namespace {

using testing::HasSubstr;

DType dtype_of(const Graph& graph, const std::string& value) {
  return graph.values.at(static_cast<std::size_t>(graph.find_value(value))).dtype;
}

std::string name_in(const GraphBuilder& builder, ValueId id) { return builder.value(id).name; }

TEST(FloatDtype, InputsResultsAndDtypeArgumentsChange) {
  GraphBuilder builder("model");
  const ValueId x = builder.input("x", DType::f32, {2, 4});
  const ValueId w = builder.input("w", DType::f32, {3, 4}, InputKind::parameter, "layer.weight");
  const ValueId ids = builder.input("ids", DType::i64, {2, 3});
  const ValueId y = builder.call("aten::linear.default", {{"input", ValueArg{x}}, {"weight", ValueArg{w}}});
  const ValueId cast =
      builder.call("aten::_to_copy.default", {{"self", ValueArg{ids}}, {"dtype", DTypeArg{DType::f32}}});
  const ValueId wide =
      builder.call("aten::_to_copy.default", {{"self", ValueArg{x}}, {"dtype", DTypeArg{DType::f64}}});
  const ValueId sum = builder.call("aten::add.Tensor", {{"self", ValueArg{y}}, {"other", ValueArg{cast}}});
  const std::string names[] = {name_in(builder, y), name_in(builder, cast), name_in(builder, wide),
                               name_in(builder, sum)};
  builder.output(sum);
  const Graph graph = with_float_dtype(builder.build(), DType::bf16);
  EXPECT_EQ(dtype_of(graph, "x"), DType::bf16);
  EXPECT_EQ(dtype_of(graph, "w"), DType::bf16);
  EXPECT_EQ(dtype_of(graph, "ids"), DType::i64);
  EXPECT_EQ(dtype_of(graph, names[0]), DType::bf16);
  EXPECT_EQ(dtype_of(graph, names[1]), DType::bf16);
  EXPECT_EQ(dtype_of(graph, names[2]), DType::f64);
  EXPECT_EQ(dtype_of(graph, names[3]), DType::bf16);
}

// An attention mask is filled with the least number of its dtype; that of f32 is infinite in bf16 and makes
// rows that are masked everywhere NaN.
TEST(FloatDtype, LimitsOfTheDtypeStayItsLimits) {
  GraphBuilder builder("mask");
  const ValueId x = builder.input("x", DType::f32, {2, 4});
  const ValueId least = builder.call("aten::scalar_tensor.default",
                                     {{"s", -float_format(DType::f32).max}, {"dtype", DTypeArg{DType::f32}}});
  const ValueId scaled =
      builder.call("aten::mul.Tensor", {{"self", ValueArg{x}}, {"other", ValueArg{least}}});
  builder.output(scaled);
  const Graph graph = with_float_dtype(builder.build(), DType::bf16);
  EXPECT_EQ(std::get<double>(graph.nodes[0].find("s")->value), -float_format(DType::bf16).max);
}

TEST(FloatDtype, LimitsOfF32InF64StayAsTheyAre) {
  GraphBuilder builder("wide");
  const ValueId x = builder.input("x", DType::f32, {2});
  const ValueId wide =
      builder.call("aten::_to_copy.default", {{"self", ValueArg{x}}, {"dtype", DTypeArg{DType::f64}}});
  const double limit = float_format(DType::f32).max;
  builder.output(builder.call("aten::clamp.default", {{"self", ValueArg{wide}}, {"max", limit}}));
  builder.output(
      builder.call("aten::full.default",
                   {{"size", IntListArg{{2}, {}}}, {"fill_value", limit}, {"dtype", DTypeArg{DType::f64}}}));
  const Graph graph = with_float_dtype(builder.build(), DType::f16);
  EXPECT_EQ(std::get<double>(graph.nodes[1].find("max")->value), limit);
  EXPECT_EQ(std::get<double>(graph.nodes[2].find("fill_value")->value), limit);
}

// What is integral in the model is promoted as PyTorch promotes it: to f32, and not further.
TEST(FloatDtype, PromotionOfIntegersStaysAsItIs) {
  GraphBuilder builder("positions");
  const ValueId ids = builder.input("ids", DType::i64, {5});
  const ValueId half = builder.call("aten::mul.Tensor", {{"self", ValueArg{ids}}, {"other", 0.5}});
  const ValueId x = builder.input("x", DType::f32, {5});
  const ValueId sum = builder.call("aten::add.Tensor", {{"self", ValueArg{half}}, {"other", ValueArg{x}}});
  const std::string names[] = {name_in(builder, half), name_in(builder, sum)};
  builder.output(sum);
  const Graph graph = with_float_dtype(builder.build(), DType::bf16);
  EXPECT_EQ(dtype_of(graph, "x"), DType::bf16);
  EXPECT_EQ(dtype_of(graph, names[0]), DType::f32);
  EXPECT_EQ(dtype_of(graph, names[1]), DType::f32);
}

TEST(FloatDtype, AssertedMetadataIsWhatIsThere) {
  GraphBuilder builder("asserts");
  const ValueId x = builder.input("x", DType::f32, {2});
  builder.node("aten::_assert_tensor_metadata.default",
               {{"a", ValueArg{x}}, {"dtype", DTypeArg{DType::f32}}});
  builder.output(builder.call("aten::relu.default", {{"self", ValueArg{x}}}));
  const Graph graph = with_float_dtype(builder.build(), DType::f16);
  EXPECT_EQ(std::get<DTypeArg>(graph.nodes[0].find("dtype")->value).dtype, DType::f16);
}

TEST(FloatDtype, RefusalsNameTheNode) {
  GraphBuilder builder("mixed");
  const ValueId ids = builder.input("ids", DType::i64, {2, 2});
  const ValueId half = builder.call("aten::mul.Tensor", {{"self", ValueArg{ids}}, {"other", 0.5}});
  const ValueId x = builder.input("x", DType::f32, {2, 2});
  builder.output(builder.call("aten::mm.default", {{"self", ValueArg{half}}, {"mat2", ValueArg{x}}}));
  const Graph graph = builder.build();
  try {
    with_float_dtype(graph, DType::bf16);
    FAIL() << "f32 times bf16 was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("mixed in bf16: node 'mm"));
    EXPECT_THAT(error.what(), HasSubstr("export the model in bf16"));
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << "the file is not malformed";
  }
  EXPECT_THROW(with_float_dtype(graph, DType::i64), Error);
}

// Else a model of another dtype would pass for one in this dtype.
TEST(FloatDtype, ModelsWithoutF32AreRefused) {
  for (const DType dtype : {DType::bf16, DType::f64, DType::i64, DType::c64}) {
    GraphBuilder builder("other");
    const ValueId x = builder.input("x", dtype, {2});
    builder.output(builder.call("aten::add.Tensor", {{"self", ValueArg{x}}, {"other", ValueArg{x}}}));
    const Graph graph = builder.build();
    try {
      with_float_dtype(graph, DType::f16);
      ADD_FAILURE() << name_of(dtype);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_THAT(error.what(), HasSubstr("other in f16: no input"));
    }
  }
}

TEST(FloatDtype, FunctionsAreRefused) {
  GraphBuilder builder("flex");
  const ValueId x = builder.input("x", DType::f32, {2});
  builder.output(builder.declared_node(
      "aten::relu.default",
      {{"self", ValueArg{x}}, {"score_mod", GraphArg{"f", std::make_shared<const Graph>()}}},
      {{DType::f32, {2}}})[0]);
  try {
    with_float_dtype(builder.build_unchecked(), DType::bf16);
    FAIL() << "a function was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("calls a function"));
  }
}

}  // namespace
}  // namespace assay
