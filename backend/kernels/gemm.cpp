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

// All rows and columns: strips of columns, in each of them groups of blocks of rows.
class Gemm {
 public:
  Gemm(KernelContext& ctx, const View& a, const View& b, const View& out, const Epilogue& epilogue,
       int64_t first_row)
      : ctx_(ctx),
        at_(transposed(a)),
        b_(b),
        out_(out),
        epilogue_(epilogue),
        first_row_(first_row),
        m_(out.shape[0]),
        n_(out.shape[1]),
        k_(a.shape[1]),
        piece_(piece_of(ctx, a.dtype, k_)),
        // One block of rows is divided between two cores by its columns.
        width_(m_ <= kPartitions ? even_tiles(ctx, n_, kColumns) : kColumns) {}

  void run() {
    const bool resident = piece_ >= k_ && k_ > 0;
    const int64_t block = resident ? resident_rows(ctx_, at_.dtype, k_) : m_;
    const int64_t group = std::clamp(ctx_.b.psum_free_banks() / 2, 1, kMostBlocks) * kPartitions;
    const ProgramBuilder::Mark start = ctx_.b.mark();
    for (int64_t begin = 0; begin < m_; begin += block) {
      ctx_.b.release(start);
      const int64_t end = std::min(m_, begin + block);
      if (resident) place(begin, end);
      const ProgramBuilder::Mark mark = ctx_.b.mark();
      bool odd = false;
      for (int64_t n0 = 0; n0 < n_; n0 += width_) {
        for (int64_t m0 = begin; m0 < end; m0 += group, odd = !odd) {
          const int64_t next = std::min(end, m0 + group);
          const std::vector<AccessPattern> sums =
              resident ? products(begin, m0, next, n0) : products_by_pieces(m0, next, n0);
          // Before the stores, which wait for these products.
          if (resident && next < end) load_rows(begin, next, std::min(end, next + group));
          if (resident && next == end && twice_ && n0 + width_ < n_) strip(n0 + width_).load(ctx_);
          finish(m0, n0, sums);
          ctx_.b.release({mark.sbuf_bytes, odd ? mark.psum_banks : ctx_.b.mark().psum_banks});
        }
      }
    }
    ctx_.b.release(start);
  }

 private:
  // Blocks of rows in a group: while their sums fill one half of PSUM the other is emptied.
  static constexpr int kMostBlocks = 4;

  // Where rows begin .. end-1 and all columns will be; strips of columns take turns at two places if there is
  // room.
  void place(int64_t begin, int64_t end) {
    rows_.clear();
    strips_.clear();
    for (int64_t m0 = begin; m0 < end; m0 += kPartitions)
      rows_.emplace_back(ctx_, at_, 0, k_, m0, std::min(kPartitions, end - m0));
    const ProgramBuilder::Mark first = ctx_.b.mark();
    ProgramBuilder::Mark second = first, top = first;
    twice_ = end - begin + width_ <= resident_rows(ctx_, at_.dtype, k_);
    for (int64_t n0 = 0; n0 < n_; n0 += width_) {
      ctx_.b.release(twice_ && n0 / width_ % 2 == 1 ? second : first);
      strips_.emplace_back(ctx_, b_, 0, k_, n0, std::min(width_, n_ - n0));
      if (n0 == 0) second = ctx_.b.mark();
      top.sbuf_bytes = std::max(top.sbuf_bytes, ctx_.b.mark().sbuf_bytes);
    }
    const int64_t rest = top.sbuf_bytes - ctx_.b.mark().sbuf_bytes;
    if (rest > 0) ctx_.b.sbuf(DType::u8, 1, {rest});
  }
  Strip& strip(int64_t n0) { return strips_[static_cast<std::size_t>(n0 / width_)]; }
  const Strip& rows(int64_t begin, int64_t m0) {
    return rows_[static_cast<std::size_t>((m0 - begin) / kPartitions)].load(ctx_);
  }
  void load_rows(int64_t begin, int64_t m0, int64_t end) {
    for (; m0 < end; m0 += kPartitions) rows(begin, m0);
  }

