#include "harness/judge/rank_agreement.h"

#include <cstring>
#include <map>

#include <fmt/format.h>

#include "core/distributed/join.h"

namespace assay {
namespace {

bool gives_all_the_same(const std::string& op) {
  return op == "ranks::all_reduce.default" || op == "ranks::all_gather.default" ||
         op == "ranks::broadcast.default";
}

}  // namespace

std::string rank_disagreement(const Graph& graph, const std::vector<Tensor>& outputs) {
  std::map<int, std::size_t> first;  // output by node
  for (std::size_t i = 0; i < graph.outputs.size() && i < outputs.size(); ++i) {
    const ValueId id = graph.outputs[i].value;
    if (id < 0 || !outputs[i].defined()) continue;
    const Value& value = graph.values[static_cast<std::size_t>(id)];
    if (value.producer < 0) continue;
    const Node& node = graph.nodes[static_cast<std::size_t>(value.producer)];
    if (!gives_all_the_same(node.op)) continue;
    const auto [entry, is_first] = first.try_emplace(value.producer, i);
    const Tensor& one = outputs[entry->second];
    const Tensor& other = outputs[i];
    if (is_first || one.bytes() != other.bytes() || other.bitwise_equal(one)) continue;
    const std::size_t size = size_of(one.dtype());
    std::size_t at = 0;
    while (std::memcmp(one.data() + at * size, other.data() + at * size, size) == 0) ++at;
    const Value& holder = graph.values[static_cast<std::size_t>(graph.outputs[entry->second].value)];
    return fmt::format("ranks {} and {} hold different bits of the result of {}, first in element {}",
                       rank_of(holder.name), rank_of(value.name), node.op, at);
  }
  return "";
}

}  // namespace assay
