#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/graph/json.h"

namespace assay {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json tensor_meta(const std::vector<int64_t>& sizes, int dtype = 7) {
  json meta = {{"dtype", dtype}, {"sizes", json::array()}, {"layout", 7}};
  for (const int64_t size : sizes) meta["sizes"].push_back({{"as_int", size}});
  return meta;
}

json named(const char* name, const json& argument) {
  return {{"name", name}, {"arg", argument}, {"kind", 1}};
}
json tensor(const char* name) { return {{"as_tensor", {{"name", name}}}}; }

// y = relu(x), as torch.export writes it.
json document() {
  return {{"schema_version", {{"major", 8}, {"minor", 20}}},
          {"graph_module",
           {{"graph",
             {{"inputs", {tensor("x")}},
              {"outputs", {tensor("y")}},
              {"nodes",
               {{{"target", "torch.ops.aten.relu.default"},
                 {"inputs", {named("self", tensor("x"))}},
                 {"outputs", {tensor("y")}},
                 {"metadata",
                  {{"stack_trace", "File \"/a/b.py\", line 3, in f"}, {"nn_module_stack", "k,m.act,T"}}},
                 {"name", "relu"}}}},
              {"tensor_values", {{"x", tensor_meta({2, 3})}, {"y", tensor_meta({2, 3})}}},
              {"sym_int_values", json::object()},
              {"sym_bool_values", json::object()},
              {"sym_float_values", json::object()}}},
            {"signature",
             {{"input_specs", {{{"user_input", {{"arg", tensor("x")}}}}}},
              {"output_specs", {{{"user_output", {{"arg", tensor("y")}}}}}}}}}}};
}

json& graph_of(json& d) { return d["graph_module"]["graph"]; }
json& node_of(json& d) { return graph_of(d)["nodes"][0]; }

std::string refusal(const std::string& text, ErrorCode code = ErrorCode::malformed_file) {
  try {
    graph_from_json(text, "some.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("some.json"));
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text.substr(0, 2000);
  return "";
}
std::string refusal(const json& d, ErrorCode code = ErrorCode::malformed_file) {
  return refusal(d.dump(), code);
}

TEST(GraphFromJson, ReadsAGraph) {
  const Graph graph = graph_from_json(document().dump(), "some.json");
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, "aten::relu.default");
  EXPECT_EQ(graph.nodes[0].name, "relu");
  EXPECT_EQ(graph.nodes[0].source.location, "a/b.py:3");
  EXPECT_EQ(graph.nodes[0].source.module_path, "m.act");
  EXPECT_EQ(graph.values[0].shape, (Shape{2, 3}));
  EXPECT_EQ(graph.inputs[0].target, "x");
}

TEST(GraphFromJson, ReadsBackWhatItWrites) {
  const Graph graph = graph_from_json(document().dump(), "some.json");
  const std::string text = graph_to_json(graph);
  const Graph again = graph_from_json(text, "other.json");
  EXPECT_EQ(graph_to_json(again), text);
  EXPECT_EQ(again.nodes[0].source.location, "a/b.py:3");
  EXPECT_EQ(again.nodes[0].source.module_path, "m.act");
}

TEST(GraphFromJson, ReadsSymbolicSizes) {
  json d = document();
  const json size = {
      {"as_expr", {{"expr_str", "Mul(Integer(2), Symbol('s0', positive=True, integer=True))"}}}};
  graph_of(d)["tensor_values"]["x"]["sizes"][0] = size;
  graph_of(d)["tensor_values"]["y"]["sizes"][0] = size;
  const Graph graph = graph_from_json(d.dump(), "some.json");
  EXPECT_TRUE(graph.has_symbols());
  EXPECT_EQ(graph.values[0].shape, (Shape{-1, 3}));
  EXPECT_EQ(graph.values[0].symbols, (std::vector<std::string>{"2*s0", ""}));
  EXPECT_EQ(graph_to_json(graph_from_json(graph_to_json(graph), "b")), graph_to_json(graph));
}

TEST(GraphFromJson, ResolvesGetitem) {
  json d = document();
  graph_of(d)["tensor_values"]["z"] = tensor_meta({2, 3});
  json getitem = {
      {"target", "_operator.getitem"},
      {"inputs",
       {named("a", {{"as_tensors", {{{"name", "x"}}, {{"name", "y"}}}}}), named("b", {{"as_int", 1}})}},
      {"outputs", {tensor("z")}},
      {"metadata", json::object()},
      {"name", "getitem"}};
  graph_of(d)["nodes"].push_back(getitem);
  graph_of(d)["outputs"][0] = tensor("z");
  d["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"] = tensor("z");
  const Graph graph = graph_from_json(d.dump(), "some.json");
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.outputs[0].value, graph.find_value("y"));
}

TEST(GraphFromJson, LeavesOutWhatOnlyAsserts) {
  json d = document();
  graph_of(d)["nodes"].push_back(
      {{"target", "torch.ops.aten._assert_async.msg"},
       {"inputs", {named("self", tensor("y")), named("assert_msg", {{"as_string", "classes"}})}},
       {"outputs", json::array()},
       {"metadata", json::object()},
       {"name", "check"}});
  EXPECT_EQ(graph_from_json(d.dump(), "some.json").nodes.size(), 1u);
}

// y = relu(x), then under torch.no_grad() and in it torch.autocast(enabled=False) z = x + y, y = neg(z).
json with_regions() {
  json d = document();
  const auto node = [](const char* op, const char* name, json inputs, json outputs) {
    return json{{"target", op},
                {"inputs", std::move(inputs)},
                {"outputs", std::move(outputs)},
                {"metadata", json::object()},
                {"name", name}};
  };
  const auto function = [](const char* name, json inputs, json outputs, json nodes, json tensors) {
    return named("", {{"as_graph",
                       {{"name", name},
                        {"graph",
                         {{"inputs", std::move(inputs)},
                          {"outputs", std::move(outputs)},
                          {"nodes", std::move(nodes)},
                          {"tensor_values", std::move(tensors)}}}}}});
  };
  const json meta = tensor_meta({2, 3});
  const json add = node("torch.ops.aten.add.Tensor", "add",
                        {named("self", tensor("b")), named("other", tensor("a"))}, {tensor("z")});
  const json negate = node("torch.ops.aten.neg.default", "neg", {named("self", tensor("z"))}, {tensor("y")});
  const json autocast = node("torch.ops.higher_order.wrap_with_autocast", "inner",
                             {named("", {{"as_string", "cpu"}}), named("", {{"as_none", true}}),
                              named("", {{"as_bool", false}}), named("", {{"as_bool", true}}),
                              function("submod_0", {tensor("a"), tensor("b")}, {tensor("z")}, {add},
                                       {{"a", meta}, {"b", meta}, {"z", meta}}),
                              named("", tensor("y")), named("", tensor("x"))},
                             {tensor("z")});
  graph_of(d)["nodes"].push_back(
      node("torch.ops.higher_order.wrap_with_set_grad_enabled", "outer",
           {named("", {{"as_bool", false}}),
            function("submod_1", {tensor("x"), tensor("y")}, {tensor("w"), tensor("x")}, {autocast},
                     {{"x", meta}, {"y", meta}, {"z", meta}, {"w", meta}}),
            named("", tensor("x")), named("", tensor("y"))},
           {{{"as_tensors", {{{"name", "w"}}, {{"name", "same"}}}}}}));
  json& inside = graph_of(d)["nodes"][1]["inputs"][1]["arg"]["as_graph"]["graph"];
  inside["nodes"].push_back(negate);
  inside["nodes"][1]["outputs"] = {tensor("w")};
  graph_of(d)["outputs"] = {tensor("w"), tensor("same")};
  d["graph_module"]["signature"]["output_specs"] = {{{"user_output", {{"arg", tensor("w")}}}},
                                                    {{"user_output", {{"arg", tensor("same")}}}}};
  return d;
}

TEST(GraphFromJson, TakesNodesOutOfRegionsThatChangeNoValue) {
  const Graph graph = graph_from_json(with_regions().dump(), "some.json");
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[1].op, "aten::add.Tensor");
  EXPECT_EQ(graph.nodes[1].name, "outer.inner.add");
  EXPECT_EQ(std::get<ValueArg>(graph.nodes[1].arguments[0].value).id, graph.find_value("x"));
  EXPECT_EQ(std::get<ValueArg>(graph.nodes[1].arguments[1].value).id, graph.find_value("y"));
  EXPECT_EQ(graph.nodes[2].op, "aten::neg.default");
  EXPECT_EQ(graph.outputs[0].value, graph.find_value("outer.w"));
  EXPECT_EQ(graph.outputs[1].value, graph.find_value("x"));
  EXPECT_EQ(graph_to_json(graph_from_json(graph_to_json(graph), "b")), graph_to_json(graph));
}

