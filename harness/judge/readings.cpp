#include "harness/judge/readings.h"

#include <algorithm>
#include <cmath>
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

// Subnormals of the tensor's dtype become zeros of their sign. nullopt if there are none.
std::optional<Wide> flushed(const Wide& tensor) {
  if (is_integral(tensor.meta.dtype)) return std::nullopt;
  const double smallest = float_format(tensor.meta.dtype).smallest_normal();
  const auto subnormal = [smallest](double v) { return v != 0 && std::fabs(v) < smallest; };
  if (std::none_of(tensor.real.begin(), tensor.real.end(), subnormal)) return std::nullopt;
  Wide copy = tensor;
  for (double& v : copy.real) {
    if (subnormal(v)) v = std::copysign(0.0, v);
  }
  return copy;
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

std::optional<std::vector<Wide>> evaluate_flushed(const OpCall& call,
                                                  const std::vector<const Wide*>& inputs) {
  std::vector<std::optional<Wide>> copies;
  for (const Wide* input : inputs) copies.push_back(flushed(*input));
  if (std::none_of(copies.begin(), copies.end(), [](const auto& copy) { return copy.has_value(); }))
    return std::nullopt;
  std::vector<const Wide*> operands = inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (copies[i]) operands[i] = &*copies[i];
  }
  return reference::evaluate(call, operands);
}

double moved(const Wide& held, const Wide& other, std::size_t number) {
  const double distance = std::fabs(other.real[number] - held.real[number]);
  return std::isfinite(distance) ? distance : 0;
}

void prefer_held(const Wide& held, const Wide& wide, Wide& file) {
  if (held.integer.size() != file.integer.size() || wide.integer.size() != file.integer.size()) return;
  for (std::size_t i = 0; i < file.integer.size(); ++i) {
    if (file.integer[i] == wide.integer[i]) file.integer[i] = held.integer[i];
  }
}

}  // namespace assay
