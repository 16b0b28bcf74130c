// models/model.json -> Graph. Schema: torch/_export/serde/schema.py, major version 8.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/graph/functionalise.h"
#include "core/graph/json.h"
#include "core/graph/json_argument.h"
#include "core/graph/json_cursor.h"
#include "core/graph/known_operators.h"
#include "core/graph/source_link.h"
#include "core/graph/symbolic_expression.h"
#include "core/opset/schema.h"

namespace assay {
namespace {

constexpr int64_t kMajor = 8;
constexpr std::size_t kMaxRank = 64;

// "torch.ops.aten.add.Tensor" -> "aten::add.Tensor", "_operator.add" -> "_operator::add".
// lift_fresh_copy wraps torch.tensor(...) in exports that were not decomposed; decomposing makes it a clone,
// and of Tensor.item() what it calls.
std::string op_of_target(const std::string& target) {
  std::string text = target;
  constexpr std::string_view kPrefix = "torch.ops.";
  if (text.rfind(kPrefix, 0) == 0) text = text.substr(kPrefix.size());
  if (text == "aten.lift_fresh_copy.default") text = "aten.clone.default";
  if (text == "aten.item.default") text = "aten._local_scalar_dense.default";
  const auto dot = text.find('.');
  // Higher-order operators have no overloads; here every operator has.
  if (text.rfind("higher_order.", 0) == 0 && text.find('.', dot + 1) == std::string::npos) text += ".default";
  return dot == std::string::npos ? text : text.substr(0, dot) + "::" + text.substr(dot + 1);
}

// Ends a run whose data break a promise, as one_hot's classes may; nothing else comes of it.
bool only_asserts(std::string_view op) {
  return op == "aten::_assert_async.msg" || op == "aten::_assert_async.default";
}

// Where an operator that only runs another graph has that graph among its arguments, and whether the flag
// before it must be false for nothing else to happen. Operands follow the graph.
struct Region {
  std::size_t graph;
  std::optional<std::size_t> off;
};
// What ran under torch.no_grad() or torch.autocast() is such a graph in exports that were not decomposed.
// Gradients change no value, and autocast does so only where it is enabled.
std::optional<Region> region_of(std::string_view op) {
  if (op == "higher_order::wrap_with_set_grad_enabled.default") return Region{1, std::nullopt};
  if (op == "higher_order::wrap_with_autocast.default") return Region{4, 2};
  return std::nullopt;
}

class GraphReader {
 public:
  explicit GraphReader(const JsonCursor& root, const std::string& origin)
      : graph_json_(root.at("graph_module").at("graph")),
        signature_(root.at("graph_module").at("signature")) {
    graph_.id = origin;
  }
  // A graph that is an argument: without a signature, all its inputs and outputs are the caller's.
  struct WithoutSignature {};
  GraphReader(const JsonCursor& graph, std::string id, WithoutSignature) : graph_json_(graph) {
    graph_.id = std::move(id);
  }

  Graph run() {
    read_tables(graph_json_);
    if (signature_) {
      read_inputs();
    } else {
      read_parameters();
    }
    read_nodes();
    if (signature_) {
      read_outputs();
    } else {
      read_results();
    }
    functionalise(graph_);
    return std::move(graph_);
  }

 private:
  using Declarations = std::unordered_map<std::string, JsonCursor>;

  void read_tables(const JsonCursor& graph) {
    for (const char* table : {"tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values"}) {
      if (const auto members = graph.find(table)) {
        for (auto& [name, meta] : members->members()) {
          if (!declared_.emplace(name, meta).second) meta.fail("a value of this name is declared twice");
        }
      }
    }
  }

  // A size, a stride or a symbolic scalar: {"as_int": 3} or {"as_expr": {"expr_str": ...}}.
  static std::string read_symbol(const JsonCursor& place, int64_t& plain) {
    const auto [kind, value] = place.alternative();
    if (kind == "as_int") {
      plain = value.integer();
      return "";
    }
    if (kind != "as_expr") place.fail(fmt::format("expected as_int or as_expr, found {}", kind));
    const JsonCursor text = value.at("expr_str");
    try {
      return to_string(parse_expression(text.string()));
    } catch (const Error& error) {
      text.fail(error.what());
    }
  }

