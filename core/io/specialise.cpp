// Symbolic sizes become those of given inputs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/graph/symbolic_expression.h"
#include "core/graph/symbolic_function.h"
#include "core/io/model.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

bool is_plain(const Shape& shape) { return std::find(shape.begin(), shape.end(), -1) == shape.end(); }

Scalar integer(int64_t value) { return {Scalar::Kind::integer, value, static_cast<double>(value)}; }

Argument constant_argument(const Scalar& scalar) {
  if (scalar.kind == Scalar::Kind::integer) return scalar.i;
  if (scalar.kind == Scalar::Kind::boolean) return scalar.i != 0;
  return scalar.f;
}

std::optional<Scalar> constant_of(const Argument& argument) {
  if (const auto* i = std::get_if<int64_t>(&argument)) return integer(*i);
  if (const auto* f = std::get_if<double>(&argument)) return Scalar{Scalar::Kind::floating, 0, *f};
  if (const auto* b = std::get_if<bool>(&argument)) return Scalar{Scalar::Kind::boolean, *b, *b ? 1.0 : 0.0};
  return std::nullopt;
}

class Specialiser {
 public:
  Specialiser(const Graph& graph, const std::map<std::string, TensorMeta>& inputs)
      : graph_(graph), given_(inputs) {}

  Graph run() {
    check_names();
    bind();
    known_.resize(graph_.values.size());
    for (Value& value : graph_.values) substitute(value);
    for (Node& node : graph_.nodes) evaluate_node(node);
    for (GraphOutput& output : graph_.outputs) {
      if (output.value < 0 || !known(output.value)) continue;
      output.constant = constant_argument(*known(output.value));
      output.value = -1;
    }
    remove_folded();
    validate(graph_);
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", graph_.id, what));
  }

  Value& value(ValueId id) { return graph_.values[static_cast<std::size_t>(id)]; }
  std::optional<Scalar>& known(ValueId id) { return known_[static_cast<std::size_t>(id)]; }

  void check_names() {
    for (const auto& [name, meta] : given_) {
      const auto same = [&, &name = name](const GraphInput& input) {
        return input.kind == InputKind::user && input.target == name;
      };
      if (std::none_of(graph_.inputs.begin(), graph_.inputs.end(), same)) {
        fail(fmt::format("input '{}' was given, but the graph has no user input of that name", name));
      }
    }
  }

  struct Equation {
    std::string input;
    std::size_t dim;
    SymbolicExpression expression;
    int64_t size;
  };

  void bind() {
    std::vector<Equation> equations;
    for (const GraphInput& input : graph_.inputs) {
      if (input.kind != InputKind::user || input.value < 0) continue;
      const Value& declared = value(input.value);
      if (declared.kind != ValueKind::tensor) {
        throw Error(
            ErrorCode::unsupported,
            fmt::format("{}: user input '{}' is a symbolic number; export it as a constant or a tensor",
                        graph_.id, input.target));
      }
      const auto found = given_.find(input.target);
      if (found == given_.end()) fail(fmt::format("input '{}' is missing", input.target));
      const TensorMeta& meta = found->second;
      if (meta.dtype != declared.dtype) {
        fail(fmt::format("input '{}' is {}, the graph declares {}", input.target, name_of(meta.dtype),
                         name_of(declared.dtype)));
      }
      if (meta.shape.size() != declared.shape.size()) {
        fail(fmt::format("input '{}' has shape {}, the graph declares rank {}", input.target,
                         to_string(meta.shape), declared.shape.size()));
      }
      for (std::size_t d = 0; d < meta.shape.size(); ++d) {
        if (meta.shape[d] < 0)
          fail(fmt::format("input '{}' has shape {}", input.target, to_string(meta.shape)));
        if (d < declared.symbols.size() && !declared.symbols[d].empty()) {
          equations.push_back({input.target, d, parse_expression(declared.symbols[d]), meta.shape[d]});
        } else if (declared.shape[d] != -1 && declared.shape[d] != meta.shape[d]) {
          fail(fmt::format("input '{}' has shape {}, the graph declares {} for dimension {}", input.target,
                           to_string(meta.shape), declared.shape[d], d));
        }
      }
    }
    solve(equations);
    for (const Equation& equation : equations) {
      const auto size = evaluate(equation.expression, symbols_);
      if (size == equation.size) continue;
      fail(fmt::format("dimension {} of input '{}' is {}, but {} is {} here{}", equation.dim, equation.input,
                       equation.size, to_string(equation.expression),
                       size ? std::to_string(*size) : std::string("not an integer"), bindings()));
    }
  }

  std::string bindings() const {
    std::string text;
    for (const auto& [name, size] : symbols_)
      text += fmt::format("{}{} = {}", text.empty() ? " (" : ", ", name, size);
    return text.empty() ? text : text + ")";
  }

