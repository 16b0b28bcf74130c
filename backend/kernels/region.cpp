#include "backend/kernels/region.h"

#include <algorithm>

namespace assay::backend {
namespace {

// Calls f(first of the region's rows, rows, element offset, row stride) for runs of rows at even distances.
template <typename F>
void for_row_runs(const Region& region, const View& view, F f) {
  View leading = view;
  leading.shape.pop_back();
  leading.strides.pop_back();
  const IterationSpace space = collapse({&leading, 1});
  const Shape& strides = space.strides[0];
  const std::size_t n = space.sizes.size();
  const int64_t inner = n == 0 ? 1 : space.sizes.back();
  for (int64_t done = 0; done < region.rows;) {
    const int64_t row = region.row + done, at = row % inner;
    const int64_t count = std::min(inner - at, region.rows - done);
    int64_t offset = view.offset + (n == 0 ? 0 : at * strides.back()), index = row / inner;
    for (std::size_t d = n > 0 ? n - 1 : 0; d-- > 0;) {
      offset += index % space.sizes[d] * strides[d];
      index /= space.sizes[d];
    }
    f(done, count, offset + region.first_column() * view.strides.back(), n == 0 ? 0 : strides.back());
    done += count;
  }
}

}  // namespace

AccessPattern load_rows(KernelContext& ctx, const View& view) {
  const Region& region = *ctx.region;
  const int64_t columns = region.columns_of(view.shape.back()), step = view.strides.back();
  const AccessPattern tile = ctx.b.sbuf(view.dtype, static_cast<int>(region.rows), {columns});
  for_row_runs(region, view, [&](int64_t first, int64_t count, int64_t offset, int64_t stride) {
    const auto partitions = static_cast<int>(count);
    ctx.b.dma_copy(tile.partition_slice(static_cast<int>(first), partitions),
                   hbm_tile(view.dtype, view.tensor, offset, partitions, stride, {columns}, {step}));
  });
  return tile;
}

void store_rows(KernelContext& ctx, const View& view) {
  if (!Region::stored(view.tensor)) return;
  const AccessPattern& tile = *ctx.region->tile(view.tensor);
  for_row_runs(*ctx.region, view, [&](int64_t first, int64_t count, int64_t offset, int64_t stride) {
    const auto partitions = static_cast<int>(count);
    ctx.b.dma_copy(hbm_tile(view.dtype, view.tensor, offset, partitions, stride, {tile.free_elements()}, {1}),
                   tile.partition_slice(static_cast<int>(first), partitions));
  });
}

}  // namespace assay::backend
