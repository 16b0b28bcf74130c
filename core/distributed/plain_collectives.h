// In-place, coalesced and autograd collectives as plain functional ones, one tensor each.
#pragma once

#include <memory>
#include <vector>

#include "core/distributed/join.h"

namespace assay {

// A rank's program in plain calls:
//   all_reduce_coalesced(inputs) and the like   one call for each tensor, in order
//   all_reduce_, broadcast_, *_out              the functional form; who reads the tensor that was written to
//                                               afterwards reads the result
//   _c10d_functional_autograd::*                the same collective of _c10d_functional
// Calls that do not have the form of their schema stay as they are: whoever runs them refuses them.
struct PlainProgram {
  std::shared_ptr<const Graph> graph;  // the given one if there is nothing to replace
  std::vector<int> node_at;            // by node of the given graph, and its end: the first node made of it
};
PlainProgram plain_collectives(const std::shared_ptr<const Graph>& program);

// Of all ranks; faults stay before the same calls.
RankPrograms plain_collectives(const RankPrograms& programs);

}  // namespace assay