  void read_tensor_meta(const JsonCursor& meta, Value& value) {
    const JsonCursor code = meta.at("dtype");
    const auto dtype = dtype_from_export_code(code.integer());
    if (!dtype) {
      // PyTorch's own codes (torch/_export/serde/schema.py, ScalarType): 1 to 13 and 28 to 35.
      const int64_t number = code.integer();
      if (number < 1 || (number > 13 && number < 28) || number > 35) {
        code.fail(
            fmt::format("value '{}' has dtype code {}, which PyTorch does not have", value.name, number));
      }
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: value '{}' has dtype code {}, which is not supported", code.place(),
                              value.name, number));
    }
    value.dtype = *dtype;
    if (const auto layout = meta.find("layout"); layout && layout->integer() != kStridedLayout) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: value '{}' is not a strided tensor; sparse and MKL-DNN layouts are not supported",
                      layout->place(), value.name));
    }
    const JsonCursor sizes = meta.at("sizes");
    if (sizes.size() > kMaxRank)
      sizes.fail(fmt::format("rank {} is beyond {}, the limit", sizes.size(), kMaxRank));
    bool symbolic = false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      int64_t size = -1;
      value.symbols.push_back(read_symbol(sizes.at(i), size));
      symbolic = symbolic || !value.symbols.back().empty();
      // -1 without a symbol: depends on data.
      if (size < -1) sizes.at(i).fail(fmt::format("negative size {}", size));
      value.shape.push_back(size);
    }
    if (!symbolic) value.symbols.clear();
    if (std::find(value.shape.begin(), value.shape.end(), -1) == value.shape.end()) {
      try {
        element_count(value.shape);
      } catch (const Error& error) {
        sizes.fail(error.what());
      }
    }
  }

  ValueId define(const JsonCursor& place, const std::string& name, ValueKind kind, int32_t producer) {
    if (name.empty()) place.fail("a value needs a name");
    Value value;
    value.name = prefix_ + name;
    value.kind = kind;
    value.producer = producer;
    const auto declared = declared_.find(name);
    if (declared == declared_.end())
      place.fail(fmt::format("value '{}' is not in the tables of values", name));
    if (kind == ValueKind::tensor) {
      read_tensor_meta(declared->second, value);
    } else {
      const auto [alternative, unused] = declared->second.alternative();
      int64_t plain = 0;
      if (alternative == "as_expr" && kind != ValueKind::symbolic_float) {
        value.symbols.push_back(read_symbol(declared->second, plain));
      }
    }
    const auto id = static_cast<ValueId>(graph_.values.size());
    if (!names_.emplace(name, id).second || !all_names_.insert(value.name).second)
      place.fail(fmt::format("value '{}' is defined twice", value.name));
    graph_.values.push_back(std::move(value));
    return id;
  }

  // Defines the values of a graph input or node output and appends their ids; -1 for None.
  void define_outputs(const JsonCursor& cursor, int32_t producer, std::vector<ValueId>& ids) {
    const auto [kind, value] = cursor.alternative();
    if (kind == "as_tensor") {
      ids.push_back(define(value, value.at("name").string(), ValueKind::tensor, producer));
    } else if (kind == "as_tensors") {
      for (std::size_t i = 0; i < value.size(); ++i) {
        ids.push_back(define(value.at(i), value.at(i).at("name").string(), ValueKind::tensor, producer));
      }
    } else if (kind == "as_none") {
      ids.push_back(-1);
    } else if (kind == "as_optional_tensor") {
      define_outputs(value, producer, ids);
    } else if (kind == "as_optional_tensors") {
      for (std::size_t i = 0; i < value.size(); ++i) define_outputs(value.at(i), producer, ids);
    } else if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      const ValueKind symbolic = kind == "as_sym_int"     ? ValueKind::symbolic_int
                                 : kind == "as_sym_float" ? ValueKind::symbolic_float
                                                          : ValueKind::symbolic_bool;
      ids.push_back(define(value, value.at("as_name").string(), symbolic, producer));
    } else {
      cursor.fail(fmt::format("expected a tensor or a symbolic number, found {}", kind));
    }
  }

  void read_inputs() {
    const JsonCursor inputs = graph_json_.at("inputs");
    const JsonCursor specs = signature_->at("input_specs");
    if (inputs.size() != specs.size()) {
      specs.fail(fmt::format("{} input_specs for {} graph inputs", specs.size(), inputs.size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto [kind, spec] = specs.at(i).alternative();
      if (kind == "custom_obj" || kind == "token") {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: inputs of kind {} are not supported (only tensors enter a graph)",
                                spec.place(), kind));
      }
      graph_.inputs.push_back(kind == "constant_input" ? read_constant_input(spec)
                                                       : read_input(kind, spec, inputs.at(i)));
    }
  }

  GraphInput read_constant_input(const JsonCursor& spec) {
    GraphInput input;
    input.target = spec.at("name").string();
    input.constant = read_argument(spec.at("value"), {});
    return input;
  }

  GraphInput read_input(const std::string& kind, const JsonCursor& spec, const JsonCursor& declared) {
    GraphInput input;
    std::vector<ValueId> ids;
    define_outputs(declared, -1, ids);
    if (ids.size() != 1 || ids[0] < 0) declared.fail("expected one tensor or symbolic number");
    input.value = ids[0];
    const Value& value = graph_.values[static_cast<std::size_t>(input.value)];
    ValueId named = -1;
    if (kind == "user_input") {
      input.kind = InputKind::user;
      input.target = value.name;
      const Argument argument = read_argument(spec.at("arg"), names_);
      if (const auto* by_name = std::get_if<ValueArg>(&argument)) named = by_name->id;
    } else {
      if (kind == "parameter") {
        input.kind = InputKind::parameter;
        input.target = spec.at("parameter_name").string();
      } else if (kind == "buffer") {
        input.kind = InputKind::buffer;
        input.target = spec.at("buffer_name").string();
        if (const auto persistent = spec.find("persistent")) input.persistent = persistent->boolean();
      } else if (kind == "tensor_constant") {
        input.kind = InputKind::constant;
        input.target = spec.at("tensor_constant_name").string();
      } else {
        spec.fail(fmt::format("'{}' is no kind of input of export schema 8", kind));
      }
      named = read_value_name(spec.at("arg"), names_);
    }
    if (named != input.value)
      spec.fail(fmt::format("does not name '{}', the graph input of the same place", value.name));
    return input;
  }

  void read_nodes() {
    const JsonCursor nodes = graph_json_.at("nodes");
    std::vector<std::pair<std::string, std::string>> unknown;
    list_unknown(nodes, unknown);
    throw_if_unknown(graph_.id, unknown);
    graph_.nodes.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) read_node(nodes.at(i));
  }

  void list_unknown(const JsonCursor& nodes, std::vector<std::pair<std::string, std::string>>& unknown) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const JsonCursor node = nodes.at(i);
      const std::string op = op_of_target(node.at("target").string());
      if (const auto region = region_of(op)) {
        list_unknown(graph_of(node, *region).at("nodes"), unknown);
        continue;
      }
      if (op == "_operator::getitem" || only_asserts(op) || is_known_operator(op) ||
          !functional_form(op).empty())
        continue;
      const auto name = node.find("name");
      unknown.emplace_back(op, name ? name->string() : fmt::format("number {}", i));
    }
  }

  static JsonCursor graph_of(const JsonCursor& node, const Region& region) {
    const JsonCursor inputs = node.at("inputs");
    if (inputs.size() <= region.graph)
      inputs.fail(fmt::format("{} arguments, expected at least {}", inputs.size(), region.graph + 1));
    const JsonCursor argument = inputs.at(region.graph).at("arg");
    const auto [kind, value] = argument.alternative();
    if (kind != "as_graph") argument.fail(fmt::format("expected as_graph, found {}", kind));
    return value.at("graph");
  }

  // The region's nodes become the graph's own, its inputs other names of its operands and its results of what
  // the node defines. Its values are named after the node too, for names are the region's own.
  void read_region(const JsonCursor& cursor, const Region& region) {
    const JsonCursor inputs = cursor.at("inputs");
    const JsonCursor graph = graph_of(cursor, region);
    if (region.off) {
      const JsonCursor flag = inputs.at(*region.off).at("arg");
      const Argument enabled = read_argument(flag, names_);
      if (!std::holds_alternative<bool>(enabled)) flag.fail("expected as_bool");
      if (std::get<bool>(enabled)) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: autocast is enabled here, so that operators cast what they read. Call "
                                "exported_program.run_decompositions() before torch.export.save",
                                cursor.place()));
      }
    }
    ValueNames names;
    const JsonCursor parameters = graph.at("inputs");
    if (parameters.size() != inputs.size() - region.graph - 1) {
      parameters.fail(fmt::format("{} inputs, but the node gives {}", parameters.size(),
                                  inputs.size() - region.graph - 1));
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const JsonCursor given = inputs.at(region.graph + 1 + i).at("arg");
      const Argument argument = read_argument(given, names_);
      const auto* value = std::get_if<ValueArg>(&argument);
      if (value == nullptr) given.fail("expected a tensor or a symbolic number");
      if (!names.emplace(name_of_value(parameters.at(i)), value->id).second)
        parameters.at(i).fail("this name is another input's");
    }
    names_.swap(names);
    Declarations declared;
    declared_.swap(declared);
    const auto given = cursor.find("name");
    const std::string outer = std::exchange(
        prefix_,
        fmt::format("{}{}.", prefix_, given ? given->string() : std::to_string(graph_.nodes.size())));
    read_tables(graph);
    const JsonCursor nodes = graph.at("nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) read_node(nodes.at(i));
    std::vector<Argument> results;
    const JsonCursor outputs = graph.at("outputs");
    for (std::size_t i = 0; i < outputs.size(); ++i) results.push_back(read_argument(outputs.at(i), names_));
    prefix_ = outer;
    declared_.swap(declared);
    names_.swap(names);
    name_results(cursor.at("outputs"), results);
  }

  void name_results(const JsonCursor& outputs, const std::vector<Argument>& results) {
    std::vector<JsonCursor> flat;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto [kind, value] = outputs.at(i).alternative();
      if (kind != "as_tensors") flat.push_back(outputs.at(i));
      for (std::size_t k = 0; kind == "as_tensors" && k < value.size(); ++k) flat.push_back(value.at(k));
    }
    if (flat.size() != results.size())
      outputs.fail(fmt::format("{} results, but the graph of the node has {}", flat.size(), results.size()));
    for (std::size_t i = 0; i < flat.size(); ++i) {
      if (std::holds_alternative<NoneArg>(results[i])) continue;
      const auto* value = std::get_if<ValueArg>(&results[i]);
      if (value == nullptr) flat[i].fail("the graph of the node returns no tensor or symbolic number here");
      const std::string name = flat[i].find("name") ? flat[i].at("name").string() : name_of_value(flat[i]);
      if (!names_.emplace(name, value->id).second)
        flat[i].fail(fmt::format("value '{}' is defined twice", name));
    }
  }

  // Of {"as_tensor": {"name": ...}} or {"as_sym_int": {"as_name": ...}}.
  static std::string name_of_value(const JsonCursor& cursor) {
    const auto [kind, value] = cursor.alternative();
    if (kind == "as_tensor") return value.at("name").string();
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
      return value.at("as_name").string();
    cursor.fail(fmt::format("expected a tensor or a symbolic number, found {}", kind));
  }

  void read_parameters() {
    const JsonCursor inputs = graph_json_.at("inputs");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::vector<ValueId> ids;
      define_outputs(inputs.at(i), -1, ids);
      if (ids.size() != 1 || ids[0] < 0) inputs.at(i).fail("expected one tensor or symbolic number");
      graph_.inputs.push_back({ids[0], InputKind::user, graph_.values[static_cast<std::size_t>(ids[0])].name,
                               true, std::nullopt});
    }
  }

  void read_results() {
    const JsonCursor outputs = graph_json_.at("outputs");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Argument argument = read_argument(outputs.at(i), names_);
      const auto* value = std::get_if<ValueArg>(&argument);
      if (value == nullptr) outputs.at(i).fail("expected a tensor");
      graph_.outputs.push_back({value->id, OutputKind::user, "", std::nullopt});
    }
  }

  // Graphs inside graphs that are arguments would be functions that call functions; no operator here has
  // them.
  Argument read_any_argument(const JsonCursor& cursor, const std::string& node) {
    const auto [kind, value] = cursor.alternative();
    if (kind != "as_graph") return read_argument(cursor, names_);
    if (!signature_) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: a graph inside a graph that is an argument itself", value.place()));
    }
    GraphArg function;
    function.name = value.at("name").string();
    std::string id = fmt::format("{}: node '{}': graph '{}'", graph_.id, node, function.name);
    function.graph = std::make_shared<const Graph>(
        GraphReader(value.at("graph"), std::move(id), WithoutSignature{}).run());
    return function;
  }

  void read_node(const JsonCursor& cursor) {
    Node node;
    node.op = op_of_target(cursor.at("target").string());
    if (const auto region = region_of(node.op)) {
      read_region(cursor, *region);
      return;
    }
    if (only_asserts(node.op)) return;
    const auto given = cursor.find("name");
    const std::string place = given ? given->string() : fmt::format("number {}", graph_.nodes.size());
    const JsonCursor inputs = cursor.at("inputs");
    const Schema* schema = find_schema(node.op);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const JsonCursor input = inputs.at(i);
      std::string name = input.at("name").string();
      // PyTorch leaves the names of a higher-order operator's arguments out.
      if (name.empty() && schema != nullptr && i < schema->arguments.size()) {
        name = schema->arguments[i].name;
      }
      node.arguments.push_back({std::move(name), read_any_argument(input.at("arg"), place)});
    }
    if (schema != nullptr) order_arguments(node, *schema);
    const JsonCursor outputs = cursor.at("outputs");
    if (node.op == "_operator::getitem") {
      alias_item(cursor, node, outputs);
      return;
    }
    const auto producer = static_cast<int32_t>(graph_.nodes.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) define_outputs(outputs.at(i), producer, node.outputs);
    node.name = node_name(cursor, node);
    if (const auto metadata = cursor.find("metadata")) {
      if (const auto trace = metadata->find("stack_trace"))
        node.source.location = source_location(trace->string());
      if (const auto stack = metadata->find("nn_module_stack"))
        node.source.module_path = module_path(stack->string());
    }
    graph_.nodes.push_back(std::move(node));
  }

  // As the schema lists them, whatever the file's order: kernels count on it where they number their inputs.
  static void order_arguments(Node& node, const Schema& schema) {
    const auto place = [&](const NamedArgument& given) {
      std::size_t i = 0;
      while (i < schema.arguments.size() && schema.arguments[i].name != given.name) ++i;
      return i;
    };
    std::stable_sort(node.arguments.begin(), node.arguments.end(),
                     [&](const NamedArgument& a, const NamedArgument& b) { return place(a) < place(b); });
  }

  // Files without node names (schemas before 8.9): the name of the first output, else a number.
  std::string node_name(const JsonCursor& cursor, const Node& node) const {
    if (const auto name = cursor.find("name")) return prefix_ + name->string();
    for (const ValueId id : node.outputs) {
      if (id >= 0) return graph_.values[static_cast<std::size_t>(id)].name;
    }
    return fmt::format("{}node_{}", prefix_, graph_.nodes.size());
  }

  // PyTorch's own files have results of several tensors flattened; others select them by getitem.
  void alias_item(const JsonCursor& cursor, const Node& node, const JsonCursor& outputs) {
    if (node.arguments.size() != 2 || outputs.size() != 1)
      cursor.fail("getitem needs a list, an index and one result");
    const auto* list = std::get_if<ValueListArg>(&node.arguments[0].value);
    const auto* index = std::get_if<int64_t>(&node.arguments[1].value);
    if (list == nullptr || index == nullptr || *index < 0 ||
        static_cast<std::size_t>(*index) >= list->ids.size()) {
      cursor.fail("getitem is understood only with a list of tensors and an index into it");
    }
    const std::string name = outputs.at(0).at("as_tensor").at("name").string();
    if (!names_.emplace(name, list->ids[static_cast<std::size_t>(*index)]).second) {
      outputs.fail(fmt::format("value '{}' is defined twice", name));
    }
  }

  void read_outputs() {
    const JsonCursor outputs = graph_json_.at("outputs");
    const JsonCursor specs = signature_->at("output_specs");
    if (outputs.size() != specs.size()) {
      specs.fail(fmt::format("{} output_specs for {} graph outputs", specs.size(), outputs.size()));
    }
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto [kind, spec] = specs.at(i).alternative();
      GraphOutput output;
      Argument argument;
      if (kind == "user_output") {
        argument = read_argument(spec.at("arg"), names_);
      } else if (kind == "loss_output" || kind == "gradient_to_parameter" ||
                 kind == "gradient_to_user_input") {
        argument = ValueArg{read_value_name(spec.at("arg"), names_)};
      } else if (kind == "buffer_mutation" || kind == "parameter_mutation") {
        output.kind = OutputKind::buffer_mutation;
        output.target = spec.at(kind == "buffer_mutation" ? "buffer_name" : "parameter_name").string();
        argument = ValueArg{read_value_name(spec.at("arg"), names_)};
      } else if (kind == "user_input_mutation") {
        output.kind = OutputKind::user_input_mutation;
        output.target = spec.at("user_input_name").string();
        argument = ValueArg{read_value_name(spec.at("arg"), names_)};
      } else if (kind == "token") {
        throw Error(ErrorCode::unsupported, fmt::format("{}: token outputs are not supported", spec.place()));
      } else {
        spec.fail(fmt::format("'{}' is no kind of output of export schema 8", kind));
      }
      if (read_argument(outputs.at(i), names_) != argument) {
        spec.fail("does not name the graph output of the same place");
      }
      if (const auto* value = std::get_if<ValueArg>(&argument)) {
        output.value = value->id;
      } else {
        output.constant = std::move(argument);
      }
      graph_.outputs.push_back(std::move(output));
    }
  }

  JsonCursor graph_json_;
  std::optional<JsonCursor> signature_;  // none: the graph is an argument
  Graph graph_;
  ValueNames names_;
  Declarations declared_;
  std::string prefix_;                         // of the names in a region; empty outside
  std::unordered_set<std::string> all_names_;  // of values, regions' too
};

