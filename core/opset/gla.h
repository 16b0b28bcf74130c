// Gated linear attention as the operators assay::gla_chunk, assay::gla_chunk_backward and
// assay::gla_recurrent_step define it: arguments resolved and checked, shared by shape rules, decompositions
// and kernels.
//
//   S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T        o_t = scale * S_t^T q_t
//
// The decay comes before the write and the read after it (Yang et al., "Gated linear attention transformers
// with hardware-efficient training", 2023). g <= 0 is the logarithm of the gate.
#pragma once

#include <cstdint>
#include <vector>

#include "core/opset/call.h"

namespace assay {

// Rows [start, end) of batch entry `batch`; `number` counts states.
struct GlaSequence {
  int64_t number = 0, batch = 0, start = 0, end = 0;
  int64_t length() const { return end - start; }
};

// q, k, g [B, T, H, K]; v, o [B, T, H, V]; states [N, H, K, V]. Without cu_seqlens every batch entry is one
// sequence (N = B). With it B is 1 and sequence i has rows cu_seqlens[i] .. cu_seqlens[i + 1]: it starts at 0
// and never goes back; equal neighbours are a sequence of no rows, whose final state is its initial state.
// Rows behind the last offset belong to no sequence: their output and gradients are 0. A missing initial
// state is 0. The default of scale is K^-0.5.
struct GlaCall {
  int64_t batch = 0, length = 0, heads = 0, key = 0, value = 0;
  double scale = 1;
  int64_t chunk = 128;
  DType state = DType::f32;  // f64 for f64 operands
  bool packed = false;       // cu_seqlens was given
  std::vector<GlaSequence> sequences;

  Shape state_shape() const { return {static_cast<int64_t>(sequences.size()), heads, key, value}; }
};

// Throws Error{invalid_argument} naming operator and argument.
GlaCall gla_call(const OpCall& call);  // gla_chunk and gla_chunk_backward
GlaCall gla_step_call(
    const OpCall& call);  // gla_recurrent_step: q, k, g [B, H, K], v [B, H, V], one row each

}  // namespace assay
