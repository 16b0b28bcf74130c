// Attention operators as a whole against their decompositions, and FlexAttention's against PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/graph/builder.h"
#include "core/graph/json.h"
#include "reference/evaluate.h"

namespace assay::reference {
namespace {

using Json = nlohmann::json;

double real_of(const Json& entry) {
  if (entry.is_number()) return entry.get<double>();
  if (entry.is_boolean()) return entry.get<bool>() ? 1 : 0;
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string text = entry.get<std::string>();
  return text == "nan" ? std::nan("") : text == "inf" ? infinity : -infinity;
}

Tensor tensor_of(const Json& json) {
  const DType dtype = parse_dtype(json.at("t").get<std::string>()).value();
  std::vector<double> values;
  for (const Json& entry : json.at("d")) values.push_back(real_of(entry));
  const Shape shape = json.at("s").get<Shape>();
  if (!is_integral(dtype)) return Tensor::from_doubles(dtype, shape, values);
  return Tensor::from_ints(dtype, shape, std::vector<int64_t>(values.begin(), values.end()));
}

std::vector<Wide> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Wide> wide;
  for (const Tensor& input : inputs) wide.push_back(Wide::from(input));
  std::vector<const Wide*> pointers;
  for (const Wide& one : wide) pointers.push_back(&one);
  return Walker(graph).run_wide(pointers);
}

void expect_close(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool equal = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
    EXPECT_TRUE(equal || std::fabs(got[i] - want[i]) <= tolerance * std::max(1.0, std::fabs(want[i])))
        << "element " << i << ": " << got[i] << ", want " << want[i];
  }
}

// One node, whose inputs are drawn.
struct Attention {
  std::string op;
  Shape query, key;
  std::vector<NamedArgument> arguments;
  std::optional<DType> mask;
};

TEST(Attention, WholeAndPartsAgree) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> draw(-2, 2);
  const char* plain = "aten::scaled_dot_product_attention.default";
  const char* own = "assay::scaled_dot_product_attention.default";
  const NamedArgument grouped{"enable_gqa", true};
  const auto aligned = [](const char* causal, double softcap) {
    return std::vector<NamedArgument>{{"causal", std::string(causal)}, {"softcap", softcap}};
  };
  std::vector<Attention> cases = {
      {plain, {2, 3, 4}, {2, 5, 4}, {}, {}},
      {plain, {3, 4}, {5, 4}, {{"is_causal", true}}, {}},
      {plain, {2, 1, 3, 4}, {1, 3, 5, 4}, {{"scale", -0.5}}, {}},
      {plain, {1, 4, 3, 4}, {2, 2, 5, 4}, {grouped}, DType::boolean},
      {plain, {1, 4, 3, 4}, {1, 1, 5, 4}, {grouped}, DType::f64},
      {plain, {1, 2, 3, 4}, {1, 2, 0, 4}, {}, {}},
      {"aten::_scaled_dot_product_attention_math.default", {1, 4, 3, 4}, {1, 2, 5, 4}, {grouped}, DType::f64},
      {"aten::_scaled_dot_product_flash_attention_for_cpu.default", {1, 4, 3, 4}, {1, 2, 5, 4}, {}, {}},
      {own, {1, 2, 5, 4}, {1, 2, 3, 4}, aligned("bottom_right", 0), {}},
      {own, {1, 2, 3, 4}, {1, 2, 5, 4}, aligned("bottom_right", 1.5), DType::boolean},
      {own, {1, 2, 3, 4}, {1, 2, 5, 4}, aligned("top_left", 1.5), {}},
  };
  for (const Attention& a : cases) {
    SCOPED_TRACE(a.op + assay::to_string(a.query) + assay::to_string(a.key));
    GraphBuilder builder("attention");
    std::vector<Tensor> inputs;
    std::vector<NamedArgument> arguments = a.arguments;
    const auto input = [&](const char* name, const Shape& shape, DType dtype) {
      std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
      for (double& v : values) v = draw(random);
      if (dtype == DType::boolean) {
        // The first row sees nothing.
        std::vector<int64_t> open(values.size());
        for (std::size_t i = 5; i < open.size(); ++i) open[i] = values[i] > 0 ? 1 : 0;
        inputs.push_back(Tensor::from_ints(dtype, shape, open));
      } else {
        inputs.push_back(Tensor::from_doubles(dtype, shape, values));
      }
      arguments.push_back({name, ValueArg{builder.input(name, dtype, shape)}});
    };
    input("query", a.query, DType::f64);
    input("key", a.key, DType::f64);
    input("value", a.key, DType::f64);
    if (a.mask) input("attn_mask", {a.query[a.query.size() - 2], a.key[a.key.size() - 2]}, *a.mask);
    for (const ValueId id : builder.node(a.op, arguments)) builder.output(id);
    const Graph whole = builder.build();
    Graph parts = whole;
    decompose(parts);
    validate(parts);
    EXPECT_GT(parts.nodes.size(), 1u);
    const std::vector<Wide> got = run(whole, inputs), want = run(parts, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i].real, want[i].real, 1e-12);
  }
}

struct FlexData {
  FlexData() {
    std::ifstream functions(ASSAY_SOURCE_DIR "/suites/attention/data/flex_functions.json");
    const Json tables = Json::parse(functions);
    for (const char* table : {"scores", "masks"}) {
      for (const Json& entry : tables.at(table)) {
        graphs[std::string(table) + "/" + entry.at("name").get<std::string>()] =
            function_from_json(entry.at("graph").dump(), entry.at("name").get<std::string>());
      }
    }
    std::ifstream file(ASSAY_SOURCE_DIR "/suites/attention/data/flex_calls.json");
    calls = Json::parse(file);
  }
  std::map<std::string, std::shared_ptr<const Graph>> graphs;
  Json calls;
};

