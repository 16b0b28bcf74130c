#include "reference/walk.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/graph/symbolic_function.h"
#include "reference/evaluate.h"
#include "reference/walker_state.h"

namespace assay::reference {
namespace {

HostScalar host_scalar(const std::string& op) {
  static const std::map<std::string, HostScalar, std::less<>> special = {
      {"aten::sym_size.int", HostScalar::size},
      {"aten::sym_numel.default", HostScalar::numel},
      {"aten::sym_stride.int", HostScalar::stride},
      {"aten::sym_storage_offset.default", HostScalar::storage_offset},
      {"aten::_local_scalar_dense.default", HostScalar::read},
      {"aten::_assert_scalar.default", HostScalar::assertion}};
  const auto it = special.find(op);
  if (it != special.end()) return it->second;
  return is_symbolic_function(op) ? HostScalar::function : HostScalar::none;
}

Scalar scalar_argument(const Argument& argument, const std::vector<Scalar>& symbolic, const Node& node) {
  Scalar scalar;
  if (const auto* value = std::get_if<ValueArg>(&argument))
    return symbolic.at(static_cast<std::size_t>(value->id));
  if (const auto* integer = std::get_if<int64_t>(&argument)) return integer_scalar(*integer);
  if (const auto* floating = std::get_if<double>(&argument)) {
    scalar.kind = Scalar::Kind::floating;
    scalar.f = *floating;
  } else if (const auto* boolean = std::get_if<bool>(&argument)) {
    scalar.kind = Scalar::Kind::boolean;
    scalar.i = *boolean ? 1 : 0;
    scalar.f = static_cast<double>(scalar.i);
  } else {
    throw Error(ErrorCode::invalid_argument, node.op + ": expected a number, got " + to_string(argument));
  }
  return scalar;
}

bool reads_symbols(const Graph& graph, const Node& node) {
  const auto ids = inputs_of(node);
  return std::any_of(ids.begin(), ids.end(), [&](ValueId id) {
    return graph.values[static_cast<std::size_t>(id)].kind != ValueKind::tensor;
  });
}

}  // namespace

bool is_host_scalar(const std::string& full_name) { return host_scalar(full_name) != HostScalar::none; }

Scalar integer_scalar(int64_t value) {
  Scalar scalar;
  scalar.i = value;
  scalar.f = static_cast<double>(value);
  return scalar;
}

void rethrow_at(const Node& node, const Error& error) {
  throw Error(error.code(), "node " + node.name + " (" + node.op + "): " + error.what());
}

WalkPlan::WalkPlan(const Graph& g) : graph(&g), steps(g.nodes.size()) {
  std::vector<std::size_t> last_use(g.values.size(), 0);
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& node = g.nodes[i];
    Step& step = steps[i];
    step.host = host_scalar(node.op);
    try {
      if (step.host != HostScalar::function && !reads_symbols(g, node)) step.call.emplace(g, node);
    } catch (const Error& error) {
      rethrow_at(node, error);
    }
    for (const ValueId id : inputs_of(node)) {
      if (g.values[static_cast<std::size_t>(id)].kind == ValueKind::tensor) step.inputs.push_back(id);
      last_use[static_cast<std::size_t>(id)] = i;
    }
    // A value that nobody reads ends where it begins.
    for (const ValueId id : node.outputs) {
      if (id >= 0) last_use[static_cast<std::size_t>(id)] = i;
    }
  }
  std::vector<bool> kept(g.values.size(), false);
  for (const GraphOutput& output : g.outputs) {
    if (output.value >= 0) kept[static_cast<std::size_t>(output.value)] = true;
  }
  for (std::size_t v = 0; v < g.values.size(); ++v) {
    if (!kept[v] && g.values[v].producer >= 0)
      steps[last_use[v]].last_used.push_back(static_cast<ValueId>(v));
  }
}

OpCall WalkPlan::resolved(std::size_t node, const std::vector<Scalar>& symbolic) const {
  return OpCall(*graph, graph->nodes[node], &symbolic);
}

Scalar WalkPlan::apply_function(std::size_t i, const std::vector<Scalar>& symbolic) const {
  const Node& node = graph->nodes[i];
  std::vector<Scalar> arguments;
  for (const NamedArgument& argument : node.arguments) {
    arguments.push_back(scalar_argument(argument.value, symbolic, node));
  }
  const auto result = evaluate_symbolic(node.op, arguments);
  if (!result) {
    throw Error(ErrorCode::invalid_argument,
                node.op + ": no result (wrong number of arguments, division by zero or 64-bit overflow)");
  }
  return *result;
}

