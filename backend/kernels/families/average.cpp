// avg_pool2d and adaptive_avg_pool2d: planes on partitions.
#include <algorithm>
#include <span>
#include <vector>

#include "backend/kernels/tiles.h"

namespace assay::backend {
namespace {

constexpr int64_t kPartitions = 128;

// The last two dimensions of input and output, and the number of planes.
struct Planes {
  explicit Planes(const View& in, const View& out)
      : x(in),
        y(out),
        rows(in.shape[in.shape.size() - 2]),
        columns(in.shape.back()),
        height(out.shape[out.shape.size() - 2]),
        width(out.shape.back()),
        count(out.count() / (height * width)) {}
  View x, y;
  int64_t rows, columns, height, width, count;

  AccessPattern input(int64_t first, int n) const {
    return hbm_tile(x.dtype, x.tensor, x.offset + first * rows * columns, n, rows * columns, {rows, columns},
                    {columns, 1});
  }
  AccessPattern output(int64_t first, int n) const {
    return hbm_tile(y.dtype, y.tensor, y.offset + first * height * width, n, height * width, {height, width},
                    {width, 1});
  }
};

// y = sum / divisor, one divisor an output element (the same for all planes).
void divide_and_store(KernelContext& ctx, const Planes& p, int64_t first, const AccessPattern& sum,
                      int32_t divisors) {
  const AccessPattern d = ctx.b.sbuf(DType::f32, sum.partitions, {p.height, p.width});
  ctx.b.dma_copy(d, hbm_tile(DType::f32, divisors, 0, sum.partitions, 0, {p.height, p.width}, {p.width, 1}));
  const AccessPattern result = ctx.b.sbuf(p.y.dtype, sum.partitions, {p.height, p.width});
  ctx.b.tensor_tensor(result, sum, d, AluOp::divide);
  ctx.b.dma_copy(p.output(first, sum.partitions), result);
}

int32_t constant(KernelContext& ctx, const std::vector<float>& values) {
  return ctx.b.constant("divisors", DType::f32, std::as_bytes(std::span(values)));
}

void average_pool(KernelContext& ctx) {
  const Planes p(ctx.input("self"), ctx.output());
  if (p.y.count() == 0) return;
  const auto kernel = ctx.call.integers("kernel_size", 2), padding = ctx.call.integers("padding", 2);
  const auto stride = ctx.call.integers("stride").empty() ? kernel : ctx.call.integers("stride", 2);
  const bool count_padding = ctx.call.boolean("count_include_pad");
  const auto fixed = ctx.call.integer_opt("divisor_override");
  // Elements of a window along one dimension, padding counted or not; what ceil_mode adds beyond the padding
  // never counts.
  const auto extent = [&](std::size_t d, int64_t o, int64_t size, bool with_padding) {
    const int64_t start = o * stride[d] - padding[d];
    const int64_t end = std::min(start + kernel[d], size + padding[d]);
    return with_padding ? end - start : std::min(end, size) - std::max<int64_t>(start, 0);
  };
  std::vector<float> divisors;
  for (int64_t oh = 0; oh < p.height; ++oh) {
    for (int64_t ow = 0; ow < p.width; ++ow) {
      const int64_t n =
          fixed ? *fixed : extent(0, oh, p.rows, count_padding) * extent(1, ow, p.columns, count_padding);
      divisors.push_back(static_cast<float>(n));
    }
  }
  const int32_t table = constant(ctx, divisors);
  const int64_t size[2] = {std::max((p.height - 1) * stride[0] + kernel[0], p.rows + padding[0]),
                           std::max((p.width - 1) * stride[1] + kernel[1], p.columns + padding[1])};
  const ProgramBuilder::Mark mark = ctx.b.mark();
  for (int64_t first = 0; first < p.count; first += kPartitions) {
    const auto n = static_cast<int>(std::min(kPartitions, p.count - first));
    const AccessPattern padded = ctx.b.sbuf(p.x.dtype, n, {size[0], size[1]});
    ctx.b.memset(padded, 0.0f);
    ctx.b.dma_copy(padded.slice(0, padding[0], p.rows).slice(1, padding[1], p.columns), p.input(first, n));
    const AccessPattern sum = ctx.b.sbuf(DType::f32, n, {p.height, p.width});
    for (int64_t tap = 0; tap < kernel[0] * kernel[1]; ++tap) {
      const AccessPattern seen =
          padded.slice(0, tap / kernel[1], p.height, stride[0]).slice(1, tap % kernel[1], p.width, stride[1]);
      if (tap == 0) {
        ctx.b.tensor_copy(sum, seen);
      } else {
        ctx.b.tensor_tensor(sum, sum, seen, AluOp::add);
      }
    }
    divide_and_store(ctx, p, first, sum, table);
    ctx.b.release(mark);
  }
}

// Window o of `size` elements cut into `n`: [floor(o size / n), ceil((o + 1) size / n)).
struct Span {
  int64_t start, count;
};
Span adaptive(int64_t o, int64_t size, int64_t n) {
  const int64_t start = o * size / n, end = ((o + 1) * size + n - 1) / n;
  return {start, end - start};
}

void adaptive_average_pool(KernelContext& ctx) {
  const Planes p(ctx.input("self"), ctx.output());
  if (p.y.count() == 0) return;
  std::vector<float> divisors;
  for (int64_t oh = 0; oh < p.height; ++oh) {
    for (int64_t ow = 0; ow < p.width; ++ow) {
      divisors.push_back(
          static_cast<float>(adaptive(oh, p.rows, p.height).count * adaptive(ow, p.columns, p.width).count));
    }
  }
  const int32_t table = constant(ctx, divisors);
  const ProgramBuilder::Mark mark = ctx.b.mark();
  for (int64_t first = 0; first < p.count; first += kPartitions) {
    const auto n = static_cast<int>(std::min(kPartitions, p.count - first));
    const AccessPattern x = ctx.b.sbuf(p.x.dtype, n, {p.rows, p.columns});
    ctx.b.dma_copy(x, p.input(first, n));
    const AccessPattern sum = ctx.b.sbuf(DType::f32, n, {p.height, p.width});
    for (int64_t oh = 0; oh < p.height; ++oh) {
      for (int64_t ow = 0; ow < p.width; ++ow) {
        const Span h = adaptive(oh, p.rows, p.height), w = adaptive(ow, p.columns, p.width);
        ctx.b.tensor_reduce(sum.slice(0, oh, 1).slice(1, ow, 1),
                            x.slice(0, h.start, h.count).slice(1, w.start, w.count), AluOp::add, 2);
      }
    }
    divide_and_store(ctx, p, first, sum, table);
    ctx.b.release(mark);
  }
}

}  // namespace

void register_average(KernelTable& table) {
  table.add("aten::avg_pool2d.default", average_pool);
  table.add("aten::_adaptive_avg_pool2d.default", adaptive_average_pool);
  table.add("aten::adaptive_avg_pool2d.default", adaptive_average_pool);
}

}  // namespace assay::backend
