// Bytes that gloo's algorithms move between ranks.
#pragma once

#include <cstdint>

#include "core/distributed/join.h"

namespace assay {

// Of all collectives of a joined graph: formula_bytes (core/distributed/traffic.h) but for two of PyTorch's.
// Its reduce_scatter is an all_reduce (ProcessGroupGloo.cpp); its reduce is gloo_reduce_bytes.
int64_t gloo_formula_bytes(const JoinedGraph& joined);

// gloo's reduce (gloo/reduce.cc) of `elements` of `item` bytes: a ring in which every rank sends all of its
// segments but the last two, those beyond the end being empty, and then the parts of the others go to `root`.
int64_t gloo_reduce_bytes(int64_t elements, int64_t item, int ranks, int root);

}  // namespace assay
