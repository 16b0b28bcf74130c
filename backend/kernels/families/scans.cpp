// cumsum, cumprod, topk, sort, argmax, argmin, max.dim, min.dim.
#include "backend/kernels/rows.h"

namespace assay::backend {
namespace {

// Elements of a row that a sort holds at once: value, sorted value and two indices fit into SBUF.
constexpr int64_t kSortable = 6144;

// The argument `dim` of a tensor; a 0-d tensor is one row of one element.
struct Along {
  std::vector<int64_t> dims;
  std::size_t kept;
};
Along along(const KernelContext& ctx, const View& in) {
  if (in.rank() == 0) return {{}, 0};
  return {{normalise_dim(ctx.call.integer("dim"), in.rank(), ctx.call)}, in.shape.size() - 1};
}

// Running sums or products of each row; what the pieces before give is carried into the next.
void running(KernelContext& ctx, AluOp op) {
  const View in = ctx.input("self"), out = ctx.output();
  if (out.count() == 0) return;
  const Along a = along(ctx, in);
  const bool integers = is_integral(out.dtype);
  const RowViews views{{with_last(in, a.dims), with_last(out, a.dims)}, {}, a.kept};
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const DType type = integers ? out.dtype : DType::f32;
    const AccessPattern carry = per_row_tile(ctx, type, tile);  // of the pieces before
    bool first = true;
    for (const Box& piece : tile.pieces()) {
      const ProgramBuilder::Mark mark = ctx.b.mark();
      const int64_t n = piece.count();
      AccessPattern x = load(ctx, tile, 0, piece);
      const AccessPattern sums = row_tile(ctx, type, tile, n);
      if (integers) {
        if (x.dtype != type) {
          const AccessPattern wide = row_tile(ctx, type, tile, n);
          convert_into(ctx, wide, x);
          x = wide;
        }
        ctx.b.scan(sums, x, op);
        if (!first) ctx.b.tensor_tensor(sums, sums, along_row(carry, n), op, Engine::gpsimd);
        ctx.b.tensor_copy(carry, sums.select(1, n - 1), Engine::gpsimd);
      } else {
        // PyTorch converts to `dtype` first: what a narrower float cannot hold is infinite.
        if (is_float(x.dtype) && float_format(out.dtype).precision < float_format(x.dtype).precision) {
          const AccessPattern narrow = row_tile(ctx, out.dtype, tile, n);
          convert_into(ctx, narrow, x);
          x = narrow;
        }
        x = as_float(ctx, x);
        // Sums: r_i = 1 * r_(i-1) + x_i. Products: r_i = x_i * r_(i-1) + 0.
        const bool sum = op == AluOp::add;
        const AccessPattern neutral = ctx.b.sbuf(DType::f32, tile.partitions, {n});
        ctx.b.memset(neutral, sum ? 1.0f : 0.0f);
        for (int64_t row = 0; row < tile.rows; ++row) {
          const ScalarOperand initial =
              first ? ScalarOperand(sum ? 0.0f : 1.0f) : ScalarOperand(carry.slice(0, row, 1));
          ctx.b.tensor_tensor_scan(sums.select(0, row), sum ? neutral : x.select(0, row),
                                   sum ? x.select(0, row) : neutral, initial, AluOp::multiply, AluOp::add);
        }
        ctx.b.tensor_copy(carry, sums.select(1, n - 1));
      }
      first = false;
      AccessPattern result = sums;
      if (out.dtype != type) {
        result = row_tile(ctx, out.dtype, tile, n);
        convert_into(ctx, result, sums);
      }
      ctx.b.dma_copy(tile.hbm(1, piece), result);
      ctx.b.release(mark);
    }
  });
}