TEST(GraphFromJson, NamesWhatIsWrongInRegions) {
  const auto with = [](const auto& change) {
    json d = with_regions();
    json& outer = graph_of(d)["nodes"][1];
    change(outer, outer["inputs"][1]["arg"]["as_graph"]["graph"]);
    return d;
  };
  const auto inner = [](json& graph) -> json& { return graph["nodes"][0]; };
  EXPECT_THAT(refusal(with([&](json&, json& g) { inner(g)["inputs"][2]["arg"]["as_bool"] = true; }),
                      ErrorCode::unsupported),
              AllOf(HasSubstr("autocast is enabled"), HasSubstr("run_decompositions")));
  EXPECT_THAT(refusal(with([&](json&, json& g) { g["nodes"][1]["target"] = "torch.ops.evil.twice.default"; }),
                      ErrorCode::unknown_operator),
              HasSubstr("evil::twice.default"));
  EXPECT_THAT(refusal(with([](json& n, json&) { n["inputs"].erase(3); })),
              HasSubstr("2 inputs, but the node gives 1"));
  EXPECT_THAT(refusal(with([](json& n, json&) { n["inputs"].erase(1); })), HasSubstr("expected as_graph"));
  EXPECT_THAT(refusal(with([](json& n, json&) { n["inputs"] = json::array(); })),
              HasSubstr("expected at least 2"));
  EXPECT_THAT(refusal(with([](json& n, json&) {
                n["inputs"][2]["arg"] = {{"as_int", 3}};
              })),
              HasSubstr("expected a tensor"));
  EXPECT_THAT(refusal(with([](json&, json& g) { g["outputs"].push_back(tensor("w")); })),
              HasSubstr("2 results, but the graph of the node has 3"));
  EXPECT_THAT(refusal(with([](json&, json& g) { g["inputs"][1] = tensor("x"); })),
              HasSubstr("another input's"));
  // Names are the region's own: the values around it are not seen.
  EXPECT_THAT(refusal(with([&](json&, json& g) {
                inner(g)["inputs"][4]["arg"]["as_graph"]["graph"]["nodes"][0]["inputs"][0]["arg"] =
                    tensor("x");
              })),
              HasSubstr("'x' is used but not defined"));
}

