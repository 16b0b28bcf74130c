// A joint graph in two: what runs before the gradients of the outputs are known, and what runs after.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace assay::models {

struct PartitionedGraph {
  // The first `outputs` outputs of the joint graph, then every value that the backward pass reads from here
  // ("saved"), inputs left out.
  Graph forward;
  // Inputs: those of the joint graph that it reads, under their names, and the saved values as "saved_NAME";
  // outputs: the remaining outputs.
  Graph backward;
  int64_t saved_bytes =
      0;  // of saved values and of inputs other than parameters that the backward pass reads
};

// The same results, bit for bit, without what backward passes are full of and need not be done: transposes of
// transposes; (A B)^T where nothing else reads A B, which becomes B^T A^T; expansions of an operand of
// elementwise arithmetic whose other operand has the whole shape. Nodes that nothing reads any more may be
// left.
Graph simplified(const Graph& graph);

// `joint`: what joint_graph() returns, or a part of it; `outputs`: how many of its outputs are the forward
// pass's. Nodes that those need are the forward pass; all others are the backward pass, so that what can be
// computed again from saved values without the forward pass's help is. Throws Error{invalid_argument} if
// there are not so many outputs.
PartitionedGraph partition(const Graph& joint, int outputs);

}  // namespace assay::models
