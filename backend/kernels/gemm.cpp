#include "backend/kernels/gemm.h"

#include <algorithm>
#include <vector>

#include "backend/kernels/region.h"

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
  // Of rows in SBUF [columns, elements of k]: turned by the Tensor engine.
  Strip(KernelContext& ctx, const AccessPattern& rows, int64_t k0, int64_t k) {
    for (int64_t at = 0; at < k; at += kPartitions) {
      const int64_t count = std::min(kPartitions, k - at);
      const auto partitions = static_cast<int>(count);
      const AccessPattern turned = ctx.b.sbuf(rows.dtype, partitions, {rows.partitions});
      const int banks = ctx.b.mark().psum_banks;
      const AccessPattern product = ctx.b.psum(rows.dtype, partitions, {rows.partitions});
      ctx.b.nc_transpose(product, rows.slice(0, k0 + at, count));
      ctx.b.tensor_copy(turned, product);
      if (tiles_.size() % 2 == 1) ctx.b.release({ctx.b.mark().sbuf_bytes, banks - 1});
      tiles_.push_back(matmul_operand(ctx, turned));
    }
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

// Elements of k whose strips of both operands fit; a longer contraction is loaded piece by piece.
int64_t piece_of(const KernelContext& ctx, DType dtype, int64_t k) {
  const auto element =
      static_cast<int64_t>(size_of(dtype)) + (ctx.options.matmult_cast && dtype == DType::f32 ? 2 : 0);
  const int64_t resident = (k + kPartitions - 1) / kPartitions * (kColumns + kPartitions) * element;
  return resident <= kStripBytes ? std::max<int64_t>(k, 1)
                                 : kStripBytes / ((kColumns + kPartitions) * element) * kPartitions;
}

// The region's rows and all columns.
void gemm_of_rows(KernelContext& ctx, const View& a, const View& b, const View& out, const Epilogue& epilogue,
                  int64_t first_row) {
  const Region& region = *ctx.region;
  const AccessPattern result = *region.tile(out.tensor);
  const AccessPattern* held = region.tile(a.tensor);
  const int64_t m0 = region.row - first_row, mm = region.rows, n = out.shape[1], k = a.shape[1];
  const int64_t piece = piece_of(ctx, a.dtype, k);
  const View at = transposed(a);
  const ProgramBuilder::Mark mark = ctx.b.mark();
  bool odd = false;
  for (int64_t n0 = 0; n0 < n; n0 += kColumns) {
    const int64_t nn = std::min(kColumns, n - n0);
    const AccessPattern sum = ctx.b.psum(DType::f32, static_cast<int>(mm), {nn});
    for (int64_t k0 = 0; k0 < k; k0 += piece) {
      const int64_t kk = std::min(piece, k - k0);
      const ProgramBuilder::Mark pieces = ctx.b.mark();
      const Strip moving(ctx, b, k0, kk, n0, nn);
      const Strip stationary = held ? Strip(ctx, *held, k0, kk) : Strip(ctx, at, k0, kk, m0, mm);
      for (std::size_t t = 0; t < stationary.size(); ++t) {
        ctx.b.nc_matmul(sum, stationary[t], moving[t], k0 > 0 || t > 0);
      }
      if (piece < k) ctx.b.release(pieces);
    }
    epilogue({m0, n0, sum, result.slice(0, n0, nn)});
    if (odd) ctx.b.release(mark);
    odd = !odd;
  }
  ctx.b.release(mark);
  if (!Region::stored(out.tensor)) return;
  ctx.b.dma_copy(hbm_tile(out.dtype, out.tensor, out.offset + m0 * out.strides[0], static_cast<int>(mm),
                          out.strides[0], {n}, {out.strides[1]}),
                 result);
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

void gemm(KernelContext& ctx, const View& a, const View& b, const View& out, const Epilogue& epilogue,
          int64_t first_row) {
  if (ctx.region != nullptr && !ctx.region->then) return gemm_of_rows(ctx, a, b, out, epilogue, first_row);
  const int64_t m = out.shape[0], n = out.shape[1], k = a.shape[1];
  if (m == 0 || n == 0) return;
  const View at = transposed(a);
  const int64_t piece = piece_of(ctx, a.dtype, k);
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
      if (Region::stored(out.tensor)) {
        ctx.b.dma_copy(hbm_tile(out.dtype, out.tensor, out.offset + m0 * out.strides[0] + n0 * out.strides[1],
                                static_cast<int>(mm), out.strides[0], {nn}, {out.strides[1]}),
                       result);
      }
      if (ctx.region != nullptr) {
        ctx.region->row = first_row + m0;
        ctx.region->rows = mm;
        ctx.region->column = n0;
        ctx.region->columns = nn;
        ctx.region->then(result);
      }
      if (odd) ctx.b.release(mark);
      odd = !odd;
    }
  }
  ctx.b.release(start);
}

}  // namespace assay::backend
