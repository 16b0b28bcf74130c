#include "core/graph/float_dtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/opset/call.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

// Whether a dtype argument changed.
bool set_arguments(const Graph& graph, Node& node, DType to) {
  bool changed = false;
  // Where f64 is computed a limit of f32 is a number like others.
  const auto is_f64 = [&](ValueId id) {
    return id >= 0 && graph.values[static_cast<std::size_t>(id)].dtype == DType::f64;
  };
  const std::vector<ValueId> read = inputs_of(node);
  const bool wide = std::any_of(read.begin(), read.end(), is_f64) ||
                    std::any_of(node.outputs.begin(), node.outputs.end(), is_f64);
  // Also what the exporter rounded to a float before it wrote the number down.
  const double limit = float_format(DType::f32).max, own = float_format(to).max;
  const bool asserts = node.op == "aten::_assert_tensor_metadata.default";
  for (NamedArgument& argument : node.arguments) {
    if (auto* dtype = std::get_if<DTypeArg>(&argument.value)) {
      if (asserts) {
        if (!read.empty()) dtype->dtype = graph.values[static_cast<std::size_t>(read[0])].dtype;
      } else if (dtype->dtype == DType::f32) {
        dtype->dtype = to;
        changed = true;
      }
    } else if (auto* number = std::get_if<double>(&argument.value)) {
      if (std::abs(*number) == limit && !wide) *number = std::copysign(own, *number);
    } else if (std::holds_alternative<GraphArg>(argument.value)) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} in {}: node '{}' ({}) calls a function, whose dtypes are its own; export "
                              "the model in {}",
                              graph.id, name_of(to), node.name, node.op, name_of(to)));
    }
  }
  return changed;
}

void infer_results(Graph& graph, const Node& node, DType to) {
  std::optional<std::vector<TensorMeta>> inferred;
  try {
    inferred = infer(OpCall(graph, node));
  } catch (const Error& error) {
    // The file is right: it is the conversion that its operators do not take.
    throw Error(ErrorCode::unsupported,
                fmt::format("{} in {}: node '{}' ({}): {}; export the model in {}", graph.id, name_of(to),
                            node.name, node.op, error.what(), name_of(to)));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] < 0) continue;
    Value& value = graph.values[static_cast<std::size_t>(node.outputs[i])];
    if (value.kind != ValueKind::tensor) continue;
    if (inferred && i < inferred->size()) {
      value.dtype = (*inferred)[i].dtype;
    } else if (value.dtype == DType::f32) {
      value.dtype = to;
    }
  }
}

}  // namespace

Graph with_float_dtype(Graph graph, DType to) {
  if (to != DType::bf16 && to != DType::f16) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} in {}: models can be had in bf16 and f16", graph.id, name_of(to)));
  }
  bool changed = false;
  for (const GraphInput& input : graph.inputs) {
    if (input.value < 0) continue;
    Value& value = graph.values[static_cast<std::size_t>(input.value)];
    if (value.kind != ValueKind::tensor || value.dtype != DType::f32) continue;
    value.dtype = to;
    changed = true;
  }
  for (Node& node : graph.nodes) {
    if (set_arguments(graph, node, to)) changed = true;
    infer_results(graph, node, to);
  }
  if (!changed) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{} in {}: no input, parameter, buffer or dtype argument is f32, so that nothing "
                            "would change; run the model as it is",
                            graph.id, name_of(to)));
  }
  try {
    validate(graph);
  } catch (const Error& error) {
    throw Error(ErrorCode::unsupported, fmt::format("{} in {}: {}; export the model in {}", graph.id,
                                                    name_of(to), error.what(), name_of(to)));
  }
  return graph;
}

}  // namespace assay
