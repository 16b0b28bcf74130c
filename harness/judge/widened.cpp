#include "harness/judge/widened.h"

#include <memory>
#include <utility>
#include <variant>

#include "core/error.h"

namespace assay {
namespace {

using reference::Wide;

DType widened(DType dtype) {
  if (is_complex(dtype)) return DType::c128;
  return is_float(dtype) ? DType::f64 : dtype;
}

void widen(NamedArgument& argument) {
  if (auto* dtype = std::get_if<DTypeArg>(&argument.value)) dtype->dtype = widened(dtype->dtype);
  if (auto* function = std::get_if<GraphArg>(&argument.value))
    function->graph = std::make_shared<const Graph>(assay::widened(*function->graph));
}

void widen(std::vector<TensorMeta>& metas) {
  for (TensorMeta& meta : metas) meta.dtype = widened(meta.dtype);
}

}  // namespace

Graph widened(const Graph& graph) {
  Graph wide = graph;
  for (Value& value : wide.values) value.dtype = widened(value.dtype);
  for (Node& node : wide.nodes) {
    for (NamedArgument& argument : node.arguments) widen(argument);
  }
  return wide;
}

std::optional<std::vector<Wide>> evaluate_widened(const OpCall& call,
                                                  const std::vector<const Wide*>& inputs) {
  std::vector<TensorMeta> from = call.inputs(), to = call.outputs();
  widen(from);
  widen(to);
  std::vector<NamedArgument> arguments = call.arguments();
  for (NamedArgument& argument : arguments) widen(argument);
  std::vector<Wide> operands;
  for (const Wide* input : inputs) {
    operands.push_back(*input);
    operands.back().meta.dtype = widened(input->meta.dtype);
  }
  std::vector<const Wide*> pointers;
  for (const Wide& operand : operands) pointers.push_back(&operand);
  try {
    return reference::evaluate(OpCall(call.op(), std::move(from), arguments, std::move(to)), pointers);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<std::vector<Wide>> walk_widened(const Graph& graph, const std::vector<Wide>& inputs) {
  const Graph wide = widened(graph);
  std::vector<Wide> operands = inputs;
  for (Wide& operand : operands) operand.meta.dtype = widened(operand.meta.dtype);
  reference::WalkHooks hooks;
  hooks.evaluate = [](int, const OpCall& call, const std::vector<const Wide*>& arguments) {
    return reference::evaluate(call, arguments);
  };
  try {
    return reference::walk(wide, operands, hooks);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void prefer_held(const Wide& held, const Wide& wide, Wide& file) {
  if (held.integer.size() != file.integer.size() || wide.integer.size() != file.integer.size()) return;
  for (std::size_t i = 0; i < file.integer.size(); ++i) {
    if (file.integer[i] == wide.integer[i]) file.integer[i] = held.integer[i];
  }
}

}  // namespace assay