// Every kind of argument, through the writer and back.
TEST(GraphToJson, KeepsEveryKindOfArgument) {
  Graph graph;
  graph.id = "kinds";
  graph.values = {{"x", ValueKind::tensor, DType::f32, {4}, -1, {}},
                  {"i", ValueKind::tensor, DType::i64, {2}, -1, {}},
                  {"s", ValueKind::symbolic_int, DType::f32, {}, 0, {"s0"}},
                  {"y", ValueKind::tensor, DType::bf16, {-1, 2}, 1, {"s0", ""}},
                  {"z", ValueKind::tensor, DType::f32, {2}, 2, {}},
                  {"w", ValueKind::tensor, DType::f32, {4}, 3, {}},
                  {"g", ValueKind::tensor, DType::f32, {4}, 4, {}}};
  graph.nodes = {
      {"s", "aten::sym_size.int", {{"self", ValueArg{0}}, {"dim", int64_t{0}}}, {2}, {}},
      {"full",
       "aten::full.default",
       {{"size", IntListArg{{0, 2}, {2, -1}}},
        {"fill_value", -std::numeric_limits<double>::infinity()},
        {"dtype", DTypeArg{DType::bf16}},
        {"layout", KeywordArg{"layout", "7"}},
        {"device", KeywordArg{"device", "{\"type\":\"cpu\",\"index\":null}"}},
        {"pin_memory", false}},
       {3},
       {}},
      {"index", "aten::index.Tensor", {{"self", ValueArg{0}}, {"indices", ValueListArg{{1}}}}, {4}, {}},
      {"add", "aten::add.Tensor", {{"self", ValueArg{0}}, {"other", -0.0}, {"alpha", int64_t{3}}}, {5}, {}},
      {"gelu", "aten::gelu.default", {{"self", ValueArg{0}}, {"approximate", std::string("tanh")}}, {6}, {}}};
  graph.inputs = {{0, InputKind::buffer, "b.x", false, {}},
                  {1, InputKind::user, "i", true, {}},
                  {-1, InputKind::user, "flag", true, Argument(NoneArg{})},
                  {-1, InputKind::user, "n", true, Argument(int64_t{7})}};
  graph.outputs = {{5, OutputKind::buffer_mutation, "b.x", {}},
                   {0, OutputKind::user, "", {}},
                   {2, OutputKind::user, "", {}},
                   {-1, OutputKind::user, "", Argument(true)},
                   {-1, OutputKind::user, "", Argument(std::string("t\xc3\xa4\n\"h"))},
                   {3, OutputKind::user, "", {}}};
  const std::string text = graph_to_json(graph);
  Graph again;
  ASSERT_NO_THROW(again = graph_from_json(text, "kinds.json"));
  ASSERT_EQ(again.nodes.size(), graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    ASSERT_EQ(again.nodes[n].arguments.size(), graph.nodes[n].arguments.size());
    for (std::size_t a = 0; a < graph.nodes[n].arguments.size(); ++a) {
      EXPECT_EQ(again.nodes[n].arguments[a].name, graph.nodes[n].arguments[a].name);
      EXPECT_EQ(to_string(again.nodes[n].arguments[a].value), to_string(graph.nodes[n].arguments[a].value));
    }
  }
  EXPECT_EQ(again.inputs[0].persistent, false);
  EXPECT_EQ(again.inputs[3].constant, Argument(int64_t{7}));
  EXPECT_EQ(again.outputs[3].constant, Argument(true));
  EXPECT_EQ(again.outputs[4].constant, Argument(std::string("t\xc3\xa4\n\"h")));
  EXPECT_EQ(again.outputs[0].kind, OutputKind::buffer_mutation);
  EXPECT_EQ(graph_to_json(again), text);
}

