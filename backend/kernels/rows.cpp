#include "backend/kernels/rows.h"

#include <algorithm>

#include "backend/kernels/region.h"
#include "core/error.h"

namespace assay::backend {
namespace {

// Dimensions of an HBM pattern that rows and the inside of rows may each use.
constexpr int kHalfRank = kDmaRank / 2;

View part_of(const View& view, std::size_t first, std::size_t last) {
  View out = view;
  const auto at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  out.shape.assign(view.shape.begin() + at(first), view.shape.begin() + at(last));
  out.strides.assign(view.strides.begin() + at(first), view.strides.begin() + at(last));
  return out;
}

}  // namespace

class RowPlan {
 public:
  explicit RowPlan(const RowViews& views) : views_(views) {
    std::vector<View> outer, inner;
    for (const View& v : views.full) {
      outer.push_back(part_of(v, 0, views.kept));
      inner.push_back(part_of(v, views.kept, v.shape.size()));
    }
    outer.insert(outer.end(), views.per_row.begin(), views.per_row.end());
    kept_ = collapse(outer);
    row_ = collapse(inner);
    pieces_ = split(row_.sizes, views.piece, kHalfRank);
  }

  const IterationSpace& kept() const { return kept_; }
  int64_t length() const { return row_.count(); }
  const std::vector<Box>& pieces() const { return pieces_; }
  const RowViews& views() const { return views_; }

  AccessPattern full(std::size_t v, const Box& rows, const Box& piece) const {
    Shape strides = kept_.strides[v];
    strides.insert(strides.end(), row_.strides[v].begin(), row_.strides[v].end());
    Box box = rows;
    box.start.insert(box.start.end(), piece.start.begin(), piece.start.end());
    box.size.insert(box.size.end(), piece.size.begin(), piece.size.end());
    return pattern_of(views_.full[v], strides, box);
  }
  AccessPattern per_row(std::size_t v, const Box& rows) const {
    return pattern_of(views_.per_row[v], kept_.strides[views_.full.size() + v], rows);
  }

