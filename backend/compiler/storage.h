// Where values live in HBM: which share bytes, how long each is needed, and reuse of what is free again.
#pragma once

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

// Values that share bytes, by their representative (a graph input, or the value that an instruction writes).
struct Aliases {
  explicit Aliases(const Graph& graph);
  std::vector<ValueId> base;  // by value
  std::vector<int> last_use;  // by base: last node that reads any of its aliases; -1 if none does
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
