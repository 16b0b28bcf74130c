#include "backend/kernels/gemm.h"

#include <algorithm>
#include <vector>

namespace assay::backend {
namespace {

constexpr int64_t kColumns = 512;
// Bytes a partition for the resident parts of both operands.
constexpr int64_t kStripBytes = 96 * 1024;

// Columns first .. first+count-1 of x[K, columns] with k on partitions: tiles of 128 rows of k.
class Strip {
 public:
  Strip(KernelContext& ctx, const View& x, int64_t k0, int64_t k, int64_t first, int64_t count) {
    const int64_t full = k / kPartitions, rest = k % kPartitions;
    const auto load = [&](int64_t start, int64_t tiles, int64_t rows) {
      const int64_t offset = x.offset + (k0 + start) * x.strides[0] + first * x.strides[1];
      const AccessPattern tile = ctx.b.sbuf(x.dtype, static_cast<int>(rows), {tiles, count});
      ctx.b.dma_copy(tile, hbm_tile(x.dtype, x.tensor, offset, static_cast<int>(rows), x.strides[0],
                                    {tiles, count}, {kPartitions * x.strides[0], x.strides[1]}));
      const AccessPattern ready = matmul_operand(ctx, tile);
      for (int64_t t = 0; t < tiles; ++t) tiles_.push_back(ready.select(0, t));
    };
    if (full > 0) load(0, full, kPartitions);
    if (rest > 0) load(full * kPartitions, 1, rest);
  }
  std::size_t size() const { return tiles_.size(); }
  const AccessPattern& operator[](std::size_t t) const { return tiles_[t]; }

 private:
  std::vector<AccessPattern> tiles_;
};

View transposed(const View& x) {
  const int64_t order[] = {1, 0};
  return x.permuted(order);
}

}  // namespace

AccessPattern matmul_operand(KernelContext& ctx, const AccessPattern& tile) {
  if (tile.dtype != DType::f32 || !ctx.options.matmult_cast) return tile;
  Shape sizes(tile.sizes.begin(), tile.sizes.begin() + tile.rank);
  const AccessPattern out = ctx.b.sbuf(*ctx.options.matmult_cast, tile.partitions, Sizes(sizes));
  ctx.b.tensor_copy(out, tile);
  return out;
}

void require_matmul_dtype(const KernelContext& ctx, DType dtype) {
  if (!is_float(dtype)) {
    ctx.unsupported(ASSAY_REASON_DTYPE,
                    "the Tensor engine multiplies floats, not " + std::string(name_of(dtype)));
  }
}

void gemm(KernelContext& ctx, const View& a, const View& b, const View& out, const Epilogue& epilogue) {
  const int64_t m = out.shape[0], n = out.shape[1], k = a.shape[1];
  if (m == 0 || n == 0) return;
  const View at = transposed(a);
  const auto element =
      static_cast<int64_t>(size_of(a.dtype)) + (ctx.options.matmult_cast && a.dtype == DType::f32 ? 2 : 0);
  const int64_t resident = (k + kPartitions - 1) / kPartitions * (kColumns + kPartitions) * element;
  // A long contraction is loaded piece by piece instead.
  const int64_t piece = resident <= kStripBytes
                            ? std::max<int64_t>(k, 1)
                            : kStripBytes / ((kColumns + kPartitions) * element) * kPartitions;
  const ProgramBuilder::Mark start = ctx.b.mark();
  for (int64_t n0 = 0; n0 < n; n0 += kColumns) {
    const int64_t nn = std::min(kColumns, n - n0);
    ctx.b.release(start);
    std::optional<Strip> whole;
    if (piece >= k && k > 0) whole.emplace(ctx, b, 0, k, n0, nn);
    const ProgramBuilder::Mark mark = ctx.b.mark();
    bool odd = false;
    for (int64_t m0 = 0; m0 < m; m0 += kPartitions) {
      const int64_t mm = std::min(kPartitions, m - m0);
      AccessPattern sum;
      if (k == 0) {
        sum = ctx.b.sbuf(DType::f32, static_cast<int>(mm), {nn});
        ctx.b.memset(sum, 0.0f);
      } else {
        sum = ctx.b.psum(DType::f32, static_cast<int>(mm), {nn});
        for (int64_t k0 = 0; k0 < k; k0 += piece) {
          const int64_t kk = std::min(piece, k - k0);
          const ProgramBuilder::Mark pieces = ctx.b.mark();
          const Strip stationary(ctx, at, k0, kk, m0, mm);
          std::optional<Strip> part;
          if (!whole) part.emplace(ctx, b, k0, kk, n0, nn);
          const Strip& moving = whole ? *whole : *part;
          for (std::size_t t = 0; t < stationary.size(); ++t) {
            ctx.b.nc_matmul(sum, stationary[t], moving[t], k0 > 0 || t > 0);
          }
          if (!whole) ctx.b.release(pieces);
        }
      }
      const AccessPattern result = ctx.b.sbuf(out.dtype, static_cast<int>(mm), {nn});
      epilogue({m0, n0, sum, result});
      ctx.b.dma_copy(hbm_tile(out.dtype, out.tensor, out.offset + m0 * out.strides[0] + n0 * out.strides[1],
                              static_cast<int>(mm), out.strides[0], {nn}, {out.strides[1]}),
                     result);
      if (odd) ctx.b.release(mark);
      odd = !odd;
    }
  }
  ctx.b.release(start);
}

}  // namespace assay::backend
