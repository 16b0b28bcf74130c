// layer_norm, group_norm and batch_norm.
#include <numeric>

#include "core/error.h"
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

// y = (x - mean) rstd over `dims`, given d(loss)/dy:
// dx = rstd (dy - mean(dy) - y mean(dy y)).
ValueId through_statistics(Tape& t, ValueId y, ValueId rstd, ValueId dy, const std::vector<int64_t>& dims) {
  const ValueId centred = t.sub(dy, t.mean(dy, dims, true));
  return t.mul(rstd, t.sub(centred, t.mul(y, t.mean(t.mul(dy, y), dims, true))));
}

void only_first_result(Tape& t, const OpCall& call) {
  for (const int i : {1, 2}) {
    if (call.output_used(i) && t.grad_opt(call, i)) {
      throw Error(ErrorCode::unsupported, call.op() + ": no derivative is known of the saved statistics");
    }
  }
}

// Statistics are formed again in the argument's dtype: the saved ones are rounded, and of narrower dtypes.
struct Normalised {
  ValueId y, rstd;
};
Normalised normalised(Tape& t, ValueId x, const std::vector<int64_t>& dims, double eps) {
  const ValueId centred = t.sub(x, t.mean(x, dims, true));
  const ValueId variance = t.mean(t.mul(centred, centred), dims, true);
  const ValueId rstd = t.unary("rsqrt", t.add_number(variance, eps));
  return {t.mul(centred, rstd), rstd};
}

// 16-bit gradients are formed in float32.
DType wide(DType dtype) { return dtype == DType::f64 ? dtype : DType::f32; }

void layer_norm(Tape& t, const OpCall& call) {
  only_first_result(t, call);
  const DType dtype = wide(call.input(0).dtype);
  const ValueId x = t.cast(t.value(call, "input"), dtype);
  const auto count = static_cast<int64_t>(call.integers("normalized_shape").size());
  std::vector<int64_t> dims;
  for (int64_t d = t.rank(x) - count; d < t.rank(x); ++d) dims.push_back(d);
  const Normalised n = normalised(t, x, dims, call.floating("eps"));
  const ValueId g = t.cast(t.grad(call), dtype);
  if (t.wants(call, "input")) {
    const ValueId dy = call.is_none("weight") ? g : t.mul(g, t.cast(t.value(call, "weight"), dtype));
    t.give(call, "input", through_statistics(t, n.y, n.rstd, dy, dims));
  }
  if (t.wants(call, "weight")) t.give(call, "weight", t.mul(g, n.y));
  t.give(call, "bias", g);
}

void group_norm(Tape& t, const OpCall& call) {
  only_first_result(t, call);
  const DType dtype = wide(call.input(0).dtype);
  const Shape& shape = call.input(0).shape;
  const int64_t batch = call.integer("N"), channels = call.integer("C"), area = call.integer("HxW"),
                groups = call.integer("group");
  const Shape by_channel{batch, channels, area}, by_group{batch, groups, channels / groups * area};
  const ValueId x = t.view(t.cast(t.value(call, "input"), dtype), by_group);
  const Normalised n = normalised(t, x, {2}, call.floating("eps"));
  const ValueId g = t.view(t.cast(t.grad(call), dtype), by_channel);
  if (t.wants(call, "input")) {
    ValueId dy = g;
    if (!call.is_none("weight")) {
      dy = t.mul(g, t.view(t.cast(t.value(call, "weight"), dtype), {channels, 1}));
    }
    t.give(call, "input", t.view(through_statistics(t, n.y, n.rstd, t.view(dy, by_group), {2}), shape));
  }
  if (t.wants(call, "weight")) t.give(call, "weight", t.sum(t.mul(g, t.view(n.y, by_channel)), {0, 2}));
  if (t.wants(call, "bias")) t.give(call, "bias", t.sum(g, {0, 2}));
}

// Dim 1 holds the channels; the others are reduced.
struct Channels {
  std::vector<int64_t> others;
  Shape shape;
};
Channels channels_of(const Shape& shape) {
  Channels c;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != 1) c.others.push_back(static_cast<int64_t>(d));
    c.shape.push_back(d == 1 ? shape[1] : 1);
  }
  return c;
}

// Given statistics are constants, or tensors of their own.
void batch_norm_inference(Tape& t, const OpCall& call) {
  only_first_result(t, call);
  const DType dtype = wide(call.input(0).dtype);
  const Channels c = channels_of(call.input(0).shape);
  const auto along = [&](const char* name) { return t.view(t.cast(t.value(call, name), dtype), c.shape); };
  const ValueId rstd = t.unary("rsqrt", t.add_number(along("running_var"), call.floating("eps")));
  const ValueId centred = t.sub(t.cast(t.value(call, "input"), dtype), along("running_mean"));
  const ValueId g = t.cast(t.grad(call), dtype);
  const ValueId dy = call.is_none("weight") ? g : t.mul(g, along("weight"));
  const ValueId dx = t.mul(dy, rstd);
  t.give(call, "input", dx);
  const auto per_channel = [&](const char* name, ValueId x) {
    if (t.wants(call, name)) t.give(call, name, t.sum(x, c.others));
  };
  if (t.wants(call, "weight")) per_channel("weight", t.mul(g, t.mul(centred, rstd)));
  per_channel("bias", g);
  if (t.wants(call, "running_mean")) per_channel("running_mean", t.unary("neg", dx));
  if (t.wants(call, "running_var")) {
    const ValueId slope = t.mul_number(t.mul(rstd, rstd), -0.5);  // of rsqrt, divided by rstd
    per_channel("running_var", t.mul(t.mul(dx, centred), slope));
  }
}

void batch_norm_training(Tape& t, const OpCall& call) {
  only_first_result(t, call);
  const DType dtype = wide(call.input(0).dtype);
  const Channels c = channels_of(call.input(0).shape);
  const Normalised n = normalised(t, t.cast(t.value(call, "input"), dtype), c.others, call.floating("eps"));
  const ValueId g = t.cast(t.grad(call), dtype);
  if (t.wants(call, "input")) {
    const ValueId dy =
        call.is_none("weight") ? g : t.mul(g, t.view(t.cast(t.value(call, "weight"), dtype), c.shape));
    t.give(call, "input", through_statistics(t, n.y, n.rstd, dy, c.others));
  }
  if (t.wants(call, "weight")) t.give(call, "weight", t.sum(t.mul(g, n.y), c.others));
  if (t.wants(call, "bias")) t.give(call, "bias", t.sum(g, c.others));
}

}  // namespace

void register_normalisation(DerivativeTable& table) {
  table.add("aten::native_layer_norm.default", layer_norm);
  table.add("aten::native_group_norm.default", group_norm);
  table.add("aten::_native_batch_norm_legit_no_training.default", batch_norm_inference);
  table.add("aten::_native_batch_norm_legit.no_stats", batch_norm_training);
}

}  // namespace assay::models
