// Results that every rank must hold in the same bits.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor.h"

namespace assay {

// For outputs of a joined graph (core/distributed/join.h) that come straight from one all_reduce, all_gather
// or broadcast: "" if all ranks that return it agree bit for bit, else a sentence naming two ranks and the
// first element. `outputs` is parallel to graph.outputs.
std::string rank_disagreement(const Graph& graph, const std::vector<Tensor>& outputs);

}  // namespace assay
