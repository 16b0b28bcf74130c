#include "core/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/graph/json.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// c = a + b; d = relu(c); a is a parameter, b a user input.
Graph small_graph() {
  Graph graph;
  graph.id = "small";
  graph.values = {{"a", ValueKind::tensor, DType::f32, {2, 3}, -1, {}},
                  {"b", ValueKind::tensor, DType::f32, {2, 3}, -1, {}},
                  {"c", ValueKind::tensor, DType::f32, {2, 3}, 0, {}},
                  {"d", ValueKind::tensor, DType::f32, {2, 3}, 1, {}}};
  graph.nodes = {
      {"add", "aten::add.Tensor", {{"self", ValueArg{0}}, {"other", ValueArg{1}}}, {2}, {"m.py:3", "blk"}},
      {"relu", "aten::relu.default", {{"self", ValueArg{2}}}, {3}, {}}};
  graph.inputs = {{0, InputKind::parameter, "w", true, {}}, {1, InputKind::user, "b", true, {}}};
  graph.outputs = {{3, OutputKind::user, "", {}}};
  return graph;
}

std::string graph_refusal(const Graph& graph, ErrorCode code = ErrorCode::malformed_file) {
  try {
    validate(graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(Validate, AcceptsAGraph) { EXPECT_NO_THROW(validate(small_graph())); }

TEST(Validate, NamesEveryUnknownOperator) {
  Graph graph = small_graph();
  graph.nodes[0].op = "mylib::add.default";
  graph.nodes[1].op = "aten::no_such_thing.default";
  EXPECT_THAT(
      graph_refusal(graph, ErrorCode::unknown_operator),
      AllOf(HasSubstr("mylib::add.default"), HasSubstr("aten::no_such_thing.default"), HasSubstr("'relu'")));
}

TEST(Validate, FindsCyclesAndDisorder) {
  Graph cyclic = small_graph();
  cyclic.nodes[0].arguments[0].value = ValueArg{3};
  EXPECT_THAT(graph_refusal(cyclic),
              AllOf(HasSubstr("small"), HasSubstr("'add'"), HasSubstr("m.py:3"), HasSubstr("cycle")));
  Graph itself = small_graph();
  itself.nodes[0].arguments[0].value = ValueArg{2};
  EXPECT_THAT(graph_refusal(itself), HasSubstr("cycle"));
  Graph disorder = small_graph();
  std::swap(disorder.nodes[0], disorder.nodes[1]);
  disorder.values[2].producer = 1;
  disorder.values[3].producer = 0;
  EXPECT_THAT(graph_refusal(disorder), HasSubstr("order of execution"));
}

TEST(Validate, FindsBadDefinitions) {
  Graph twice = small_graph();
  twice.nodes[1].outputs = {2};
  EXPECT_THAT(graph_refusal(twice), HasSubstr("'c' is defined twice"));
  Graph never = small_graph();
  never.nodes[1].outputs = {-1};
  EXPECT_THAT(graph_refusal(never), HasSubstr("'d' is neither"));
  Graph outside = small_graph();
  outside.nodes[1].arguments[0].value = ValueArg{17};
  EXPECT_THAT(graph_refusal(outside), AllOf(HasSubstr("'relu'"), HasSubstr("value 17")));
  Graph wrong_producer = small_graph();
  wrong_producer.values[3].producer = 0;
  EXPECT_THAT(graph_refusal(wrong_producer), HasSubstr("producer"));
  Graph same_name = small_graph();
  same_name.values[1].name = "a";
  EXPECT_THAT(graph_refusal(same_name), HasSubstr("two values are named 'a'"));
}

TEST(Validate, FindsWrongArguments) {
  Graph type = small_graph();
  type.nodes[1].arguments[0].value = std::string("hello");
  EXPECT_THAT(graph_refusal(type), AllOf(HasSubstr("'relu'"), HasSubstr("self"), HasSubstr("hello")));
  Graph name = small_graph();
  name.nodes[1].arguments[0].name = "input";
  EXPECT_THAT(graph_refusal(name), HasSubstr("no argument 'input'"));
  Graph missing = small_graph();
  missing.nodes[0].arguments.pop_back();
  EXPECT_THAT(graph_refusal(missing), HasSubstr("argument other is missing"));
  Graph given_twice = small_graph();
  given_twice.nodes[1].arguments.push_back(given_twice.nodes[1].arguments[0]);
  EXPECT_THAT(graph_refusal(given_twice), HasSubstr("given twice"));
  Graph tensor_for_number = small_graph();
  tensor_for_number.nodes[0].arguments.push_back({"alpha", ValueArg{1}});
  EXPECT_THAT(graph_refusal(tensor_for_number), HasSubstr("must be a number"));
}

TEST(Validate, HoldsDeclaredResultsAgainstTheShapeRules) {
  Graph shape = small_graph();
  shape.values[2].shape = {2, 4};
  EXPECT_THAT(graph_refusal(shape), AllOf(HasSubstr("'add'"), HasSubstr("[2, 4]"), HasSubstr("[2, 3]")));
  Graph dtype = small_graph();
  dtype.values[3].dtype = DType::f64;
  EXPECT_THAT(graph_refusal(dtype), AllOf(HasSubstr("'relu'"), HasSubstr("f64")));
  Graph broadcast = small_graph();
  broadcast.values[1].shape = {2, 5};
  EXPECT_THAT(graph_refusal(broadcast), HasSubstr("'add'"));
  Graph count = small_graph();
  count.values.push_back({"e", ValueKind::tensor, DType::f32, {2, 3}, 1, {}});
  count.nodes[1].outputs.push_back(4);
  EXPECT_THAT(graph_refusal(count), HasSubstr("2 results"));
}

TEST(Validate, FindsBadOutputs) {
  Graph outside = small_graph();
  outside.outputs[0].value = 9;
  EXPECT_THAT(graph_refusal(outside), HasSubstr("output 0"));
  Graph mutation = small_graph();
  mutation.outputs[0].kind = OutputKind::buffer_mutation;
  mutation.outputs[0].target = "nobody";
  EXPECT_THAT(graph_refusal(mutation), HasSubstr("'nobody'"));
  Graph nothing = small_graph();
  nothing.outputs[0].value = -1;
  EXPECT_THAT(graph_refusal(nothing), HasSubstr("output 0 has no value"));
}

TEST(SingleNodeGraph, IsEqualForEqualSignatures) {
  Graph graph = small_graph();
  const Graph single = single_node_graph(graph, graph.nodes[0]);
  EXPECT_NO_THROW(validate(single));
  EXPECT_EQ(single.values[0].name, "arg0");
  EXPECT_EQ(single.values[1].name, "arg1");
  EXPECT_EQ(single.values[2].name, "out0");
  EXPECT_THAT(inputs_of(single.nodes[0]), ElementsAre(0, 1));

  Graph renamed = small_graph();
  renamed.nodes[0].name = "other_name";
  renamed.nodes[0].source = {};
  renamed.values[0].name = "z";
  EXPECT_EQ(graph_to_json(single), graph_to_json(single_node_graph(renamed, renamed.nodes[0])));

  Graph other = small_graph();
  other.nodes[0].arguments[1].value = ValueArg{0};  // a + a
  EXPECT_NE(graph_to_json(single), graph_to_json(single_node_graph(other, other.nodes[0])));
}

}  // namespace
}  // namespace assay