void check_version(const nlohmann::json& document, const std::string& origin) {
  const JsonCursor root(document, origin);
  const JsonCursor major = root.at("schema_version").at("major");
  if (major.integer() != kMajor) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format(
            "{}: export schema {} is not supported, only {}. Export the model again with PyTorch 2.6 or "
            "newer",
            major.place(), major.integer(), kMajor));
  }
}

}  // namespace

Graph graph_from_document(const nlohmann::json& document, const std::string& origin) {
  check_version(document, origin);
  Graph graph = GraphReader(JsonCursor(document, origin), origin).run();
  validate(graph);
  return graph;
}

Graph graph_from_json(std::string_view json, const std::string& origin) {
  return graph_from_document(parse_json(json, origin), origin);
}

std::shared_ptr<const Graph> function_from_json(std::string_view json, const std::string& origin) {
  const nlohmann::json document = parse_json(json, origin);
  auto graph = std::make_shared<const Graph>(
      GraphReader(JsonCursor(document, origin), origin, GraphReader::WithoutSignature{}).run());
  validate(*graph);
  return graph;
}

Graph graph_from_json_unchecked(std::string_view json, const std::string& origin) {
  const nlohmann::json document = parse_json(json, origin);
  check_version(document, origin);
  return GraphReader(JsonCursor(document, origin), origin).run();
}

}  // namespace assay
