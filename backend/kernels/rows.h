// Kernels that treat rows as a whole: reductions, softmax, normalisation, scans, sorts. Rows lie on
// partitions, a row's elements along the free dimensions; rows longer than a tile are visited in pieces.
#pragma once

#include <functional>
#include <vector>

#include "backend/kernels/tiles.h"

namespace assay::backend {

// Elements of one piece of a row.
inline constexpr int64_t kRowPiece = 4096;

// Views of equal shape whose first `kept` dimensions number the rows and whose others lie inside a row, and
// views of one element a row (of the kept shape).
struct RowViews {
  std::vector<View> full;
  std::vector<View> per_row;
  std::size_t kept = 0;
  int64_t piece = kRowPiece;
  int64_t max_rows = 2048;  // a partition
};

class RowPlan;

// partitions x rows rows, one after another in row-major order.
class RowTile {
 public:
  int partitions;
  int64_t rows;                            // a partition
  int64_t length;                          // of a row
  const std::vector<Box>& pieces() const;  // of a row, in order; empty if rows are
  AccessPattern hbm(std::size_t full_view, const Box& piece) const;
  AccessPattern hbm(std::size_t per_row_view) const;
  const View& full_view(std::size_t v) const;
  const View& per_row_view(std::size_t v) const;

 private:
  friend void for_each_row_tile(KernelContext&, const RowViews&, const std::function<void(const RowTile&)>&);
  const RowPlan* plan_ = nullptr;
  Box box_;
};

void for_each_row_tile(KernelContext& ctx, const RowViews& views,
                       const std::function<void(const RowTile&)>& body);

// The part of a view as an SBUF tile [partitions, rows, elements of the piece], dtype kept.
AccessPattern load(KernelContext& ctx, const RowTile& tile, std::size_t full_view, const Box& piece);
// The same of a per-row view: [partitions, rows].
AccessPattern load(KernelContext& ctx, const RowTile& tile, std::size_t per_row_view);
// Where a kernel puts its result for a full or a per-row view, and how it reaches HBM. In a region, results
// stay where the next kernel finds them.
AccessPattern result_tile(KernelContext& ctx, const RowTile& tile, std::size_t full_view, const Box& piece);
AccessPattern result_tile(KernelContext& ctx, const RowTile& tile, std::size_t per_row_view);
void store(KernelContext& ctx, const RowTile& tile, std::size_t full_view, const Box& piece,
           const AccessPattern& result);
void store(KernelContext& ctx, const RowTile& tile, std::size_t per_row_view, const AccessPattern& result);
// A new tile [partitions, rows, n] or [partitions, rows].
AccessPattern row_tile(KernelContext& ctx, DType dtype, const RowTile& tile, int64_t n);
AccessPattern per_row_tile(KernelContext& ctx, DType dtype, const RowTile& tile);
// A per-row tile repeated n times along each row.
AccessPattern along_row(const AccessPattern& per_row, int64_t n);
// The tile as fp32 for engines: itself unless its dtype is a wide integer. Sizes are kept.
AccessPattern as_float(KernelContext& ctx, const AccessPattern& tile);

// A view with the given dimensions moved to the end, in their order.
View with_last(const View& view, std::span<const int64_t> dims);
// The dims not among `dims`, which are non-negative.
std::vector<int64_t> other_dims(int64_t rank, std::span<const int64_t> dims);

}  // namespace assay::backend
