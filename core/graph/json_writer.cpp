// Graph -> models/model.json, byte for byte the same for equal graphs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/graph/json_argument.h"
#include "core/graph/symbolic_expression.h"
#include "core/opset/schema.h"

namespace assay {
namespace {

std::string target_of_op(const std::string& op) {
  const auto colons = op.find("::");
  if (colons == std::string::npos) return op;
  const std::string space = op.substr(0, colons);
  std::string rest = op.substr(colons + 2);
  if (space == "higher_order") rest = rest.substr(0, rest.find('.'));  // they have no overloads
  const bool python = space == "_operator" || space == "math" || space == "torch";
  return fmt::format("{}{}.{}", python ? "" : "torch.ops.", space, rest);
}

void append_expression(std::string& out, const SymbolicExpression& expression) {
  if (expression.kind == SymbolicExpression::Kind::integer) {
    fmt::format_to(std::back_inserter(out), R"({{"as_int":{}}})", expression.value);
    return;
  }
  out += R"({"as_expr":{"expr_str":)";
  append_json_string(out, to_srepr(expression));
  out += R"(,"hint":null}})";
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  // The object that PyTorch calls Graph: values and nodes, without the signature.
  void graph(bool single_tensor_return) {
    out_ += R"({"inputs":[)";
    for_each(graph_.inputs, [&](const GraphInput& input) { value_or(input.value, input.constant); });
    out_ += R"(],"outputs":[)";
    for_each(graph_.outputs, [&](const GraphOutput& output) { value_or(output.value, output.constant); });
    out_ += R"(],"nodes":[)";
    for_each(graph_.nodes, [&](const Node& node) { write(node); });
    out_ += ']';
    table("tensor_values", ValueKind::tensor, [&](const Value& value) { tensor_meta(value); });
    table("sym_int_values", ValueKind::symbolic_int,
          [&](const Value& value) { scalar_meta(value, R"({"as_int":0})"); });
    table("sym_bool_values", ValueKind::symbolic_bool,
          [&](const Value& value) { scalar_meta(value, R"({"as_bool":false})"); });
    out_ +=
        single_tensor_return ? R"(,"is_single_tensor_return":true)" : R"(,"is_single_tensor_return":false)";
    out_ += R"(,"custom_obj_values":{})";
    table("sym_float_values", ValueKind::symbolic_float,
          [&](const Value& value) { scalar_meta(value, R"({"as_float":0.0})"); });
    out_ += '}';
  }

  void document() {
    out_ += R"({"graph_module":{"graph":)";
    graph(false);
    out_ += R"(,"signature":{"input_specs":[)";
    for_each(graph_.inputs, [&](const GraphInput& input) { spec(input); });
    out_ += R"(],"output_specs":[)";
    for_each(graph_.outputs, [&](const GraphOutput& output) { spec(output); });
    out_ += R"(]},"module_call_graph":[{"fqn":"","signature":)";
    call_signature();
    out_ +=
        R"(}],"metadata":{},"treespec_namedtuple_fields":{}},"opset_version":{"aten":10},"range_constraints":{)";
    for_each(symbols_, [&](const std::string& symbol) {
      append_json_string(out_, symbol);
      out_ += R"(:{"min_val":0,"max_val":null})";
    });
    out_ += R"(},"schema_version":{"major":8,"minor":20},"verifiers":["ATEN"],"torch_version":"2.13.0",)"
            R"("guards_code":[]})";
  }

  std::string take() { return std::move(out_); }

 private:
  template <typename List, typename One>
  void for_each(const List& items, const One& one) {
    const char* separator = "";
    for (const auto& item : items) {
      out_ += std::exchange(separator, ",");
      one(item);
    }
  }

  const Value& value(ValueId id) const { return graph_.values.at(static_cast<std::size_t>(id)); }

  void value_or(ValueId id, const std::optional<Argument>& constant) {
    if (id >= 0) {
      append_value(out_, value(id));
    } else {
      append_argument(out_, constant.value_or(NoneArg{}), graph_.values);
    }
  }

  // {"name": ...}
  void name_of_value(ValueId id) {
    out_ += R"({"name":)";
    append_json_string(out_, value(id).name);
    out_ += '}';
  }

  void text(const char* before, std::string_view string, const char* after = "") {
    out_ += before;
    append_json_string(out_, string);
    out_ += after;
  }

  template <typename Meta>
  void table(const char* name, ValueKind kind, const Meta& meta) {
    fmt::format_to(std::back_inserter(out_), R"(,"{}":{{)", name);
    const char* separator = "";
    for (const Value& value : graph_.values) {
      if (value.kind != kind) continue;
      text(std::exchange(separator, ","), value.name, ":");
      meta(value);
    }
    out_ += '}';
  }

  SymbolicExpression symbol(const std::string& text) {
    SymbolicExpression expression = parse_expression(text);
    std::vector<std::string> names;
    collect_symbols(expression, names);
    symbols_.insert(names.begin(), names.end());
    return expression;
  }

  void tensor_meta(const Value& value) {
    fmt::format_to(std::back_inserter(out_), R"({{"dtype":{},"sizes":[)", export_code(value.dtype));
    const bool symbolic = std::any_of(value.symbols.begin(), value.symbols.end(),
                                      [](const std::string& symbol) { return !symbol.empty(); });
    const auto write = [&](const auto& sizes, const auto& strides, const auto& one) {
      for_each(sizes, one);
      out_ += R"(],"requires_grad":false,"device":{"type":"cpu","index":null},"strides":[)";
      for_each(strides, one);
    };
    if (symbolic) {
      const std::vector<SymbolicExpression> sizes = symbolic_sizes(value);
      write(sizes, strides_of(sizes), [&](const SymbolicExpression& size) { append_expression(out_, size); });
    } else {
      // Contiguous, as all tensors of a graph are (DESIGN: tensors are logically contiguous).
      std::vector<int64_t> strides(value.shape.size());
      int64_t running = 1;
      for (std::size_t i = strides.size(); i-- > 0;) {
        strides[i] = running;
        running *= value.shape[i] > 0 ? value.shape[i] : 1;
      }
      write(value.shape, strides,
            [&](int64_t size) { fmt::format_to(std::back_inserter(out_), R"({{"as_int":{}}})", size); });
    }
    fmt::format_to(std::back_inserter(out_), R"(],"storage_offset":{{"as_int":0}},"layout":{}}})",
                   kStridedLayout);
  }

  std::vector<SymbolicExpression> symbolic_sizes(const Value& value) {
    std::vector<SymbolicExpression> sizes;
    for (std::size_t i = 0; i < value.shape.size(); ++i) {
      if (i < value.symbols.size() && !value.symbols[i].empty()) {
        sizes.push_back(symbol(value.symbols[i]));
      } else {
        sizes.emplace_back().value = value.shape[i];
      }
    }
    return sizes;
  }

  static std::vector<SymbolicExpression> strides_of(const std::vector<SymbolicExpression>& sizes) {
    std::vector<SymbolicExpression> strides(sizes.size());
    SymbolicExpression running;
    running.value = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      const SymbolicExpression& size = sizes[i];
      strides[i] = running;
      if (running.kind == SymbolicExpression::Kind::integer &&
          size.kind == SymbolicExpression::Kind::integer) {
        running.value *= size.value > 0 ? size.value : 1;
      } else if (running.kind == SymbolicExpression::Kind::integer && running.value == 1) {
        running = size;
      } else {
        SymbolicExpression product;
        product.kind = SymbolicExpression::Kind::function;
        product.name = "Mul";
        product.arguments = {running, size};
        running = std::move(product);
      }
    }
    return strides;
  }

