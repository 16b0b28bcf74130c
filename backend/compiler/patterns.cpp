#include "backend/compiler/patterns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backend/compiler/storage.h"
#include "core/error.h"
#include "core/opset/call.h"

namespace assay::backend {
namespace {

struct Occurrence {
  std::map<int, ValueId> tensors;      // of inputs, by index of the pattern's entry
  std::map<int, Argument> attributes;  // the same of attributes
  std::map<int, int> nodes;            // graph nodes, by entry
  std::set<int> all;                   // with reshapes that were looked through
};

class PatternFinder {
 public:
  PatternFinder(const Graph& graph, const Pattern& pattern)
      : graph_(graph), pattern_(pattern), readers_(readers_of(graph)) {}

  std::optional<Occurrence> at(int n) {
    found_ = {};
    if (!matches_node(pattern_.result().index, n)) return std::nullopt;
    // Assertions about what lies between hold by construction, and go with it.
    for (const int inside : std::set<int>(found_.all)) {
      if (inside == n) continue;
      for (const ValueId id : node(inside).outputs) {
        if (id < 0) continue;
        for (const int reader : readers_[static_cast<std::size_t>(id)]) {
          if (reader >= 0 && node(reader).outputs.empty()) found_.all.insert(reader);
        }
      }
    }
    return closed(n) ? std::optional<Occurrence>(found_) : std::nullopt;
  }

