// Gradients of activations (derivatives of the formulas in PyTorch's documentation of torch.nn; which side of
// a kink counts is that of aten/src/ATen/native/cpu/Activation.cpp). g is the gradient of the result.
#include <cmath>
#include <limits>
#include <numbers>

#include "core/decompose/expression.h"
#include "core/opset/checks.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double number(const OpCall& call, const char* name) { return call.scalar(name).as_double(); }

// f(g, x) in the computation dtype, rounded once to the promoted dtype of both arguments.
template <class F>
DecomposeRule pointwise(F f, const char* kept = "self", const char* gradient = "grad_output") {
  return [=](Rewriter& w, const OpCall& call) -> Ids {
    const DType result = rules::operands(call, {gradient, kept}).type();
    const DType wide = computation_of(result);
    const Expression g = given(w, call, gradient).cast(wide), x = given(w, call, kept).cast(wide);
    return {f(call, g, x).cast(result).id};
  };
}

Expression softplus(Expression x) { return log1p(exp(x)); }

Expression of_sigmoid(const OpCall&, Expression g, Expression y) { return g * ((1 - y) * y); }
Expression of_tanh(const OpCall&, Expression g, Expression y) { return g * (1 - y * y); }

// x s(x): s (1 + x (1 - s))
Expression of_silu(const OpCall&, Expression g, Expression x) {
  const Expression s = sigmoid(x);
  return g * (s * (1 + x * (1 - s)));
}

// x Phi(x): Phi(x) + x phi(x); with approximate="tanh" 0.5 x (1 + tanh(b (x + k x^3))).
Expression of_gelu(const OpCall& call, Expression g, Expression x) {
  const std::string approximate = call.string("approximate");
  rules::require_word(call, "approximate", approximate, {"none", "tanh"});
  if (approximate == "none") {
    const Expression below = (1 + erf(x * (1 / std::numbers::sqrt2))) * 0.5;
    const Expression density = exp(x * x * -0.5) * (std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
    return g * (below + x * density);
  }
  constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kKappa = 0.044715;
  const Expression square = x * x;
  const Expression t = tanh((x + square * x * kKappa) * kBeta);
  const Expression outer = (1 + t) * 0.5;
  const Expression inner = (1 + square * (3 * kKappa)) * kBeta;
  return g * (outer + x * 0.5 * (1 - t * t) * inner);
}

Expression of_threshold(const OpCall& call, Expression g, Expression x) {
  return where(x <= number(call, "threshold"), 0, g);
}

Expression of_hardsigmoid(const OpCall&, Expression g, Expression x) {
  return where((x > -3) & (x < 3), g / 6, 0);
}
Expression of_hardswish(const OpCall&, Expression g, Expression x) {
  return where(x <= -3, 0, where(x < 3, g * (x / 3 + 0.5), g));
}
Expression of_hardtanh(const OpCall& call, Expression g, Expression x) {
  return where((x <= number(call, "min_val")) | (x >= number(call, "max_val")), 0, g);
}

// The result has the sign of the input, so that either may be looked at.
Expression of_leaky_relu(const OpCall& call, Expression g, Expression x) {
  return where(x > 0, g, g * number(call, "negative_slope"));
}

// scale (x if x > 0 else alpha (exp(input_scale x) - 1))
Expression of_elu(const OpCall& call, Expression g, Expression x) {
  const double alpha = number(call, "alpha") * number(call, "scale"), inside = number(call, "input_scale");
  const Expression below =
      call.boolean("is_result") ? g * inside * (x + alpha) : g * (inside * alpha) * exp(x * inside);
  return where(x <= 0, below, g * number(call, "scale"));
}

// log(x / (1 - x)): 1 / (x (1 - x)); with eps nothing flows from outside [eps, 1 - eps].
Expression of_logit(const OpCall& call, Expression g, Expression x) {
  const Expression inside = g / abs(x * (1 - x));  // -0 is an edge as 0 is
  if (call.is_none("eps")) return where((x < 0) | (x > 1), kNaN, inside);
  const double eps = call.floating("eps");
  return where((x < eps) | (x > 1 - eps), 0, inside);
}

// x tanh(softplus(x))
Expression of_mish(const OpCall&, Expression g, Expression x) {
  const Expression t = tanh(softplus(x));
  return g * (t + x * sigmoid(x) * (1 - t * t));
}

Expression of_softplus(const OpCall& call, Expression g, Expression x) {
  const Expression scaled = x * number(call, "beta");
  const Expression z = exp(scaled);
  return where(scaled > number(call, "threshold"), g, g * z / (z + 1));
}

Expression of_shrink(const OpCall& call, Expression g, Expression x) {
  const double lambd = number(call, "lambd");
  return where((x >= -lambd) & (x <= lambd), 0, g);
}

// min(0, x) - log1p(z), z = exp(-|x|), which the forward pass keeps.
Ids log_sigmoid_forward(Rewriter& w, const OpCall& call) {
  const Expression x = widened(w, call, "self");
  const Expression z = exp(-abs(x));
  const Expression y = where(x > 0, 0, x) - log1p(z);
  const DType result = given(w, call, "self").dtype();
  return {y.cast(result).id, z.cast(result).id};
}
Ids log_sigmoid_gradient(Rewriter& w, const OpCall& call) {
  const DType result = given(w, call, "self").dtype();
  const Expression g = widened(w, call, "grad_output"), x = widened(w, call, "self");
  // Devices other than the CPU keep nothing.
  const bool kept = given(w, call, "buffer").shape() == x.shape();
  const Expression z = kept ? widened(w, call, "buffer") : exp(-abs(x));
  const Expression share = z / (1 + z);
  return {(g * where(x < 0, 1 - share, share)).cast(result).id};
}

// First half a, second b, a s(b).
Ids glu_gradient(Rewriter& w, const OpCall& call) {
  const Expression whole = given(w, call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), whole.rank(), call);
  const int64_t size = whole.shape().at(static_cast<std::size_t>(dim));
  const Expression g = widened(w, call, "grad_output"), x = widened(w, call, "self");
  const Expression a = x.slice(dim, 0, size / 2), s = sigmoid(x.slice(dim, size / 2, size));
  const Expression of_a = g * s, of_b = (1 - s) * s * g * a;
  return {x.with(cat(w, {of_a.cast(whole.dtype()).id, of_b.cast(whole.dtype()).id}, dim)).id};
}

