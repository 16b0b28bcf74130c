#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "core/error.h"
#include "core/graph/graph.h"
#include "core/graph/known_operators.h"
#include "core/graph/symbolic_function.h"
#include "core/opset/call.h"
#include "core/opset/schema.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

class Validator {
 public:
  explicit Validator(const Graph& graph) : graph_(graph) {}

  void run() {
    check_operators();
    check_names();
    check_definitions();
    for (const Node& node : graph_.nodes) check_arguments(node);
    check_order();
    for (const Node& node : graph_.nodes) {
      check_returns(node);
      check_shapes(node);
    }
    check_outputs();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::malformed_file, fmt::format("{}: {}", graph_.id, what));
  }
  [[noreturn]] void fail(const Node& node, const std::string& what) const {
    const std::string source =
        node.source.location.empty() ? "" : fmt::format(" at {}", node.source.location);
    fail(fmt::format("node '{}' ({}{}): {}", node.name, node.op, source, what));
  }

  bool in_range(ValueId id) const { return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size(); }
  const Value& value(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }

  void check_operators() const {
    std::vector<std::pair<std::string, std::string>> unknown;
    for (const Node& node : graph_.nodes) {
      if (!is_known_operator(node.op)) unknown.emplace_back(node.op, node.name);
    }
    throw_if_unknown(graph_.id, unknown);
  }

  void check_names() const {
    std::unordered_set<std::string_view> names;
    for (const Value& value : graph_.values) {
      if (value.name.empty()) fail("a value has no name");
      if (!names.insert(value.name).second) fail(fmt::format("two values are named '{}'", value.name));
    }
    names.clear();
    for (const Node& node : graph_.nodes) {
      if (node.name.empty()) fail("a node has no name");
      if (!names.insert(node.name).second) fail(fmt::format("two nodes are named '{}'", node.name));
    }
  }

  // Every value has exactly one origin, and says which.
  void check_definitions() const {
    std::vector<bool> defined(graph_.values.size(), false);
    const auto define = [&](ValueId id, int32_t producer, const std::string& place) {
      if (!in_range(id)) fail(fmt::format("{} is value {}, of {}", place, id, graph_.values.size()));
      if (defined[static_cast<std::size_t>(id)]) {
        fail(fmt::format("value '{}' is defined twice, the second time by {}", value(id).name, place));
      }
      defined[static_cast<std::size_t>(id)] = true;
      if (value(id).producer != producer) {
        fail(fmt::format("value '{}' is defined by {}, but names producer {}", value(id).name, place,
                         value(id).producer));
      }
      check_value(value(id));
    };
    std::unordered_set<std::string_view> targets;
    for (const GraphInput& input : graph_.inputs) {
      if (input.kind != InputKind::user && (input.target.empty() || !targets.insert(input.target).second)) {
        fail(fmt::format("two parameters, buffers or constants are named '{}'", input.target));
      }
      if (input.value < 0 && input.kind != InputKind::user) {
        fail(fmt::format("input '{}' has no value", input.target));
      }
      if (input.value != -1) define(input.value, -1, fmt::format("graph input '{}'", input.target));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId id : graph_.nodes[i].outputs) {
        if (id != -1) define(id, static_cast<int32_t>(i), fmt::format("node '{}'", graph_.nodes[i].name));
      }
    }
    for (std::size_t i = 0; i < defined.size(); ++i) {
      if (!defined[i])
        fail(fmt::format("value '{}' is neither an input nor a result of a node", graph_.values[i].name));
    }
  }

  void check_value(const Value& value) const {
    if (value.kind != ValueKind::tensor) return;
    if (!is_valid(value.dtype)) fail(fmt::format("value '{}' has no valid dtype", value.name));
    if (!value.symbols.empty() && value.symbols.size() != value.shape.size()) {
      fail(fmt::format("value '{}' has rank {} but {} symbols", value.name, value.shape.size(),
                       value.symbols.size()));
    }
    for (const int64_t size : value.shape) {
      if (size < -1) fail(fmt::format("value '{}' has shape {}", value.name, to_string(value.shape)));
    }
  }

  void check_arguments(const Node& node) const {
    for (const ValueId id : inputs_of(node)) {
      if (!in_range(id)) fail(node, fmt::format("reads value {}, of {}", id, graph_.values.size()));
    }
    const Schema* schema = find_schema(node.op);
    if (schema == nullptr) {
      const auto arity = static_cast<std::size_t>(symbolic_function_arity(node.op));
      if (node.arguments.size() != arity)
        fail(node, fmt::format("{} arguments, expected {}", node.arguments.size(), arity));
      for (const NamedArgument& argument : node.arguments) check_host_scalar(node, argument);
      return;
    }
    std::unordered_set<std::string_view> given;
    for (const NamedArgument& argument : node.arguments) {
      const SchemaArgument* declared = schema->find(argument.name);
      if (declared == nullptr) {
        fail(node, fmt::format("has no argument '{}'; the schema is {}", argument.name, schema->text));
      }
      if (!given.insert(argument.name).second)
        fail(node, fmt::format("argument '{}' is given twice", argument.name));
      try {
        check_argument(*schema, *declared, argument.value);
      } catch (const Error& error) {
        fail(node, error.what());
      }
      check_value_kinds(node, argument, declared->type);
      if (const auto* function = std::get_if<GraphArg>(&argument.value)) check_function(node, *function);
    }
    for (const SchemaArgument& argument : schema->arguments) {
      if (!argument.default_value && !argument.type.optional && !given.contains(argument.name)) {
        fail(node, fmt::format("argument {} is missing; the schema is {}", argument.name, schema->text));
      }
    }
  }

  void check_function(const Node& node, const GraphArg& function) const {
    const Graph& graph = *function.graph;
    for (const GraphInput& input : graph.inputs) {
      if (input.kind != InputKind::user || input.value < 0)
        fail(node, fmt::format("graph '{}' has an input that is no parameter", function.name));
    }
    for (const GraphOutput& output : graph.outputs) {
      if (output.kind != OutputKind::user || output.value < 0)
        fail(node, fmt::format("graph '{}' has an output that is no result", function.name));
    }
    for (const Node& inner : graph.nodes) {
      for (const NamedArgument& argument : inner.arguments) {
        if (std::holds_alternative<GraphArg>(argument.value))
          fail(node, fmt::format("graph '{}' has a graph as an argument", function.name));
      }
    }
    validate(graph);
  }

  void check_host_scalar(const Node& node, const NamedArgument& argument) const {
    if (const auto* by_value = std::get_if<ValueArg>(&argument.value)) {
      if (value(by_value->id).kind != ValueKind::tensor) return;
    } else if (std::holds_alternative<int64_t>(argument.value) ||
               std::holds_alternative<double>(argument.value) ||
               std::holds_alternative<bool>(argument.value)) {
      return;
    }
    fail(node, fmt::format("argument '{}' must be a number, {} was given", argument.name,
                           to_string(argument.value)));
  }

  // Tensors where the schema has tensors, numbers where it has numbers (a Tensor may be a number: add(x, 1)).
  void check_value_kinds(const Node& node, const NamedArgument& argument, const SchemaType& type) const {
    const auto is_tensor = [&](ValueId id) { return value(id).kind == ValueKind::tensor; };
    if (const auto* one = std::get_if<ValueArg>(&argument.value)) {
      if (type.base != BaseType::tensor && type.base != BaseType::any && is_tensor(one->id)) {
        fail(node, fmt::format("argument '{}' must be a number, '{}' is a tensor", argument.name,
                               value(one->id).name));
      }
    } else if (const auto* list = std::get_if<ValueListArg>(&argument.value)) {
      for (const ValueId id : list->ids) {
        if (id < -1 || (id >= 0 && !is_tensor(id))) {
          fail(node, fmt::format("argument '{}' must be a list of tensors", argument.name));
        }
      }
    } else if (const auto* ints = std::get_if<IntListArg>(&argument.value)) {
      for (const ValueId id : ints->values) {
        if (id < -1 || (id >= 0 && value(id).kind != ValueKind::symbolic_int)) {
          fail(node, fmt::format("argument '{}' must be a list of integers", argument.name));
        }
      }
    }
  }

  void check_order() const {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId id : inputs_of(graph_.nodes[i])) {
        if (value(id).producer < static_cast<int32_t>(i)) continue;
        fail(
            graph_.nodes[i],
            is_cyclic()
                ? fmt::format("reads '{}', which depends on this node: the graph has a cycle", value(id).name)
                : fmt::format("reads '{}' before node '{}' defines it: nodes must be in order of execution",
                              value(id).name,
                              graph_.nodes[static_cast<std::size_t>(value(id).producer)].name));
      }
    }
  }

  // Kahn's algorithm: some node never becomes ready.
  bool is_cyclic() const {
    std::vector<std::vector<int32_t>> readers(graph_.nodes.size());
    std::vector<int> waiting(graph_.nodes.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId id : inputs_of(graph_.nodes[i])) {
        if (value(id).producer < 0) continue;
        readers[static_cast<std::size_t>(value(id).producer)].push_back(static_cast<int32_t>(i));
        ++waiting[i];
      }
    }
    std::vector<int32_t> ready;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i] == 0) ready.push_back(static_cast<int32_t>(i));
    }
    std::size_t done = 0;
    while (!ready.empty()) {
      const int32_t node = ready.back();
      ready.pop_back();
      ++done;
      for (const int32_t reader : readers[static_cast<std::size_t>(node)]) {
        if (--waiting[static_cast<std::size_t>(reader)] == 0) ready.push_back(reader);
      }
    }
    return done != graph_.nodes.size();
  }

  void check_returns(const Node& node) const {
    const Schema* schema = find_schema(node.op);
    if (schema == nullptr) {
      if (node.outputs.size() != 1 || node.outputs[0] < 0 ||
          value(node.outputs[0]).kind == ValueKind::tensor) {
        fail(node, "must have one number as its result");
      }
      return;
    }
    std::size_t lists = 0;
    for (const SchemaType& type : schema->returns) lists += type.list ? 1 : 0;
    const std::size_t single = schema->returns.size() - lists;
    if (lists == 0 ? node.outputs.size() != single : node.outputs.size() < single) {
      fail(node, fmt::format("has {} results; the schema is {}", node.outputs.size(), schema->text));
    }
    if (lists > 1) return;
    for (std::size_t i = 0, at = 0; i < schema->returns.size(); ++i) {
      const SchemaType& type = schema->returns[i];
      const std::size_t length = type.list ? node.outputs.size() - single : 1;
      for (std::size_t j = 0; j < length; ++j, ++at) {
        if (node.outputs[at] < 0) continue;
        const bool is_tensor = value(node.outputs[at]).kind == ValueKind::tensor;
        if (is_tensor != (type.base == BaseType::tensor)) {
          fail(node, fmt::format("result '{}' is {}; the schema is {}", value(node.outputs[at]).name,
                                 is_tensor ? "a tensor" : "a number", schema->text));
        }
      }
    }
  }

  bool is_plain(ValueId id) const {
    if (id < 0) return true;
    const Value& v = value(id);
    return v.kind == ValueKind::tensor && std::find(v.shape.begin(), v.shape.end(), -1) == v.shape.end();
  }

  void check_shapes(const Node& node) const {
    if (find_schema(node.op) == nullptr || node.outputs.empty()) return;
    const std::vector<ValueId> inputs = inputs_of(node);
    if (!std::all_of(inputs.begin(), inputs.end(), [&](ValueId id) { return is_plain(id); })) return;
    std::optional<std::vector<TensorMeta>> inferred;
    try {
      inferred = infer(OpCall(graph_, node));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal || error.code() == ErrorCode::unsupported) throw;
      fail(node, error.what());
    }
    if (!inferred) return;
    if (inferred->size() != node.outputs.size()) {
      fail(node,
           fmt::format("has {} results, but its arguments give {}", node.outputs.size(), inferred->size()));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] < 0 || value(node.outputs[i]).kind != ValueKind::tensor) continue;
      check_result(node, value(node.outputs[i]), (*inferred)[i]);
    }
  }

  void check_result(const Node& node, const Value& declared, const TensorMeta& inferred) const {
    bool equal = declared.dtype == inferred.dtype && declared.shape.size() == inferred.shape.size();
    for (std::size_t d = 0; equal && d < inferred.shape.size(); ++d) {
      equal = declared.shape[d] == -1 || inferred.shape[d] == -1 || declared.shape[d] == inferred.shape[d];
    }
    if (equal) return;
    fail(node, fmt::format("result '{}' is declared as {} {}, but the arguments give {} {}", declared.name,
                           name_of(declared.dtype), to_string(declared.shape), name_of(inferred.dtype),
                           to_string(inferred.shape)));
  }

  const GraphInput* find_input(const GraphOutput& output) const {
    for (const GraphInput& input : graph_.inputs) {
      const bool user = input.kind == InputKind::user;
      if (input.target == output.target && user == (output.kind == OutputKind::user_input_mutation))
        return &input;
    }
    return nullptr;
  }

  void check_outputs() const {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const GraphOutput& output = graph_.outputs[i];
      if (output.value == -1) {
        if (!output.constant || output.kind != OutputKind::user)
          fail(fmt::format("output {} has no value", i));
        continue;
      }
      if (!in_range(output.value)) {
        fail(fmt::format("output {} is value {}, of {}", i, output.value, graph_.values.size()));
      }
      if (output.kind == OutputKind::user) continue;
      const GraphInput* input = find_input(output);
      if (input == nullptr || input->value < 0) {
        fail(fmt::format("output {} mutates '{}', which is no input of the graph", i, output.target));
      }
      const Value& before = value(input->value);
      const Value& after = value(output.value);
      if (before.kind != after.kind || before.dtype != after.dtype || before.shape != after.shape) {
        fail(fmt::format("output {} mutates '{}' from {} {} to {} {}", i, output.target,
                         name_of(before.dtype), to_string(before.shape), name_of(after.dtype),
                         to_string(after.shape)));
      }
    }
  }

  const Graph& graph_;
};

}  // namespace

void validate(const Graph& graph) { Validator(graph).run(); }

}  // namespace assay
