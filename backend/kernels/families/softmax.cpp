// _softmax and _log_softmax, the row's largest element subtracted first.
#include "backend/kernels/rows.h"

namespace assay::backend {
namespace {

// x - max and, where `exponential` is given, exp of it.
AccessPattern shifted(KernelContext& ctx, const AccessPattern& x, const AccessPattern& largest) {
  const int64_t n = x.sizes[1];
  const AccessPattern t = ctx.b.sbuf(DType::f32, x.partitions, {x.sizes[0], n});
  ctx.b.tensor_tensor(t, x, along_row(largest, n), AluOp::subtract);
  return t;
}

Kernel softmax(bool logarithm) {
  return [logarithm](KernelContext& ctx) {
    const View in = ctx.input("self"), out = ctx.output();
    if (!is_float(in.dtype)) ctx.unsupported(ASSAY_REASON_DTYPE, "self must be floating point");
    if (out.count() == 0) return;
    const std::vector<int64_t> dims =
        in.rank() == 0 ? std::vector<int64_t>{}
                       : std::vector<int64_t>{normalise_dim(ctx.call.integer("dim"), in.rank(), ctx.call)};
    const RowViews views{
        {with_last(in, dims), with_last(out, dims)}, {}, static_cast<std::size_t>(in.rank()) - dims.size()};
    for_each_row_tile(ctx, views, [&](const RowTile& tile) {
      const bool whole = tile.pieces().size() == 1;
      const AccessPattern largest = per_row_tile(ctx, DType::f32, tile);
      const AccessPattern sum = per_row_tile(ctx, DType::f32, tile);
      const AccessPattern part = per_row_tile(ctx, DType::f32, tile);
      AccessPattern x, t, e;
      const auto over_pieces = [&](const std::function<void(const Box&, bool first)>& body) {
        bool first = true;
        for (const Box& piece : tile.pieces()) {
          const ProgramBuilder::Mark mark = ctx.b.mark();
          body(piece, first);
          first = false;
          if (!whole) ctx.b.release(mark);
        }
      };
      over_pieces([&](const Box& piece, bool first) {
        x = load(ctx, tile, 0, piece);
        ctx.b.tensor_reduce(first ? largest : part, x, AluOp::max);
        if (!first) ctx.b.tensor_tensor(largest, largest, part, AluOp::max);
      });
      over_pieces([&](const Box& piece, bool first) {
        if (!whole) x = load(ctx, tile, 0, piece);
        t = shifted(ctx, x, largest);
        e = row_tile(ctx, DType::f32, tile, piece.count());
        ctx.b.activation(e, t, Activation::exp);
        ctx.b.tensor_reduce(first ? sum : part, e, AluOp::add);
        if (!first) ctx.b.tensor_tensor(sum, sum, part, AluOp::add);
      });
      if (logarithm) ctx.b.activation(sum, sum, Activation::log);
      over_pieces([&](const Box& piece, bool) {
        const int64_t n = piece.count();
        if (!whole) {
          t = shifted(ctx, load(ctx, tile, 0, piece), largest);
          e = row_tile(ctx, DType::f32, tile, n);
          if (!logarithm) ctx.b.activation(e, t, Activation::exp);
        }
        const AccessPattern y = result_tile(ctx, tile, 1, piece);
        ctx.b.tensor_tensor(y, logarithm ? t : e, along_row(sum, n),
                            logarithm ? AluOp::subtract : AluOp::divide);
        store(ctx, tile, 1, piece, y);
      });
    });
  };
}

}  // namespace

void register_softmax(KernelTable& table) {
  table.add("aten::_softmax.default", softmax(false));
  table.add("aten::_log_softmax.default", softmax(true));
}

}  // namespace assay::backend