// x where x > 0, else weight x; the weight is broadcast already.
Ids prelu_kernel(Rewriter& w, const OpCall& call) {
  const DType result = given(w, call, "self").dtype();
  const Expression x = widened(w, call, "self"), weight = widened(w, call, "weight");
  return {where(x > 0, x, weight * x).cast(result).id};
}
Ids prelu_gradient(Rewriter& w, const OpCall& call) {
  const DType result = given(w, call, "self").dtype();
  const Expression g = widened(w, call, "grad_output"), x = widened(w, call, "self"),
                   weight = widened(w, call, "weight");
  return {where(x > 0, g, weight * g).cast(result).id, where(x > 0, 0, x * g).cast(result).id};
}

Ids dropout_gradient(Rewriter& w, const OpCall& call) {
  const Expression g = given(w, call, "grad_output"), mask = given(w, call, "mask");
  const DType wide = computation_of(g.dtype());
  return {(g.cast(wide) * mask.cast(wide) * call.floating("scale")).cast(g.dtype()).id};
}

}  // namespace

void register_activation_gradients(DecomposeTable& table) {
  table.add("aten::sigmoid_backward.default", pointwise(of_sigmoid, "output"));
  table.add("aten::tanh_backward.default", pointwise(of_tanh, "output"));
  table.add("aten::silu_backward.default", pointwise(of_silu));
  table.add("aten::gelu_backward.default", pointwise(of_gelu));
  table.add("aten::threshold_backward.default", pointwise(of_threshold));
  table.add("aten::hardsigmoid_backward.default", pointwise(of_hardsigmoid));
  table.add("aten::hardswish_backward.default", pointwise(of_hardswish));
  table.add("aten::hardtanh_backward.default", pointwise(of_hardtanh));
  table.add("aten::leaky_relu_backward.default", pointwise(of_leaky_relu));
  table.add("aten::elu_backward.default", pointwise(of_elu, "self_or_result"));
  table.add("aten::logit_backward.default", pointwise(of_logit));
  table.add("aten::mish_backward.default", pointwise(of_mish));
  table.add("aten::softplus_backward.default", pointwise(of_softplus));
  table.add("aten::softshrink_backward.default", pointwise(of_shrink));
  table.add("aten::hardshrink_backward.default", pointwise(of_shrink, "self", "grad_out"));
  table.add("aten::log_sigmoid_forward.default", log_sigmoid_forward);
  table.add("aten::log_sigmoid_backward.default", log_sigmoid_gradient);
  table.add("aten::glu_backward.default", glu_gradient);
  table.add("aten::_prelu_kernel.default", prelu_kernel);
  table.add("aten::_prelu_kernel_backward.default", prelu_gradient);
  table.add("aten::native_dropout_backward.default", dropout_gradient);
}

}  // namespace assay
