// How a graph is walked, over any number type. Internal to this room; everybody else uses Walker.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"
#include "reference/array.h"

namespace assay::reference {

// Computed on the host: Python's operators on scalars, sizes, and tensors read as scalars.
enum class HostScalar { none, function, size, numel, stride, storage_offset, read, assertion };

struct WalkPlan {
  struct Step {
    HostScalar host = HostScalar::none;
    std::optional<OpCall> call;      // resolved once; empty if arguments are symbolic, or for functions
    std::vector<ValueId> inputs;     // tensors, in the call's order
    std::vector<ValueId> last_used;  // values that nobody reads after this step
  };
  explicit WalkPlan(const Graph& g);
  OpCall resolved(std::size_t node, const std::vector<Scalar>& symbolic) const;
  // Scalar arguments of a function on host scalars.
  Scalar apply_function(std::size_t node, const std::vector<Scalar>& symbolic) const;
  Scalar size_scalar(std::size_t node, const TensorMeta& meta, const std::vector<Scalar>& symbolic) const;
  void check_assertion(std::size_t node, const std::vector<Scalar>& symbolic) const;

  const Graph* graph;
  std::vector<Step> steps;
};

Scalar integer_scalar(int64_t value);
// Re-throws the current Error with the node's name in front.
[[noreturn]] void rethrow_at(const Node& node, const Error& error);

template <class T>
Scalar scalar_of(const Array<T>& array) {
  Scalar scalar;
  if (array.count() != 1) {
    throw Error(ErrorCode::invalid_argument,
                "a tensor of " + std::to_string(array.count()) +
                    " elements cannot be read as a scalar; it must have exactly one");
  }
  if (array.is_integral()) {
    scalar.kind = array.meta.dtype == DType::boolean ? Scalar::Kind::boolean : Scalar::Kind::integer;
    scalar.i = array.integer[0];
    scalar.f = static_cast<double>(scalar.i);
  } else {
    scalar.kind = Scalar::Kind::floating;
    scalar.f = static_cast<double>(array.real[0]);
  }
  return scalar;
}

template <class T>
Array<T> array_of(const Scalar& scalar) {
  Array<T> array;
  array.meta.dtype = scalar.kind == Scalar::Kind::floating  ? DType::f64
                     : scalar.kind == Scalar::Kind::integer ? DType::i64
                                                            : DType::boolean;
  if (scalar.kind == Scalar::Kind::floating) {
    array.real = {T(scalar.f)};
  } else {
    array.integer = {scalar.i};
  }
  return array;
}

// Runs the plan. evaluate(node, call, inputs) gives a node's outputs; on_scalar(value, scalar) sees host
// scalars.
template <class T, class Evaluate, class OnScalar>
std::vector<Array<T>> walk_plan(const WalkPlan& plan, const Inputs<T>& inputs, Evaluate&& evaluate,
                                OnScalar&& on_scalar) {
  const Graph& graph = *plan.graph;
  const std::size_t count = graph.values.size();
  std::vector<Array<T>> owned(count);
  Inputs<T> values(count, nullptr);
  std::vector<Scalar> symbolic(count);
  const auto at = [](ValueId id) { return static_cast<std::size_t>(id); };
  const auto set_scalar = [&](ValueId id, const Scalar& scalar) {
    if (id < 0) return;
    symbolic[at(id)] = scalar;
    on_scalar(id, scalar);
  };

  std::size_t next = 0;
  for (const GraphInput& input : graph.inputs) {
    if (input.value < 0) continue;
    if (next >= inputs.size())
      throw Error(ErrorCode::invalid_argument, graph.id + ": too few inputs were given");
    const Array<T>* array = inputs[next++];
    if (graph.values[at(input.value)].kind == ValueKind::tensor) {
      values[at(input.value)] = array;
    } else {
      set_scalar(input.value, scalar_of(*array));
    }
  }
  if (next != inputs.size())
    throw Error(ErrorCode::invalid_argument, graph.id + ": too many inputs were given");

  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const WalkPlan::Step& step = plan.steps[i];
    try {
      switch (step.host) {
        case HostScalar::function:
          set_scalar(node.outputs.at(0), plan.apply_function(i, symbolic));
          break;
        case HostScalar::read:
          set_scalar(node.outputs.at(0), scalar_of(*values[at(step.inputs.at(0))]));
          break;
        case HostScalar::assertion:
          plan.check_assertion(i, symbolic);
          break;
        case HostScalar::size:
        case HostScalar::numel:
        case HostScalar::stride:
        case HostScalar::storage_offset:
          set_scalar(node.outputs.at(0), plan.size_scalar(i, values[at(step.inputs.at(0))]->meta, symbolic));
          break;
        case HostScalar::none: {
          Inputs<T> operands;
          operands.reserve(step.inputs.size());
          for (const ValueId id : step.inputs) operands.push_back(values[at(id)]);
          std::vector<Array<T>> outputs;
          if (step.call) {
            outputs = evaluate(static_cast<int>(i), *step.call, operands);
          } else {
            outputs = evaluate(static_cast<int>(i), plan.resolved(i, symbolic), operands);
          }
          if (outputs.size() < node.outputs.size()) {
            throw Error(ErrorCode::internal, "the kernel gave " + std::to_string(outputs.size()) +
                                                 " outputs of " + std::to_string(node.outputs.size()));
          }
          for (std::size_t o = 0; o < node.outputs.size(); ++o) {
            const ValueId id = node.outputs[o];
            if (id < 0) continue;
            owned[at(id)] = std::move(outputs[o]);
            values[at(id)] = &owned[at(id)];
          }
        }
      }
    } catch (const Error& error) {
      rethrow_at(node, error);
    }
    for (const ValueId id : step.last_used) owned[at(id)] = Array<T>();
  }

  std::vector<Array<T>> results;
  for (const GraphOutput& output : graph.outputs) {
    if (output.value < 0) {
      results.emplace_back();
      results.back().meta.shape = {0};
    } else if (graph.values[at(output.value)].kind != ValueKind::tensor) {
      results.push_back(array_of<T>(symbolic[at(output.value)]));
    } else {
      results.push_back(*values[at(output.value)]);
    }
  }
  return results;
}

}  // namespace assay::reference
