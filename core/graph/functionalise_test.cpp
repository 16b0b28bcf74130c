#include "core/graph/functionalise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/graph/builder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// op(self, operand) as exports that were not decomposed have it; returns what the node returns.
ValueId write_to(GraphBuilder& builder, const std::string& op, ValueId self, ValueId operand,
                 const std::string& name = "other") {
  const Value& value = builder.value(self);
  return builder.declared_node(op, {{"self", ValueArg{self}}, {name, ValueArg{operand}}},
                               {{value.dtype, value.shape}})[0];
}

Graph functionalised(GraphBuilder& builder) {
  Graph graph = builder.build_unchecked();
  functionalise(graph);
  EXPECT_NO_THROW(validate(graph));
  return graph;
}

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

TEST(Functionalise, FindsFunctionalForms) {
  EXPECT_EQ(functional_form("aten::relu_.default"), "aten::relu.default");
  EXPECT_EQ(functional_form("aten::add_.Tensor"), "aten::add.Tensor");
  EXPECT_EQ(functional_form("aten::add.Tensor"), "");
  EXPECT_EQ(functional_form("aten::no_such_thing_.default"), "");
  EXPECT_EQ(functional_form("_"), "");
  EXPECT_EQ(functional_form(""), "");
}

// add_ changes the parameter; relu and the output read it afterwards.
TEST(Functionalise, RedirectsLaterUsesAndAddsTheMutation) {
  GraphBuilder builder("small");
  const ValueId w = builder.input("w", DType::f32, {2, 3}, InputKind::parameter, "w");
  const ValueId b = builder.input("b", DType::f32, {2, 3});
  const ValueId sum = write_to(builder, "aten::add_.Tensor", w, b);
  const ValueId relu = builder.call("aten::relu.default", {{"self", ValueArg{w}}});
  builder.output(relu);
  builder.output(w);
  Graph graph = functionalised(builder);
  EXPECT_EQ(graph.nodes[0].op, "aten::add.Tensor");
  EXPECT_EQ(graph.nodes[1].arguments[0].value, Argument(ValueArg{sum}));
  ASSERT_EQ(graph.outputs.size(), 3u);
  EXPECT_EQ(graph.outputs[0].kind, OutputKind::buffer_mutation);
  EXPECT_EQ(graph.outputs[0].target, "w");
  EXPECT_EQ(graph.outputs[0].value, sum);
  EXPECT_EQ(graph.outputs[2].value, sum);
}

// What is wrong with a call is for validate() to say.
TEST(Functionalise, LeavesCallsWithoutATensorAlone) {
  GraphBuilder builder("in-place");
  const ValueId x = builder.input("x", DType::f32, {3});
  builder.output(x);
  builder.declared_node("aten::relu_.default", {}, {{DType::f32, {3}}});
  Graph graph = builder.build_unchecked();
  EXPECT_TRUE(changes_in_place(graph));
  EXPECT_NO_THROW(functionalise(graph));
  EXPECT_EQ(graph.nodes[0].op, "aten::relu_.default");
  EXPECT_THROW(validate(graph), Error);
}

// Exports that were not decomposed hide it: the schema of batch_norm says nothing of the buffers that it
// changes.
TEST(Functionalise, BatchNormInTrainingChangesItsRunningStatistics) {
  for (const bool training : {true, false}) {
    GraphBuilder builder("bn");
    const ValueId x = builder.input("x", DType::f32, {4, 3});
    const ValueId mean = builder.input("mean", DType::f32, {3}, InputKind::buffer, "bn.running_mean");
    const ValueId variance = builder.input("variance", DType::f32, {3}, InputKind::buffer, "bn.running_var");
    builder.output(builder.call("aten::batch_norm.default", {{"input", ValueArg{x}},
                                                             {"weight", NoneArg{}},
                                                             {"bias", NoneArg{}},
                                                             {"running_mean", ValueArg{mean}},
                                                             {"running_var", ValueArg{variance}},
                                                             {"training", training},
                                                             {"momentum", 0.1},
                                                             {"eps", 1e-5},
                                                             {"cudnn_enabled", false}}));
    Graph graph = builder.build();
    functionalise(graph);
    EXPECT_NO_THROW(validate(graph));
    if (!training) {
      EXPECT_EQ(graph.nodes[0].op, "aten::batch_norm.default");
      EXPECT_EQ(graph.outputs.size(), 1u);
      continue;
    }
    EXPECT_EQ(graph.nodes[0].op, "aten::_native_batch_norm_legit_functional.default");
    ASSERT_EQ(graph.outputs.size(), 3u);
    EXPECT_EQ(graph.outputs[0].kind, OutputKind::buffer_mutation);
    EXPECT_EQ(graph.outputs[0].target, "bn.running_mean");
    EXPECT_EQ(graph.outputs[0].value, graph.nodes[0].outputs.at(3));
    EXPECT_EQ(graph.outputs[1].target, "bn.running_var");
    EXPECT_EQ(graph.outputs[1].value, graph.nodes[0].outputs.at(4));
    EXPECT_EQ(graph.outputs[2].value, graph.nodes[0].outputs.at(0));
  }
}