  // Binds symbols that stand alone first, then those in linear expressions of one unbound symbol (2*s0 + 1).
  void solve(const std::vector<Equation>& equations) {
    for (const Equation& equation : equations) {
      if (equation.expression.kind == SymbolicExpression::Kind::symbol) {
        symbols_.emplace(equation.expression.name, equation.size);
      }
    }
    for (bool progress = true; progress;) {
      progress = false;
      for (const Equation& equation : equations) {
        std::vector<std::string> names;
        collect_symbols(equation.expression, names);
        names.erase(
            std::remove_if(names.begin(), names.end(), [&](const auto& n) { return symbols_.count(n) != 0; }),
            names.end());
        if (names.size() == 1 && solve_linear(equation, names[0])) progress = true;
      }
    }
  }

  bool solve_linear(const Equation& equation, const std::string& name) {
    auto trial = symbols_;
    trial[name] = 2;
    const auto at_two = evaluate(equation.expression, trial);
    trial[name] = 3;
    const auto at_three = evaluate(equation.expression, trial);
    if (!at_two || !at_three || *at_two == *at_three) return false;
    __extension__ using Wide = __int128;
    const Wide slope = Wide{*at_three} - *at_two;
    const Wide candidate = 2 + (Wide{equation.size} - *at_two) / slope;
    if (candidate < 0 || candidate > (int64_t{1} << 62)) return false;
    trial[name] = static_cast<int64_t>(candidate);
    if (evaluate(equation.expression, trial) != equation.size) return false;
    symbols_ = std::move(trial);
    return true;
  }

  void substitute(Value& value) {
    const auto number = static_cast<std::size_t>(&value - graph_.values.data());
    if (value.kind != ValueKind::tensor) {
      if (value.symbols.empty() || value.kind == ValueKind::symbolic_float) return;
      if (const auto result = evaluate(parse_expression(value.symbols[0]), symbols_)) {
        known_[number] = value.kind == ValueKind::symbolic_bool
                             ? Scalar{Scalar::Kind::boolean, *result != 0, *result != 0 ? 1.0 : 0.0}
                             : integer(*result);
      }
      return;
    }
    for (std::size_t d = 0; d < value.symbols.size(); ++d) {
      if (value.symbols[d].empty()) continue;
      const auto size = evaluate(parse_expression(value.symbols[d]), symbols_);
      if (size && *size < 0) {
        fail(fmt::format("'{}' would have size {} in dimension {} ({}){}", value.name, *size, d,
                         value.symbols[d], bindings()));
      }
      value.shape[d] = size.value_or(-1);  // -1: depends on data, or left to the shape rules
    }
    value.symbols.clear();
  }

  void evaluate_node(Node& node) {
    for (NamedArgument& argument : node.arguments) fold(argument);
    if (node.op == "aten::_assert_scalar.default") check_assertion(node);
    const bool scalar_result =
        node.outputs.size() == 1 && node.outputs[0] >= 0 && value(node.outputs[0]).kind != ValueKind::tensor;
    if (scalar_result) {
      const auto result = host_scalar(node);
      if (!result) return;
      std::optional<Scalar>& declared = known(node.outputs[0]);
      if (declared && declared->as_double() != result->as_double()) {
        fail(fmt::format("node '{}' ({}) gives {}, but the file says {}{}", node.name, node.op,
                         result->as_double(), declared->as_double(), bindings()));
      }
      declared = result;
      return;
    }
    infer_missing(node);
  }

  void fold(NamedArgument& argument) {
    if (const auto* one = std::get_if<ValueArg>(&argument.value)) {
      if (one->id >= 0 && known(one->id)) argument.value = constant_argument(*known(one->id));
    } else if (auto* ints = std::get_if<IntListArg>(&argument.value)) {
      bool left = false;
      for (std::size_t i = 0; i < ints->values.size(); ++i) {
        if (ints->values[i] < 0) continue;
        if (known(ints->values[i])) {
          ints->ints[i] = known(ints->values[i])->as_int();
          ints->values[i] = -1;
        } else {
          left = true;
        }
      }
      if (!left) ints->values.clear();
    }
  }

  void check_assertion(const Node& node) {
    const NamedArgument* self = node.find("self");
    const auto holds = self == nullptr ? std::nullopt : constant_of(self->value);
    if (!holds || holds->as_double() != 0) return;
    const NamedArgument* message = node.find("assert_msg");
    const auto* text = message == nullptr ? nullptr : std::get_if<std::string>(&message->value);
    fail(fmt::format("the inputs contradict an assertion of the model, node '{}': {}{}", node.name,
                     text == nullptr ? "" : *text, bindings()));
  }