TEST(GraphFromJson, RefusesOtherSchemas) {
  json d = document();
  d["schema_version"]["major"] = 7;
  EXPECT_THAT(refusal(d, ErrorCode::unsupported), HasSubstr("schema_version.major"));
  d.erase("schema_version");
  EXPECT_THAT(refusal(d), HasSubstr("schema_version"));
}

TEST(GraphFromJson, NamesThePlaceOfAMistake) {
  json d = document();
  node_of(d)["inputs"][0]["arg"] = tensor("nobody");
  EXPECT_THAT(refusal(d),
              AllOf(HasSubstr("graph_module.graph.nodes[0].inputs[0].arg"), HasSubstr("'nobody'")));
  d = document();
  node_of(d)["inputs"][0]["arg"] = {{"as_int", "three"}};
  EXPECT_THAT(refusal(d),
              AllOf(HasSubstr("nodes[0].inputs[0].arg.as_int"), HasSubstr("expected an integer")));
  d = document();
  node_of(d)["inputs"][0]["arg"] = {{"as_ints", {1, 2}}};
  EXPECT_THAT(refusal(d), AllOf(HasSubstr("'relu'"), HasSubstr("self")));
  d = document();
  node_of(d)["inputs"][0]["arg"] = {{"as_int", 1}, {"as_float", 1.0}};
  EXPECT_THAT(refusal(d), HasSubstr("exclude each other"));
  d = document();
  node_of(d)["inputs"][0]["arg"] = {{"as_graph", {{"name", "g"}}}};
  EXPECT_THAT(refusal(d), HasSubstr("as_graph: member 'graph' is missing"));
  d = document();
  graph_of(d)["tensor_values"]["y"]["dtype"] = 28;  // uint16
  EXPECT_THAT(refusal(d, ErrorCode::unsupported), HasSubstr("tensor_values['y'].dtype"));
  for (const int code : {0, 99, -7}) {
    d = document();
    graph_of(d)["tensor_values"]["y"]["dtype"] = code;
    EXPECT_THAT(refusal(d), HasSubstr("which PyTorch does not have"));
  }
  d = document();
  graph_of(d)["tensor_values"]["y"]["sizes"][1]["as_int"] = -5;
  EXPECT_THAT(refusal(d), HasSubstr("negative size"));
  d = document();
  graph_of(d)["tensor_values"]["y"]["sizes"][1]["as_int"] = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(refusal(d), HasSubstr("tensor_values['y'].sizes"));
  d = document();
  graph_of(d)["tensor_values"].erase("y");
  EXPECT_THAT(refusal(d), HasSubstr("'y'"));
}

