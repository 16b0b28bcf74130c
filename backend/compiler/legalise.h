// Which calls a graph consists of, and whether the device does them.
#pragma once

#include <vector>

#include "backend/compiler/compile_error.h"
#include "backend/kernels/kernel.h"
#include "core/graph/graph.h"

namespace assay::backend {

struct LegalNode {
  OpCall call;  // results that nobody asked for are left out, as in eager mode
  const Kernel* kernel;
  std::vector<ValueId> inputs, outputs;  // of the call
};

// One entry a node. Throws CompileFailure with the faults of all nodes.
std::vector<LegalNode> legalise(const Graph& graph);

// The call of a node by the metas of its values. Throws Error{unsupported} if it reads a number that another
// node computes.
LegalNode read_node(const Graph& graph, const Node& node);

}  // namespace assay::backend
