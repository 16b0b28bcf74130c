#include "backend/kernels/windows.h"

#include <algorithm>

namespace assay::backend {
namespace {

constexpr int64_t kBandBytes = 120 * 1024;

}  // namespace

Windows::Windows(const KernelContext& ctx, const View& in_view, const View& out_view, int spatial)
    : x(in_view), y(out_view) {
  const auto n = static_cast<std::size_t>(spatial), lead = 3 - n;
  std::fill(in, in + 3, 1);
  std::fill(out, out + 3, 1);
  const auto read = [&](const char* name, int64_t(&to)[3]) {
    if (ctx.call.schema().find(name) == nullptr) return;
    const auto given = ctx.call.integers(name, spatial);
    for (std::size_t d = 0; d < given.size(); ++d) to[lead + d] = given[d];
  };
  read("kernel_size", kernel);
  std::copy(kernel, kernel + 3, stride);
  read("stride", stride);
  read("padding", padding);
  read("dilation", dilation);
  for (std::size_t d = 0; d < n; ++d) {
    in[lead + d] = x.shape[x.shape.size() - n + d];
    out[lead + d] = y.shape[y.shape.size() - n + d];
  }
  planes = area_out() == 0 ? 0 : y.count() / area_out();
}

namespace {
int64_t extent(const Windows& w, int d, int64_t outputs) {
  return (outputs - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d] + 1;
}
}  // namespace

std::vector<Band> bands(const Windows& w, int64_t bytes) {
  const auto element = static_cast<int64_t>(size_of(w.x.dtype));
  int64_t rows = w.out[1];
  const auto needed = [&] {
    return extent(w, 0, 1) * extent(w, 1, rows) * extent(w, 2, w.out[2]) * element + rows * w.out[2] * bytes;
  };
  while (rows > 1 && needed() > kBandBytes) rows = (rows + 1) / 2;
  std::vector<Band> result;
  for (int64_t depth = 0; depth < w.out[0]; ++depth) {
    for (int64_t row = 0; row < w.out[1]; row += rows)
      result.push_back({depth, row, std::min(rows, w.out[1] - row)});
  }
  return result;
}

AccessPattern load_band(KernelContext& ctx, const Windows& w, const Band& band, int64_t first, int n,
                        const Scalar& outside) {
  const int64_t size[3] = {extent(w, 0, 1), extent(w, 1, band.rows), extent(w, 2, w.out[2])};
  const int64_t start[3] = {band.depth * w.stride[0] - w.padding[0], band.row * w.stride[1] - w.padding[1],
                            -w.padding[2]};
  const AccessPattern tile = ctx.b.sbuf(w.x.dtype, n, {size[0], size[1], size[2]});
  int64_t from[3], count[3];
  bool filled = true, empty = false;
  for (int d = 0; d < 3; ++d) {
    from[d] = std::max<int64_t>(start[d], 0);
    count[d] = std::min(start[d] + size[d], w.in[d]) - from[d];
    filled = filled && count[d] == size[d];
    empty = empty || count[d] <= 0;
  }
  if (!filled) fill(ctx, tile, outside);
  if (empty) return tile;
  AccessPattern inside = tile;
  for (int d = 0; d < 3; ++d) inside = inside.slice(d, from[d] - start[d], count[d]);
  const int64_t offset = w.x.offset + first * w.area_in() + (from[0] * w.in[1] + from[1]) * w.in[2] + from[2];
  ctx.b.dma_copy(inside, hbm_tile(w.x.dtype, w.x.tensor, offset, n, w.area_in(),
                                  {count[0], count[1], count[2]}, {w.in[1] * w.in[2], w.in[2], 1}));
  return tile;
}

void tap_offset(const Windows& w, int64_t tap, int64_t (&offset)[3]) {
  for (int d = 2; d >= 0; --d) {
    offset[d] = tap % w.kernel[d] * w.dilation[d];
    tap /= w.kernel[d];
  }
}

AccessPattern tap_of(const Windows& w, const AccessPattern& tile, const Band& band, int64_t tap) {
  int64_t at[3];
  tap_offset(w, tap, at);
  return tile.select(0, at[0]).slice(0, at[1], band.rows, w.stride[1]).slice(1, at[2], w.out[2], w.stride[2]);
}

AccessPattern band_of(const Windows& w, DType dtype, int32_t tensor, int64_t offset, const Band& band,
                      int64_t first, int n, bool shared) {
  const int64_t inside = (band.depth * w.out[1] + band.row) * w.out[2];
  return hbm_tile(dtype, tensor, offset + (shared ? 0 : first * w.area_out()) + inside, n,
                  shared ? 0 : w.area_out(), {band.rows, w.out[2]}, {w.out[2], 1});
}

}  // namespace assay::backend