Scalar WalkPlan::size_scalar(std::size_t i, const TensorMeta& meta,
                             const std::vector<Scalar>& symbolic) const {
  const Step& step = steps[i];
  if (step.host == HostScalar::numel) return integer_scalar(element_count(meta.shape));
  if (step.host == HostScalar::storage_offset) return integer_scalar(0);
  const OpCall call = step.call ? *step.call : resolved(i, symbolic);
  const auto dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(meta.shape.size()), call);
  if (meta.shape.empty()) throw Error(ErrorCode::invalid_argument, call.op() + ": a 0-d tensor has no sizes");
  const Shape& sizes = step.host == HostScalar::size ? meta.shape : contiguous_strides(meta.shape);
  return integer_scalar(sizes[static_cast<std::size_t>(dim)]);
}

void WalkPlan::check_assertion(std::size_t i, const std::vector<Scalar>& symbolic) const {
  const OpCall call = steps[i].call ? *steps[i].call : resolved(i, symbolic);
  if (call.scalar("self").as_double() == 0) {
    throw Error(ErrorCode::invalid_argument, "the model's assertion failed: " + call.string("assert_msg"));
  }
}

Walker::Walker(const Graph& graph) : state_(std::make_unique<State>(graph)) {}
Walker::~Walker() = default;
Walker::Walker(Walker&&) noexcept = default;

std::vector<Wide> Walker::run(const std::vector<const Wide*>& inputs, const Evaluate& evaluate) const {
  return walk_plan<double>(state_->plan, inputs, evaluate, [](ValueId, const Scalar&) {});
}

std::vector<Wide> Walker::run_wide(const std::vector<const Wide*>& inputs) const {
  return walk_plan<double>(
      state_->plan, inputs,
      [](int, const OpCall& call, const std::vector<const Wide*>& operands) {
        return reference::evaluate(call, operands);
      },
      [](ValueId, const Scalar&) {});
}

std::vector<Wide> Walker::run_stochastic(const std::vector<const Wide*>& inputs, const PrecisionOf& precision,
                                         uint64_t seed, uint32_t replay) const {
  return walk_plan<double>(
      state_->plan, inputs,
      [&](int node, const OpCall& call, const std::vector<const Wide*>& operands) {
        const ReplayKey key{seed, replay, static_cast<uint32_t>(node)};
        return evaluate_stochastic(call, operands, precision(node, call), key);
      },
      [](ValueId, const Scalar&) {});
}

std::vector<Wide> walk(const Graph& graph, const std::vector<Wide>& inputs, const WalkHooks& hooks) {
  std::vector<const Wide*> pointers;
  for (const Wide& input : inputs) pointers.push_back(&input);
  return Walker(graph).run(pointers, hooks.evaluate);
}

std::vector<Tensor> local_chain(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(graph.values.size());
  const WalkPlan plan(graph);
  std::vector<Wide> wide;
  for (const Tensor& input : inputs) wide.push_back(Wide::from(input));
  std::vector<const Wide*> pointers;
  for (const Wide& array : wide) pointers.push_back(&array);
  std::size_t next = 0;
  for (const GraphInput& input : graph.inputs) {
    if (input.value >= 0 && next < inputs.size())
      values[static_cast<std::size_t>(input.value)] = inputs[next++];
  }
  walk_plan<double>(
      plan, pointers,
      [&](int node, const OpCall& call, const std::vector<const Wide*>& operands) {
        auto outputs = evaluate(call, operands);
        const auto& ids = graph.nodes[static_cast<std::size_t>(node)].outputs;
        for (std::size_t o = 0; o < ids.size() && o < outputs.size(); ++o) {
          if (ids[o] < 0) continue;
          Tensor rounded = outputs[o].rounded();
          outputs[o] = Wide::from(rounded);
          values[static_cast<std::size_t>(ids[o])] = std::move(rounded);
        }
        return outputs;
      },
      [&](ValueId id, const Scalar& scalar) {
        values[static_cast<std::size_t>(id)] = array_of<double>(scalar).rounded();
      });
  return values;
}

}  // namespace assay::reference
