// Layer, group and batch normalisation: mean first, then the variance around it (two passes), in fp32.
#include <algorithm>

#include "backend/kernels/rows.h"

namespace assay::backend {
namespace {

// x, y, weight and bias have kept + row dimensions (weight and bias by strides of 0); mean and rstd, where
// wanted, the kept ones.
struct Normalisation {
  View x, y;
  std::optional<View> weight, bias;
  std::optional<View> mean, rstd;
  std::size_t kept;
  double eps;
};

// Tiles [P, rows, n] of one piece: weight and bias are applied and the result is stored.
class Affine {
 public:
  Affine(RowViews& views, const Normalisation& n) : dtype_(n.y.dtype) {
    views.full = {n.x, n.y};
    if (n.weight) weight_ = add(views, *n.weight);
    if (n.bias) bias_ = add(views, *n.bias);
  }
  // y = t * weight + bias
  void store(KernelContext& ctx, const RowTile& tile, const Box& piece, AccessPattern t) const {
    if (weight_) ctx.b.tensor_tensor(t, t, load(ctx, tile, *weight_, piece), AluOp::multiply);
    const AccessPattern y = row_tile(ctx, dtype_, tile, piece.count());
    if (bias_) {
      ctx.b.tensor_tensor(y, t, load(ctx, tile, *bias_, piece), AluOp::add);
    } else {
      ctx.b.tensor_copy(y, t);
    }
    ctx.b.dma_copy(tile.hbm(1, piece), y);
  }

 private:
  static std::size_t add(RowViews& views, const View& view) {
    views.full.push_back(view);
    return views.full.size() - 1;
  }
  DType dtype_;
  std::optional<std::size_t> weight_, bias_;
};

void store_per_row(KernelContext& ctx, const RowTile& tile, std::size_t view, DType dtype,
                   const AccessPattern& value) {
  const AccessPattern t = per_row_tile(ctx, dtype, tile);
  ctx.b.tensor_copy(t, value);
  ctx.b.dma_copy(tile.hbm(view), t);
}

void normalise(KernelContext& ctx, const Normalisation& n) {
  RowViews views;
  const Affine affine(views, n);
  views.kept = n.kept;
  if (n.mean) views.per_row.push_back(*n.mean);
  if (n.rstd) views.per_row.push_back(*n.rstd);
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const auto count = static_cast<float>(tile.length);
    const bool whole = tile.pieces().size() == 1;
    const AccessPattern mean = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern rstd = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern part = per_row_tile(ctx, DType::f32, tile);
    AccessPattern difference;
    // sum / count over pieces of what `values` gives.
    const auto mean_of = [&](const AccessPattern& into,
                             const std::function<AccessPattern(const Box&)>& values) {
      bool first = true;
      for (const Box& piece : tile.pieces()) {
        const ProgramBuilder::Mark mark = ctx.b.mark();
        ctx.b.tensor_reduce(first ? into : part, values(piece), AluOp::add);
        if (!first) ctx.b.tensor_tensor(into, into, part, AluOp::add);
        first = false;
        if (!whole) ctx.b.release(mark);
      }
      ctx.b.tensor_scalar(into, into, AluOp::divide, count);
    };
    AccessPattern x;
    const auto minus_mean = [&](const Box& piece) {
      const int64_t length = piece.count();
      const AccessPattern d = row_tile(ctx, DType::f32, tile, length);
      ctx.b.tensor_tensor(d, whole ? x : load(ctx, tile, 0, piece), along_row(mean, length), AluOp::subtract);
      return d;
    };
    mean_of(mean, [&](const Box& piece) { return x = load(ctx, tile, 0, piece); });
    mean_of(rstd, [&](const Box& piece) {
      difference = minus_mean(piece);
      const AccessPattern square = row_tile(ctx, DType::f32, tile, piece.count());
      ctx.b.tensor_tensor(square, difference, difference, AluOp::multiply);
      return square;
    });
    ctx.b.tensor_scalar(rstd, rstd, AluOp::add, static_cast<float>(n.eps), false, AluOp::rsqrt);
    for (const Box& piece : tile.pieces()) {
      const ProgramBuilder::Mark mark = ctx.b.mark();
      const AccessPattern t = whole ? difference : minus_mean(piece);
      ctx.b.tensor_tensor(t, t, along_row(rstd, piece.count()), AluOp::multiply);
      affine.store(ctx, tile, piece, t);
      ctx.b.release(mark);
    }
    if (n.mean) store_per_row(ctx, tile, 0, n.mean->dtype, mean);
    if (n.rstd) store_per_row(ctx, tile, n.mean ? 1 : 0, n.rstd->dtype, rstd);
  });
}

