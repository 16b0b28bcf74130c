// Chunked gated linear attention in ATen operators: what its forward and backward decompositions share.
#pragma once

#include <vector>

#include "core/decompose/shorthands.h"
#include "core/opset/gla.h"

namespace assay {

// Rows of one or more sequences of equal length, heads and batch in one dim: [S, L, K] or [S, L, V], computed
// in the states' dtype. Gates below exp's range are held at its end, so that sums of them stay finite.
struct GlaRows {
  ValueId q = -1, k = -1, v = -1, g = -1, gate_in_range = -1;
  int64_t length = 0;
};

// One chunk of them: rows [start, end) with the running sum b of the gates within the chunk.
struct GlaChunk {
  int64_t start = 0, end = 0;
  ValueId q = -1, k = -1, v = -1;
  ValueId b = -1;           // [S, L, K]; never positive
  ValueId from_start = -1;  // exp(b): decay since the chunk's start
  ValueId to_end = -1;      // exp(b_last - b)
  ValueId whole = -1;       // exp(b_last): [S, K, 1]
  int64_t rows() const { return end - start; }
};

// A block of up to 16 rows of a chunk and all rows before it. With n its first row, exp(b_i - b_n) for its
// own rows i and exp(b_n - b_j) for rows j before it are both at most 1, so their product is a matmul that
// cannot overflow; within the block exp(b_i - b_j) is formed element by element.
struct GlaBlock {
  int64_t start = 0, end = 0;  // rows of the chunk
  ValueId own_decay = -1;      // exp(b_i - b_n): [S, m, K]; -1 in the first block
  ValueId before_decay = -1;   // exp(b_n - b_j): [S, start, K]; -1 in the first block
  ValueId inside = -1;         // exp(b_i - b_j) for j <= i, else 0: [S, m, m, K]
};

class GlaBlocks {
 public:
  static constexpr int64_t kBlock = 16;

  GlaBlocks(Rewriter& w, const OpCall& call);
  const GlaCall& call() const { return gla_; }

  // Sequences in groups that are computed together: all of them without packing, else one by one.
  std::vector<std::vector<GlaSequence>> groups() const;
  // [B, T, H, D] -> [S, L, D] in the states' dtype.
  ValueId gather(ValueId x, const std::vector<GlaSequence>& group) const;
  // [S, L, D] -> [sequences, L, H, D].
  ValueId scatter(ValueId rows, const std::vector<GlaSequence>& group) const;
  // Parts of all groups along the rows; rows of no sequence are 0. [B, T, H, D] in `dtype`.
  ValueId join(const Ids& parts, Shape shape, DType dtype) const;
  GlaRows rows(const std::vector<GlaSequence>& group) const;
  // State argument [N, H, K, V] -> [S, K, V]; zeros where it is None.
  ValueId state(std::string_view name, const std::vector<GlaSequence>& group) const;
  ValueId join_states(const Ids& parts) const;  // [S, K, V] each -> [N, H, K, V]

  std::vector<GlaChunk> chunks(const GlaRows& rows) const;
  std::vector<GlaBlock> blocks(const GlaChunk& chunk) const;
  // Rows of A = scale * (q_i . k_j decayed) for one block: [S, m, end].
  ValueId scores(const GlaChunk& chunk, const GlaBlock& block) const;
  // exp(b_last) S + (k exp(b_last - b))^T v
  ValueId next_state(const GlaChunk& chunk, ValueId state) const;

  ValueId bmm(ValueId a, ValueId b) const;
  ValueId exp(ValueId x) const { return unary(w_, "aten::exp.default", x); }
  ValueId times(ValueId a, ValueId b) const { return mul(w_, a, ValueArg{b}); }
  ValueId scaled(ValueId a) const { return mul(w_, a, gla_.scale); }
  ValueId rows_of(ValueId x, int64_t start, int64_t end) const;

 private:
  Rewriter& w_;
  const OpCall& node_;
  GlaCall gla_;
};

}  // namespace assay