// What every write of what suites/witness/data/writes.jsonl.zst gives is for the suite witness to judge.
TEST(Functionalise, AWriteToAViewGoesBackToTheBufferAndItsOtherViews) {
  GraphBuilder builder("cache");
  const ValueId cache = builder.input("cache", DType::f32, {2, 6}, InputKind::buffer, "cache");
  const ValueId k = builder.input("k", DType::f32, {2, 3});
  const ValueId turned = builder.call("aten::t.default", {{"self", ValueArg{cache}}});
  const ValueId part = builder.call(
      "aten::slice.Tensor",
      {{"self", ValueArg{cache}}, {"dim", int64_t{1}}, {"start", int64_t{2}}, {"end", int64_t{5}}});
  write_to(builder, "aten::copy_.default", part, k, "src");
  builder.output(turned);
  const Graph graph = functionalised(builder);
  EXPECT_THAT(operators_of(graph), ElementsAre("aten::t.default", "aten::slice.Tensor", "aten::copy.default",
                                               "aten::slice_scatter.default", "aten::t.default"));
  ASSERT_EQ(graph.outputs.size(), 2u);
  EXPECT_EQ(graph.outputs[0].kind, OutputKind::buffer_mutation);
  EXPECT_EQ(graph.outputs[0].target, "cache");
  EXPECT_EQ(graph.outputs[0].value, graph.nodes[3].outputs[0]);
  EXPECT_EQ(graph.outputs[1].value, graph.nodes[4].outputs[0]);
}

TEST(Functionalise, NothingIsWrittenForWhatNobodyReads) {
  GraphBuilder builder("unread");
  const ValueId x = builder.input("x", DType::f32, {2, 3});
  const ValueId own = builder.call("aten::neg.default", {{"self", ValueArg{x}}});
  const ValueId turned = builder.call("aten::t.default", {{"self", ValueArg{own}}});
  const ValueId seen = builder.call("aten::t.default", {{"self", ValueArg{own}}});
  builder.output(write_to(builder, "aten::mul_.Tensor", turned, seen));
  EXPECT_THAT(operators_of(functionalised(builder)),
              ElementsAre("aten::neg.default", "aten::t.default", "aten::t.default", "aten::mul.Tensor"));
}

TEST(Functionalise, AWriteKeepsTheDtype) {
  GraphBuilder builder("dtypes");
  const ValueId x = builder.input("x", DType::bf16, {3});
  const ValueId y = builder.input("y", DType::f32, {3});
  const ValueId own = builder.call("aten::neg.default", {{"self", ValueArg{x}}});
  builder.output(write_to(builder, "aten::add_.Tensor", own, y));
  EXPECT_THAT(operators_of(functionalised(builder)),
              ElementsAre("aten::neg.default", "aten::add.Tensor", "aten::_to_copy.default"));
}

// A reshape is a view or a copy; elements of an expanded tensor are several at once.
TEST(Functionalise, RefusesWhereItIsNotKnownWhatAViewSees) {
  const auto refusal = [](const std::string& op, std::vector<NamedArgument> arguments, bool read_the_view) {
    GraphBuilder builder("refused");
    const ValueId x = builder.input("x", DType::f32, {3, 2});
    const ValueId own = builder.call("aten::neg.default", {{"self", ValueArg{x}}});
    arguments.insert(arguments.begin(), {"self", ValueArg{own}});
    const ValueId view = builder.call(op, std::move(arguments));
    write_to(builder, "aten::add_.Tensor", read_the_view ? own : view, x);
    builder.output(read_the_view ? view : own);
    Graph graph = builder.build_unchecked();
    try {
      functionalise(graph);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::vector<NamedArgument> flat = {{"shape", IntListArg{{-1}, {}}}};
  EXPECT_THAT(
      refusal("aten::reshape.default", flat, true),
      AllOf(HasSubstr("'add__Tensor"), HasSubstr("'reshape_default"), HasSubstr("run_decompositions")));
  EXPECT_NE(refusal("aten::reshape.default", flat, false), "");
  const std::vector<NamedArgument> wide = {{"size", IntListArg{{4, 3, 2}, {}}}};
  EXPECT_NE(refusal("aten::expand.default", wide, false), "");
  EXPECT_EQ(refusal("aten::expand.default", wide, true), "");
}

}  // namespace
}  // namespace assay