std::optional<View> optional_input(const KernelContext& ctx, std::string_view name) {
  const auto i = ctx.call.tensor_opt(name);
  if (!i) return std::nullopt;
  return ctx.input(*i);
}

void layer_norm(KernelContext& ctx) {
  Normalisation n{ctx.input("input"),
                  ctx.output(0),
                  optional_input(ctx, "weight"),
                  optional_input(ctx, "bias"),
                  {},
                  {},
                  0,
                  ctx.call.floating("eps")};
  if (n.y.count() == 0) return;
  n.kept = n.x.shape.size() - ctx.call.integers("normalized_shape").size();
  const Shape rows(n.x.shape.begin(), n.x.shape.begin() + static_cast<std::ptrdiff_t>(n.kept));
  if (n.weight) n.weight = n.weight->broadcast_to(n.x.shape);
  if (n.bias) n.bias = n.bias->broadcast_to(n.x.shape);
  n.mean = ctx.output(1).reshaped(rows);
  n.rstd = ctx.output(2).reshaped(rows);
  normalise(ctx, n);
}

// x [N, C, HxW] as [N, group, C / group, HxW].
void group_norm(KernelContext& ctx) {
  const int64_t batch = ctx.call.integer("N"), channels = ctx.call.integer("C"),
                area = ctx.call.integer("HxW"), groups = ctx.call.integer("group");
  const Shape shape{batch, groups, channels / groups, area};
  if (ctx.output(0).count() == 0) return;
  const auto per_channel = [&](std::string_view name) -> std::optional<View> {
    std::optional<View> view = optional_input(ctx, name);
    if (view) view = view->reshaped({1, groups, channels / groups, 1}).broadcast_to(shape);
    return view;
  };
  normalise(ctx, {ctx.input("input").reshaped(shape), ctx.output(0).reshaped(shape), per_channel("weight"),
                  per_channel("bias"), ctx.output(1).reshaped({batch, groups}),
                  ctx.output(2).reshaped({batch, groups}), 2, ctx.call.floating("eps")});
}

// [N, C, ...] with the channels first.
View channels_first(const View& view) {
  std::vector<int64_t> order{1, 0};
  for (int64_t d = 2; d < view.rank(); ++d) order.push_back(d);
  return view.permuted(order);
}

View along_channels(const View& per_channel, const View& like) {
  View out = like;
  out.tensor = per_channel.tensor;
  out.dtype = per_channel.dtype;
  out.offset = per_channel.offset;
  out.strides.assign(like.shape.size(), 0);
  out.strides[0] = 1;
  return out;
}

void batch_norm_of_batch(KernelContext& ctx) {
  if (!ctx.call.boolean("training")) {
    ctx.unsupported(ASSAY_REASON_ARGUMENT, "training=False without statistics");
  }
  if (ctx.output(0).count() == 0) return;
  const View x = channels_first(ctx.input("input")), y = channels_first(ctx.output(0));
  const auto per_channel = [&](std::string_view name) -> std::optional<View> {
    const std::optional<View> view = optional_input(ctx, name);
    if (!view) return std::nullopt;
    return along_channels(*view, x);
  };
  normalise(ctx, {x, y, per_channel("weight"), per_channel("bias"), ctx.output(1), ctx.output(2), 1,
                  ctx.call.floating("eps")});
}

