#include "core/decompose/decompose.h"

#include <stdexcept>
#include <utility>

#include "core/error.h"
#include "core/opset/shapes.h"

namespace assay {

void register_decompositions(DecomposeTable& table);  // generated

namespace {

void substitute(std::vector<NamedArgument>& arguments, const std::vector<ValueId>& now) {
  const auto renumber = [&](ValueId& id) { id = id < 0 ? id : now.at(static_cast<std::size_t>(id)); };
  for (NamedArgument& argument : arguments) visit_values(argument.value, renumber);
}

// Values of nodes that are gone.
void drop_unused_values(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  const auto use = [&](ValueId id) {
    if (id >= 0) used.at(static_cast<std::size_t>(id)) = true;
  };
  for (const GraphInput& input : graph.inputs) use(input.value);
  for (const GraphOutput& output : graph.outputs) use(output.value);
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) use(id);
    for (ValueId id : inputs_of(node)) use(id);
  }
  std::vector<ValueId> now(graph.values.size(), -1);
  std::vector<Value> kept;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    now[i] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(graph.values[i]));
  }
  graph.values = std::move(kept);
  const auto move = [&](ValueId& id) {
    if (id >= 0) id = now[static_cast<std::size_t>(id)];
  };
  for (GraphInput& input : graph.inputs) move(input.value);
  for (GraphOutput& output : graph.outputs) move(output.value);
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.outputs) move(id);
    substitute(node.arguments, now);
  }
}

}  // namespace

Rewriter::Rewriter(Graph& graph) : graph_(graph) {
  for (const Value& value : graph.values) names_.insert(value.name);
  for (const Node& node : graph.nodes) names_.insert(node.name);
}

std::string Rewriter::unique_name() {
  std::string name;
  do {
    name = replaced_->name + "_part" + std::to_string(emitted_++);
  } while (!names_.insert(name).second);
  return name;
}

void Rewriter::inherit_name(ValueId result, const Value& replaced) {
  if (nodes_.empty() || nodes_.back().outputs != std::vector<ValueId>{result}) return;
  Value& value = graph_.values.at(static_cast<std::size_t>(result));
  if (value.name != nodes_.back().name) return;  // not emitted for this node
  nodes_.back().name = replaced_->name;
  const std::string name = replaced.name;
  graph_.values.at(static_cast<std::size_t>(result)).name = name;
}

void DecomposeTable::add(const std::string& full_name, DecomposeRule rule) {
  if (!rules_.emplace(full_name, std::move(rule)).second) {
    throw Error(ErrorCode::internal, "two decompositions of " + full_name);
  }
}

const DecomposeRule* DecomposeTable::find(const std::string& full_name) const {
  const auto found = rules_.find(full_name);
  return found == rules_.end() ? nullptr : &found->second;
}

std::vector<std::string> DecomposeTable::names() const {
  std::vector<std::string> names;
  for (const auto& [name, rule] : rules_) names.push_back(name);
  return names;
}

const DecomposeTable& decompose_rules() {
  static const DecomposeTable table = [] {
    DecomposeTable made;
    register_decompositions(made);
    return made;
  }();
  return table;
}

std::vector<ValueId> Rewriter::emit_all(const std::string& op, std::vector<NamedArgument> arguments) {
  Node node;
  node.op = op;
  node.name = unique_name();
  node.arguments = std::move(arguments);
  node.source = replaced_->source;
  const auto results = infer(OpCall(graph_, node));
  if (!results)
    throw Error(ErrorCode::internal, "decomposition of " + replaced_->op + ": " + op + " has no shape rule");
  for (std::size_t i = 0; i < results->size(); ++i) {
    Value value;
    value.name = results->size() == 1 ? node.name : node.name + "_out" + std::to_string(i);
    value.dtype = (*results)[i].dtype;
    value.shape = (*results)[i].shape;
    node.outputs.push_back(static_cast<ValueId>(graph_.values.size()));
    graph_.values.push_back(std::move(value));
  }
  auto outputs = node.outputs;
  nodes_.push_back(std::move(node));
  return outputs;
}

ValueId Rewriter::view(ValueId self, const Shape& size) {
  return emit("aten::view.default", {{"self", ValueArg{self}}, {"size", IntListArg{size, {}}}});
}

ValueId Rewriter::permute(ValueId self, const std::vector<int64_t>& dims) {
  return emit("aten::permute.default", {{"self", ValueArg{self}}, {"dims", IntListArg{dims, {}}}});
}

ValueId Rewriter::expand(ValueId self, const Shape& size) {
  return emit("aten::expand.default", {{"self", ValueArg{self}}, {"size", IntListArg{size, {}}}});
}

ValueId Rewriter::cast(ValueId self, DType to) {
  if (dtype(self) == to) return self;
  return emit("aten::_to_copy.default", {{"self", ValueArg{self}}, {"dtype", DTypeArg{to}}});
}

ValueId Rewriter::full(const Shape& size, const Argument& value, DType dtype) {
  return emit("aten::full.default",
              {{"size", IntListArg{size, {}}}, {"fill_value", value}, {"dtype", DTypeArg{dtype}}});
}

