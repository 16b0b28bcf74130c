// A GLA model cut where ranks under tensor parallelism exchange something: the graphs that one rank runs
// between collectives. Heads, MLP columns and vocabulary are divided over `tp` ranks; the gate's low-rank
// input and all norms are on every rank.
#pragma once

#include <cstdint>
#include <optional>

#include "models/differentiate/partition.h"
#include "models/gla/gla.h"

namespace assay::models {

// The layer of one of `tp` ranks: a config whose heads and MLP are a rank's share. Throws
// Error{invalid_argument} if tp does not divide heads or MLP.
GlaConfig rank_config(const GlaConfig& whole, int64_t tp);

// What a part is built for: batch, length, dtype, and `state` of graph; `whole` is not yet divided.
struct GlaPart {
  GlaConfig whole;
  int64_t tp = 1;
  GlaGraph graph;
};

// x and r [B, T, hidden]: the residual stream and what the part before has to add to it (its partial results
// after the all-reduce). Outputs: x + r, then the rank's partial result of the attention (then the state, if
// there is one) or of the MLP.
Graph gla_attention_part(const GlaPart& part);
Graph gla_mlp_part(const GlaPart& part);
// input_ids [B, T] -> x: rows of the rank's part of the table.
Graph gla_embedding_part(const GlaPart& part);
// x, r -> logits of the rank's part of the vocabulary, or with graph.loss the mean cross entropy over it
// ("labels" [B, T]).
Graph gla_head_part(const GlaPart& part);

// Forward and backward pass of a part as one graph: gradients of its parameters, then of x (which is also
// that of r) and of the state, if there is one. Outputs of the forward pass come first, as many as the part
// has.
Graph gla_joint_part(const Graph& part);
// The same in two.
PartitionedGraph gla_part_passes(const Graph& part);

}  // namespace assay::models
