// Padding by what lies at the edges, and windows as columns.
#include <algorithm>
#include <functional>
#include <vector>

#include "backend/kernels/windows.h"

namespace assay::backend {
namespace {

// Output elements out .. out+count-1 are input elements in, in + step, ...
struct Run {
  int64_t out, count, in, step;
};
std::vector<Run> runs_of(int64_t size, const std::function<int64_t(int64_t)>& source) {
  std::vector<Run> runs;
  for (int64_t o = 0; o < size; ++o) {
    const int64_t in = source(o);
    if (!runs.empty()) {
      Run& last = runs.back();
      const int64_t step = in - (last.in + (last.count - 1) * last.step);
      if (last.count == 1 && std::abs(step) <= 1) last.step = step;
      if (step == last.step) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({o, 1, in, 1});
  }
  return runs;
}

// Every combination of the dimensions' runs is one copy.
void copy_runs(KernelContext& ctx, const View& out, const View& in, const std::vector<std::vector<Run>>& runs,
               std::size_t d) {
  if (d == runs.size()) return copy(ctx, out, in);
  const std::size_t dim = out.shape.size() - runs.size() + d;
  for (const Run& run : runs[d]) {
    View from = in;
    from.offset += run.in * in.strides[dim];
    from.strides[dim] *= run.step;
    from.shape[dim] = run.count;
    copy_runs(ctx, out.narrowed(static_cast<int64_t>(dim), run.out, run.count), from, runs, d + 1);
  }
}

int64_t reflected(int64_t i, int64_t size) {
  if (size == 1) return 0;
  i = std::abs(i);
  return i < size ? i : 2 * (size - 1) - i;
}
int64_t replicated(int64_t i, int64_t size) { return std::clamp<int64_t>(i, 0, size - 1); }

Kernel edge_pad(int64_t (*source)(int64_t, int64_t)) {
  return [source](KernelContext& ctx) {
    const View in = ctx.input("self"), out = ctx.output();
    if (out.count() == 0) return;
    const auto padding = ctx.call.integers("padding");
    const std::size_t spatial = padding.size() / 2;
    std::vector<std::vector<Run>> runs;
    for (std::size_t d = 0; d < spatial; ++d) {
      const std::size_t dim = in.shape.size() - spatial + d;
      const int64_t before = padding[2 * (spatial - 1 - d)], size = in.shape[dim];
      runs.push_back(runs_of(out.shape[dim], [&](int64_t o) { return source(o - before, size); }));
    }
    copy_runs(ctx, out, in, runs, 0);
  };
}

// The windows of a fold over an image [.., H, W] and the columns [.., taps, OH, OW].
struct Fold {
  Fold(KernelContext& ctx, const View& image_view, const View& columns_view)
      : kernel(ctx.call.integers("kernel_size", 2)),
        dilation(ctx.call.integers("dilation", 2)),
        padding(ctx.call.integers("padding", 2)),
        stride(ctx.call.integers("stride", 2)) {
    const std::size_t rank = image_view.shape.size();
    for (std::size_t d = 0; d < 2; ++d) {
      size[d] = image_view.shape[rank - 2 + d];
      count[d] = (size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
    }
    planes = image_view.count() / (size[0] * size[1]);
    image = image_view.reshaped({planes, size[0], size[1]});
    columns = columns_view.reshaped({planes, taps(), count[0], count[1]});
  }
  int64_t taps() const { return kernel[0] * kernel[1]; }
  std::vector<int64_t> kernel, dilation, padding, stride;
  int64_t size[2], count[2], planes;
  View image, columns;
};

void fill_zero(KernelContext& ctx, const View& view) {
  const View views[] = {raw(view)};
  for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
    const AccessPattern zeros = ctx.b.sbuf(views[0].dtype, tile.partitions, {tile.free});
    ctx.b.memset_int(zeros, 0);
    ctx.b.dma_copy(tile.hbm[0], zeros);
  });
}

// Each tap copies the windows that see an element of the image there; the others see padding.
void im2col(KernelContext& ctx) {
  const View out = ctx.output();
  if (out.count() == 0) return;
  const Fold f(ctx, ctx.input("self"), out);
  if (f.padding[0] > 0 || f.padding[1] > 0) fill_zero(ctx, out);
  for (int64_t tap = 0; tap < f.taps(); ++tap) {
    const int64_t at[2] = {tap / f.kernel[1], tap % f.kernel[1]};
    View from = f.image, to = f.columns.selected(1, tap);
    bool any = true;
    for (std::size_t d = 0; d < 2; ++d) {
      const int64_t start = at[d] * f.dilation[d] - f.padding[d];
      const int64_t first = start < 0 ? (-start + f.stride[d] - 1) / f.stride[d] : 0;
      const int64_t last = f.size[d] - 1 - start < 0 ? -1 : (f.size[d] - 1 - start) / f.stride[d];
      const int64_t n = std::min(last, f.count[d] - 1) - first + 1;
      any = any && n > 0;
      if (!any) break;
      const auto dim = static_cast<int64_t>(1 + d);
      from = from.narrowed(dim, start + first * f.stride[d], n, f.stride[d]);
      to = to.narrowed(dim, first, n);
    }
    if (any) copy(ctx, to, from);
  }
}

// Planes on partitions, the padded image in fp32, one addition a tap.
void col2im(KernelContext& ctx) {
  const View out = ctx.output();
  if (out.count() == 0) return;
  if (!is_float(out.dtype) && out.dtype != DType::boolean)
    ctx.unsupported(ASSAY_REASON_DTYPE, "self must be floating point or bool");
  const Fold f(ctx, out, ctx.input("self"));
  const int64_t area = f.size[0] * f.size[1], windows = f.count[0] * f.count[1];
  const ProgramBuilder::Mark mark = ctx.b.mark();
  for (int64_t first = 0; first < f.planes; first += kPartitions) {
    const auto n = static_cast<int>(std::min(kPartitions, f.planes - first));
    const AccessPattern sum =
        ctx.b.sbuf(DType::f32, n, {f.size[0] + 2 * f.padding[0], f.size[1] + 2 * f.padding[1]});
    ctx.b.memset(sum, 0.0f);
    for (int64_t tap = 0; tap < f.taps(); ++tap) {
      const ProgramBuilder::Mark inner = ctx.b.mark();
      const AccessPattern column = ctx.b.sbuf(f.columns.dtype, n, {f.count[0], f.count[1]});
      ctx.b.dma_copy(column, hbm_tile(column.dtype, f.columns.tensor,
                                      f.columns.offset + (first * f.taps() + tap) * windows, n,
                                      f.taps() * windows, {f.count[0], f.count[1]}, {f.count[1], 1}));
      const AccessPattern seen = sum.slice(0, tap / f.kernel[1] * f.dilation[0], f.count[0], f.stride[0])
                                     .slice(1, tap % f.kernel[1] * f.dilation[1], f.count[1], f.stride[1]);
      ctx.b.tensor_tensor(seen, seen, column, AluOp::add);
      ctx.b.release(inner);
    }
    const AccessPattern result = ctx.b.sbuf(out.dtype, n, {f.size[0], f.size[1]});
    convert_into(ctx, result, sum.slice(0, f.padding[0], f.size[0]).slice(1, f.padding[1], f.size[1]));
    ctx.b.dma_copy(hbm_tile(out.dtype, out.tensor, out.offset + first * area, n, area, {f.size[0], f.size[1]},
                            {f.size[1], 1}),
                   result);
    ctx.b.release(mark);
  }
}

// The elements that fit, in order; zeros behind them, so that nothing is left uninitialised.
void resize(KernelContext& ctx) {
  const View in = ctx.input("self"), out = ctx.output();
  const int64_t size = out.count(), kept = std::min(size, in.count());
  const View to = out.reshaped({size});
  if (kept > 0) copy(ctx, to.narrowed(0, 0, kept), in.reshaped({in.count()}).narrowed(0, 0, kept));
  if (kept < size) fill_zero(ctx, to.narrowed(0, kept, size - kept));
}

}  // namespace

void register_padding(KernelTable& table) {
  for (const char* dims : {"1d", "2d", "3d"}) {
    table.add(std::string("aten::reflection_pad") + dims + ".default", edge_pad(reflected));
    table.add(std::string("aten::replication_pad") + dims + ".default", edge_pad(replicated));
  }
  table.add("aten::im2col.default", im2col);
  table.add("aten::col2im.default", col2im);
  for (const char* op : {"aten::resize.default", "aten::resize_.default", "aten::resize_as.default"})
    table.add(op, resize);
}

}  // namespace assay::backend
