#include "core/opset/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

ValueId add_value(Graph& graph, const char* name, Shape shape, ValueKind kind = ValueKind::tensor) {
  Value value;
  value.name = name;
  value.kind = kind;
  value.shape = std::move(shape);
  graph.values.push_back(value);
  return static_cast<ValueId>(graph.values.size() - 1);
}

Node node_of(const char* op, std::vector<NamedArgument> arguments, std::vector<ValueId> outputs = {}) {
  Node node;
  node.name = "n";
  node.op = op;
  node.arguments = std::move(arguments);
  node.outputs = std::move(outputs);
  return node;
}

// Runs `body`, which must throw an Error of this code whose sentence holds all of `parts`.
template <typename Body>
void expect_error(ErrorCode code, std::vector<std::string> parts, const Body& body) {
  try {
    body();
    ADD_FAILURE() << "no error; expected one about " << parts[0];
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& part : parts) EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(OpCall, NumbersTensorsAsInputsOfDoes) {
  Graph graph;
  const ValueId x = add_value(graph, "x", {2, 3});
  const ValueId y = add_value(graph, "y", {4});
  const ValueId z = add_value(graph, "z", {5});
  const Node node =
      node_of("aten::index_put.default",
              {{"self", ValueArg{x}}, {"indices", ValueListArg{{y, -1, y}}}, {"values", ValueArg{z}}});
  const OpCall call(graph, node);
  EXPECT_EQ(call.input_values(), inputs_of(node));
  EXPECT_EQ(call.tensor("self"), 0);
  EXPECT_EQ(call.tensors("indices"), (std::vector<int>{1, -1, 2}));
  EXPECT_EQ(call.tensor("values"), 3);
  EXPECT_EQ(call.input(3).shape, (Shape{5}));
  EXPECT_FALSE(call.boolean("accumulate"));

  // The order is that of the node, also where it is not the schema's.
  const Node swapped = node_of("aten::mul.Tensor", {{"other", ValueArg{y}}, {"self", ValueArg{x}}});
  const OpCall reversed(graph, swapped);
  EXPECT_EQ(reversed.input_values(), inputs_of(swapped));
  EXPECT_EQ(reversed.tensor("self"), 1);
  EXPECT_EQ(reversed.tensor("other"), 0);
}

TEST(OpCall, FillsInDefaults) {
  Graph graph;
  const ValueId x = add_value(graph, "x", {1, 2, 8, 8});
  const ValueId y = add_value(graph, "y", {1, 2, 4, 4});
  const OpCall pool(graph, node_of("aten::avg_pool2d.default",
                                   {{"self", ValueArg{x}}, {"kernel_size", IntListArg{{2}, {}}}}, {y}));
  EXPECT_EQ(pool.integers("kernel_size"), (std::vector<int64_t>{2}));
  EXPECT_EQ(pool.integers("kernel_size", 2), (std::vector<int64_t>{2, 2}));
  EXPECT_TRUE(pool.integers("stride", 2).empty());
  EXPECT_EQ(pool.integers("padding"), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(pool.integer_opt("divisor_override"), std::nullopt);
  EXPECT_TRUE(pool.boolean("count_include_pad"));
  EXPECT_EQ(pool.output(0).shape, (Shape{1, 2, 4, 4}));
  EXPECT_TRUE(pool.output_used(0));

  const OpCall gelu(graph, node_of("aten::gelu.default", {{"self", ValueArg{x}}}, {-1}));
  EXPECT_EQ(gelu.string("approximate"), "none");
  EXPECT_FALSE(gelu.output_used(0));
}

TEST(OpCall, ReadsNumbersForTensors) {
  Graph graph;
  const ValueId x = add_value(graph, "x", {2});
  const OpCall call(graph, node_of("aten::mul.Tensor", {{"self", ValueArg{x}}, {"other", 0.25}}));
  EXPECT_TRUE(call.is_number("other"));
  EXPECT_FALSE(call.is_number("self"));
  EXPECT_EQ(call.tensor_opt("other"), std::nullopt);
  EXPECT_EQ(call.scalar("other").as_double(), 0.25);
  EXPECT_EQ(call.inputs().size(), 1u);
  expect_error(ErrorCode::invalid_argument, {"aten::mul.Tensor", "other", "a tensor"},
               [&] { call.tensor("other"); });
}

TEST(OpCall, ResolvesSymbolicScalars) {
  Graph graph;
  const ValueId x = add_value(graph, "x", {2, 6});
  const ValueId s = add_value(graph, "s0", {}, ValueKind::symbolic_int);
  const Node view =
      node_of("aten::view.default", {{"self", ValueArg{x}}, {"size", IntListArg{{0, 4}, {s, -1}}}});
  const Node scale = node_of("aten::mul.Tensor", {{"self", ValueArg{x}}, {"other", ValueArg{s}}});
  const std::vector<Scalar> symbolic = {Scalar{}, Scalar{Scalar::Kind::integer, 3, 3}};
  EXPECT_EQ(OpCall(graph, view, &symbolic).integers("size"), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(OpCall(graph, scale, &symbolic).scalar("other").as_int(), 3);
  EXPECT_EQ(OpCall(graph, scale, &symbolic).input_values(), (std::vector<ValueId>{x}));
  expect_error(ErrorCode::unsupported, {"aten::view.default", "size", "s0"}, [&] { OpCall(graph, view); });
}

TEST(OpCall, NamesOperatorAndArgument) {
  Graph graph;
  const ValueId x = add_value(graph, "x", {2});
  const ValueId s = add_value(graph, "s0", {}, ValueKind::symbolic_int);
  const ValueId open = add_value(graph, "open", {-1});
  const std::vector<Scalar> symbolic(3);
  const auto error = [&](ErrorCode code, std::vector<std::string> parts, const char* op,
                         std::vector<NamedArgument> arguments) {
    expect_error(code, std::move(parts), [&] { OpCall(graph, node_of(op, arguments), &symbolic); });
  };
  error(ErrorCode::unknown_operator, {"aten::no_such.default"}, "aten::no_such.default", {});
  error(ErrorCode::invalid_argument, {"aten::relu.default", "self", "missing"}, "aten::relu.default", {});
  error(ErrorCode::invalid_argument, {"aten::relu.default", "no argument other"}, "aten::relu.default",
        {{"self", ValueArg{x}}, {"other", ValueArg{x}}});
  error(ErrorCode::invalid_argument, {"aten::relu.default", "self", "twice"}, "aten::relu.default",
        {{"self", ValueArg{x}}, {"self", ValueArg{x}}});
  error(ErrorCode::invalid_argument, {"aten::relu.default", "self"}, "aten::relu.default",
        {{"self", ValueArg{s}}});
  error(ErrorCode::invalid_argument, {"aten::cat.default", "tensors", "s0"}, "aten::cat.default",
        {{"tensors", ValueListArg{{x, s}}}});
  error(ErrorCode::invalid_argument, {"aten::select.int", "index"}, "aten::select.int",
        {{"self", ValueArg{x}}, {"dim", int64_t{0}}, {"index", ValueArg{x}}});
  error(ErrorCode::invalid_argument, {"aten::select.int", "dim", "int"}, "aten::select.int",
        {{"self", ValueArg{x}}, {"dim", 0.5}, {"index", int64_t{0}}});
  error(ErrorCode::unsupported, {"aten::relu.default", "[-1]", "specialised"}, "aten::relu.default",
        {{"self", ValueArg{open}}});
  error(ErrorCode::internal, {"aten::relu.default", "value 77"}, "aten::relu.default",
        {{"self", ValueArg{77}}});
}

TEST(OpCall, NormalisesDims) {
  const OpCall call("aten::relu.default", {{DType::f32, {2}}}, {{"self", ValueArg{0}}});
  EXPECT_EQ(normalise_dim(-1, 3, call), 2);
  EXPECT_EQ(normalise_dim(2, 3, call), 2);
  EXPECT_EQ(normalise_dim(-1, 0, call), 0);
  expect_error(ErrorCode::invalid_argument, {"aten::relu.default", "dim 3", "[-3, 2]"},
               [&] { normalise_dim(3, 3, call); });
  expect_error(ErrorCode::invalid_argument, {"dim 1", "[-1, 0]"}, [&] { normalise_dim(1, 0, call); });
}

TEST(Scalar, IntegersOnly) {
  EXPECT_EQ((Scalar{Scalar::Kind::floating, 0, 3.0}.as_int()), 3);
  EXPECT_EQ((Scalar{Scalar::Kind::boolean, 1, 1.0}.as_int()), 1);
  for (const double bad : {0.5, 1e19, -1e19, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW((Scalar{Scalar::Kind::floating, 0, bad}.as_int()), Error) << bad;
  }
}

}  // namespace
}  // namespace assay
