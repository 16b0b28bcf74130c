#include "backend/compiler/storage.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernels/custom.h"
#include "core/opset/call.h"

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

std::vector<std::vector<int>> readers_of(const Graph& graph) {
  std::vector<std::vector<int>> readers(graph.values.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : inputs_of(graph.nodes[n]))
      readers[static_cast<std::size_t>(id)].push_back(static_cast<int>(n));
  }
  for (const GraphOutput& output : graph.outputs) {
    if (output.value >= 0) readers[static_cast<std::size_t>(output.value)].push_back(-1);
  }
  return readers;
}

namespace {

// Whether a node swaps the last two dimensions of its argument and does nothing else.
bool is_turn(const Graph& graph, const Node& node) {
  const bool swaps = node.op == "aten::transpose.int", permutes = node.op == "aten::permute.default";
  if (!swaps && !permutes && node.op != "aten::t.default") return false;
  const std::vector<ValueId> read = inputs_of(node);
  if (read.size() != 1 || node.outputs.size() != 1 || node.outputs[0] < 0) return false;
  const Value& value = graph.values[static_cast<std::size_t>(read[0])];
  const auto rank = static_cast<int64_t>(value.shape.size());
  const bool width = size_of(value.dtype) == 2 || size_of(value.dtype) == 4;  // what DMA can transpose
  const bool sized =
      std::all_of(value.shape.begin(), value.shape.end(), [](int64_t size) { return size >= 0; });
  if (rank < 2 || !sized || !is_float(value.dtype) || !width) return false;
  if (!swaps && !permutes) return rank == 2;
  const OpCall call(graph, node);
  const auto wrapped = [&](int64_t dim) { return normalise_dim(dim, rank, call); };
  if (swaps) {
    const auto [a, b] = std::minmax({wrapped(call.integer("dim0")), wrapped(call.integer("dim1"))});
    return a == rank - 2 && b == rank - 1;
  }
  const std::vector<int64_t> dims = call.integers("dims");
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t wanted = d < rank - 2 ? d : 2 * rank - 3 - d;
    if (wrapped(dims[static_cast<std::size_t>(d)]) != wanted) return false;
  }
  return true;
}

// Whether all that read a value are products; views that leave the last two dimensions as they are are seen
// through.
class Readers {
 public:
  explicit Readers(const Graph& graph) : graph_(graph), readers_(readers_of(graph)) {}
  bool are_products(ValueId id) const {
    const std::vector<int>& readers = readers_[static_cast<std::size_t>(id)];
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](int n) {
      if (n < 0) return false;
      const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
      if (is_reinterpretation(graph_, node)) {
        return node.outputs.size() == 1 && node.outputs[0] >= 0 && keeps_matrices(id, node.outputs[0]) &&
               are_products(node.outputs[0]);
      }
      return is_factor(node, id);
    });
  }

 private:
  bool keeps_matrices(ValueId from, ValueId to) const {
    const Shape &a = graph_.values[static_cast<std::size_t>(from)].shape,
                &b = graph_.values[static_cast<std::size_t>(to)].shape;
    return a.size() >= 2 && b.size() >= 2 && std::equal(a.end() - 2, a.end(), b.end() - 2);
  }
  static bool is_factor(const Node& node, ValueId id) {
    static const std::set<std::string_view> products{"aten::mm.default", "aten::bmm.default",
                                                     "aten::addmm.default", "aten::baddbmm.default"};
    if (!products.contains(node.op) || has_custom_kernel(node.op)) return false;
    // Not what is added.
    const bool adds = node.op == "aten::addmm.default" || node.op == "aten::baddbmm.default";
    const std::vector<ValueId> read = inputs_of(node);
    return !(adds && !read.empty() && read.front() == id);
  }

  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
};

}  // namespace

Aliases::Aliases(const Graph& graph, bool turn_for_products)
    : base(graph.values.size()),
      turned(graph.values.size(), false),
      no_copy(graph.nodes.size(), false),
      last_use(graph.values.size(), -1) {
  std::iota(base.begin(), base.end(), 0);
  const Readers readers(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::vector<ValueId> read = inputs_of(node);
    for (const ValueId id : read) {
      last_use[static_cast<std::size_t>(base[static_cast<std::size_t>(id)])] = static_cast<int>(n);
    }
    if (read.empty()) continue;
    const auto from = static_cast<std::size_t>(read.front());
    const bool turns =
        turn_for_products && !turned[from] && is_turn(graph, node) && readers.are_products(node.outputs[0]);
    no_copy[n] = turns || is_reinterpretation(graph, node);
    if (!no_copy[n]) continue;
    for (const ValueId id : node.outputs) {
      if (id < 0) continue;
      base[static_cast<std::size_t>(id)] = base[from];
      turned[static_cast<std::size_t>(id)] = turns || turned[from];
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
