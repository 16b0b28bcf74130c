// Calls kept as text with PyTorch's answers (core/decompose/testdata/*_calls.json) as graphs that can be run.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/graph/builder.h"
#include "reference/evaluate.h"

namespace assay::reference {

using Json = nlohmann::json;

inline Json calls_in(const std::string& file) {
  std::ifstream stream(ASSAY_SOURCE_DIR "/core/decompose/testdata/" + file);
  return Json::parse(stream);
}

inline double real_of(const Json& entry) {
  if (!entry.is_string())
    return entry.is_boolean() ? static_cast<double>(entry.get<bool>()) : entry.get<double>();
  const std::string text = entry.get<std::string>();
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "nan" ? std::nan("") : text == "inf" ? infinity : -infinity;
}

inline Tensor tensor_of(const Json& json) {
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
    for (const auto& [name, value] : call.at(1).items()) {
      numbers[name] = inputs.size();  // of the argument's first tensor
      arguments.push_back({name, argument_of(builder, value)});
    }
    // As files are read: in the schema's order.
    const Schema* schema = find_schema(call.at(0).get<std::string>());
    const auto place = [&](const NamedArgument& given) {
      std::size_t i = 0;
      while (i < schema->arguments.size() && schema->arguments[i].name != given.name) ++i;
      return i;
    };
    std::sort(arguments.begin(), arguments.end(),
              [&](const NamedArgument& a, const NamedArgument& b) { return place(a) < place(b); });
    std::vector<TensorMeta> metas;
    std::vector<bool> wanted;
    for (const Json& result : call.at(2)) {
      wanted.push_back(!result.is_null());
      if (wanted.back()) expected.push_back(tensor_of(result));
      metas.push_back(wanted.back() ? TensorMeta{expected.back().dtype(), expected.back().shape()}
                                    : TensorMeta{});
    }
    const auto ids = builder.declared_node(call.at(0).get<std::string>(), arguments, metas);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (wanted[i]) builder.output(ids[i]);
    }
    graph = builder.build_unchecked();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!wanted[i]) graph.nodes.back().outputs[i] = -1;
    }
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
    if (!json.empty() && json[0].is_number_float()) return json.get<std::vector<double>>();
    if (!json.empty() && json[0].is_boolean()) return json.get<std::vector<bool>>();
    return IntListArg{json.get<std::vector<int64_t>>(), {}};
  }

  std::vector<Wide> wide_inputs() const {
    std::vector<Wide> wide;
    for (const Tensor& input : inputs) wide.push_back(Wide::from(input));
    return wide;
  }
  std::vector<Tensor> run() const {
    const std::vector<Wide> wide = wide_inputs();
    std::vector<const Wide*> pointers;
    for (const Wide& one : wide) pointers.push_back(&one);
    std::vector<Tensor> results;
    for (const Wide& result : Walker(graph).run_wide(pointers)) results.push_back(result.rounded());
    return results;
  }

  Graph graph;
  std::vector<Tensor> inputs, expected;
  std::map<std::string, std::size_t> numbers;
};

// PyTorch's answers, in fp64: equal NaNs and infinities, else within `tolerance` of max(1, |want|).
inline void expect_expected(const Composite& composite, const std::vector<Tensor>& got,
                            double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), composite.expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Tensor& want = composite.expected[i];
    EXPECT_EQ(got[i].dtype(), want.dtype());
    ASSERT_EQ(got[i].shape(), want.shape()) << "result " << i;
    const auto values = got[i].to_doubles(), wanted = want.to_doubles();
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double v = values[n], w = wanted[n];
      const bool close = std::isnan(w)   ? std::isnan(v)
                         : std::isinf(w) ? v == w
                                         : std::abs(v - w) <= tolerance * std::max(1.0, std::abs(w));
      EXPECT_TRUE(close) << "result " << i << " element " << n << ": " << v << ", PyTorch " << w;
    }
  }
}

}  // namespace assay::reference