  void scalar_meta(const Value& value, const char* plain) {
    if (value.symbols.empty() || value.symbols[0].empty()) {
      out_ += plain;
    } else {
      text(R"({"as_expr":{"expr_str":)", to_srepr(symbol(value.symbols[0])), R"(,"hint":null}})");
    }
  }

  void write(const Node& node) {
    const Schema* schema = find_schema(node.op);
    text(R"({"target":)", target_of_op(node.op), R"(,"inputs":[)");
    std::size_t next = 0;  // a positional argument only follows on its predecessor
    for_each(node.arguments, [&](const NamedArgument& argument) {
      bool positional = schema == nullptr;
      if (schema != nullptr && next < schema->arguments.size()) {
        positional = schema->arguments[next].name == argument.name && !schema->arguments[next].keyword_only;
      }
      next = positional ? next + 1 : std::size_t(-1);
      text(R"({"name":)", argument.name, R"(,"arg":)");
      append_argument(out_, argument.value, graph_.values);
      out_ += positional ? R"(,"kind":1})" : R"(,"kind":2})";
    });
    out_ += R"(],"outputs":[)";
    node_outputs(node, schema);
    out_ += R"(],"metadata":{)";
    const char* separator = "";
    if (!node.source.location.empty()) {
      text(R"("stack_trace":)", node.source.location);
      separator = ",";
    }
    if (!node.source.module_path.empty()) {
      // PyTorch's three fields: key, path, class.
      out_ += separator;
      text(R"("nn_module_stack":)", fmt::format("{0},{0},torch.nn.Module", node.source.module_path));
    }
    text(R"(},"is_hop_single_tensor_return":null,"name":)", node.name, "}");
  }