// The graph of one call, with the function's own score parameter in fp64 as the call's tensors are.
Graph flex_graph(const FlexData& data, const Json& call, std::vector<Tensor>& inputs) {
  GraphBuilder builder("flex");
  const auto input = [&](const std::string& name, const Json& json) {
    inputs.push_back(tensor_of(json));
    return builder.input(name, inputs.back().dtype(), inputs.back().shape());
  };
  std::vector<NamedArgument> arguments;
  for (const char* name : {"query", "key", "value"}) {
    arguments.push_back({name, ValueArg{input(name, call.at(name))}});
  }
  ValueListArg lists[2];
  for (const int mask : {0, 1}) {
    const char* name = mask != 0 ? "mask_buffers" : "score_buffers";
    for (std::size_t i = 0; i < call.at(name).size(); ++i) {
      lists[mask].ids.push_back(input(name + std::to_string(i), call.at(name).at(i)));
    }
  }
  const std::string score = call.at("score").get<std::string>();
  arguments.push_back({"score_mod", GraphArg{"score_mod", data.graphs.at("scores/" + score)}});
  if (!call.at("mask").is_null()) {
    const std::string mask = call.at("mask").get<std::string>();
    arguments.push_back({"mask_mod", GraphArg{"mask_mod", data.graphs.at("masks/" + mask)}});
  }
  arguments.push_back({"score_mod_other_buffers", lists[0]});
  arguments.push_back({"mask_mod_other_buffers", lists[1]});
  const auto results = builder.node("higher_order::flex_attention.default", arguments);
  builder.output(results[0]);
  builder.output(results[1]);
  Graph graph = builder.build();
  graph.nodes[0].outputs[2] = -1;
  return graph;
}

TEST(FlexAttention, AgreesWithPyTorch) {
  const FlexData data;
  ASSERT_GE(data.calls.size(), 45u);
  for (const Json& call : data.calls) {
    SCOPED_TRACE(call.at("score").dump() + call.at("mask").dump());
    std::vector<Tensor> inputs;
    Graph graph = flex_graph(data, call, inputs);
    ASSERT_NO_THROW(decompose(graph));
    ASSERT_NO_THROW(validate(graph));
    const std::vector<Wide> got = run(graph, inputs);
    ASSERT_EQ(got.size(), 2u);
    // Captured buffers and some positions pass through fp32 in PyTorch.
    expect_close(got[0].real, tensor_of(call.at("output")).to_doubles(), 1e-6);
    expect_close(got[1].real, tensor_of(call.at("logsumexp")).to_doubles(), 1e-6);
  }
}

TEST(FlexAttention, FunctionsSurviveTheWayThroughJson) {
  const FlexData data;
  std::vector<Tensor> inputs;
  Graph graph = flex_graph(data, data.calls.at(2), inputs);
  graph.nodes[0].outputs[2] = graph.nodes[0].outputs[1] + 1;
  const std::string text = graph_to_json(graph);
  const Graph again = graph_from_json(text, "again");
  EXPECT_EQ(graph_to_json(again), text);
  EXPECT_EQ(again.nodes.at(0).find("score_mod")->value, graph.nodes.at(0).find("score_mod")->value);
  const GraphArg other{"score_mod", data.graphs.at("scores/trig")};
  EXPECT_FALSE(again.nodes.at(0).find("score_mod")->value == Argument{other});
}

// Whatever a file says about a function is refused or understood; nothing falls over.
TEST(FlexAttention, HostileFunctionsAreRefused) {
  const FlexData data;
  std::vector<Tensor> inputs;
  Graph graph = flex_graph(data, data.calls.at(2), inputs);
  graph.nodes[0].outputs[2] = graph.nodes[0].outputs[1] + 1;
  const Json good = Json::parse(graph_to_json(graph));
  const auto function = [](Json& d) -> Json& {
    return d["graph_module"]["graph"]["nodes"][0]["inputs"][3]["arg"]["as_graph"]["graph"];
  };
  const auto refused = [&](Json bad, const char* mention, const char* what) {
    try {
      Graph read = graph_from_json(bad.dump(), "hostile");
      decompose(read);
      ADD_FAILURE() << "accepted: " << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(mention), std::string::npos) << what << ": " << error.what();
    }
  };
  Json bad = good;
  function(bad)["nodes"][0]["inputs"][0]["arg"] =
      good["graph_module"]["graph"]["nodes"][0]["inputs"][3]["arg"];
  refused(bad, "graph inside a graph", "a function inside a function");
  bad = good;
  function(bad)["outputs"] = Json::array();
  refused(bad, "one result", "no result");
  bad = good;
  function(bad)["inputs"].erase(4);
  refused(bad, "must have 5", "a parameter less");
  bad = good;
  function(bad)["nodes"][0]["target"] = "torch.ops.aten.no_such_operator.default";
  refused(bad, "no_such_operator", "an unknown operator");
  bad = good;
  function(bad)["nodes"][0]["target"] = "torch.ops.aten.cumsum.default";
  refused(bad, "cumsum", "an operator over positions");
  bad = good;
  function(bad)["inputs"][0] = Json{{"as_none", true}};
  refused(bad, "expected one tensor", "a parameter that is None");
  bad = good;
  bad["graph_module"]["graph"]["nodes"][0]["inputs"][3]["arg"] = Json{{"as_int", 3}};
  refused(bad, "score_mod", "a number for a function");
  bad = good;
  bad["graph_module"]["graph"]["nodes"][0]["inputs"][3]["arg"]["as_graph"]["graph"] = nullptr;
  refused(bad, "hostile", "no graph");
}

}  // namespace
}  // namespace assay::reference
