#include "core/distributed/one_program.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <variant>

namespace assay {

RankPrograms one_program(const std::shared_ptr<const Graph>& graph, int ranks) {
  RankPrograms programs;
  programs.groups.world_size = ranks;
  programs.groups.check();
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  for (const Node& node : graph->nodes) {
    const NamedArgument* group = node.find("group_name");
    const auto* name = group == nullptr ? nullptr : std::get_if<std::string>(&group->value);
    if (name != nullptr && *name != "world") programs.groups.groups[*name] = all;
  }
  programs.graphs.assign(all.size(), graph);
  return programs;
}

const Node* first_collective(const Graph& graph) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [](const Node& node) { return is_collective(node.op); });
  return found == graph.nodes.end() ? nullptr : &*found;
}

}  // namespace assay
