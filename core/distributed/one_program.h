// One program that every rank runs, as torch.export writes it for models of equal shards.
#pragma once

#include <memory>

#include "core/distributed/join.h"

namespace assay {

// The graph for each of `ranks` ranks; every group that it names has all of them, in order. Throws
// Error{invalid_argument} for less than one rank or more than kMaxRanks.
RankPrograms one_program(const std::shared_ptr<const Graph>& graph, int ranks);

// The first collective of a graph that is not joined; null if there is none.
const Node* first_collective(const Graph& graph);

}  // namespace assay
