// What a collective is asked to do: operation, dtype, counts. Semantics as MPI's and NCCL's operations of the
// same names. All counts are elements; every rank sees its input and output as one row of elements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"

namespace assay::backend {

enum class CollectiveOp : uint8_t {
  all_reduce,      // n -> n everywhere
  reduce,          // n -> n at the root, nothing elsewhere
  broadcast,       // n at the root -> n everywhere; other ranks have no input
  all_gather,      // c_r -> all of them everywhere, by rank
  gather,          // c_r -> all of them at the root
  reduce_scatter,  // all -> c_r: the rank's part of the reduced row
  scatter,         // all at the root -> c_r
  all_to_all,      // rank i's part j goes to rank j, where parts lie by sender
  permute,         // n -> n along (source, target) pairs; send and receive is a permute of one pair
  barrier,
};
inline constexpr int kCollectiveOps = 10;
enum class Reduction : uint8_t { sum, avg, min, max, product };

std::string_view name_of(CollectiveOp op);
std::string_view name_of(Reduction reduction);
// PyTorch's names: "sum", "avg", "min", "max", "product". Throws Error{unsupported} for band, bor, bxor,
// Error{invalid_argument} for any other word.
Reduction parse_reduction(std::string_view name);

struct Collective {
  CollectiveOp op = CollectiveOp::all_reduce;
  int ranks = 1;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;  // of all_reduce, reduce, reduce_scatter
  int root = 0;                          // of reduce, broadcast, gather, scatter
  // all_reduce, reduce, broadcast, permute: one count. all_gather, gather, reduce_scatter, scatter: one a
  // rank. all_to_all: ranks x ranks, counts[i * ranks + j] from i to j. barrier: none. Zeros are legal
  // everywhere.
  std::vector<int64_t> counts;
  std::vector<std::pair<int, int>> pairs;  // permute: no rank is twice a source or twice a target

  bool reduces() const;
  bool rooted() const;
  // Elements of a rank's input and output; 0 where it has none.
  int64_t input_count(int rank) const;
  int64_t output_count(int rank) const;
  // The size that nccl-tests and nccom-test give in their tables, in bytes: the whole row for all_reduce,
  // reduce, broadcast; all parts for all_gather, gather, reduce_scatter, scatter; the largest rank's send or
  // receive buffer for all_to_all; the message for permute; 0 for barrier.
  int64_t size_bytes() const;
  // busbw / algbw as nccl-tests defines it (src/*.cu): 2 (n-1)/n, (n-1)/n or 1.
  double bus_factor() const;

  // Throws Error{invalid_argument} with operation, rank and what is wrong: counts that are too few or
  // negative, a root or a pair outside, avg of integers; Error{unsupported} where the device has no datapath:
  // reductions of f64 and complex elements.
  void validate() const;
};

// Of equal parts: n elements of the row of all_reduce, reduce, broadcast and permute (from each rank to the
// next); n for each rank (and
// each pair of ranks) otherwise.
Collective equal_parts(CollectiveOp op, int ranks, DType dtype, int64_t n,
                       Reduction reduction = Reduction::sum, int root = 0);

}  // namespace assay::backend