// The k first of each sorted row with their indices. Longer rows are merged piece by piece with the best so
// far; the sort is stable, so that ties keep the smallest indices.
void ordered(KernelContext& ctx, int64_t k, bool descending) {
  const View in = ctx.input("self"), values = ctx.output(0), indices = ctx.output(1);
  if (values.count() == 0) return;
  const Along a = along(ctx, in);
  const int64_t length = in.rank() == 0 ? 1 : in.shape[static_cast<std::size_t>(a.dims[0])];
  const int64_t piece = length <= kSortable ? length : kSortable - k;
  if (piece < 1024 && piece < length) {
    ctx.unsupported(ASSAY_REASON_SHAPE, "k = " + std::to_string(k) + " of rows of " + std::to_string(length) +
                                            " elements: up to " + std::to_string(kSortable - 1024) +
                                            " fit a partition");
  }
  const View x = with_last(in, a.dims);
  const View targets[] = {with_last(values, a.dims), with_last(indices, a.dims)};
  const auto first_of_row = [&](const View& view) {
    return in.rank() == 0 ? view : view.selected(view.rank() - 1, 0);
  };
  const RowViews views{{x}, {first_of_row(targets[0]), first_of_row(targets[1])}, a.kept, piece, 1};
  // The k elements of a row that start at a per-row view's element.
  const auto row_of = [&](const RowTile& tile, std::size_t t) {
    AccessPattern out = tile.hbm(t);
    out = out.unsqueezed(out.rank, k);
    out.strides[static_cast<std::size_t>(out.rank - 1)] = in.rank() == 0 ? 1 : targets[t].strides.back();
    return out;
  };
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const int p = tile.partitions;
    const int64_t width = std::min(length, k + piece);
    const AccessPattern value = ctx.b.sbuf(in.dtype, p, {width}), sorted = ctx.b.sbuf(in.dtype, p, {width});
    const AccessPattern index = ctx.b.sbuf(DType::i32, p, {width}),
                        order = ctx.b.sbuf(DType::i32, p, {width});
    const AccessPattern found = ctx.b.sbuf(DType::i32, p, {k});
    int64_t start = 0, held = 0;
    for (const Box& part : tile.pieces()) {
      const int64_t n = part.count();
      ctx.b.dma_copy(value.slice(0, held, n), tile.hbm(0, part));
      const int64_t pattern[] = {1};
      ctx.b.iota(index.slice(0, held, n), start, 0, pattern);
      const int64_t all = held + n;
      ctx.b.sort(sorted.slice(0, 0, all), order.slice(0, 0, all), value.slice(0, 0, all), descending);
      const int64_t keep = std::min(k, all);
      ctx.b.local_gather(found.slice(0, 0, keep), index.slice(0, 0, all), order.slice(0, 0, keep));
      const Engine copier = Engine::gpsimd;
      ctx.b.tensor_copy(value.slice(0, 0, keep), sorted.slice(0, 0, keep), copier);
      ctx.b.tensor_copy(index.slice(0, 0, keep), found.slice(0, 0, keep), copier);
      start += n;
      held = keep;
    }
    const AccessPattern wide = ctx.b.sbuf(DType::i64, p, {k});
    ctx.b.cast(wide, found);
    ctx.b.dma_copy(row_of(tile, 0), value.slice(0, 0, k));
    ctx.b.dma_copy(row_of(tile, 1), wide);
  });
}

void topk(KernelContext& ctx) { ordered(ctx, ctx.call.integer("k"), ctx.call.boolean("largest")); }

void sort(KernelContext& ctx) {
  const View in = ctx.input("self");
  const Along a = along(ctx, in);
  ordered(ctx, in.rank() == 0 ? 1 : in.shape[static_cast<std::size_t>(a.dims[0])],
          ctx.call.boolean("descending"));
}

// First index of the extreme of each row, and its value where the operator gives it.
void arg_extreme(KernelContext& ctx, bool largest, bool with_value) {
  View in = ctx.input("self");
  const View indices = ctx.output(with_value ? 1 : 0);
  if (indices.count() == 0) return;
  Along a{{}, 0};
  if (ctx.call.is_none("dim")) {
    in = in.reshaped({in.count()});
    a = {{0}, 0};
  } else {
    a = along(ctx, in);
  }
  Shape kept;
  for (int64_t d : other_dims(in.rank(), a.dims)) kept.push_back(in.shape[static_cast<std::size_t>(d)]);
  RowViews views{{with_last(in, a.dims)}, {indices.reshaped(kept)}, kept.size(), 16384};
  if (with_value) views.per_row.push_back(ctx.output(0).reshaped(kept));
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    if (tile.pieces().size() != 1) {
      ctx.unsupported(ASSAY_REASON_SHAPE, "rows of more than 16384 elements do not fit a partition");
    }
    const AccessPattern x = load(ctx, tile, 0, tile.pieces().front());
    const AccessPattern index = per_row_tile(ctx, DType::i64, tile);
    if (largest) {
      ctx.b.arg_max(index, x);
    } else {
      ctx.b.arg_min(index, x);
    }
    ctx.b.dma_copy(tile.hbm(0), index);
    if (!with_value) return;
    const AccessPattern value = per_row_tile(ctx, in.dtype, tile);
    for (int64_t row = 0; row < tile.rows; ++row) {
      ctx.b.local_gather(value.slice(0, row, 1), x.select(0, row), index.slice(0, row, 1));
    }
    ctx.b.dma_copy(tile.hbm(1), value);
  });
}

}  // namespace

void register_scans(KernelTable& table) {
  table.add("aten::cumsum.default", [](KernelContext& c) { running(c, AluOp::add); });
  table.add("aten::cumprod.default", [](KernelContext& c) { running(c, AluOp::multiply); });
  table.add("aten::topk.default", topk);
  table.add("aten::sort.default", sort);
  table.add("aten::sort.stable", sort);
  table.add("aten::argmax.default", [](KernelContext& c) { arg_extreme(c, true, false); });
  table.add("aten::argmin.default", [](KernelContext& c) { arg_extreme(c, false, false); });
  table.add("aten::max.dim", [](KernelContext& c) { arg_extreme(c, true, true); });
  table.add("aten::min.dim", [](KernelContext& c) { arg_extreme(c, false, true); });
}

}  // namespace assay::backend
