// Graph -> models/model.json, byte for byte the same for equal graphs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/graph/json_argument.h"
#include "core/graph/symbolic_expression.h"
#include "core/io/json_object.h"
#include "core/opset/schema.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

std::string target_of_op(const std::string& op) {
  const auto colons = op.find("::");
  if (colons == std::string::npos) return op;
  const std::string space = op.substr(0, colons);
  std::string rest = op.substr(colons + 2);
  if (space == "higher_order") rest = rest.substr(0, rest.find('.'));  // they have no overloads
  const bool python = space == "_operator" || space == "math" || space == "torch";
  return fmt::format("{}{}.{}", python ? "" : "torch.ops.", space, rest);
}

Json device_json() { return json_object({{"type", "cpu"}, {"index", nullptr}}); }

Json expression_json(const SymbolicExpression& expression) {
  if (expression.kind == SymbolicExpression::Kind::integer)
    return json_object({{"as_int", expression.value}});
  return json_object({{"as_expr", json_object({{"expr_str", to_srepr(expression)}, {"hint", nullptr}})}});
}

Json name_json(const Value& value) { return json_object({{"name", value.name}}); }

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  // The object that PyTorch calls Graph: values and nodes, without the signature.
  Json graph_json() {
    Json tensor_values = Json::object();
    Json sym_ints = Json::object();
    Json sym_bools = Json::object();
    Json sym_floats = Json::object();
    for (const Value& value : graph_.values) {
      switch (value.kind) {
        case ValueKind::tensor:
          tensor_values[value.name] = tensor_meta(value);
          break;
        case ValueKind::symbolic_int:
          sym_ints[value.name] = scalar_meta(value, "as_int", 0);
          break;
        case ValueKind::symbolic_bool:
          sym_bools[value.name] = scalar_meta(value, "as_bool", false);
          break;
        case ValueKind::symbolic_float:
          sym_floats[value.name] = scalar_meta(value, "as_float", 0.0);
          break;
      }
    }
    Json nodes = Json::array();
    for (const Node& node : graph_.nodes) nodes.push_back(node_json(node));

    Json inputs = Json::array();
    for (const GraphInput& input : graph_.inputs) {
      inputs.push_back(input.value >= 0 ? write_value(value(input.value)) : constant_json(input.constant));
    }
    Json outputs = Json::array();
    for (const GraphOutput& output : graph_.outputs) {
      outputs.push_back(output.value >= 0 ? write_value(value(output.value))
                                          : constant_json(output.constant));
    }
    return json_object({{"inputs", std::move(inputs)},
                        {"outputs", std::move(outputs)},
                        {"nodes", std::move(nodes)},
                        {"tensor_values", std::move(tensor_values)},
                        {"sym_int_values", std::move(sym_ints)},
                        {"sym_bool_values", std::move(sym_bools)},
                        {"is_single_tensor_return", false},
                        {"custom_obj_values", Json::object()},
                        {"sym_float_values", std::move(sym_floats)}});
  }

  std::string run() {
    Json graph = graph_json();
    Json input_specs = Json::array();
    for (const GraphInput& input : graph_.inputs) input_specs.push_back(input_spec(input));
    Json output_specs = Json::array();
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      output_specs.push_back(output_spec(graph_.outputs[i], graph.at("outputs").at(i)));
    }
    Json ranges = Json::object();
    for (const std::string& symbol : symbols_)
      ranges[symbol] = json_object({{"min_val", 0}, {"max_val", nullptr}});
    Json signature =
        json_object({{"input_specs", std::move(input_specs)}, {"output_specs", std::move(output_specs)}});
    Json calls = Json::array();
    calls.push_back(json_object({{"fqn", ""}, {"signature", call_signature()}}));
    Json module = json_object({{"graph", std::move(graph)},
                               {"signature", std::move(signature)},
                               {"module_call_graph", std::move(calls)},
                               {"metadata", Json::object()},
                               {"treespec_namedtuple_fields", Json::object()}});
    const Json document = json_object({{"graph_module", std::move(module)},
                                       {"opset_version", json_object({{"aten", 10}})},
                                       {"range_constraints", std::move(ranges)},
                                       {"schema_version", json_object({{"major", 8}, {"minor", 20}})},
                                       {"verifiers", Json::array({"ATEN"})},
                                       {"torch_version", "2.13.0"},
                                       {"guards_code", Json::array()}});
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  const Value& value(ValueId id) const { return graph_.values.at(static_cast<std::size_t>(id)); }

  SymbolicExpression symbol(const std::string& text) {
    SymbolicExpression expression = parse_expression(text);
    std::vector<std::string> names;
    collect_symbols(expression, names);
    symbols_.insert(names.begin(), names.end());
    return expression;
  }

  Json tensor_meta(const Value& value) {
    std::vector<SymbolicExpression> sizes;
    for (std::size_t i = 0; i < value.shape.size(); ++i) {
      if (i < value.symbols.size() && !value.symbols[i].empty()) {
        sizes.push_back(symbol(value.symbols[i]));
      } else {
        sizes.emplace_back().value = value.shape[i];
      }
    }
    Json sizes_json = Json::array();
    for (const SymbolicExpression& size : sizes) sizes_json.push_back(expression_json(size));
    return json_object({{"dtype", export_code(value.dtype)},
                        {"sizes", std::move(sizes_json)},
                        {"requires_grad", false},
                        {"device", device_json()},
                        {"strides", strides(sizes)},
                        {"storage_offset", json_object({{"as_int", 0}})},
                        {"layout", kStridedLayout}});
  }

  // Contiguous, as all tensors of a graph are (DESIGN: tensors are logically contiguous).
  static Json strides(const std::vector<SymbolicExpression>& sizes) {
    std::vector<Json> reversed;
    SymbolicExpression running;
    running.value = 1;
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
      reversed.push_back(expression_json(running));
      if (running.kind == SymbolicExpression::Kind::integer &&
          size->kind == SymbolicExpression::Kind::integer) {
        running.value *= size->value > 0 ? size->value : 1;
      } else if (running.kind == SymbolicExpression::Kind::integer && running.value == 1) {
        running = *size;
      } else {
        SymbolicExpression product;
        product.kind = SymbolicExpression::Kind::function;
        product.name = "Mul";
        product.arguments = {running, *size};
        running = std::move(product);
      }
    }
    Json::array_t out(std::make_move_iterator(reversed.rbegin()), std::make_move_iterator(reversed.rend()));
    return out;
  }

  template <typename Plain>
  Json scalar_meta(const Value& value, const char* plain_kind, Plain plain) {
    if (value.symbols.empty() || value.symbols[0].empty()) return json_object({{plain_kind, plain}});
    return json_object(
        {{"as_expr", json_object({{"expr_str", to_srepr(symbol(value.symbols[0]))}, {"hint", nullptr}})}});
  }

  Json constant_json(const std::optional<Argument>& constant) const {
    return write_argument(constant.value_or(NoneArg{}), graph_.values);
  }

  Json node_json(const Node& node) const {
    const Schema* schema = find_schema(node.op);
    Json inputs = Json::array();
    std::size_t next = 0;  // a positional argument only follows on its predecessor
    for (const NamedArgument& argument : node.arguments) {
      bool positional = schema == nullptr;
      if (schema != nullptr && next < schema->arguments.size()) {
        positional = schema->arguments[next].name == argument.name && !schema->arguments[next].keyword_only;
      }
      next = positional ? next + 1 : std::size_t(-1);
      inputs.push_back(json_object({{"name", argument.name},
                                    {"arg", write_argument(argument.value, graph_.values)},
                                    {"kind", positional ? 1 : 2}}));
    }
    Json metadata = Json::object();
    if (!node.source.location.empty()) metadata["stack_trace"] = node.source.location;
    if (!node.source.module_path.empty()) {
      // PyTorch's three fields: key, path, class.
      metadata["nn_module_stack"] = fmt::format("{0},{0},torch.nn.Module", node.source.module_path);
    }
    return json_object({{"target", target_of_op(node.op)},
                        {"inputs", std::move(inputs)},
                        {"outputs", node_outputs(node, schema)},
                        {"metadata", std::move(metadata)},
                        {"is_hop_single_tensor_return", nullptr},
                        {"name", node.name}});
  }

  Json node_outputs(const Node& node, const Schema* schema) const {
    const auto one = [&](ValueId id) -> Json {
      if (id < 0) return json_object({{"as_none", true}});
      return write_value(value(id));
    };
    Json outputs = Json::array();
    const std::size_t returns = schema == nullptr ? node.outputs.size() : schema->returns.size();
    std::size_t at = 0;
    for (std::size_t i = 0; i < returns && at < node.outputs.size(); ++i) {
      if (schema == nullptr || !schema->returns[i].list) {
        outputs.push_back(one(node.outputs[at++]));
        continue;
      }
      // A list takes what the returns after it leave.
      const std::size_t after = returns - i - 1;
      const std::size_t length = node.outputs.size() - at > after ? node.outputs.size() - at - after : 0;
      Json names = Json::array();
      for (std::size_t j = 0; j < length; ++j) names.push_back(name_json(value(node.outputs[at++])));
      outputs.push_back(json_object({{"as_tensors", std::move(names)}}));
    }
    return outputs;
  }

  Json input_spec(const GraphInput& input) const {
    if (input.value < 0) {
      return json_object({{"constant_input",
                           json_object({{"name", input.target}, {"value", constant_json(input.constant)}})}});
    }
    Json name = name_json(value(input.value));
    switch (input.kind) {
      case InputKind::user:
        return json_object({{"user_input", json_object({{"arg", write_value(value(input.value))}})}});
      case InputKind::parameter:
        return json_object(
            {{"parameter", json_object({{"arg", std::move(name)}, {"parameter_name", input.target}})}});
      case InputKind::buffer:
        return json_object({{"buffer", json_object({{"arg", std::move(name)},
                                                    {"buffer_name", input.target},
                                                    {"persistent", input.persistent}})}});
      case InputKind::constant:
        return json_object({{"tensor_constant", json_object({{"arg", std::move(name)},
                                                             {"tensor_constant_name", input.target}})}});
    }
    return nullptr;
  }

  bool is_parameter(const std::string& target) const {
    for (const GraphInput& input : graph_.inputs) {
      if (input.kind == InputKind::parameter && input.target == target) return true;
    }
    return false;
  }

  Json output_spec(const GraphOutput& output, const Json& argument) const {
    if (output.kind == OutputKind::user)
      return json_object({{"user_output", json_object({{"arg", argument}})}});
    const auto mutation = [&](const char* kind, const char* target) {
      return json_object(
          {{kind, json_object({{"arg", name_json(value(output.value))}, {target, output.target}})}});
    };
    if (output.kind == OutputKind::user_input_mutation)
      return mutation("user_input_mutation", "user_input_name");
    if (is_parameter(output.target)) return mutation("parameter_mutation", "parameter_name");
    return mutation("buffer_mutation", "buffer_name");
  }

  // The call of the whole module: a tuple of the user inputs in, a tuple of the user outputs out.
  Json call_signature() const {
    std::size_t users = 0;
    Json names = Json::array();
    for (const GraphInput& input : graph_.inputs) {
      if (input.kind != InputKind::user) continue;
      ++users;
      names.push_back(input.target);
    }
    std::size_t results = 0;
    for (const GraphOutput& output : graph_.outputs) results += output.kind == OutputKind::user ? 1 : 0;
    const auto tuple = [](const std::vector<Json>& children) -> Json {
      return json_object({{"type", "builtins.tuple"}, {"context", "null"}, {"children_spec", children}});
    };
    const Json leaf =
        json_object({{"type", nullptr}, {"context", nullptr}, {"children_spec", Json::array()}});
    const Json no_keywords =
        json_object({{"type", "builtins.dict"}, {"context", "[]"}, {"children_spec", Json::array()}});
    const Json in = Json::array({1, tuple({tuple(std::vector<Json>(users, leaf)), no_keywords})});
    const Json out = Json::array({1, tuple(std::vector<Json>(results, leaf))});
    return json_object({{"inputs", Json::array()},
                        {"outputs", Json::array()},
                        {"in_spec", in.dump()},
                        {"out_spec", out.dump()},
                        {"forward_arg_names", std::move(names)}});
  }

  const Graph& graph_;
  std::set<std::string> symbols_;
};

}  // namespace

nlohmann::ordered_json write_subgraph(const Graph& graph) {
  Json json = Writer(graph).graph_json();
  json["is_single_tensor_return"] = graph.outputs.size() == 1;
  return json;
}

std::string graph_to_json(const Graph& graph) {
  try {
    return Writer(graph).run();
  } catch (const std::out_of_range&) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: cannot be written: a node or output names a value that does not exist", graph.id));
  }
}

}  // namespace assay
