// Layer, group and batch normalisation and variance: mean first, then the variance around it (two passes), in
// fp32. Rows are divided by a power of two near their largest magnitude before, so that sums and squares of
// large values stay finite; that is exact.
#include <algorithm>
#include <limits>

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
  Affine(RowViews& views, const Normalisation& n) {
    views.full = {n.x, n.y};
    if (n.weight) weight_ = add(views, *n.weight);
    if (n.bias) bias_ = add(views, *n.bias);
  }
  // y = t * weight + bias
  void store(KernelContext& ctx, const RowTile& tile, const Box& piece, AccessPattern t) const {
    if (weight_) ctx.b.tensor_tensor(t, t, load(ctx, tile, *weight_, piece), AluOp::multiply);
    const AccessPattern y = result_tile(ctx, tile, 1, piece);
    if (bias_) {
      ctx.b.tensor_tensor(y, t, load(ctx, tile, *bias_, piece), AluOp::add);
    } else {
      ctx.b.tensor_copy(y, t);
    }
    backend::store(ctx, tile, 1, piece, y);
  }

 private:
  static std::size_t add(RowViews& views, const View& view) {
    views.full.push_back(view);
    return views.full.size() - 1;
  }
  std::optional<std::size_t> weight_, bias_;
};

// Rows of a tile divided by 2^k <= max |x| < 2^(k + 1), or by 1 where a row is smaller than that.
class ScaledRows {
 public:
  ScaledRows(KernelContext& ctx, const RowTile& tile, DType dtype) : ctx_(ctx), tile_(tile) {
    // (2 * 65504)^2 times any count is finite.
    if (dtype == DType::f16) return;
    scale_ = per_row_tile(ctx, DType::f32, tile);
    inverse_ = per_row_tile(ctx, DType::f32, tile);
    bool first = true;
    for (const Box& piece : tile.pieces()) {
      const ProgramBuilder::Mark mark = ctx.b.mark();
      ctx.b.tensor_reduce(first ? *scale_ : *inverse_, loaded(piece), AluOp::abs_max);
      if (!first) ctx.b.tensor_tensor(*scale_, *scale_, *inverse_, AluOp::max);
      first = false;
      if (!whole()) ctx.b.release(mark);
    }
    // The bits of the exponent alone are a power of two; infinity and NaN become the largest one.
    const AccessPattern bits = scale_->reinterpreted(DType::i32);
    ctx.b.tensor_scalar_int(bits, bits, AluOp::bitwise_and, 0x7F800000, false, AluOp::none, 0, false,
                            Engine::vector);
    ctx.b.tensor_scalar(*scale_, *scale_, AluOp::max, 1.0f, false, AluOp::min, 0x1p126f);
    ctx.b.tensor_scalar(*inverse_, *scale_, AluOp::reciprocal, 0.0f);
  }
  bool whole() const { return tile_.pieces().size() == 1; }
  // x / scale: a new tile, or the one of before where the row is one piece.
  AccessPattern values(const Box& piece) {
    if (whole() && scaled_) return *scaled_;
    const AccessPattern x = loaded(piece);
    if (!scale_) return x;
    scaled_ = row_tile(ctx_, DType::f32, tile_, piece.count());
    ctx_.b.tensor_tensor(*scaled_, x, along_row(*inverse_, piece.count()), AluOp::multiply);
    return *scaled_;
  }
  // nullopt: 1.
  const std::optional<AccessPattern>& scale() const { return scale_; }
  const std::optional<AccessPattern>& inverse() const { return inverse_; }

 private:
  AccessPattern loaded(const Box& piece) {
    if (!whole() || !x_) x_ = load(ctx_, tile_, 0, piece);
    return *x_;
  }
  KernelContext& ctx_;
  const RowTile& tile_;
  std::optional<AccessPattern> scale_, inverse_, x_, scaled_;
};

void store_per_row(KernelContext& ctx, const RowTile& tile, std::size_t view, const AccessPattern& value) {
  const AccessPattern t = result_tile(ctx, tile, view);
  ctx.b.tensor_copy(t, value);
  store(ctx, tile, view, t);
}