 private:
  const RowViews& views_;
  IterationSpace kept_, row_;
  std::vector<Box> pieces_;
};

const std::vector<Box>& RowTile::pieces() const { return plan_->pieces(); }
AccessPattern RowTile::hbm(std::size_t v, const Box& piece) const { return plan_->full(v, box_, piece); }
AccessPattern RowTile::hbm(std::size_t v) const { return plan_->per_row(v, box_); }
const View& RowTile::full_view(std::size_t v) const { return plan_->views().full[v]; }
const View& RowTile::per_row_view(std::size_t v) const { return plan_->views().per_row[v]; }

void for_each_row_tile(KernelContext& ctx, const RowViews& views,
                       const std::function<void(const RowTile&)>& body) {
  const RowPlan plan(views);
  if (ctx.region != nullptr) {
    const std::size_t rank = plan.kept().sizes.size();
    if (rank > 1 || plan.pieces().size() > 1)
      throw Error(ErrorCode::internal, "kernel: rows of a region that are not a matrix's");
    RowTile tile;
    tile.partitions = static_cast<int>(ctx.region->rows);
    tile.rows = 1;
    tile.length = plan.length();
    tile.plan_ = &plan;
    if (rank == 1) tile.box_ = {{ctx.region->row}, {ctx.region->rows}};
    return body(tile);
  }
  const int64_t piece = std::max<int64_t>(std::min(plan.length(), views.piece), 1);
  const int64_t units = (element_count(plan.kept().sizes) + kPartitions - 1) / kPartitions;
  const int64_t rows =
      even_tiles(ctx, units, std::clamp<int64_t>(kTileFree / piece, 1, views.max_rows), piece);
  const ProgramBuilder::Mark mark = ctx.b.mark();
  for (const TileBox& box : split_into_tiles(plan.kept().sizes, rows, kHalfRank)) {
    RowTile tile;
    tile.partitions = box.partitions;
    tile.rows = box.free;
    tile.length = plan.length();
    tile.plan_ = &plan;
    tile.box_ = box.box;
    body(tile);
    ctx.b.release(mark);
  }
}

AccessPattern row_tile(KernelContext& ctx, DType dtype, const RowTile& tile, int64_t n) {
  return ctx.b.sbuf(dtype, tile.partitions, {tile.rows, n});
}

AccessPattern per_row_tile(KernelContext& ctx, DType dtype, const RowTile& tile) {
  return ctx.b.sbuf(dtype, tile.partitions, {tile.rows});
}

namespace {

// [rows, n] of a region as the [rows, 1, n] of kernels of rows.
const AccessPattern* held_by_region(const KernelContext& ctx, const View& view) {
  return ctx.region == nullptr ? nullptr : ctx.region->tile(view.tensor);
}
AccessPattern as_row(const AccessPattern& held) { return held.reshaped({1, held.free_elements()}); }

}  // namespace

AccessPattern result_tile(KernelContext& ctx, const RowTile& tile, std::size_t v, const Box& piece) {
  const View& view = tile.full_view(v);
  if (const AccessPattern* held = held_by_region(ctx, view)) return as_row(*held);
  return row_tile(ctx, view.dtype, tile, piece.count());
}

AccessPattern result_tile(KernelContext& ctx, const RowTile& tile, std::size_t v) {
  const View& view = tile.per_row_view(v);
  if (const AccessPattern* held = held_by_region(ctx, view)) return *held;
  return per_row_tile(ctx, view.dtype, tile);
}

void store(KernelContext& ctx, const RowTile& tile, std::size_t v, const Box& piece,
           const AccessPattern& result) {
  if (Region::stored(tile.full_view(v).tensor)) ctx.b.dma_copy(tile.hbm(v, piece), result);
}

void store(KernelContext& ctx, const RowTile& tile, std::size_t v, const AccessPattern& result) {
  if (Region::stored(tile.per_row_view(v).tensor)) ctx.b.dma_copy(tile.hbm(v), result);
}

AccessPattern load(KernelContext& ctx, const RowTile& tile, std::size_t v, const Box& piece) {
  if (const AccessPattern* held = held_by_region(ctx, tile.full_view(v))) return as_row(*held);
  const AccessPattern hbm = tile.hbm(v, piece);
  const AccessPattern out = row_tile(ctx, hbm.dtype, tile, piece.count());
  ctx.b.dma_copy(out, hbm);
  return out;
}

AccessPattern load(KernelContext& ctx, const RowTile& tile, std::size_t v) {
  if (const AccessPattern* held = held_by_region(ctx, tile.per_row_view(v))) return *held;
  const AccessPattern hbm = tile.hbm(v);
  const AccessPattern out = per_row_tile(ctx, hbm.dtype, tile);
  ctx.b.dma_copy(out, hbm);
  return out;
}

AccessPattern along_row(const AccessPattern& per_row, int64_t n) { return per_row.unsqueezed(1, n); }

AccessPattern as_float(KernelContext& ctx, const AccessPattern& tile) {
  if (is_float(tile.dtype) || size_of(tile.dtype) <= 2) return tile;
  const Shape sizes(tile.sizes.begin(), tile.sizes.begin() + tile.rank);
  const AccessPattern out = ctx.b.sbuf(DType::f32, tile.partitions, Sizes(sizes));
  ctx.b.cast(out, tile);
  return out;
}

std::vector<int64_t> other_dims(int64_t rank, std::span<const int64_t> dims) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) out.push_back(d);
  }
  return out;
}

View with_last(const View& view, std::span<const int64_t> dims) {
  std::vector<int64_t> order = other_dims(view.rank(), dims);
  order.insert(order.end(), dims.begin(), dims.end());
  return view.permuted(order);
}

}  // namespace assay::backend
