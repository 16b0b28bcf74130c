// max_poolNd_with_indices: planes on partitions, one comparison a tap.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/kernels/windows.h"

namespace assay::backend {
namespace {

// The index that a window has before any element beat another: its first element inside the input, as PyTorch
// gives where all are -inf.
std::vector<int32_t> first_indices(const Windows& w) {
  std::vector<int32_t> out;
  const auto first = [&](int d, int64_t o) {
    int64_t i = o * w.stride[d] - w.padding[d];
    while (i < 0) i += w.dilation[d];
    return i;
  };
  for (int64_t od = 0; od < w.out[0]; ++od) {
    for (int64_t oh = 0; oh < w.out[1]; ++oh) {
      for (int64_t ow = 0; ow < w.out[2]; ++ow) {
        out.push_back(static_cast<int32_t>((first(0, od) * w.in[1] + first(1, oh)) * w.in[2] + first(2, ow)));
      }
    }
  }
  return out;
}

// What no element is smaller than.
Scalar lowest(DType dtype) {
  Scalar out;
  if (is_float(dtype)) {
    out.kind = Scalar::Kind::floating;
    out.f = -std::numeric_limits<double>::infinity();
  } else if (dtype != DType::u8 && dtype != DType::boolean) {
    out.i = std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(dtype));
    out.f = static_cast<double>(out.i);
  }
  return out;
}

// best and index of a band from its tile.
void compare_taps(KernelContext& ctx, const Windows& w, const Band& band, const AccessPattern& padded,
                  const AccessPattern& best, const AccessPattern& index) {
  const auto tile = [&](DType dtype) { return ctx.b.sbuf(dtype, best.partitions, {band.rows, w.out[2]}); };
  const AccessPattern candidate = tile(DType::i32), better = tile(DType::u8), nan = tile(DType::u8);
  for (int64_t tap = 0; tap < w.taps(); ++tap) {
    const AccessPattern seen = tap_of(w, padded, band, tap);
    // The first largest element wins; the last NaN does.
    const Engine engine = engine_for(seen.dtype);
    ctx.b.tensor_tensor(better, seen, best, AluOp::is_gt, engine);
    if (is_float(seen.dtype)) {
      ctx.b.tensor_tensor(nan, seen, seen, AluOp::is_ne);
      ctx.b.tensor_tensor(better, better, nan, AluOp::logical_or);
    }
    int64_t at[3];
    tap_offset(w, tap, at);
    at[0] += band.depth * w.stride[0] - w.padding[0];
    at[1] += band.row * w.stride[1] - w.padding[1];
    at[2] -= w.padding[2];
    const int64_t steps[] = {w.stride[1] * w.in[2], w.stride[2]};
    ctx.b.iota(candidate, (at[0] * w.in[1] + at[1]) * w.in[2] + at[2], 0, steps);
    ctx.b.copy_predicated(best, seen, better, engine);
    ctx.b.copy_predicated(index, candidate, better, Engine::gpsimd);
  }
}

void max_pool(KernelContext& ctx, int spatial) {
  const View x = ctx.input("self"), values = ctx.output(0), indices = ctx.output(1);
  if (values.count() == 0) return;
  const Windows w(ctx, x, values, spatial);
  const std::vector<int32_t> first = first_indices(w);
  const int32_t start = ctx.b.constant("first indices", DType::i32, std::as_bytes(std::span(first)));
  const ProgramBuilder::Mark mark = ctx.b.mark();
  for (int64_t plane = 0; plane < w.planes; plane += kPartitions) {
    const auto count = static_cast<int>(std::min(kPartitions, w.planes - plane));
    for (const Band& band : bands(w, static_cast<int64_t>(size_of(x.dtype)) + 4 + 4 + 1 + 1 + 8)) {
      const AccessPattern padded = load_band(ctx, w, band, plane, count, lowest(x.dtype));
      const auto tile = [&](DType dtype) { return ctx.b.sbuf(dtype, count, {band.rows, w.out[2]}); };
      const AccessPattern best = tile(x.dtype), index = tile(DType::i32), wide = tile(DType::i64);
      fill(ctx, best, lowest(x.dtype));
      ctx.b.dma_copy(index, band_of(w, DType::i32, start, 0, band, plane, count, true));
      compare_taps(ctx, w, band, padded, best, index);
      ctx.b.cast(wide, index);
      ctx.b.dma_copy(band_of(w, values.dtype, values.tensor, values.offset, band, plane, count), best);
      ctx.b.dma_copy(band_of(w, DType::i64, indices.tensor, indices.offset, band, plane, count), wide);
      ctx.b.release(mark);
    }
  }
}

}  // namespace

void register_pooling(KernelTable& table) {
  table.add("aten::max_pool2d_with_indices.default", [](KernelContext& ctx) { max_pool(ctx, 2); });
  table.add("aten::max_pool3d_with_indices.default", [](KernelContext& ctx) { max_pool(ctx, 3); });
}

}  // namespace assay::backend
