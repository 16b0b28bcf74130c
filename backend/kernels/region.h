// Fused regions: several kernels run on the same rows, one after another, and what lies between them stays in
// SBUF.
//
// A kernel that can be part of a region looks at KernelContext::region. If there is one, it does only the
// region's rows (numbers of the flattened leading dimensions of its result) and columns (of its last
// dimension), takes operands that the region holds from there, and leaves its result there. Which calls may
// share a region is decided by compiler/regions.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "backend/kernels/kernel.h"

namespace assay::backend {

class Region {
 public:
  // Numbers of tensors that have no place in HBM.
  static constexpr int32_t kNowhere = 1 << 24;

  int64_t row = 0, rows = 0;
  // Called by a matrix product that visits all rows and columns itself, for each tile of its result, with row
  // and columns set: the kernels behind it run there. Without it, results have all their columns.
  std::function<void(const AccessPattern& result)> then;
  int64_t column = 0, columns = 0;

  // The rows of a tensor, [rows, columns]; nullptr if they are in HBM only.
  const AccessPattern* tile(int32_t tensor) const {
    const auto it = tiles_.find(tensor);
    return it == tiles_.end() ? nullptr : &it->second;
  }
  void hold(int32_t tensor, const AccessPattern& tile) { tiles_[tensor] = tile; }
  static bool stored(int32_t tensor) { return tensor < kNowhere; }

  int64_t first_column() const { return then ? column : 0; }
  int64_t columns_of(int64_t all) const { return then ? columns : all; }

 private:
  std::map<int32_t, AccessPattern> tiles_;
};

// The region's part of a view, loaded as an SBUF tile [rows, columns], dtype kept. The view has the result's
// shape, with strides of 0 where it is broadcast.
AccessPattern load_rows(KernelContext& ctx, const View& view);

// Stores the tile that the region holds of `view` (contiguous), unless nobody outside of the region reads it.
void store_rows(KernelContext& ctx, const View& view);

}  // namespace assay::backend
