// Distances between rows: rows of x1 on partitions, rows of x2 along the free dimensions.
#include <algorithm>
#include <cmath>

#include "backend/kernels/tiles.h"
#include "core/opset/shapes.h"

namespace assay::backend {
namespace {

constexpr int64_t kPieceElements = 4096;  // of one tile of differences, a partition

// (sum |x|^p)^(1/p) of the rows of `x`, which is overwritten: [P, rows, m] -> [P, rows], fp32.
void norms(KernelContext& ctx, const AccessPattern& result, const AccessPattern& x, double p) {
  const auto mapped = [&](AluOp op, AluOp then = AluOp::none, float with = 0) {
    ctx.b.tensor_scalar(x, x, op, 0.0f, false, then, with);
  };
  const auto add = [&] { ctx.b.tensor_reduce(result, x, AluOp::add); };
  if (p == 0) {
    mapped(AluOp::is_ne);
    add();
  } else if (p == 1) {
    mapped(AluOp::abs);
    add();
  } else if (p == 2) {
    mapped(AluOp::square);
    add();
    activate(ctx, result, result, Activation::sqrt);
  } else if (std::isinf(p)) {
    mapped(AluOp::abs);
    ctx.b.tensor_reduce(result, x, AluOp::max);
  } else {
    mapped(AluOp::abs, AluOp::pow, static_cast<float>(p));
    add();
    ctx.b.tensor_scalar(result, result, AluOp::pow, static_cast<float>(1 / p));
  }
}

// Rows of one tensor against rows of another: distances[i, j] with row stride `pitch`.
struct Block {
  View x1, x2;  // contiguous rows
  int64_t first1, count1, first2, count2, width;
  int64_t out, pitch;
};
void distances(KernelContext& ctx, const Block& b, const View& out, double p) {
  const int64_t piece = std::max<int64_t>(1, kPieceElements / std::max<int64_t>(b.width, 1));
  const ProgramBuilder::Mark start = ctx.b.mark();
  for (int64_t i = 0; i < b.count1; i += kPartitions) {
    const auto n = static_cast<int>(std::min(kPartitions, b.count1 - i));
    const AccessPattern left = ctx.b.sbuf(b.x1.dtype, n, {1, b.width});
    ctx.b.dma_copy(left, hbm_tile(b.x1.dtype, b.x1.tensor, b.x1.offset + (b.first1 + i) * b.width, n, b.width,
                                  {1, b.width}, {b.width, 1}));
    const ProgramBuilder::Mark mark = ctx.b.mark();
    for (int64_t j = 0; j < b.count2; j += piece) {
      const int64_t rows = std::min(piece, b.count2 - j);
      const AccessPattern right = ctx.b.sbuf(b.x2.dtype, n, {rows, b.width});
      ctx.b.dma_copy(right, hbm_tile(b.x2.dtype, b.x2.tensor, b.x2.offset + (b.first2 + j) * b.width, n, 0,
                                     {rows, b.width}, {b.width, 1}));
      const AccessPattern difference = ctx.b.sbuf(DType::f32, n, {rows, b.width});
      ctx.b.tensor_tensor(difference, left.broadcast(0, rows), right, AluOp::subtract);
      const AccessPattern total = ctx.b.sbuf(DType::f32, n, {rows}),
                          result = ctx.b.sbuf(out.dtype, n, {rows});
      norms(ctx, total, difference, p);
      ctx.b.tensor_copy(result, total);
      ctx.b.dma_copy(
          hbm_tile(out.dtype, out.tensor, out.offset + b.out + i * b.pitch + j, n, b.pitch, {rows}, {1}),
          result);
      ctx.b.release(mark);
    }
    ctx.b.release(start);
  }
}

void fill_zero(KernelContext& ctx, const View& out) {
  const View views[] = {out};
  for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
    const AccessPattern zeros = ctx.b.sbuf(out.dtype, tile.partitions, {tile.free});
    ctx.b.memset(zeros, 0.0f);
    ctx.b.dma_copy(tile.hbm[0], zeros);
  });
}

void cdist(KernelContext& ctx) {
  const View x1 = ctx.input("x1"), x2 = ctx.input("x2"), out = ctx.output();
  if (out.count() == 0) return;
  const int64_t width = x1.shape.back();
  if (width == 0) return fill_zero(ctx, out);
  const int64_t rows1 = x1.shape[x1.shape.size() - 2], rows2 = x2.shape[x2.shape.size() - 2];
  const Shape batch1(x1.shape.begin(), x1.shape.end() - 2), batch2(x2.shape.begin(), x2.shape.end() - 2);
  const Shape batch(out.shape.begin(), out.shape.end() - 2);
  const View where1 = contiguous_view(0, DType::f32, batch1).broadcast_to(batch);
  const View where2 = contiguous_view(0, DType::f32, batch2).broadcast_to(batch);
  for (int64_t k = 0; k < element_count(batch); ++k) {
    int64_t rest = k, first1 = 0, first2 = 0;
    for (std::size_t d = batch.size(); d-- > 0;) {
      first1 += rest % batch[d] * where1.strides[d];
      first2 += rest % batch[d] * where2.strides[d];
      rest /= batch[d];
    }
    distances(ctx, {x1, x2, first1 * rows1, rows1, first2 * rows2, rows2, width, k * rows1 * rows2, rows2},
              out, ctx.call.floating("p"));
  }
}

// Row i against the rows behind it.
void pdist(KernelContext& ctx) {
  const View x = ctx.input("self"), out = ctx.output();
  if (out.count() == 0) return;
  const int64_t rows = x.shape[0], width = x.shape[1];
  if (width == 0) return fill_zero(ctx, out);
  int64_t at = 0;
  for (int64_t i = 0; i + 1 < rows; ++i) {
    // As rows behind i (on partitions) against row i.
    distances(ctx, {x, x, i + 1, rows - 1 - i, i, 1, width, at, 1}, out, ctx.call.floating("p"));
    at += rows - 1 - i;
  }
}

}  // namespace

void register_distances(KernelTable& table) {
  table.add("aten::_cdist_forward.default", cdist);
  table.add("aten::_pdist_forward.default", pdist);
}

}  // namespace assay::backend