  std::optional<Scalar> host_scalar(const Node& node) {
    if (is_symbolic_function(node.op)) {
      std::vector<Scalar> arguments;
      for (const NamedArgument& argument : node.arguments) {
        const auto scalar = constant_of(argument.value);
        if (!scalar) return std::nullopt;
        arguments.push_back(*scalar);
      }
      return evaluate_symbolic(node.op, arguments);
    }
    const NamedArgument* self = node.find("self");
    const auto* tensor = self == nullptr ? nullptr : std::get_if<ValueArg>(&self->value);
    if (tensor == nullptr || tensor->id < 0 || value(tensor->id).kind != ValueKind::tensor)
      return std::nullopt;
    const Shape& shape = value(tensor->id).shape;
    if (node.op == "aten::sym_storage_offset.default") return integer(0);
    if (node.op == "aten::sym_is_contiguous.default") return Scalar{Scalar::Kind::boolean, 1, 1.0};
    if (node.op == "aten::sym_numel.default") {
      return is_plain(shape) ? std::optional(integer(element_count(shape))) : std::nullopt;
    }
    const bool size = node.op == "aten::sym_size.int";
    if (!size && node.op != "aten::sym_stride.int") return std::nullopt;
    const NamedArgument* argument = node.find("dim");
    const auto* dim = argument == nullptr ? nullptr : std::get_if<int64_t>(&argument->value);
    const auto rank = static_cast<int64_t>(shape.size());
    if (dim == nullptr || *dim < -rank || *dim >= rank) return std::nullopt;
    const auto d = static_cast<std::size_t>(*dim < 0 ? *dim + rank : *dim);
    if (size) return shape[d] < 0 ? std::nullopt : std::optional(integer(shape[d]));
    return is_plain(shape) ? std::optional(integer(contiguous_strides(shape)[d])) : std::nullopt;
  }

  // Sizes that no expression gave come from the shape rules.
  void infer_missing(const Node& node) {
    const auto missing = [&](ValueId id) { return id >= 0 && !is_plain(value(id).shape); };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), missing)) return;
    for (const ValueId id : inputs_of(node)) {
      if (value(id).kind != ValueKind::tensor || !is_plain(value(id).shape)) return;
    }
    std::optional<std::vector<TensorMeta>> inferred;
    try {
      inferred = infer(OpCall(graph_, node));
    } catch (const Error& error) {
      fail(fmt::format("node '{}' ({}): {}{}", node.name, node.op, error.what(), bindings()));
    }
    if (!inferred || inferred->size() != node.outputs.size()) return;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (missing(node.outputs[i]) && (*inferred)[i].shape.size() == value(node.outputs[i]).shape.size()) {
        value(node.outputs[i]).shape = (*inferred)[i].shape;
      }
    }
  }

  // Nodes whose results are all constants by now, and their values, leave the graph.
  void remove_folded() {
    std::vector<Node> kept;
    std::vector<bool> gone(graph_.values.size(), false);
    for (Node& node : graph_.nodes) {
      const bool folded =
          !node.outputs.empty() && std::all_of(node.outputs.begin(), node.outputs.end(),
                                               [&](ValueId id) { return id >= 0 && known(id).has_value(); });
      if (!folded) {
        kept.push_back(std::move(node));
        continue;
      }
      for (const ValueId id : node.outputs) gone[static_cast<std::size_t>(id)] = true;
    }
    std::vector<ValueId> renumbered(graph_.values.size(), -1);
    std::vector<Value> values;
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (gone[i]) continue;
      renumbered[i] = static_cast<ValueId>(values.size());
      values.push_back(std::move(graph_.values[i]));
    }
    const auto renumber = [&](ValueId& id) {
      if (id >= 0) id = renumbered[static_cast<std::size_t>(id)];
    };
    for (std::size_t n = 0; n < kept.size(); ++n) {
      for (NamedArgument& argument : kept[n].arguments) visit_values(argument.value, renumber);
      for (ValueId& id : kept[n].outputs) {
        renumber(id);
        if (id >= 0) values[static_cast<std::size_t>(id)].producer = static_cast<int32_t>(n);
      }
    }
    for (GraphInput& input : graph_.inputs) renumber(input.value);
    for (GraphOutput& output : graph_.outputs) renumber(output.value);
    graph_.nodes = std::move(kept);
    graph_.values = std::move(values);
  }

  Graph graph_;
  const std::map<std::string, TensorMeta>& given_;
  std::map<std::string, int64_t> symbols_;
  std::vector<std::optional<Scalar>> known_;  // by value: numbers that do not depend on data
};

}  // namespace

Graph specialise(const Graph& graph, const std::map<std::string, TensorMeta>& inputs) {
  return Specialiser(graph, inputs).run();
}

}  // namespace assay
