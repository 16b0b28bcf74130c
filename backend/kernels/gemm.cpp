#include "backend/kernels/gemm.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "backend/kernels/region.h"

namespace assay::backend {
namespace {

constexpr int64_t kColumns = 512;
// Bytes a partition for the resident parts of both operands; what a kernel leaves to results and the like.
constexpr int64_t kStripBytes = 96 * 1024;
constexpr int64_t kOtherBytes = 48 * 1024;

// Where a tile goes as an operand: itself unless it is rounded (matmul_operand).
AccessPattern operand_place(KernelContext& ctx, const AccessPattern& tile) {
  if (tile.dtype != DType::f32 || !ctx.options.matmult_cast) return tile;
  const Shape sizes(tile.sizes.begin(), tile.sizes.begin() + tile.rank);
  return ctx.b.sbuf(*ctx.options.matmult_cast, tile.partitions, Sizes(sizes));
}

// Columns first .. first+count-1 of x[K, columns] with k on partitions: tiles of 128 rows of k. Its place is
// allocated when it is made; it is filled by load().
class Strip {
 public:
  Strip(KernelContext& ctx, const View& x, int64_t k0, int64_t k, int64_t first, int64_t count) {
    const int64_t full = k / kPartitions, rest = k % kPartitions;
    const auto place = [&](int64_t start, int64_t tiles, int64_t rows) {
      const int64_t offset = x.offset + (k0 + start) * x.strides[0] + first * x.strides[1];
      Part part;
      part.hbm = hbm_tile(x.dtype, x.tensor, offset, static_cast<int>(rows), x.strides[0], {tiles, count},
                          {kPartitions * x.strides[0], x.strides[1]});
      part.raw = ctx.b.sbuf(x.dtype, static_cast<int>(rows), {tiles, count});
      part.ready = operand_place(ctx, part.raw);
      for (int64_t t = 0; t < tiles; ++t) tiles_.push_back(part.ready.select(0, t));
      parts_.push_back(part);
    };
    if (full > 0) place(0, full, kPartitions);
    if (rest > 0) place(full * kPartitions, 1, rest);
  }
  // Of rows in SBUF [columns, elements of k]: turned by the Tensor engine.
  Strip(KernelContext& ctx, const AccessPattern& rows, int64_t k0, int64_t k) {
    const int before = ctx.b.mark().psum_banks;
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
    ctx.b.release({ctx.b.mark().sbuf_bytes, before});
  }
  // Does nothing the second time.
  const Strip& load(KernelContext& ctx) {
    for (const Part& part : std::exchange(parts_, {})) {
      ctx.b.dma_copy(part.raw, part.hbm);
      if (!(part.ready == part.raw)) ctx.b.tensor_copy(part.ready, part.raw);
    }
    return *this;
  }
  std::size_t size() const { return tiles_.size(); }
  const AccessPattern& operator[](std::size_t t) const { return tiles_[t]; }

