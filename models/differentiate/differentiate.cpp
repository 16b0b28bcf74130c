#include "models/differentiate/differentiate.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "models/differentiate/derivatives.h"

namespace assay::models {

void register_derivatives(DerivativeTable& table);  // generated

void DerivativeTable::add(const std::string& full_name, DerivativeRule rule) {
  if (!rules_.emplace(full_name, std::move(rule)).second) {
    throw Error(ErrorCode::internal, "two derivatives of " + full_name);
  }
}

void DerivativeTable::add_composite(const std::string& full_name, DerivativeRule rule) {
  add(full_name, std::move(rule));
  composites_.insert(full_name);
}

void DerivativeTable::add_constant(const std::string& full_name) {
  add(full_name, [](Tape&, const OpCall&) {});
}

void DerivativeTable::add_complex(const std::string& full_name, DerivativeRule rule) {
  if (!complex_.emplace(full_name, std::move(rule)).second) {
    throw Error(ErrorCode::internal, "two derivatives of complex " + full_name);
  }
}

void DerivativeTable::add_holomorphic(const std::string& full_name) {
  add_complex(full_name, [this, full_name](Tape& t, const OpCall& call) {
    t.conjugate(true);
    rules_.at(full_name)(t, call);
    t.conjugate(false);
  });
}

const DerivativeRule* DerivativeTable::find(const std::string& full_name, bool complex) const {
  const auto& rules = complex ? complex_ : rules_;
  const auto found = rules.find(full_name);
  return found == rules.end() ? nullptr : &found->second;
}

namespace {

std::vector<std::string> names_of(const std::map<std::string, DerivativeRule>& rules) {
  std::vector<std::string> names;
  for (const auto& [name, rule] : rules) names.push_back(name);
  return names;
}

}  // namespace

std::vector<std::string> DerivativeTable::names() const { return names_of(rules_); }
std::vector<std::string> DerivativeTable::complex_names() const { return names_of(complex_); }

const DerivativeTable& derivatives() {
  static const std::unique_ptr<const DerivativeTable> table = [] {
    auto made = std::make_unique<DerivativeTable>();  // rules refer to it
    register_derivatives(*made);
    return made;
  }();
  return *table;
}

Tape::Tape(GraphBuilder& builder, std::vector<bool> active) : Emitter(builder), active_(std::move(active)) {}

bool Tape::active(ValueId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < active_.size() && active_[static_cast<std::size_t>(id)];
}

ValueId Tape::gradient_of(ValueId id) const {
  const auto found = gradients_.find(id);
  return found == gradients_.end() ? -1 : found->second;
}

void Tape::give(ValueId to, ValueId gradient) {
  if (!active(to)) return;
  if (conjugated_) gradient = conj(gradient);
  if (is_complex(dtype(gradient)) && !is_complex(dtype(to))) gradient = select(parts(gradient), -1, 0);
  // Sums are formed before they are rounded to a narrower dtype.
  gradient = cast(sum_to(gradient, shape(to)), dtype(to));
  const auto [place, first] = gradients_.emplace(to, gradient);
  if (!first) place->second = add(place->second, gradient);
}

bool Tape::wants(const OpCall& call, std::string_view argument) const {
  if (call.is_number(argument)) return false;
  const auto index = call.tensor_opt(argument);
  return index && active(call.input_values().at(static_cast<std::size_t>(*index)));
}

void Tape::give(const OpCall& call, std::string_view argument, ValueId gradient) {
  if (wants(call, argument)) give(value(call, argument), gradient);
}

ValueId Tape::value(const OpCall& call, std::string_view argument) const {
  return call.input_values().at(static_cast<std::size_t>(call.tensor(argument)));
}

ValueId Tape::operand(const OpCall& call, std::string_view argument, DType dtype) {
  return call.is_number(argument) ? scalar(call.scalar(argument).as_double(), dtype) : value(call, argument);
}

std::optional<ValueId> Tape::grad_opt(const OpCall& call, int i) {
  const ValueId id = gradient_of(result(call, i));
  if (id < 0) return std::nullopt;
  return conjugated_ ? conj(id) : id;
}

ValueId Tape::conj(ValueId x) {
  return is_complex(dtype(x)) ? call("aten::_conj_physical.default", {{"self", ValueArg{x}}}) : x;
}

ValueId Tape::parts(ValueId x) { return call("aten::view_as_real.default", {{"self", ValueArg{x}}}); }

ValueId Tape::complex(ValueId re, ValueId im) {
  return call("aten::complex.default", {{"real", ValueArg{re}}, {"imag", ValueArg{im}}});
}

ValueId Tape::grad(const OpCall& call, int i) {
  if (const auto there = grad_opt(call, i)) return *there;
  const TensorMeta& meta = call.output(i);
  return full(meta.shape, 0, meta.dtype);
}

ValueId Tape::result(const OpCall& call, int i) const {
  return call.output_values().at(static_cast<std::size_t>(i));
}

ValueId Tape::along(ValueId g, ValueId matrix, int64_t dim) {
  const ValueId last = transpose(g, dim, -1);
  Shape line = shape(last);
  const int64_t out = line.back();
  const ValueId product = mm(view(last, {element_count(line) / out, out}), matrix);
  line.back() = size(matrix, 1);
  return transpose(view(product, line), dim, -1);
}

namespace {

bool is_float_tensor(const Value& value) { return value.kind == ValueKind::tensor && is_float(value.dtype); }
bool is_complex_tensor(const Value& value) {
  return value.kind == ValueKind::tensor && is_complex(value.dtype);
}

// Whether the rule for complex numbers is asked for.
bool is_complex_node(const Graph& graph, const Node& node) {
  const auto complex = [&](ValueId id) {
    return id >= 0 && is_complex_tensor(graph.values.at(static_cast<std::size_t>(id)));
  };
  const std::vector<ValueId> inputs = inputs_of(node);
  return std::any_of(inputs.begin(), inputs.end(), complex) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), complex);
}