ValueId Rewriter::scalar_like(ValueId self, const Argument& value) {
  return emit("aten::scalar_tensor.default", {{"s", value}, {"dtype", DTypeArg{dtype(self)}}});
}

ValueId value_of(const OpCall& call, std::string_view argument) {
  return call.input_values().at(static_cast<std::size_t>(call.tensor(argument)));
}

std::optional<ValueId> value_of_opt(const OpCall& call, std::string_view argument) {
  const auto index = call.tensor_opt(argument);
  if (!index) return std::nullopt;
  return call.input_values().at(static_cast<std::size_t>(*index));
}

// An OpCall's arguments number its inputs; a graph's name values.
Argument passed_on(const OpCall& call, std::string_view argument) {
  for (NamedArgument& given : passed_on(call)) {
    if (given.name == argument) return std::move(given.value);
  }
  throw Error(ErrorCode::internal, call.op() + " has no argument '" + std::string(argument) + "'");
}

std::vector<NamedArgument> passed_on(const OpCall& call) {
  std::vector<NamedArgument> arguments = call.arguments();
  substitute(arguments, call.input_values());
  return arguments;
}

namespace {

// What a graph declares about a composite operator is believed only where its parts agree.
void check_results(const Graph& graph, const Node& node, const std::vector<ValueId>& results) {
  if (results.size() != node.outputs.size()) {
    throw Error(ErrorCode::malformed_file, graph.id + ": node '" + node.name + "' (" + node.op +
                                               ") declares " + std::to_string(node.outputs.size()) +
                                               " results; its arguments give " +
                                               std::to_string(results.size()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (node.outputs[i] < 0) continue;
    const Value& declared = graph.values.at(static_cast<std::size_t>(node.outputs[i]));
    const Value& made = graph.values.at(static_cast<std::size_t>(results[i]));
    if (declared.dtype == made.dtype && declared.shape == made.shape) continue;
    throw Error(ErrorCode::malformed_file,
                graph.id + ": node '" + node.name + "' (" + node.op + "): result '" + declared.name +
                    "' is declared as " + std::string(name_of(declared.dtype)) + to_string(declared.shape) +
                    "; its arguments give " + std::string(name_of(made.dtype)) + to_string(made.shape));
  }
}

// Arguments that contradict one another show here at the latest: not every composite operator has a shape
// rule of its own.
std::vector<ValueId> parts_of(const Graph& graph, const Node& node, const DecomposeRule& rule,
                              Rewriter& rewriter) {
  const std::string place = graph.id + ": node '" + node.name + "' (" + node.op + "): ";
  try {
    return rule(rewriter, OpCall(graph, node));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal || error.code() == ErrorCode::unsupported) throw;
    throw Error(ErrorCode::malformed_file, place + error.what());
  } catch (const std::out_of_range&) {
    throw Error(ErrorCode::malformed_file, place + "an argument has too few dims or elements");
  }
}

}  // namespace

void decompose(Graph& graph) {
  decompose(graph, [](const std::string&) { return false; });
}

void decompose(Graph& graph, const std::function<bool(const std::string&)>& keep) {
  // Rules may write composite operators themselves; each pass takes one level. The bound guards against rules
  // that write each other.
  for (int level = 0; level < 8; ++level) {
    Rewriter rewriter(graph);
    std::vector<ValueId> now(graph.values.size());
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = static_cast<ValueId>(i);
    bool changed = false;
    const std::vector<Node> old = std::exchange(graph.nodes, {});
    for (const Node& original : old) {
      Node node = original;
      substitute(node.arguments, now);
      const DecomposeRule* rule = keep(node.op) ? nullptr : decompose_rules().find(node.op);
      std::vector<ValueId> results;
      if (rule) {
        rewriter.begin(node);
        results = parts_of(graph, node, *rule, rewriter);
      }
      if (results.empty()) {
        rewriter.nodes_.push_back(std::move(node));
        continue;
      }
      changed = true;
      check_results(graph, node, results);
      if (results.size() == 1 && node.outputs.at(0) >= 0) {
        rewriter.inherit_name(results[0], graph.values.at(static_cast<std::size_t>(node.outputs[0])));
      }
      for (std::size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) {
        if (node.outputs[i] >= 0) now.at(static_cast<std::size_t>(node.outputs[i])) = results[i];
      }
    }
    graph.nodes = std::move(rewriter.nodes_);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (ValueId id : graph.nodes[n].outputs) {
        if (id >= 0) graph.values.at(static_cast<std::size_t>(id)).producer = static_cast<int32_t>(n);
      }
    }
    for (GraphOutput& output : graph.outputs) {
      if (output.value >= 0) output.value = now.at(static_cast<std::size_t>(output.value));
    }
    if (!changed) {
      drop_unused_values(graph);
      return;
    }
  }
  throw Error(ErrorCode::internal, graph.id + ": decompositions do not end");
}

}  // namespace assay
