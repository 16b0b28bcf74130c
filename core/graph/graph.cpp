#include "core/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"

namespace assay {

const NamedArgument* Node::find(std::string_view argument) const {
  for (const NamedArgument& candidate : arguments) {
    if (candidate.name == argument) return &candidate;
  }
  return nullptr;
}

ValueId Graph::find_value(std::string_view name) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == name) return static_cast<ValueId>(i);
  }
  return -1;
}

bool Graph::has_symbols() const {
  return std::any_of(values.begin(), values.end(), [](const Value& value) {
    return std::any_of(value.symbols.begin(), value.symbols.end(), [](const auto& s) { return !s.empty(); });
  });
}

std::vector<ValueId> inputs_of(const Node& node) {
  std::vector<ValueId> ids;
  for (const NamedArgument& argument : node.arguments) {
    visit_values(argument.value, [&](ValueId id) {
      if (id >= 0) ids.push_back(id);
    });
  }
  return ids;
}

Graph single_node_graph(const Graph& graph, const Node& node) {
  Graph single;
  single.id = node.op;
  Node copy;
  copy.name = "node";
  copy.op = node.op;
  copy.arguments = node.arguments;

  const auto value_at = [&](ValueId id) -> const Value& {
    if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: node '{}' names value {}, which the graph does not have", graph.id,
                              node.name, id));
    }
    return graph.values[static_cast<std::size_t>(id)];
  };

  // A value that is read twice becomes one input: add(x, x) is another signature than add(x, y).
  std::map<ValueId, ValueId> renumbered;
  for (NamedArgument& argument : copy.arguments) {
    visit_values(argument.value, [&](ValueId& id) {
      if (id < 0) return;
      auto [entry, inserted] = renumbered.try_emplace(id, static_cast<ValueId>(single.values.size()));
      if (inserted) {
        Value value = value_at(id);
        value.name = fmt::format("arg{}", single.values.size());
        value.producer = -1;
        single.inputs.push_back({entry->second, InputKind::user, value.name, true, std::nullopt});
        single.values.push_back(std::move(value));
      }
      id = entry->second;
    });
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] < 0) {
      copy.outputs.push_back(-1);
      continue;
    }
    Value value = value_at(node.outputs[i]);
    value.name = fmt::format("out{}", i);
    value.producer = 0;
    const auto id = static_cast<ValueId>(single.values.size());
    copy.outputs.push_back(id);
    single.outputs.push_back({id, OutputKind::user, "", std::nullopt});
    single.values.push_back(std::move(value));
  }
  single.nodes.push_back(std::move(copy));
  return single;
}

}  // namespace assay
