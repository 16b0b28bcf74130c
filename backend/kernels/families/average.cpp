// avg_poolNd and adaptive_avg_poolNd: planes on partitions.
#include <algorithm>
#include <span>
#include <vector>

#include "backend/kernels/windows.h"

namespace assay::backend {
namespace {

constexpr int64_t kPlaneBytes = 64 * 1024;

void require_float(const KernelContext& ctx, DType dtype) {
  if (!is_float(dtype)) ctx.unsupported(ASSAY_REASON_DTYPE, "self must be floating point");
}

// Integers are added and divided exactly, on GpSimd.
DType sum_dtype(const Windows& w) { return is_float(w.x.dtype) ? DType::f32 : DType::i64; }

int32_t constant(KernelContext& ctx, const Windows& w, const std::vector<int64_t>& values) {
  if (sum_dtype(w) == DType::i64)
    return ctx.b.constant("divisors", DType::i64, std::as_bytes(std::span(values)));
  const std::vector<float> floats(values.begin(), values.end());
  return ctx.b.constant("divisors", DType::f32, std::as_bytes(std::span(floats)));
}

// y = sum / divisor, one divisor an output element (the same for all planes). Integers lose their fraction.
void divide_and_store(KernelContext& ctx, const Windows& w, const Band& band, int64_t first,
                      const AccessPattern& sum, int32_t divisors) {
  const int n = sum.partitions;
  const AccessPattern d = ctx.b.sbuf(sum.dtype, n, {band.rows, w.out[2]});
  ctx.b.dma_copy(d, band_of(w, sum.dtype, divisors, 0, band, first, n, true));
  const AccessPattern result = ctx.b.sbuf(w.y.dtype, n, {band.rows, w.out[2]});
  ctx.b.tensor_tensor(result, sum, d, is_float(sum.dtype) ? AluOp::divide : AluOp::divide_trunc,
                      engine_for(sum.dtype));
  ctx.b.dma_copy(band_of(w, w.y.dtype, w.y.tensor, w.y.offset, band, first, n), result);
}

// Calls f(first plane, planes) for groups that fit onto the partitions.
template <class F>
void for_each_group(const Windows& w, F&& f) {
  for (int64_t first = 0; first < w.planes; first += kPartitions)
    f(first, static_cast<int>(std::min(kPartitions, w.planes - first)));
}

// Divisors of all output elements of a plane from the number of elements along each dimension.
template <class Count>
std::vector<int64_t> divisors_of(const Windows& w, Count&& count) {
  std::vector<int64_t> out;
  for (int64_t od = 0; od < w.out[0]; ++od) {
    for (int64_t oh = 0; oh < w.out[1]; ++oh) {
      for (int64_t ow = 0; ow < w.out[2]; ++ow) out.push_back(count(0, od) * count(1, oh) * count(2, ow));
    }
  }
  return out;
}

void average_pool(KernelContext& ctx, int spatial) {
  const Windows w(ctx, ctx.input("self"), ctx.output(), spatial);
  if (w.y.count() == 0) return;
  if (!is_float(w.x.dtype) && w.x.dtype != DType::i64)
    ctx.unsupported(ASSAY_REASON_DTYPE, "self must be floating point or int64");
  const bool count_padding = ctx.call.boolean("count_include_pad");
  const auto fixed = ctx.call.schema().find("divisor_override") != nullptr
                         ? ctx.call.integer_opt("divisor_override")
                         : std::nullopt;
  // Elements of a window along one dimension, padding counted or not; what ceil_mode adds beyond the padding
  // never counts.
  const int32_t table =
      constant(ctx, w, divisors_of(w, [&](int d, int64_t o) {
                 if (fixed) return d == 0 ? *fixed : 1;
                 const int64_t start = o * w.stride[d] - w.padding[d];
                 const int64_t end = std::min(start + w.kernel[d], w.in[d] + w.padding[d]);
                 return count_padding ? end - start : std::min(end, w.in[d]) - std::max<int64_t>(start, 0);
               }));
  const DType type = sum_dtype(w);
  const Engine engine = engine_for(type);
  const ProgramBuilder::Mark mark = ctx.b.mark();
  for_each_group(w, [&](int64_t first, int n) {
    for (const Band& band : bands(w, static_cast<int64_t>(2 * size_of(type) + size_of(w.y.dtype)))) {
      const AccessPattern padded = load_band(ctx, w, band, first, n, {});
      const AccessPattern sum = ctx.b.sbuf(type, n, {band.rows, w.out[2]});
      for (int64_t tap = 0; tap < w.taps(); ++tap) {
        const AccessPattern seen = tap_of(w, padded, band, tap);
        if (tap == 0) {
          ctx.b.tensor_copy(sum, seen, engine);
        } else {
          ctx.b.tensor_tensor(sum, sum, seen, AluOp::add, engine);
        }
      }
      divide_and_store(ctx, w, band, first, sum, table);
      ctx.b.release(mark);
    }
  });
}

// Window o of `size` elements cut into `n`: [floor(o size / n), ceil((o + 1) size / n)).
struct Span {
  int64_t start, count;
};
Span adaptive(int64_t o, int64_t size, int64_t n) {
  const int64_t start = o * size / n, end = ((o + 1) * size + n - 1) / n;
  return {start, end - start};
}

void adaptive_average_pool(KernelContext& ctx, int spatial) {
  const Windows w(ctx, ctx.input("self"), ctx.output(), spatial);
  if (w.y.count() == 0) return;
  require_float(ctx, w.x.dtype);
  const int32_t table = constant(
      ctx, w, divisors_of(w, [&](int d, int64_t o) { return adaptive(o, w.in[d], w.out[d]).count; }));
  // Whole planes where they fit, else what one row of results needs.
  const bool whole = w.area_in() * static_cast<int64_t>(size_of(w.x.dtype)) <= kPlaneBytes;
  const auto load = [&](int64_t first, int n, const Span& d, const Span& h) {
    const AccessPattern tile = ctx.b.sbuf(w.x.dtype, n, {d.count, h.count, w.in[2]});
    const int64_t offset = w.x.offset + first * w.area_in() + (d.start * w.in[1] + h.start) * w.in[2];
    ctx.b.dma_copy(tile, hbm_tile(w.x.dtype, w.x.tensor, offset, n, w.area_in(), {d.count, h.count, w.in[2]},
                                  {w.in[1] * w.in[2], w.in[2], 1}));
    return tile;
  };
  const ProgramBuilder::Mark start = ctx.b.mark();
  for_each_group(w, [&](int64_t first, int n) {
    AccessPattern planes;
    if (whole) planes = load(first, n, {0, w.in[0]}, {0, w.in[1]});
    const ProgramBuilder::Mark mark = ctx.b.mark();
    for (int64_t od = 0; od < w.out[0]; ++od) {
      for (int64_t oh = 0; oh < w.out[1]; ++oh) {
        const Span d = adaptive(od, w.in[0], w.out[0]), h = adaptive(oh, w.in[1], w.out[1]);
        const AccessPattern tile =
            whole ? planes.slice(0, d.start, d.count).slice(1, h.start, h.count) : load(first, n, d, h);
        const AccessPattern sum = ctx.b.sbuf(DType::f32, n, {1, w.out[2]});
        for (int64_t ow = 0; ow < w.out[2]; ++ow) {
          const Span c = adaptive(ow, w.in[2], w.out[2]);
          ctx.b.tensor_reduce(sum.slice(1, ow, 1), tile.slice(2, c.start, c.count), AluOp::add, 3);
        }
        divide_and_store(ctx, w, {od, oh, 1}, first, sum, table);
        ctx.b.release(mark);
      }
    }
    ctx.b.release(start);
  });
}

}  // namespace

void register_average(KernelTable& table) {
  for (int n = 1; n <= 3; ++n) {
    table.add("aten::avg_pool" + std::to_string(n) + "d.default",
              [n](KernelContext& ctx) { average_pool(ctx, n); });
  }
  for (const char* op : {"aten::_adaptive_avg_pool2d.default", "aten::adaptive_avg_pool2d.default"})
    table.add(op, [](KernelContext& ctx) { adaptive_average_pool(ctx, 2); });
  table.add("aten::_adaptive_avg_pool3d.default", [](KernelContext& ctx) { adaptive_average_pool(ctx, 3); });
}

}  // namespace assay::backend
