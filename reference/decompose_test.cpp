// Decompositions against PyTorch's fp64 answers (core/decompose/testdata/composite_calls.py): each call is
// decomposed and its parts evaluated.
#include "core/decompose/decompose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/graph/builder.h"
#include "reference/evaluate.h"

namespace assay::reference {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Json all_calls() {
  std::ifstream file(ASSAY_SOURCE_DIR "/core/decompose/testdata/composite_calls.json");
  return Json::parse(file);
}

double real_of(const Json& entry) {
  if (!entry.is_string())
    return entry.is_boolean() ? static_cast<double>(entry.get<bool>()) : entry.get<double>();
  const std::string text = entry.get<std::string>();
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "nan" ? std::nan("") : text == "inf" ? infinity : -infinity;
}

Tensor tensor_of(const Json& json) {
  const DType dtype = parse_dtype(json.at("t").get<std::string>()).value();
  const Shape shape = json.at("s").get<Shape>();
  std::vector<double> values;
  for (const Json& entry : json.at("d")) values.push_back(real_of(entry));
  if (!is_integral(dtype)) return Tensor::from_doubles(dtype, shape, values);
  std::vector<int64_t> integers(values.begin(), values.end());
  return Tensor::from_ints(dtype, shape, integers);
}

// A graph of one call whose tensors are inputs and whose results are declared as PyTorch gives them.
struct Composite {
  explicit Composite(const Json& call) {
    GraphBuilder builder("composite");
    std::vector<NamedArgument> arguments;
    for (const auto& [name, value] : call.at(1).items())
      arguments.push_back({name, argument_of(builder, value)});
    std::vector<TensorMeta> metas;
    for (const Json& result : call.at(2)) {
      expected.push_back(tensor_of(result));
      metas.push_back({expected.back().dtype(), expected.back().shape()});
    }
    for (const ValueId id : builder.declared_node(call.at(0).get<std::string>(), arguments, metas))
      builder.output(id);
    graph = builder.build_unchecked();
  }

  Argument argument_of(GraphBuilder& builder, const Json& json) {
    if (json.is_null()) return NoneArg{};
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_integer()) return json.get<int64_t>();
    if (json.is_number_float()) return json.get<double>();
    if (json.is_object()) {
      inputs.push_back(tensor_of(json));
      return ValueArg{
          builder.input("x" + std::to_string(inputs.size()), inputs.back().dtype(), inputs.back().shape())};
    }
    if (json.is_string()) {
      const std::string text = json.get<std::string>();
      if (text.starts_with("%")) return DTypeArg{parse_dtype(text.substr(1)).value()};
      if (text == "inf" || text == "-inf") return real_of(json);
      return text;
    }
    if (!json.empty() && json[0].is_object()) {
      ValueListArg list;
      for (const Json& entry : json) list.ids.push_back(std::get<ValueArg>(argument_of(builder, entry)).id);
      return list;
    }
    return IntListArg{json.get<std::vector<int64_t>>(), {}};
  }

  std::vector<Tensor> run() const {
    std::vector<Wide> wide;
    for (const Tensor& input : inputs) wide.push_back(Wide::from(input));
    std::vector<const Wide*> pointers;
    for (const Wide& one : wide) pointers.push_back(&one);
    std::vector<Tensor> results;
    for (const Wide& result : Walker(graph).run_wide(pointers)) results.push_back(result.rounded());
    return results;
  }

  Graph graph;
  std::vector<Tensor> inputs, expected;
};

bool close(double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= 1e-12 * std::max(1.0, std::abs(want));
}