 private:
  struct Part {
    AccessPattern hbm, raw, ready;
  };
  std::vector<Part> parts_;  // to be loaded
  std::vector<AccessPattern> tiles_;
};

View transposed(const View& x) {
  const int64_t order[] = {1, 0};
  return x.permuted(order);
}

// Bytes a partition of one row or column of a strip.
int64_t bytes_of(const KernelContext& ctx, DType dtype, int64_t k) {
  const auto element =
      static_cast<int64_t>(size_of(dtype)) + (ctx.options.matmult_cast && dtype == DType::f32 ? 2 : 0);
  return (k + kPartitions - 1) / kPartitions * element;
}

// Elements of k whose strips of both operands fit; a longer contraction is loaded piece by piece.
int64_t piece_of(const KernelContext& ctx, DType dtype, int64_t k) {
  const int64_t tile = (kColumns + kPartitions) * bytes_of(ctx, dtype, kPartitions);
  return (k + kPartitions - 1) / kPartitions * tile <= kStripBytes ? std::max<int64_t>(k, 1)
                                                                   : kStripBytes / tile * kPartitions;
}

// Rows of the result whose part of the first operand stays in SBUF while all columns go by.
int64_t resident_rows(const KernelContext& ctx, DType dtype, int64_t k) {
  const int64_t free = ctx.region == nullptr ? ctx.b.sbuf_free_bytes() - kOtherBytes : 0;
  const int64_t room = std::max(kStripBytes, free);
  const int64_t rows = room / bytes_of(ctx, dtype, k) - kColumns;
  return std::max(rows / kPartitions, int64_t{1}) * kPartitions;
}

// sum = stationary * moving, or adds to it.
void multiply(KernelContext& ctx, const AccessPattern& sum, const Strip& stationary, const Strip& moving,
              bool add) {
  for (std::size_t t = 0; t < stationary.size(); ++t)
    ctx.b.nc_matmul(sum, stationary[t], moving[t], add || t > 0);
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
  const ProgramBuilder::Mark start = ctx.b.mark();
  const auto rows = [&](int64_t k0, int64_t kk) {
    return held ? Strip(ctx, *held, k0, kk) : Strip(ctx, at, k0, kk, m0, mm);
  };
  std::optional<Strip> whole;
  if (piece >= k) whole.emplace(rows(0, k));
  const ProgramBuilder::Mark mark = ctx.b.mark();
  bool odd = false;
  for (int64_t n0 = 0; n0 < n; n0 += kColumns) {
    const int64_t nn = std::min(kColumns, n - n0);
    const AccessPattern sum = ctx.b.psum(DType::f32, static_cast<int>(mm), {nn});
    for (int64_t k0 = 0; k0 < k; k0 += piece) {
      const int64_t kk = std::min(piece, k - k0);
      const ProgramBuilder::Mark pieces = ctx.b.mark();
      Strip moving(ctx, b, k0, kk, n0, nn);
      moving.load(ctx);
      std::optional<Strip> part;
      if (!whole) part.emplace(rows(k0, kk));
      multiply(ctx, sum, (whole ? *whole : *part).load(ctx), moving, k0 > 0);
      if (piece < k) ctx.b.release(pieces);
    }
    epilogue({m0, n0, sum, result.slice(0, n0, nn)});
    if (odd) ctx.b.release(mark);
    odd = !odd;
  }
  ctx.b.release(start);
  if (!Region::stored(out.tensor)) return;
  ctx.b.dma_copy(hbm_tile(out.dtype, out.tensor, out.offset + m0 * out.strides[0], static_cast<int>(mm),
                          out.strides[0], {n}, {out.strides[1]}),
                 result);
}

}  // namespace

AccessPattern matmul_operand(KernelContext& ctx, const AccessPattern& tile) {
  const AccessPattern out = operand_place(ctx, tile);
  if (!(out == tile)) ctx.b.tensor_copy(out, tile);
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
  const bool resident = piece >= k && k > 0;
  // One block of rows is divided between two cores by its columns.
  const int64_t columns_of_tile = m <= kPartitions ? even_tiles(ctx, n, kColumns) : kColumns;
  const int64_t block = resident ? resident_rows(ctx, a.dtype, k) : m;
  const ProgramBuilder::Mark start = ctx.b.mark();
  for (int64_t begin = 0; begin < m; begin += block) {
    const int64_t end = std::min(m, begin + block);
    ctx.b.release(start);
    std::vector<Strip> rows;
    for (int64_t m0 = begin; resident && m0 < end; m0 += kPartitions)
      rows.emplace_back(ctx, at, 0, k, m0, std::min(kPartitions, end - m0));
    const ProgramBuilder::Mark columns = ctx.b.mark();
    for (int64_t n0 = 0; n0 < n; n0 += columns_of_tile) {
      const int64_t nn = std::min(columns_of_tile, n - n0);
      ctx.b.release(columns);
      std::optional<Strip> whole;
      if (resident) whole.emplace(ctx, b, 0, k, n0, nn).load(ctx);
      const ProgramBuilder::Mark mark = ctx.b.mark();
      bool odd = false;
      for (int64_t m0 = begin; m0 < end; m0 += kPartitions) {
        const int64_t mm = std::min(kPartitions, end - m0);
        AccessPattern sum;
        if (k == 0) {
          sum = ctx.b.sbuf(DType::f32, static_cast<int>(mm), {nn});
          ctx.b.memset(sum, 0.0f);
        } else {
          sum = ctx.b.psum(DType::f32, static_cast<int>(mm), {nn});
        }
        if (resident) {
          multiply(ctx, sum, rows[static_cast<std::size_t>((m0 - begin) / kPartitions)].load(ctx), *whole,
                   false);
        }
        for (int64_t k0 = resident ? k : 0; k0 < k; k0 += piece) {
          const int64_t kk = std::min(piece, k - k0);
          const ProgramBuilder::Mark pieces = ctx.b.mark();
          Strip stationary(ctx, at, k0, kk, m0, mm), moving(ctx, b, k0, kk, n0, nn);
          multiply(ctx, sum, stationary.load(ctx), moving.load(ctx), k0 > 0);
          ctx.b.release(pieces);
        }
        const AccessPattern result = ctx.b.sbuf(out.dtype, static_cast<int>(mm), {nn});
        epilogue({m0, n0, sum, result});
        if (Region::stored(out.tensor)) {
          ctx.b.dma_copy(
              hbm_tile(out.dtype, out.tensor, out.offset + m0 * out.strides[0] + n0 * out.strides[1],
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
  }
  ctx.b.release(start);
}

}  // namespace assay::backend