  std::vector<AccessPattern> places(int64_t m0, int64_t end, int64_t n0) {
    std::vector<AccessPattern> sums;
    for (; m0 < end; m0 += kPartitions) {
      const auto mm = static_cast<int>(std::min(kPartitions, end - m0));
      sums.push_back(ctx_.b.psum(DType::f32, mm, {std::min(width_, n_ - n0)}));
    }
    return sums;
  }

  // Sums of rows m0 .. end-1 and the strip's columns, one for each block of rows.
  std::vector<AccessPattern> products(int64_t begin, int64_t m0, int64_t end, int64_t n0) {
    std::vector<AccessPattern> sums = places(m0, end, n0);
    const Strip& moving = strip(n0).load(ctx_);
    load_rows(begin, m0, end);
    for (const AccessPattern& sum : sums) {
      multiply(ctx_, sum, rows(begin, m0), moving, false);
      m0 += kPartitions;
    }
    return sums;
  }

  // The same of operands that are loaded for this group, or of none.
  std::vector<AccessPattern> products_by_pieces(int64_t m0, int64_t end, int64_t n0) {
    if (k_ == 0) {
      std::vector<AccessPattern> sums;
      for (; m0 < end; m0 += kPartitions) {
        const auto mm = static_cast<int>(std::min(kPartitions, end - m0));
        sums.push_back(ctx_.b.sbuf(DType::f32, mm, {std::min(width_, n_ - n0)}));
        ctx_.b.memset(sums.back(), 0.0f);
      }
      return sums;
    }
    std::vector<AccessPattern> sums = places(m0, end, n0);
    const ProgramBuilder::Mark mark = ctx_.b.mark();
    for (int64_t k0 = 0; k0 < k_; k0 += piece_) {
      const int64_t kk = std::min(piece_, k_ - k0);
      Strip moving(ctx_, b_, k0, kk, n0, std::min(width_, n_ - n0));
      moving.load(ctx_);
      const ProgramBuilder::Mark block = ctx_.b.mark();
      int64_t row = m0;
      for (const AccessPattern& sum : sums) {
        Strip stationary(ctx_, at_, k0, kk, row, sum.partitions);
        multiply(ctx_, sum, stationary.load(ctx_), moving, k0 > 0);
        ctx_.b.release(block);
        row += kPartitions;
      }
      ctx_.b.release(mark);
    }
    return sums;
  }

  void finish(int64_t m0, int64_t n0, const std::vector<AccessPattern>& sums) {
    const ProgramBuilder::Mark mark = ctx_.b.mark();
    bool odd = false;
    for (const AccessPattern& sum : sums) {
      const int64_t mm = sum.partitions, nn = sum.sizes[0];
      const AccessPattern result = ctx_.b.sbuf(out_.dtype, sum.partitions, {nn});
      epilogue_({m0, n0, sum, result});
      if (Region::stored(out_.tensor)) {
        ctx_.b.dma_copy(
            hbm_tile(out_.dtype, out_.tensor, out_.offset + m0 * out_.strides[0] + n0 * out_.strides[1],
                     sum.partitions, out_.strides[0], {nn}, {out_.strides[1]}),
            result);
      }
      if (ctx_.region != nullptr) {
        ctx_.region->row = first_row_ + m0;
        ctx_.region->rows = mm;
        ctx_.region->column = n0;
        ctx_.region->columns = nn;
        ctx_.region->then(result);
      }
      if (odd) ctx_.b.release(mark);
      odd = !odd;
      m0 += kPartitions;
    }
  }

  KernelContext& ctx_;
  const View at_, b_, out_;
  const Epilogue& epilogue_;
  const int64_t first_row_, m_, n_, k_, piece_, width_;
  std::vector<Strip> rows_, strips_;  // where the operands stay
  bool twice_ = false;                // the next strip may be loaded while this one is multiplied
};

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
  if (out.shape[0] == 0 || out.shape[1] == 0) return;
  Gemm(ctx, a, b, out, epilogue, first_row).run();
}

}  // namespace assay::backend
