// Gradients of normalisations, and batch norm. With h = (x - mean) rstd and y = h w + b over n
// elements that share their statistics:
//     dx = rstd (g w - mean(g w) - h mean(g w h)),  dw = sum g h,  db = sum g
// (Ioffe and Szegedy 2015, §3; Ba et al. 2016). Statistics and sums are f32 where the input is narrower.
#include <limits>

#include "core/decompose/expression.h"
#include "core/opset/checks.h"

namespace assay {
namespace {

using Dims = std::vector<int64_t>;

Dims dims_between(int64_t first, int64_t last) {
  Dims dims;
  for (int64_t d = first; d < last; ++d) dims.push_back(d);
  return dims;
}

// Everything in the computation dtype; the parts broadcast against one another.
struct Normalised {
  Expression g, x, mean, rstd;
  std::optional<Expression> weight;
  Dims shared;      // dims with common statistics
  Dims parameters;  // dims that weight and bias are summed over
};

// Gradients of input, weight and bias, of the given metas; only those that are wanted.
Ids gradients(const OpCall& call, const Normalised& n, const std::vector<TensorMeta>& results) {
  const std::vector<bool> mask = call.booleans("output_mask");
  const auto wanted = [&](int i) { return mask.at(static_cast<std::size_t>(i)) && call.output_used(i); };
  Ids out(results.size(), -1);
  const auto finish = [&](std::size_t i, Expression e) {
    out[i] = e.view(results[i].shape).cast(results[i].dtype).id;
  };
  const Expression h = (n.x - n.mean) * n.rstd;
  if (wanted(0)) {
    const Expression scaled = n.weight ? n.g * *n.weight : n.g;
    finish(0, n.rstd * (scaled - scaled.mean(n.shared, true) - h * (scaled * h).mean(n.shared, true)));
  }
  if (wanted(1)) finish(1, (n.g * h).sum(n.parameters));
  if (results.size() > 2 && wanted(2)) finish(2, n.g.sum(n.parameters));
  return out;
}

std::optional<Expression> weight_as(Rewriter& w, const OpCall& call, const Shape& shape) {
  if (!is_given(call, "weight")) return std::nullopt;
  return widened(w, call, "weight").view(shape);
}

// The parameters' gradients are wanted in their own dtype.
std::vector<TensorMeta> results_of(Rewriter& w, const OpCall& call, const Shape& parameters, int count) {
  const Expression input = given(w, call, "input");
  const DType dtype = is_given(call, "weight") ? given(w, call, "weight").dtype() : input.dtype();
  std::vector<TensorMeta> out(static_cast<std::size_t>(count), {dtype, parameters});
  out[0] = {input.dtype(), input.shape()};
  return out;
}

Ids layer_norm(Rewriter& w, const OpCall& call) {
  const Expression x = widened(w, call, "input");
  const Shape inner = call.integers("normalized_shape");
  const int64_t outer = x.rank() - static_cast<int64_t>(inner.size());
  return gradients(call,
                   {widened(w, call, "grad_out"), x, widened(w, call, "mean").cast(x.dtype()),
                    widened(w, call, "rstd").cast(x.dtype()), weight_as(w, call, inner),
                    dims_between(outer, x.rank()), dims_between(0, outer)},
                   results_of(w, call, inner, 3));
}

// As [N, groups, channels of a group, HxW].
Ids group_norm(Rewriter& w, const OpCall& call) {
  const Expression x = widened(w, call, "input");
  const int64_t batch = call.integer("N"), channels = call.integer("C"), groups = call.integer("group");
  const Shape split{batch, groups, channels / groups, call.integer("HxW")};
  const Shape statistics{batch, groups, 1, 1};
  return gradients(call,
                   {widened(w, call, "grad_out").view(split),
                    x.view(split),
                    widened(w, call, "mean").view(statistics),
                    widened(w, call, "rstd").view(statistics),
                    weight_as(w, call, {1, groups, channels / groups, 1}),
                    {2, 3},
                    {0, 3}},
                   results_of(w, call, {channels}, 3));
}

// All dims but that of the channels.
Dims other_dims(const Expression& x) {
  Dims dims = dims_between(0, x.rank());
  dims.erase(dims.begin() + 1);
  return dims;
}
Shape along_channels(const Expression& x) {
  Shape shape(x.shape().size(), 1);
  shape.at(1) = x.shape().at(1);
  return shape;
}

// In inference the statistics are constants: dx = g w rstd.
Ids batch_norm(Rewriter& w, const OpCall& call) {
  const Expression x = widened(w, call, "input");
  const Shape along = along_channels(x);
  const auto results = results_of(w, call, {along[1]}, 3);
  Normalised n{
      widened(w, call, "grad_out"), x, x, x, weight_as(w, call, along), other_dims(x), other_dims(x)};
  if (call.boolean("train")) {
    n.mean = widened(w, call, "save_mean").view(along);
    n.rstd = widened(w, call, "save_invstd").view(along);
    return gradients(call, n, results);
  }
  n.mean = widened(w, call, "running_mean").view(along);
  n.rstd = rsqrt(widened(w, call, "running_var").view(along) + call.floating("eps"));
  const std::vector<bool> mask = call.booleans("output_mask");
  Ids out{-1, -1, -1};
  if (mask.at(0) && call.output_used(0)) {
    const Expression scale = n.weight ? n.rstd * *n.weight : n.rstd;
    out[0] = (n.g * scale).cast(results[0].dtype).id;
  }
  if (mask.at(1) && call.output_used(1))
    out[1] = (n.g * ((x - n.mean) * n.rstd)).sum(n.parameters).cast(results[1].dtype).id;
  if (mask.at(2) && call.output_used(2)) out[2] = n.g.sum(n.parameters).cast(results[2].dtype).id;
  return out;
}

// y = x rstd w, rstd = 1 / sqrt(mean(x^2) + eps); eps defaults to the computation dtype's epsilon.
Ids rms_norm(Rewriter& w, const OpCall& call) {
  const Expression input = given(w, call, "input"), x = widened(w, call, "input");
  const auto inner = static_cast<int64_t>(call.integers("normalized_shape").size());
  const double eps = !call.is_none("eps")      ? call.floating("eps")
                     : x.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                               : std::numeric_limits<float>::epsilon();
  const Expression rstd = rsqrt((x * x).mean(dims_between(x.rank() - inner, x.rank()), true) + eps);
  Expression y = x * rstd;
  if (is_given(call, "weight")) y = y * widened(w, call, "weight");
  return {y.cast(input.dtype()).id, rstd.id};
}
Ids rms_norm_gradient(Rewriter& w, const OpCall& call) {
  const Expression x = widened(w, call, "input"), rstd = widened(w, call, "rstd"),
                   g = widened(w, call, "grad_out");
  const Shape inner = call.integers("normalized_shape");
  const int64_t outer = x.rank() - static_cast<int64_t>(inner.size());
  const auto results = results_of(w, call, inner, 2);
  const std::vector<bool> mask = call.booleans("output_mask");
  const Expression h = x * rstd;
  Ids out{-1, -1};
  if (mask.at(0) && call.output_used(0)) {
    const Expression scaled = is_given(call, "weight") ? g * widened(w, call, "weight") : g;
    const Expression mean = (scaled * h).mean(dims_between(outer, x.rank()), true);
    out[0] = (rstd * (scaled - h * mean)).cast(results[0].dtype).id;
  }
  if (mask.at(1) && call.output_used(1))
    out[1] = (g * h).sum(dims_between(0, outer)).cast(results[1].dtype).id;
  return out;
}

Ids without_training(Rewriter& w, const OpCall& call) {
  return w.emit_all("aten::_native_batch_norm_legit_no_training.default",
                    {{"input", passed_on(call, "input")},
                     {"weight", passed_on(call, "weight")},
                     {"bias", passed_on(call, "bias")},
                     {"running_mean", passed_on(call, "running_mean")},
                     {"running_var", passed_on(call, "running_var")},
                     {"momentum", passed_on(call, "momentum")},
                     {"eps", passed_on(call, "eps")}});
}
Ids in_training(Rewriter& w, const OpCall& call) {
  return w.emit_all("aten::_native_batch_norm_legit.no_stats", {{"input", passed_on(call, "input")},
                                                                {"weight", passed_on(call, "weight")},
                                                                {"bias", passed_on(call, "bias")},
                                                                {"training", true},
                                                                {"momentum", passed_on(call, "momentum")},
                                                                {"eps", passed_on(call, "eps")}});
}
bool trains(const OpCall& call) {
  return call.schema().find("training") == nullptr || call.boolean("training");
}

// Results: normalised, mean, rstd. Where running statistics are given, the next ones,
// (1 - momentum) running + momentum batch with the unbiased variance, are results of the functional form
// alone.
Ids batch_norm_forward(Rewriter& w, const OpCall& call) {
  return trains(call) ? in_training(w, call) : without_training(w, call);
}
Ids batch_norm_layer(Rewriter& w, const OpCall& call) {
  if (!trains(call) && (!is_given(call, "running_mean") || !is_given(call, "running_var"))) return {};
  return {batch_norm_forward(w, call)[0]};
}
Ids batch_norm_functional(Rewriter& w, const OpCall& call) {
  Ids out = batch_norm_forward(w, call);
  const Expression mean = given(w, call, "running_mean"), variance = given(w, call, "running_var");
  if (!trains(call)) {
    out.push_back(mean.id);
    out.push_back(variance.id);
    return out;
  }
  const double momentum = call.floating("momentum");
  const Expression x = widened(w, call, "input");
  const DType wide = computation_of(mean.dtype());
  const auto next = [&](Expression running, Expression batch) {
    const Expression kept = running.cast(wide) * (1 - momentum);
    out.push_back((kept + batch.cast(wide) * momentum).cast(running.dtype()).id);
  };
  next(mean, x.with(out[1]));
  next(variance, x.with(w.emit("aten::var.correction", {{"self", ValueArg{x.id}},
                                                        {"dim", IntListArg{other_dims(x), {}}},
                                                        {"correction", int64_t{1}}})));
  return out;
}

// The fourth result is scratch that only other devices use.
Ids batch_norm_with_update(Rewriter& w, const OpCall& call) {
  const bool functional = call.schema().returns.size() > 4;
  Ids out = functional ? batch_norm_functional(w, call) : in_training(w, call);
  out.insert(out.begin() + 3, w.full({0}, int64_t{0}, DType::u8));
  return out;
}

}  // namespace

void register_norm_gradients(DecomposeTable& table) {
  table.add("aten::native_layer_norm_backward.default", layer_norm);
  table.add("aten::native_group_norm_backward.default", group_norm);
  table.add("aten::native_batch_norm_backward.default", batch_norm);
  table.add("aten::_fused_rms_norm.default", rms_norm);
  table.add("aten::_fused_rms_norm_backward.default", rms_norm_gradient);
  table.add("aten::batch_norm.default", batch_norm_layer);
  for (const char* name : {"native_batch_norm.default", "_native_batch_norm_legit.default"})
    table.add(std::string("aten::") + name, batch_norm_forward);
  table.add("aten::_native_batch_norm_legit_functional.default", batch_norm_functional);
  table.add("aten::_batch_norm_with_update.default", batch_norm_with_update);
  table.add("aten::_batch_norm_with_update_functional.default", batch_norm_with_update);
}

}  // namespace assay