TEST(Decompose, EveryRuleAgreesWithPyTorch) {
  std::set<std::string> seen;
  for (const Json& call : all_calls()) {
    const std::string op = call.at(0).get<std::string>();
    SCOPED_TRACE(call.dump().substr(0, 300));
    Composite composite(call);
    ASSERT_NO_THROW(decompose(composite.graph));
    for (const Node& node : composite.graph.nodes) EXPECT_NE(node.op, op);
    EXPECT_NO_THROW(validate(composite.graph));
    seen.insert(op);
    std::vector<Tensor> got;
    try {
      got = composite.run();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
      continue;
    }
    ASSERT_EQ(got.size(), composite.expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Tensor& want = composite.expected[i];
      EXPECT_EQ(got[i].dtype(), want.dtype());
      ASSERT_EQ(got[i].shape(), want.shape());
      const auto values = got[i].to_doubles(), wanted = want.to_doubles();
      for (std::size_t n = 0; n < values.size(); ++n)
        EXPECT_TRUE(close(values[n], wanted[n]))
            << "result " << i << " element " << n << ": " << values[n] << ", PyTorch " << wanted[n];
    }
  }
  // Results without a value, or on a device: nothing to compare with.
  for (const std::string& name : decompose_rules().names()) {
    if (name == "aten::empty_like.default" || name == "aten::to.device") continue;
    // Not PyTorch's, or not to be called with text: reference/attention_test.cpp.
    if (name.starts_with("assay::") || name.starts_with("higher_order::")) continue;
    EXPECT_TRUE(seen.contains(name)) << name << " has a rule and no call in composite_calls.py";
  }
}

Json call_of(const std::string& op) {
  for (const Json& call : all_calls()) {
    if (call.at(0) == op) return call;
  }
  ADD_FAILURE() << op;
  return {};
}

TEST(Decompose, DeclaredResultsMustBeThoseOfTheParts) {
  Json call = call_of("aten::mv.default");
  call[2][0]["s"] = {4};
  call[2][0]["d"] = {0, 0, 0, 0};
  Composite composite(call);
  try {
    decompose(composite.graph);
    FAIL() << "a false declaration was believed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr("aten::mv.default"));
    EXPECT_THAT(error.what(), HasSubstr("its arguments give f64[3]"));
  }
}

TEST(Decompose, ArgumentsThatDoNotFitAreRefusedByName) {
  for (const char* op :
       {"aten::mv.default", "aten::conv3d.default", "aten::gru_cell.default", "aten::nll_loss_nd.default",
        "aten::instance_norm.default", "aten::lerp.Tensor", "aten::outer.default"}) {
    const Json good = call_of(op);
    for (const auto& [name, value] : good.at(1).items()) {
      if (!value.is_object()) continue;
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 7}, Shape{1, 2, 7, 3, 2, 1}}) {
        Json bad = good;
        bad[1][name]["s"] = shape;
        bad[1][name]["d"] = std::vector<double>(static_cast<std::size_t>(element_count(shape)), 0.0);
        if (bad[1][name]["s"] == good[1][name]["s"]) continue;
        Composite composite(bad);
        try {
          decompose(composite.graph);  // refused, left alone, or of parts that fit together
          EXPECT_NO_THROW(validate(composite.graph)) << bad.dump();
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::malformed_file) << error.what();
          EXPECT_THAT(error.what(), HasSubstr(op)) << bad.dump();
        }
      }
    }
  }
}

TEST(Decompose, KeepsNamesOfInputsAndOutputs) {
  GraphBuilder builder("named");
  const ValueId x = builder.input("x", DType::f32, {2, 4});
  const ValueId w = builder.input("w", DType::f32, {3, 4}, InputKind::parameter, "layer.weight");
  builder.output(builder.call("aten::linear.default", {{"input", ValueArg{x}}, {"weight", ValueArg{w}}}));
  Graph graph = builder.build();
  const std::string name = graph.values[static_cast<std::size_t>(graph.outputs[0].value)].name;
  decompose(graph);
  EXPECT_EQ(graph.values[static_cast<std::size_t>(graph.outputs[0].value)].name, name);
  EXPECT_EQ(graph.inputs[1].target, "layer.weight");
  EXPECT_EQ(graph.nodes.back().op, "aten::mm.default");
}

}  // namespace
}  // namespace assay::reference