void normalise(KernelContext& ctx, const Normalisation& n) {
  RowViews views;
  const Affine affine(views, n);
  views.kept = n.kept;
  if (n.mean) views.per_row.push_back(*n.mean);
  if (n.rstd) views.per_row.push_back(*n.rstd);
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const auto count = static_cast<float>(tile.length);
    const AccessPattern mean = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern rstd = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern part = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern inverse = per_row_tile(ctx, DType::f32, tile);
    ScaledRows x(ctx, tile, n.x.dtype);
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
        if (!x.whole()) ctx.b.release(mark);
      }
      ctx.b.tensor_scalar(into, into, AluOp::divide, count);
    };
    const auto minus_mean = [&](const Box& piece) {
      const AccessPattern values = x.values(piece);
      const AccessPattern d =
          x.scale() ? values : row_tile(ctx, DType::f32, tile, piece.count());  // a scaled tile is our own
      ctx.b.tensor_tensor(d, values, along_row(mean, piece.count()), AluOp::subtract);
      return d;
    };
    mean_of(mean, [&](const Box& piece) { return x.values(piece); });
    mean_of(rstd, [&](const Box& piece) {
      difference = minus_mean(piece);
      const AccessPattern square = row_tile(ctx, DType::f32, tile, piece.count());
      ctx.b.tensor_tensor(square, difference, difference, AluOp::multiply);
      return square;
    });
    const auto eps = static_cast<float>(n.eps);
    if (x.scale()) {
      // 1 / sqrt(var s^2 + eps) = 1 / sqrt(var + eps / s^2) / s. Where a constant row is large eps / s^2 is
      // lost: s := 1.
      const AccessPattern varies = ctx.b.sbuf(DType::u8, tile.partitions, {tile.rows});
      ctx.b.tensor_scalar(varies, rstd, AluOp::is_ne, 0.0f);
      ctx.b.memset(inverse, 1.0f);
      ctx.b.copy_predicated(inverse, *x.inverse(), varies);
      ctx.b.tensor_tensor(part, inverse, inverse, AluOp::multiply);
      ctx.b.tensor_scalar(part, part, AluOp::multiply, eps);
      ctx.b.tensor_tensor(rstd, rstd, part, AluOp::add);
      ctx.b.tensor_scalar(rstd, rstd, AluOp::rsqrt, 0.0f);
    } else {
      ctx.b.tensor_scalar(rstd, rstd, AluOp::add, eps, false, AluOp::rsqrt);
    }
    for (const Box& piece : tile.pieces()) {
      const ProgramBuilder::Mark mark = ctx.b.mark();
      const AccessPattern t = x.whole() ? difference : minus_mean(piece);
      ctx.b.tensor_tensor(t, t, along_row(rstd, piece.count()), AluOp::multiply);
      affine.store(ctx, tile, piece, t);
      ctx.b.release(mark);
    }
    if (x.scale()) {
      ctx.b.tensor_tensor(mean, mean, *x.scale(), AluOp::multiply);
      ctx.b.tensor_tensor(rstd, rstd, inverse, AluOp::multiply);
    }
    if (n.mean) store_per_row(ctx, tile, 0, mean);
    if (n.rstd) store_per_row(ctx, tile, n.mean ? 1 : 0, rstd);
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

// rstd := rstd * weight where that is a normal number, for a large difference times rstd may be infinite
// though the result is not; returns what remains to be multiplied, 1 or else the weight.
AccessPattern fold(KernelContext& ctx, const RowTile& tile, const AccessPattern& rstd,
                   const AccessPattern& weight) {
  const AccessPattern product = per_row_tile(ctx, DType::f32, tile);
  const AccessPattern size = per_row_tile(ctx, DType::f32, tile);
  const AccessPattern rest = per_row_tile(ctx, DType::f32, tile);
  const AccessPattern normal = per_row_tile(ctx, DType::u8, tile);
  const AccessPattern finite = per_row_tile(ctx, DType::u8, tile);
  ctx.b.tensor_tensor(product, rstd, weight, AluOp::multiply);
  ctx.b.tensor_scalar(size, product, AluOp::abs, 0.0f);
  ctx.b.tensor_scalar(normal, size, AluOp::is_ge, std::numeric_limits<float>::min());
  ctx.b.tensor_scalar(finite, size, AluOp::is_le, std::numeric_limits<float>::max());
  ctx.b.tensor_tensor(normal, normal, finite, AluOp::logical_and);
  ctx.b.tensor_copy(rest, weight);
  ctx.b.memset(size, 1.0f);
  ctx.b.copy_predicated(rest, size, normal);
  ctx.b.copy_predicated(rstd, product, normal);
  return rest;
}

