// Small graphs for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"
#include "core/opset/shapes.h"
#include "core/philox.h"

namespace assay::emulation {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string id = "test") { graph_.id = std::move(id); }

  ValueId input(const std::string& name, DType dtype, Shape shape) {
    const ValueId id = value(name, dtype, std::move(shape), -1);
    GraphInput input;
    input.value = id;
    input.target = name;
    graph_.inputs.push_back(input);
    return id;
  }
  // A node whose result metas come from the shape rules. Returns its outputs.
  std::vector<ValueId> nodes(const std::string& op, std::vector<NamedArgument> arguments) {
    std::vector<TensorMeta> metas;
    std::vector<NamedArgument> numbered = arguments;
    for (NamedArgument& argument : numbered) {
      if (auto* one = std::get_if<ValueArg>(&argument.value)) one->id = number(one->id, metas);
      if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
        for (ValueId& id : list->ids) id = id < 0 ? id : number(id, metas);
      }
    }
    const auto outputs = infer(OpCall(op, metas, numbered));
    if (!outputs) throw Error(ErrorCode::internal, "test graph: no shape rule for " + op);
    const auto producer = static_cast<int32_t>(graph_.nodes.size());
    Node node;
    node.name = "n" + std::to_string(producer);
    node.op = op;
    node.arguments = std::move(arguments);
    node.source.location = "model.py:" + std::to_string(10 + producer);
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const std::string name = i == 0 ? node.name : node.name + "_" + std::to_string(i);
      node.outputs.push_back(value(name, (*outputs)[i].dtype, (*outputs)[i].shape, producer));
    }
    graph_.nodes.push_back(node);
    return node.outputs;
  }
  ValueId node(const std::string& op, std::vector<NamedArgument> arguments) {
    return nodes(op, std::move(arguments)).at(0);
  }
  void output(ValueId id) {
    GraphOutput output;
    output.value = id;
    graph_.outputs.push_back(output);
  }
  void buffer_output(ValueId id, const std::string& name) {
    output(id);
    graph_.outputs.back().kind = OutputKind::buffer_mutation;
    graph_.outputs.back().target = name;
  }
  std::shared_ptr<const Graph> build() { return std::make_shared<const Graph>(graph_); }

 private:
  int32_t number(ValueId id, std::vector<TensorMeta>& metas) const {
    const Value& value = graph_.values.at(static_cast<std::size_t>(id));
    metas.push_back({value.dtype, value.shape});
    return static_cast<int32_t>(metas.size()) - 1;
  }
  ValueId value(const std::string& name, DType dtype, Shape shape, int32_t producer) {
    Value value;
    value.name = name;
    value.dtype = dtype;
    value.shape = std::move(shape);
    value.producer = producer;
    graph_.values.push_back(std::move(value));
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }
  Graph graph_;
};

inline NamedArgument arg(const std::string& name, ValueId id) { return {name, ValueArg{id}}; }
inline NamedArgument int_arg(const std::string& name, int64_t v) { return {name, v}; }
inline NamedArgument float_arg(const std::string& name, double v) { return {name, v}; }
inline NamedArgument bool_arg(const std::string& name, bool v) { return {name, v}; }
inline NamedArgument ints_arg(const std::string& name, std::vector<int64_t> v) {
  return {name, IntListArg{std::move(v), {}}};
}

// A graph of one node with inputs "a", "b", ... of the given metas; all results are outputs.
struct OneNode {
  std::string op;
  std::vector<TensorMeta> inputs;
  std::vector<std::string> tensors;       // argument names of the inputs
  std::vector<NamedArgument> attributes;  // all others
};
inline std::shared_ptr<const Graph> one_node(const OneNode& spec) {
  GraphBuilder builder(spec.op);
  std::vector<NamedArgument> arguments;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + static_cast<int>(i)));
    arguments.push_back(
        arg(spec.tensors[i], builder.input(name, spec.inputs[i].dtype, spec.inputs[i].shape)));
  }
  arguments.insert(arguments.end(), spec.attributes.begin(), spec.attributes.end());
  for (const ValueId id : builder.nodes(spec.op, arguments)) builder.output(id);
  return builder.build();
}

// Uniform draws on (center - scale, center + scale); integers on [0, 8).
inline Tensor draw(const TensorMeta& meta, const std::string& name, uint64_t seed, double scale = 2,
                   double center = 0) {
  const PhiloxKey key = key_of_name(name);
  const auto count = static_cast<std::size_t>(element_count(meta.shape));
  if (is_integral(meta.dtype)) {
    std::vector<int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = draw_integer(key, seed, i, 0, meta.dtype == DType::boolean ? 2 : 8);
    return Tensor::from_ints(meta.dtype, meta.shape, values);
  }
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = center + scale * draw_symmetric(key, seed, i);
  return Tensor::from_doubles(meta.dtype, meta.shape, values);
}
inline std::vector<Tensor> draw_inputs(const Graph& graph, uint64_t seed, double scale = 2) {
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs) {
    const Value& value = graph.values[static_cast<std::size_t>(input.value)];
    inputs.push_back(draw({value.dtype, value.shape}, value.name, seed, scale));
  }
  return inputs;
}

}  // namespace assay::emulation