// Values that depend on `wrt` through float and complex tensors: only they have gradients.
std::vector<bool> reached_from(const Graph& graph, const std::vector<ValueId>& wrt) {
  std::vector<bool> reached(graph.values.size(), false);
  for (const ValueId id : wrt) reached.at(static_cast<std::size_t>(id)) = true;
  for (const Node& node : graph.nodes) {
    const auto inputs = inputs_of(node);
    const bool any = std::any_of(inputs.begin(), inputs.end(),
                                 [&](ValueId id) { return reached.at(static_cast<std::size_t>(id)); });
    if (!any) continue;
    for (const ValueId id : node.outputs) {
      if (id < 0) continue;
      const Value& value = graph.values.at(static_cast<std::size_t>(id));
      if (is_float_tensor(value) || is_complex_tensor(value)) {
        reached[static_cast<std::size_t>(id)] = true;
      }
    }
  }
  return reached;
}

// Nodes through which gradients flow, last first.
std::vector<std::size_t> active_nodes(const Graph& graph, const std::vector<bool>& reached,
                                      const std::vector<Seed>& seeds) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const Seed& seed : seeds) needed.at(static_cast<std::size_t>(seed.value)) = true;
  std::vector<std::size_t> nodes;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool flows = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id >= 0 && needed[static_cast<std::size_t>(id)] && reached[static_cast<std::size_t>(id)];
    });
    if (!flows) continue;
    nodes.push_back(n);
    for (const ValueId id : inputs_of(node)) needed[static_cast<std::size_t>(id)] = true;
  }
  return nodes;
}

void require_float(const GraphBuilder& builder, ValueId id, const char* what) {
  if (id >= 0 && static_cast<std::size_t>(id) < builder.graph().values.size() &&
      is_float_tensor(builder.value(id))) {
    return;
  }
  throw Error(ErrorCode::invalid_argument,
              builder.graph().id + ": " + what + " " +
                  (id >= 0 && static_cast<std::size_t>(id) < builder.graph().values.size()
                       ? "'" + builder.value(id).name + "'"
                       : "value " + std::to_string(id)) +
                  " is not a tensor of a real floating-point dtype; only those have gradients");
}

// Targets of the inputs to differentiate by.
std::vector<std::string> targets_of(const Graph& graph, const JointOptions& options) {
  if (!options.wrt.empty()) return options.wrt;
  for (const InputKind kind : {InputKind::parameter, InputKind::user}) {
    std::vector<std::string> targets;
    for (const GraphInput& input : graph.inputs) {
      if (input.value < 0 || input.kind != kind) continue;
      if (is_float_tensor(graph.values.at(static_cast<std::size_t>(input.value)))) {
        targets.push_back(input.target);
      }
    }
    if (!targets.empty()) return targets;
  }
  throw Error(ErrorCode::invalid_argument, graph.id + ": no input has a gradient: none is a float tensor");
}

ValueId input_named(const Graph& graph, const std::string& target) {
  for (const GraphInput& input : graph.inputs) {
    if (input.value >= 0 && input.target == target) return input.value;
  }
  throw Error(ErrorCode::invalid_argument,
              graph.id + ": a gradient is asked for '" + target + "', which is no input of the graph");
}

}  // namespace

