// Geometry of an attention call, whichever operator spells it: what shape rules, the reference,
// decompositions and kernels read alike.
//
//   output[b, i, :] = sum_j softmax_j(s[b, i, j]) value[b, j, :]
//   s[b, i, j] = cap(query[b, i, :] . key[b, j, :] * scale) + mask[b, i, j],   cap(x) = c tanh(x / c)
//
// Key j is open to query i if the bool mask is true there and j <= i + diagonal. A query to which no key is
// open, or all of whose scores are -infinity, gets zeros (PyTorch's _safe_softmax, since 2.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/opset/call.h"

namespace assay {

struct AttentionCall {
  int query = 0, key = 0, value = 0;  // numbers of the call's inputs
  std::optional<int> mask;            // bool, or a float that is added to the scores
  Shape batch;                        // leading dims after broadcasting, heads last
  int64_t rows = 0;                   // queries
  int64_t keys = 0;
  int64_t depth = 0;                // of queries and keys
  int64_t width = 0;                // of values
  double scale = 1;                 // 1 / sqrt(depth) unless given
  double softcap = 0;               // 0: none
  std::optional<int64_t> diagonal;  // causal: 0 aligns at the top left, keys - rows at the bottom right

  int64_t matrices() const { return element_count(batch); }
  TensorMeta output(DType dtype) const;     // [batch..., rows, width]
  TensorMeta logsumexp(DType dtype) const;  // [batch..., rows], f32 for narrower floats
};

// The operators that this file knows: aten::scaled_dot_product_attention,
// aten::_scaled_dot_product_attention_math, aten::_scaled_dot_product_flash_attention_for_cpu with its
// backward pass, and assay::scaled_dot_product_attention (all .default).
bool is_attention(const std::string& op);

// Checks the arguments against one another: throws Error{invalid_argument} naming operator and argument.
AttentionCall attention_call(const OpCall& call);

// For matrix number `index` of the broadcast batch: the number of the matrix of an operand whose leading dims
// are `leading`. Dims of size 1 repeat; with fewer heads (the last dim) each serves a block of neighbours.
int64_t matrix_of(const Shape& leading, const Shape& batch, int64_t index);

}  // namespace assay
