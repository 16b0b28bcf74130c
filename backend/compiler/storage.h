// Where values live in HBM: which share bytes, how long each is needed, and reuse of what is free again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/isa/program.h"
#include "core/graph/graph.h"

namespace assay::backend {

// The operator's result has its argument's elements in the same order: a reshape, an alias. Such a node needs
// no instruction; values of a graph are never written twice, so sharing bytes is safe.
bool is_reinterpretation(std::string_view op);
// The same of a node: also an expansion to the shape that its argument has.
bool is_reinterpretation(const Graph& graph, const Node& node);

// The nodes that read each value, in order, once for each time; -1 at last where the graph returns it.
std::vector<std::vector<int>> readers_of(const Graph& graph);

// Values that share bytes, by their representative (a graph input, or the value that an instruction writes).
struct Aliases {
  // `turn_for_products`: a transposition that only products read is no copy either: their DMA turns what it
  // loads.
  explicit Aliases(const Graph& graph, bool turn_for_products = false);
  std::vector<ValueId> base;  // by value
  std::vector<bool> turned;   // by value: the last two dimensions are swapped where the bytes are
  std::vector<bool> no_copy;  // by node: shares bytes, needs no instruction
  std::vector<int> last_use;  // by base: last node that reads any of its aliases; -1 if none does

  // KernelContext::turned of a node that reads these values.
  uint64_t turned_inputs(const std::vector<ValueId>& inputs) const {
    uint64_t bits = 0;
    for (std::size_t k = 0; k < std::min<std::size_t>(inputs.size(), 64); ++k)
      bits |= uint64_t{turned[static_cast<std::size_t>(inputs[k])]} << k;
    return bits;
  }
};

// Scratch tensors of a Program, handed out and taken back in the order of its instructions. A request takes
// the smallest free tensor that is large enough, else enlarges the largest free one, else adds one.
class HbmPool {
 public:
  // `program` outlives the pool; tensors are appended to it.
  explicit HbmPool(Program& program) : program_(program) {}

  int32_t take(int64_t bytes);
  void give_back(int32_t tensor);

  // Bytes if nothing were reused, and of the tensors that there are.
  int64_t requested_bytes() const { return requested_; }
  int64_t held_bytes() const;

 private:
  Program& program_;
  std::vector<int32_t> all_, free_;  // free: longest first
  int64_t requested_ = 0;
};

}  // namespace assay::backend