 private:
  const Node& node(int n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  const Value& value(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }

  bool matches_node(int entry, int n) {
    const auto [it, fresh] = found_.nodes.emplace(entry, n);
    if (!fresh) return it->second == n;
    const Pattern::Node& wanted = pattern_.entries()[static_cast<std::size_t>(entry)].node;
    if (node(n).op != wanted.op) return false;
    found_.all.insert(n);
    try {
      const OpCall call(graph_, node(n));
      return std::all_of(call.arguments().begin(), call.arguments().end(),
                         [&](const NamedArgument& given) { return matches_argument(wanted, call, given); });
    } catch (const Error&) {  // a size that another node computes
      return false;
    }
  }

  bool matches_argument(const Pattern::Node& wanted, const OpCall& call, const NamedArgument& given) {
    const auto asked = std::find_if(wanted.arguments.begin(), wanted.arguments.end(),
                                    [&](const Pattern::Given& g) { return g.name == given.name; });
    if (asked == wanted.arguments.end()) {
      if (std::holds_alternative<KeywordArg>(given.value)) return true;  // without effect on results
      const SchemaArgument* argument = call.schema().find(given.name);
      return argument != nullptr && argument->default_value && same(*argument->default_value, given.value);
    }
    const auto* wanted_value = std::get_if<PatternValue>(&asked->value);
    if (wanted_value == nullptr) return same(std::get<Argument>(asked->value), given.value);
    const Pattern::Kind kind = pattern_.entry(*wanted_value).kind;
    if (kind == Pattern::Kind::attribute) {
      const auto [it, fresh] = found_.attributes.emplace(wanted_value->index, given.value);
      return fresh || it->second == given.value;
    }
    const auto* tensor = std::get_if<ValueArg>(&given.value);
    if (tensor == nullptr) return false;
    const ValueId id = call.input_values()[static_cast<std::size_t>(tensor->id)];
    if (kind == Pattern::Kind::input) {
      const auto [it, fresh] = found_.tensors.emplace(wanted_value->index, id);
      return fresh || it->second == id;
    }
    return matches_result(wanted_value->index, id);
  }

  // Numbers are equal whatever their type: exporters write beta=1 for a Scalar.
  static bool same(const Argument& a, const Argument& b) {
    const auto number = [](const Argument& x) -> std::optional<double> {
      if (const auto* i = std::get_if<int64_t>(&x)) return static_cast<double>(*i);
      if (const auto* f = std::get_if<double>(&x)) return *f;
      return std::nullopt;
    };
    const std::optional<double> x = number(a), y = number(b);
    return x && y ? *x == *y : a == b;
  }

  bool matches_result(int entry, ValueId id) {
    for (;;) {
      const int n = value(id).producer;
      if (n < 0) return false;
      const Pattern::Node& wanted = pattern_.entries()[static_cast<std::size_t>(entry)].node;
      if (node(n).op == wanted.op) return node(n).outputs.front() == id && matches_node(entry, n);
      if (!is_reinterpretation(graph_, node(n))) return false;
      const ValueId from = inputs_of(node(n)).front();
      const Shape &a = value(from).shape, &b = value(id).shape;
      if (a.empty() || b.empty() || a.back() != b.back()) return false;
      found_.all.insert(n);
      id = from;
    }
  }

  // Everything between is read by nodes of the occurrence only.
  bool closed(int last) const {
    for (const int n : found_.all) {
      for (const ValueId id : node(n).outputs) {
        if (id < 0 || (n == last && id == node(last).outputs.front())) continue;
        const std::vector<int>& readers = readers_[static_cast<std::size_t>(id)];
        if (!std::all_of(readers.begin(), readers.end(), [&](int r) { return found_.all.contains(r); }))
          return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const Pattern& pattern_;
  std::vector<std::vector<int>> readers_;
  Occurrence found_;
};

Node call_of(const Graph& graph, const Pattern& pattern, const Occurrence& found, int last) {
  const Node& before = graph.nodes[static_cast<std::size_t>(last)];
  Node out;
  out.name = before.name;
  out.op = pattern.op();
  out.source = before.source;
  out.outputs = {before.outputs.front()};
  for (std::size_t k = 0; k < pattern.entries().size(); ++k) {
    const Pattern::Entry& entry = pattern.entries()[k];
    const auto index = static_cast<int>(k);
    if (entry.kind == Pattern::Kind::input)
      out.arguments.push_back({entry.name, ValueArg{found.tensors.at(index)}});
    if (entry.kind == Pattern::Kind::attribute)
      out.arguments.push_back({entry.name, found.attributes.at(index)});
  }
  return out;
}

void replace_nodes(Graph& graph, std::map<int, Node> calls, const std::set<int>& removed) {
  std::vector<Node> nodes;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (const auto call = calls.find(static_cast<int>(n)); call != calls.end()) {
      nodes.push_back(std::move(call->second));
    } else if (!removed.contains(static_cast<int>(n))) {
      nodes.push_back(std::move(graph.nodes[n]));
    }
  }
  graph.nodes = std::move(nodes);
  for (Value& value : graph.values) value.producer = -1;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].outputs) {
      if (id >= 0) graph.values[static_cast<std::size_t>(id)].producer = static_cast<int32_t>(n);
    }
  }
}

}  // namespace

Graph with_custom_kernels(Graph graph, const CustomKernels& kernels, const CoreDescription& core) {
  for (const CustomKernels::Fused& fused : kernels.fused()) {
    PatternFinder finder(graph, fused.pattern);
    std::map<int, Node> calls;
    std::set<int> taken;
    // From the end: the last nodes of an occurrence name it.
    for (int n = static_cast<int>(graph.nodes.size()) - 1; n >= 0; --n) {
      if (taken.contains(n)) continue;
      const std::optional<Occurrence> found = finder.at(n);
      if (!found ||
          std::any_of(found->all.begin(), found->all.end(), [&](int other) { return taken.contains(other); }))
        continue;
      Node call = call_of(graph, fused.pattern, *found, n);
      if (fused.accepts && !fused.accepts(OpCall(graph, call), core)) continue;
      calls.emplace(n, std::move(call));
      taken.insert(found->all.begin(), found->all.end());
    }
    if (!calls.empty()) replace_nodes(graph, std::move(calls), taken);
  }
  return graph;
}

}  // namespace assay::backend