// With given statistics; the saved statistics are empty.
void batch_norm(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return;
  const View x = channels_first(ctx.input("input")), y = channels_first(ctx.output(0));
  const std::optional<View> weight = optional_input(ctx, "weight");
  Normalisation n{x, y, {}, optional_input(ctx, "bias"), {}, {}, 1, ctx.call.floating("eps")};
  if (n.bias) n.bias = along_channels(*n.bias, x);
  RowViews views;
  const Affine affine(views, n);
  views.kept = 1;
  views.per_row = {ctx.input("running_mean"), ctx.input("running_var")};
  if (weight) views.per_row.push_back(*weight);
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const AccessPattern mean = load(ctx, tile, 0);
    const AccessPattern rstd = per_row_tile(ctx, DType::f32, tile);
    ctx.b.tensor_scalar(rstd, load(ctx, tile, 1), AluOp::add, static_cast<float>(n.eps), false, AluOp::rsqrt);
    std::optional<AccessPattern> rest;
    if (weight) rest = fold(ctx, tile, rstd, load(ctx, tile, 2));
    for (const Box& piece : tile.pieces()) {
      const ProgramBuilder::Mark mark = ctx.b.mark();
      const int64_t length = piece.count();
      const AccessPattern t = row_tile(ctx, DType::f32, tile, length);
      ctx.b.tensor_tensor(t, load(ctx, tile, 0, piece), along_row(mean, length), AluOp::subtract);
      ctx.b.tensor_tensor(t, t, along_row(rstd, length), AluOp::multiply);
      if (rest) ctx.b.tensor_tensor(t, t, along_row(*rest, length), AluOp::multiply);
      affine.store(ctx, tile, piece, t);
      ctx.b.release(mark);
    }
  });
}

void fill_rows(KernelContext& ctx, const View& out, float value) {
  for_each_row_tile(ctx, {{out}, {}, out.shape.size()}, [&](const RowTile& tile) {
    for (const Box& piece : tile.pieces()) {
      const AccessPattern t = row_tile(ctx, out.dtype, tile, piece.count());
      ctx.b.memset(t, value);
      ctx.b.dma_copy(tile.hbm(0, piece), t);
    }
  });
}

// Variance around the mean, divided by n - correction; NaN where that is not positive (array API: such a
// variance is NaN).
void variance(KernelContext& ctx, std::vector<int64_t> dims, double correction) {
  const View in = ctx.input("self"), out = ctx.output();
  if (out.count() == 0) return;
  for (int64_t& dim : dims) dim = normalise_dim(dim, in.rank(), ctx.call);
  if (in.rank() == 0) dims.clear();
  const int64_t terms = in.count() / out.count();
  const double divisor = static_cast<double>(terms) - correction;
  if (!(divisor > 0)) return fill_rows(ctx, out, std::numeric_limits<float>::quiet_NaN());
  Shape kept;
  for (int64_t d : other_dims(in.rank(), dims)) kept.push_back(in.shape[static_cast<std::size_t>(d)]);
  const RowViews views{{with_last(in, dims)}, {out.reshaped(kept)}, kept.size()};
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const AccessPattern mean = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern total = per_row_tile(ctx, DType::f32, tile);
    const AccessPattern part = per_row_tile(ctx, DType::f32, tile);
    ScaledRows rows(ctx, tile, in.dtype);
    for (const bool squares : {false, true}) {
      const AccessPattern& into = squares ? total : mean;
      bool first = true;
      for (const Box& piece : tile.pieces()) {
        const ProgramBuilder::Mark mark = ctx.b.mark();
        AccessPattern x = rows.values(piece);
        if (squares) {
          const AccessPattern d = row_tile(ctx, DType::f32, tile, piece.count());
          ctx.b.tensor_tensor(d, x, along_row(mean, piece.count()), AluOp::subtract);
          ctx.b.tensor_tensor(d, d, d, AluOp::multiply);
          x = d;
        }
        ctx.b.tensor_reduce(first ? into : part, x, AluOp::add);
        if (!first) ctx.b.tensor_tensor(into, into, part, AluOp::add);
        first = false;
        if (!rows.whole()) ctx.b.release(mark);
      }
      if (!squares) ctx.b.tensor_scalar(mean, mean, AluOp::divide, static_cast<float>(tile.length));
    }
    const AccessPattern result = per_row_tile(ctx, out.dtype, tile);
    ctx.b.tensor_scalar(total, total, AluOp::divide, static_cast<float>(divisor));
    if (rows.scale()) {
      ctx.b.tensor_tensor(total, total, *rows.scale(), AluOp::multiply);
      ctx.b.tensor_tensor(result, total, *rows.scale(), AluOp::multiply);
    } else {
      ctx.b.tensor_copy(result, total);
    }
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
