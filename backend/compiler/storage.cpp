#include "backend/compiler/storage.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <string_view>

namespace assay::backend {

bool is_reinterpretation(std::string_view op) {
  static const std::set<std::string_view> all{
      "aten::view.default",       "aten::_unsafe_view.default", "aten::reshape.default",
      "aten::alias.default",      "aten::clone.default",        "aten::unsqueeze.default",
      "aten::squeeze.default",    "aten::squeeze.dim",          "aten::squeeze.dims",
      "aten::contiguous.default", "aten::detach.default",       "aten::flatten.using_ints",
      "aten::unflatten.int",
  };
  return all.count(op) != 0;
}

bool is_reinterpretation(const Graph& graph, const Node& node) {
  if (is_reinterpretation(node.op)) return true;
  if (node.op != "aten::expand.default") return false;
  const std::vector<ValueId> read = inputs_of(node);
  return read.size() == 1 && node.outputs.size() == 1 && node.outputs[0] >= 0 &&
         graph.values[static_cast<std::size_t>(read[0])].shape ==
             graph.values[static_cast<std::size_t>(node.outputs[0])].shape;
}

Aliases::Aliases(const Graph& graph) : base(graph.values.size()), last_use(graph.values.size(), -1) {
  std::iota(base.begin(), base.end(), 0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::vector<ValueId> read = inputs_of(node);
    for (const ValueId id : read) {
      last_use[static_cast<std::size_t>(base[static_cast<std::size_t>(id)])] = static_cast<int>(n);
    }
    if (!is_reinterpretation(graph, node) || read.empty()) continue;
    for (const ValueId id : node.outputs) {
      if (id >= 0) base[static_cast<std::size_t>(id)] = base[static_cast<std::size_t>(read.front())];
    }
  }
}

int32_t HbmPool::take(int64_t bytes) {
  constexpr int64_t kAlign = 64;
  const int64_t rounded = std::max<int64_t>((bytes + kAlign - 1) / kAlign * kAlign, kAlign);
  requested_ += rounded;
  const auto size = [&](int32_t t) { return program_.tensors[static_cast<std::size_t>(t)].elements; };
  auto best = free_.end(), largest = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (size(*it) >= rounded && (best == free_.end() || size(*it) < size(*best))) best = it;
    if (largest == free_.end() || size(*it) > size(*largest)) largest = it;
  }
  if (best == free_.end()) best = largest;
  if (best == free_.end()) {
    all_.push_back(static_cast<int32_t>(program_.tensors.size()));
    program_.tensors.push_back(
        {"scratch" + std::to_string(all_.size() - 1), HbmKind::scratch, DType::u8, rounded, -1});
    return all_.back();
  }
  const int32_t tensor = *best;
  free_.erase(best);
  int64_t& elements = program_.tensors[static_cast<std::size_t>(tensor)].elements;
  elements = std::max(elements, rounded);
  return tensor;
}

void HbmPool::give_back(int32_t tensor) { free_.push_back(tensor); }

int64_t HbmPool::held_bytes() const {
  int64_t out = 0;
  for (const int32_t t : all_) out += program_.tensors[static_cast<std::size_t>(t)].elements;
  return out;
}

}  // namespace assay::backend
