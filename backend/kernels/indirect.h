// Indirect DMA over tensors of any rank: what gathers and scatters share.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "backend/kernels/tiles.h"

namespace assay::backend {

// Element i of `elements` belongs to element i of `table` shifted by index[i] * stride elements, with
// 0 <= index < bound (else a trap). The three views have one shape; the index need not vary along the last
// dimensions (stride 0).
struct Indirect {
  View elements, table, index;
  int64_t stride, bound;
  Indirect with(const std::function<View(const View&)>& f) const {
    return {f(elements), f(table), f(index), stride, bound};
  }
};

// elements = table[index].
void gather(KernelContext& ctx, const Indirect& indirect);
// table[index] = elements, or += in fp32 (integers exactly); where indices repeat, the last one stays.
void scatter(KernelContext& ctx, const Indirect& indirect, bool accumulate = false);

// Throws Unsupported unless the index has 32 or 64 bits.
void require_index_dtype(const KernelContext& ctx, const View& index, const char* name);
// Throws Unsupported: an index exists, but nothing that it could address.
void require_not_empty(const KernelContext& ctx, int64_t bound);

// How tensors `indices` (by dimension) address `self`, as index.Tensor and index_put do: negative indices
// count from the end, the indices broadcast, and the indexed dimensions are replaced by the indices' shape,
// in place if they are adjacent, else in front.
struct Indexed {
  View table, index;  // of the result's shape
  int64_t bound;      // of the linear index, whose stride is 1
};
Indexed indexed(KernelContext& ctx, const View& self, const std::vector<int>& indices, const Shape& result);

}  // namespace assay::backend