  void node_outputs(const Node& node, const Schema* schema) {
    const std::size_t returns = schema == nullptr ? node.outputs.size() : schema->returns.size();
    std::size_t at = 0;
    for (std::size_t i = 0; i < returns && at < node.outputs.size(); ++i) {
      if (i > 0) out_ += ',';
      if (schema == nullptr || !schema->returns[i].list) {
        value_or(node.outputs[at++], std::nullopt);
        continue;
      }
      // A list takes what the returns after it leave.
      const std::size_t after = returns - i - 1;
      const std::size_t length = node.outputs.size() - at > after ? node.outputs.size() - at - after : 0;
      out_ += R"({"as_tensors":[)";
      for (std::size_t j = 0; j < length; ++j) {
        if (j > 0) out_ += ',';
        name_of_value(node.outputs[at++]);
      }
      out_ += "]}";
    }
  }

  void spec(const GraphInput& input) {
    if (input.value < 0) {
      text(R"({"constant_input":{"name":)", input.target, R"(,"value":)");
      append_argument(out_, input.constant.value_or(NoneArg{}), graph_.values);
      out_ += "}}";
      return;
    }
    const auto named = [&](const char* before, const char* target) {
      out_ += before;
      name_of_value(input.value);
      text(target, input.target);
    };
    switch (input.kind) {
      case InputKind::user:
        out_ += R"({"user_input":{"arg":)";
        append_value(out_, value(input.value));
        break;
      case InputKind::parameter:
        named(R"({"parameter":{"arg":)", R"(,"parameter_name":)");
        break;
      case InputKind::buffer:
        named(R"({"buffer":{"arg":)", R"(,"buffer_name":)");
        out_ += input.persistent ? R"(,"persistent":true)" : R"(,"persistent":false)";
        break;
      case InputKind::constant:
        named(R"({"tensor_constant":{"arg":)", R"(,"tensor_constant_name":)");
        break;
    }
    out_ += "}}";
  }

  bool is_parameter(const std::string& target) const {
    return std::any_of(graph_.inputs.begin(), graph_.inputs.end(), [&](const GraphInput& input) {
      return input.kind == InputKind::parameter && input.target == target;
    });
  }

  void spec(const GraphOutput& output) {
    if (output.kind == OutputKind::user) {
      out_ += R"({"user_output":{"arg":)";
      value_or(output.value, output.constant);
      out_ += "}}";
      return;
    }
    const auto mutation = [&](const char* before, const char* target) {
      out_ += before;
      name_of_value(output.value);
      text(target, output.target, "}}");
    };
    if (output.kind == OutputKind::user_input_mutation) {
      mutation(R"({"user_input_mutation":{"arg":)", R"(,"user_input_name":)");
    } else if (is_parameter(output.target)) {
      mutation(R"({"parameter_mutation":{"arg":)", R"(,"parameter_name":)");
    } else {
      mutation(R"({"buffer_mutation":{"arg":)", R"(,"buffer_name":)");
    }
  }

  // The call of the whole module: a tuple of the user inputs in, a tuple of the user outputs out. The specs
  // are JSON inside a string.
  void call_signature() {
    constexpr std::string_view kLeaf = R"({\"type\":null,\"context\":null,\"children_spec\":[]})";
    constexpr std::string_view kTuple =
        R"({\"type\":\"builtins.tuple\",\"context\":\"null\",\"children_spec\":[)";
    const auto leaves = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) out_ += ',';
        out_ += kLeaf;
      }
    };
    std::vector<std::string_view> names;
    for (const GraphInput& input : graph_.inputs) {
      if (input.kind == InputKind::user) names.push_back(input.target);
    }
    const auto results =
        std::count_if(graph_.outputs.begin(), graph_.outputs.end(),
                      [](const GraphOutput& output) { return output.kind == OutputKind::user; });
    out_ += R"({"inputs":[],"outputs":[],"in_spec":"[1,)";
    out_ += kTuple;
    out_ += kTuple;
    leaves(names.size());
    out_ += R"(]},{\"type\":\"builtins.dict\",\"context\":\"[]\",\"children_spec\":[]}]}]","out_spec":"[1,)";
    out_ += kTuple;
    leaves(static_cast<std::size_t>(results));
    out_ += R"(]}]","forward_arg_names":[)";
    for_each(names, [&](std::string_view name) { append_json_string(out_, name); });
    out_ += "]}";
  }

  const Graph& graph_;
  std::string out_;
  std::set<std::string> symbols_;
};

}  // namespace

void append_subgraph(std::string& out, const Graph& graph) {
  Writer writer(graph);
  writer.graph(graph.outputs.size() == 1);
  out += writer.take();
}

std::string graph_to_json(const Graph& graph) {
  try {
    Writer writer(graph);
    writer.document();
    return writer.take();
  } catch (const std::out_of_range&) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: cannot be written: a node or output names a value that does not exist", graph.id));
  }
}

}  // namespace assay