// With given statistics; the saved statistics are empty.
void batch_norm(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return;
  const View x = channels_first(ctx.input("input")), y = channels_first(ctx.output(0));
  Normalisation n{x,  y, optional_input(ctx, "weight"), optional_input(ctx, "bias"), {},
                  {}, 1, ctx.call.floating("eps")};
  if (n.weight) n.weight = along_channels(*n.weight, x);
  if (n.bias) n.bias = along_channels(*n.bias, x);
  RowViews views;
  const Affine affine(views, n);
  views.kept = 1;
  views.per_row = {ctx.input("running_mean"), ctx.input("running_var")};
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const AccessPattern mean = load(ctx, tile, 0);
    const AccessPattern rstd = per_row_tile(ctx, DType::f32, tile);
    ctx.b.tensor_scalar(rstd, load(ctx, tile, 1), AluOp::add, static_cast<float>(n.eps), false, AluOp::rsqrt);
    for (const Box& piece : tile.pieces()) {
      const ProgramBuilder::Mark mark = ctx.b.mark();
      const int64_t length = piece.count();
      const AccessPattern t = row_tile(ctx, DType::f32, tile, length);
      ctx.b.tensor_tensor(t, load(ctx, tile, 0, piece), along_row(mean, length), AluOp::subtract);
      ctx.b.tensor_tensor(t, t, along_row(rstd, length), AluOp::multiply);
      affine.store(ctx, tile, piece, t);
      ctx.b.release(mark);
    }
  });
}

// Variance around the mean, divided by n - correction.
void variance(KernelContext& ctx, std::vector<int64_t> dims, double correction) {
  const View in = ctx.input("self"), out = ctx.output();
  if (out.count() == 0) return;
  if (in.count() == 0) ctx.unsupported(ASSAY_REASON_SHAPE, "the variance of no elements");
  for (int64_t& dim : dims) dim = normalise_dim(dim, in.rank(), ctx.call);
  if (in.rank() == 0) dims.clear();
  Shape kept;
  for (int64_t d : other_dims(in.rank(), dims)) kept.push_back(in.shape[static_cast<std::size_t>(d)]);
  const RowViews views{{with_last(in, dims)}, {out.reshaped(kept)}, kept.size()};
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const AccessPattern mean = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern total = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern part = per_row_tile(ctx, DType::f32, tile);
    for (const bool squares : {false, true}) {
      const AccessPattern& into = squares ? total : mean;
      bool first = true;
      for (const Box& piece : tile.pieces()) {
        const ProgramBuilder::Mark mark = ctx.b.mark();
        AccessPattern x = load(ctx, tile, 0, piece);
        if (squares) {
          const AccessPattern d = row_tile(ctx, DType::f32, tile, piece.count());
          ctx.b.tensor_tensor(d, x, along_row(mean, piece.count()), AluOp::subtract);
          ctx.b.tensor_tensor(d, d, d, AluOp::multiply);
          x = d;
        }
        ctx.b.tensor_reduce(first ? into : part, x, AluOp::add);
        if (!first) ctx.b.tensor_tensor(into, into, part, AluOp::add);
        first = false;
        ctx.b.release(mark);
      }
      if (!squares) ctx.b.tensor_scalar(mean, mean, AluOp::divide, static_cast<float>(tile.length));
    }
    const double divisor = std::max(static_cast<double>(tile.length) - correction, 0.0);
    const AccessPattern result = per_row_tile(ctx, out.dtype, tile);
    ctx.b.tensor_scalar(result, total, AluOp::divide, static_cast<float>(divisor));
    ctx.b.dma_copy(tile.hbm(0), result);
  });
}

void variance_of_dims(KernelContext& ctx) {
  std::vector<int64_t> dims;
  if (!ctx.call.is_none("dim")) dims = ctx.call.integers("dim");
  if (dims.empty()) {
    for (int64_t d = 0; d < ctx.input("self").rank(); ++d) dims.push_back(d);
  }
  double correction = 1;
  if (ctx.call.schema().find("unbiased") != nullptr) {
    correction = ctx.call.boolean("unbiased") ? 1 : 0;
  } else if (const auto given = ctx.call.scalar_opt("correction")) {
    correction = given->as_double();
  }
  variance(ctx, dims, correction);
}

}  // namespace

void register_norm(KernelTable& table) {
  table.add("aten::native_layer_norm.default", layer_norm);
  table.add("aten::native_group_norm.default", group_norm);
  table.add("aten::_native_batch_norm_legit_no_training.default", batch_norm);
  table.add("aten::_native_batch_norm_legit.no_stats", batch_norm_of_batch);
  table.add("aten::var.correction", variance_of_dims);
  table.add("aten::var.dim", variance_of_dims);
}

}  // namespace assay::backend