TEST(GraphFromJson, RefusesCyclesAndDoubleDefinitions) {
  json d = document();
  node_of(d)["inputs"][0]["arg"] = tensor("y");
  EXPECT_THAT(refusal(d), HasSubstr("cycle"));
  d = document();
  graph_of(d)["nodes"].push_back(node_of(d));
  EXPECT_THAT(refusal(d), HasSubstr("defined twice"));
}

TEST(GraphFromJson, ListsAllUnknownOperators) {
  json d = document();
  node_of(d)["target"] = "torch.ops.mylib.first.default";
  json second = node_of(d);
  second["target"] = "torch.ops.higher_order.cond";
  second["inputs"][0]["arg"] = {{"as_graph", {{"name", "g"}}}};  // not looked at before all are listed
  graph_of(d)["nodes"].push_back(second);
  EXPECT_THAT(refusal(d, ErrorCode::unknown_operator),
              AllOf(HasSubstr("mylib::first.default"), HasSubstr("higher_order::cond")));
}

TEST(GraphFromJson, RefusesSignaturesThatDoNotFit) {
  json d = document();
  d["graph_module"]["signature"]["input_specs"] = json::array();
  EXPECT_THAT(refusal(d), HasSubstr("input_specs"));
  d = document();
  d["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"] = tensor("x");
  EXPECT_THAT(refusal(d), HasSubstr("output_specs[0]"));
  d = document();
  d["graph_module"]["signature"]["input_specs"][0] = {{"token", {{"arg", {{"name", "x"}}}}}};
  EXPECT_THAT(refusal(d, ErrorCode::unsupported), HasSubstr("token"));
  d = document();
  d["graph_module"]["signature"]["input_specs"][0] = {{"custom_obj", {{"arg", {{"name", "x"}}}}}};
  EXPECT_THAT(refusal(d, ErrorCode::unsupported), HasSubstr("custom_obj"));
}

TEST(GraphFromJson, RefusesHostileText) {
  EXPECT_THAT(refusal(std::string(200'000, '[')), HasSubstr("nesting"));
  std::string text = document().dump();
  text.insert(1, "\"graph_module\": 3, ");
  EXPECT_THAT(refusal(text), HasSubstr("appears twice"));
  const std::string whole = document().dump();
  for (std::size_t length = 0; length < whole.size(); length += 7) refusal(whole.substr(0, length));
  for (const char* other : {"[]", "3", "\"x\"", "null", "{}"}) refusal(std::string(other));
}

// Replacing any one value of a real document by something else must end in an Error or in a valid graph.
void mutate_everywhere(const json& original, json& d, json& place) {
  const json saved = place;
  if (saved.is_structured()) {
    for (auto& child : place) mutate_everywhere(original, d, child);
  }
  const json replacements[] = {nullptr, -1, 3.5, "x", json::array(), json::object(), int64_t{1} << 62};
  for (const json& replacement : replacements) {
    place = replacement;
    try {
      validate(graph_from_json(d.dump(), "mutated"));
    } catch (const Error&) {
    }
  }
  place = saved;
}

TEST(GraphFromJson, SurvivesAnySingleReplacement) {
  json d = document();
  const json original = d;
  mutate_everywhere(original, d, d);
  EXPECT_EQ(d, original);
}

}  // namespace
}  // namespace assay
