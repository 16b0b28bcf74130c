// max_pool2d_with_indices: planes on partitions, one comparison a tap.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/kernels/tiles.h"

namespace assay::backend {
namespace {

constexpr int64_t kPartitions = 128;

struct Pool {
  int64_t kernel[2], stride[2], padding[2], dilation[2];
};

// The index that a window has before any element beat another: its first element inside the input, as PyTorch
// gives where all are -inf.
std::vector<int32_t> first_indices(const Pool& p, const Shape& in, int64_t height, int64_t width) {
  std::vector<int32_t> out;
  const auto first = [&](int d, int64_t o) {
    int64_t i = o * p.stride[d] - p.padding[d];
    while (i < 0) i += p.dilation[d];
    return i;
  };
  for (int64_t oh = 0; oh < height; ++oh) {
    for (int64_t ow = 0; ow < width; ++ow) {
      out.push_back(static_cast<int32_t>(first(0, oh) * in[1] + first(1, ow)));
    }
  }
  return out;
}

void max_pool(KernelContext& ctx) {
  const View x = ctx.input("self"), values = ctx.output(0), indices = ctx.output(1);
  if (values.count() == 0) return;
  if (!is_float(x.dtype)) ctx.unsupported(ASSAY_REASON_DTYPE, "self must be floating point");
  Pool p{};
  const auto read = [&](std::string_view name, int64_t(&to)[2]) {
    const auto given = ctx.call.integers(name, 2);
    to[0] = given[0];
    to[1] = given[1];
  };
  read("kernel_size", p.kernel);
  read("padding", p.padding);
  read("dilation", p.dilation);
  if (ctx.call.integers("stride").empty()) {
    p.stride[0] = p.kernel[0];
    p.stride[1] = p.kernel[1];
  } else {
    read("stride", p.stride);
  }
  const auto dims = x.shape.size();
  const Shape in{x.shape[dims - 2], x.shape[dims - 1]};
  const int64_t height = values.shape[dims - 2], width = values.shape[dims - 1], pixels = height * width;
  const int64_t planes = values.count() / pixels;
  // Padded so that every window lies inside; ceil_mode may need more on the right.
  const int64_t size[2] = {
      std::max((height - 1) * p.stride[0] + (p.kernel[0] - 1) * p.dilation[0] + 1, in[0] + p.padding[0]),
      std::max((width - 1) * p.stride[1] + (p.kernel[1] - 1) * p.dilation[1] + 1, in[1] + p.padding[1])};

  const std::vector<int32_t> first = first_indices(p, in, height, width);
  const int32_t start = ctx.b.constant("first indices", DType::i32, std::as_bytes(std::span(first)));
  const ProgramBuilder::Mark mark = ctx.b.mark();
  for (int64_t plane = 0; plane < planes; plane += kPartitions) {
    const auto count = static_cast<int>(std::min(kPartitions, planes - plane));
    const AccessPattern padded = ctx.b.sbuf(x.dtype, count, {size[0], size[1]});
    ctx.b.memset(padded, -std::numeric_limits<float>::infinity());
    ctx.b.dma_copy(padded.slice(0, p.padding[0], in[0]).slice(1, p.padding[1], in[1]),
                   hbm_tile(x.dtype, x.tensor, x.offset + plane * in[0] * in[1], count, in[0] * in[1],
                            {in[0], in[1]}, {in[1], 1}));
    const auto tile = [&](DType dtype) { return ctx.b.sbuf(dtype, count, {height, width}); };
    const AccessPattern best = tile(x.dtype), index = tile(DType::i32), candidate = tile(DType::i32);
    const AccessPattern better = tile(DType::u8), nan = tile(DType::u8);
    ctx.b.memset(best, -std::numeric_limits<float>::infinity());
    ctx.b.dma_copy(index, hbm_tile(DType::i32, start, 0, count, 0, {height, width}, {width, 1}));
    for (int64_t kh = 0; kh < p.kernel[0]; ++kh) {
      for (int64_t kw = 0; kw < p.kernel[1]; ++kw) {
        const AccessPattern seen = padded.slice(0, kh * p.dilation[0], height, p.stride[0])
                                       .slice(1, kw * p.dilation[1], width, p.stride[1]);
        // The first largest element wins; the last NaN does.
        ctx.b.tensor_tensor(better, seen, best, AluOp::is_gt);
        ctx.b.tensor_tensor(nan, seen, seen, AluOp::is_ne);
        ctx.b.tensor_tensor(better, better, nan, AluOp::logical_or);
        const int64_t steps[] = {p.stride[0] * in[1], p.stride[1]};
        ctx.b.iota(candidate, (kh * p.dilation[0] - p.padding[0]) * in[1] + kw * p.dilation[1] - p.padding[1],
                   0, steps);
        ctx.b.copy_predicated(best, seen, better);
        ctx.b.copy_predicated(index, candidate, better, Engine::gpsimd);
      }
    }
    const AccessPattern wide = tile(DType::i64);
    ctx.b.cast(wide, index);
    const auto store = [&](const View& out, const AccessPattern& from) {
      ctx.b.dma_copy(hbm_tile(out.dtype, out.tensor, out.offset + plane * pixels, count, pixels,
                              {height, width}, {width, 1}),
                     from);
    };
    store(values, best);
    store(indices, wide);
    ctx.b.release(mark);
  }
}

}  // namespace

void register_pooling(KernelTable& table) { table.add("aten::max_pool2d_with_indices.default", max_pool); }

}  // namespace assay::backend