std::vector<ValueId> gradients(GraphBuilder& builder, const std::vector<Seed>& seeds,
                               const std::vector<ValueId>& wrt) {
  for (const ValueId id : wrt) require_float(builder, id, "the gradient of");
  for (const Seed& seed : seeds) {
    require_float(builder, seed.value, "the output");
    require_float(builder, seed.gradient, "the seed");
    if (builder.value(seed.value).shape != builder.value(seed.gradient).shape ||
        builder.value(seed.value).dtype != builder.value(seed.gradient).dtype) {
      throw Error(ErrorCode::invalid_argument,
                  builder.graph().id + ": the gradient of '" + builder.value(seed.value).name + "' must be " +
                      std::string(name_of(builder.value(seed.value).dtype)) +
                      to_string(builder.value(seed.value).shape) + ", as the value is");
    }
  }
  const std::vector<bool> reached = reached_from(builder.graph(), wrt);
  const std::vector<std::size_t> nodes = active_nodes(builder.graph(), reached, seeds);

  std::set<std::string> missing;
  for (const std::size_t n : nodes) {
    const Node& node = builder.graph().nodes[n];
    const bool complex = is_complex_node(builder.graph(), node);
    if (derivatives().find(node.op, complex) == nullptr)
      missing.insert(node.op + (complex ? " (of complex numbers)" : ""));
  }
  if (!missing.empty()) {
    std::string list;
    for (const std::string& op : missing) list += (list.empty() ? "" : ", ") + op;
    throw Error(ErrorCode::unsupported, builder.graph().id + ": no derivative is known of " + list);
  }

  Tape tape(builder, reached);
  for (const Seed& seed : seeds) tape.give(seed.value, seed.gradient);
  for (const std::size_t n : nodes) {
    const bool complex = is_complex_node(builder.graph(), builder.graph().nodes[n]);
    const OpCall call(builder.graph(), builder.graph().nodes[n]);
    const auto& outputs = call.output_values();
    if (std::none_of(outputs.begin(), outputs.end(), [&](ValueId id) { return tape.gradient_of(id) >= 0; })) {
      continue;
    }
    (*derivatives().find(call.op(), complex))(tape, call);
  }
  std::vector<ValueId> result;
  for (const ValueId id : wrt) {
    const ValueId gradient = tape.gradient_of(id);
    const TensorMeta meta{builder.value(id).dtype, builder.value(id).shape};
    result.push_back(gradient >= 0 ? gradient : tape.full(meta.shape, 0, meta.dtype));
  }
  return result;
}

Graph joint_graph(const Graph& forward, const JointOptions& options) {
  Graph graph = forward;
  decompose(graph, [](const std::string& op) { return derivatives().find(op) != nullptr; });
  const std::vector<std::string> targets = targets_of(graph, options);
  std::vector<ValueId> wrt;
  for (const std::string& target : targets) wrt.push_back(input_named(graph, target));

  std::vector<std::pair<int, ValueId>> outputs;
  int number = -1;
  for (const GraphOutput& output : graph.outputs) {
    if (output.kind != OutputKind::user) continue;
    ++number;
    const bool chosen = options.outputs.empty() || std::find(options.outputs.begin(), options.outputs.end(),
                                                             number) != options.outputs.end();
    if (!chosen || output.value < 0) continue;
    if (options.outputs.empty() &&
        !is_float_tensor(graph.values.at(static_cast<std::size_t>(output.value)))) {
      continue;
    }
    outputs.emplace_back(number, output.value);
  }
  if (outputs.empty()) {
    throw Error(ErrorCode::invalid_argument, graph.id + ": no float output is there to be differentiated");
  }

  GraphBuilder builder(std::move(graph));
  Emitter emit(builder);
  std::vector<Seed> seeds;
  for (const auto& [n, id] : outputs) {
    const TensorMeta meta{builder.value(id).dtype, builder.value(id).shape};
    const bool unit = options.unit_scalar_loss && outputs.size() == 1 && meta.shape.empty();
    seeds.push_back({id, unit ? emit.scalar(1, meta.dtype)
                              : builder.input("grad_" + std::to_string(n), meta.dtype, meta.shape)});
  }
  for (const ValueId id : gradients(builder, seeds, wrt)) builder.output(id);
  Graph joint = builder.build();
  decompose(joint, [](const std::string& op) { return !derivatives().is_composite(op); });
  return joint;
}

}  // namespace assay::models
