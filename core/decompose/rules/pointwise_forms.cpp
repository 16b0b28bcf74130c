// Pointwise functions and their sums, in the form in which PyTorch documents them.
#include <cmath>
#include <limits>

#include "core/decompose/expression.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Real arguments alone, as floats in which PyTorch computes; the result in the declared dtype.
using Form = Expression (*)(Expression);
DecomposeRule form(Form f) {
  return [f](Rewriter& w, const OpCall& call) -> Ids {
    const DType dtype = call.output(0).dtype;
    if (!is_float(dtype)) return {};
    return {f(given(w, call, "self").cast(computation_of(dtype))).cast(dtype).id};
  };
}

Expression log(Expression x) { return x.unary("aten::log.default"); }

// sin(pi x) / (pi x), 1 at 0.
Expression sinc(Expression x) {
  const Expression angle = x * M_PI;
  return where(x.combined("aten::eq.Scalar", int64_t{0}), 1.0, angle.unary("aten::sin.default") / angle);
}

// -x log x, 0 at 0, -inf below.
Expression entropy(Expression x) {
  const Expression value = where(x > 0, -x * log(x), -kInfinity);
  const Expression held = where(x.combined("aten::eq.Scalar", int64_t{0}), 0.0, value);
  return where(x.unary("aten::isnan.default"), x, held);
}

Expression erfc(Expression x) { return x.unary("aten::erfc.default"); }

// The normal distribution's function: erfc keeps small values, erfcx their logarithms.
Expression normal_share(Expression x) { return erfc(x * -M_SQRT1_2) * 0.5; }
Expression log_normal_share(Expression x) {
  const Expression scaled = x * M_SQRT1_2;
  const Expression tail = log((-scaled).unary("aten::special_erfcx.default") * 0.5) - scaled * scaled;
  return where(x < -1.0, tail, log1p(erfc(scaled) * -0.5));
}

Ids logit(Rewriter& w, const OpCall& call) {
  const DType dtype = call.output(0).dtype;
  if (!is_float(dtype)) return {};
  Expression x = given(w, call, "self").cast(computation_of(dtype));
  if (!call.is_none("eps")) x = x.with(clamp(w, x.id, call.floating("eps"), 1 - call.floating("eps")));
  return {log(x / (1.0 - x)).cast(dtype).id};
}

// 0 where self is 0 and other is no NaN, else self log1p(other).
Ids xlog1py(Rewriter& w, const OpCall& call) {
  const DType dtype = call.output(0).dtype;
  const Expression a = given(w, call, "self").cast(dtype), b = given(w, call, "other").cast(dtype);
  const Expression product = a * log1p(b);
  const Expression plain = a.combined("aten::ne.Scalar", int64_t{0}) | b.unary("aten::isnan.default");
  return {where(plain, product, 0.0).id};
}

// 0 below zero and for NaN, `values` at zero, 1 above.
Ids heaviside(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self"), values = given(w, call, "values");
  const Expression above = (x > 0).cast(x.dtype());
  if (x.dtype() != values.dtype()) return {};
  return {where(x.combined("aten::eq.Scalar", int64_t{0}), values, above).id};
}

Ids sign(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  return is_complex(w.dtype(self)) ? Ids{} : Ids{unary(w, "aten::sign.default", self)};
}

DecomposeRule equals(double value) {
  return [value](Rewriter& w, const OpCall& call) -> Ids {
    const Expression x = given(w, call, "self");
    if (is_integral(x.dtype())) return {w.full(x.shape(), false, DType::boolean)};
    return {x.combined("aten::eq.Scalar", value).id};
  };
}

Ids real(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  if (!is_complex(w.dtype(self))) return {self};
  const ValueId pairs = unary(w, "aten::view_as_real.default", self);
  return {
      w.emit("aten::select.int", {{"self", ValueArg{pairs}}, {"dim", int64_t{-1}}, {"index", int64_t{0}}})};
}

Ids is_real(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self");
  return is_complex(x.dtype()) ? Ids{} : Ids{w.full(x.shape(), true, DType::boolean)};
}

// Largest finite numbers of the dtype unless others are given.
Ids nan_to_num(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self");
  if (is_integral(x.dtype())) return {unary(w, "aten::clone.default", x.id)};
  if (!is_float(x.dtype())) return {};
  const double largest = float_format(x.dtype()).max;
  const auto number = [&](const char* name, double other) {
    return call.is_none(name) ? other : call.floating(name);
  };
  Expression y = where(x.unary("aten::isnan.default"), number("nan", 0), x);
  y = where(x.combined("aten::eq.Scalar", kInfinity), number("posinf", largest), y);
  return {where(x.combined("aten::eq.Scalar", -kInfinity), number("neginf", -largest), y).id};
}

// In f64, whatever the operands are; either may be a number.
Ids float_power(Rewriter& w, const OpCall& call) {
  if (call.output(0).dtype != DType::f64) return {};
  const auto operand = [&](const char* name) -> Expression {
    if (call.is_number(name)) return {&w, w.full({}, call.scalar(name).as_double(), DType::f64)};
    return given(w, call, name).cast(DType::f64);
  };
  const Expression base = operand("self"), power = operand("exponent");
  return {w.emit("aten::pow.Tensor_Tensor", {{"self", ValueArg{base.id}}, {"exponent", ValueArg{power.id}}})};
}

// other - alpha self
Ids rsub(Rewriter& w, const OpCall& call) {
  return {w.emit("aten::sub.Tensor", {{"self", passed_on(call, "other")},
                                      {"other", passed_on(call, "self")},
                                      {"alpha", passed_on(call, "alpha")}})};
}

// The sum over j < p of lgamma(x - j / 2), and p (p - 1) / 4 log pi.
Ids multivariate_lgamma(Rewriter& w, const OpCall& call) {
  const DType dtype = call.output(0).dtype;
  const int64_t p = call.integer("p");
  if (p < 1 || p > 64) return {};
  const Expression x = given(w, call, "self").cast(computation_of(dtype));
  Expression total = x.unary("aten::lgamma.default");
  for (int64_t j = 1; j < p; ++j) {
    total = total + (x - static_cast<double>(j) / 2).unary("aten::lgamma.default");
  }
  return {(total + static_cast<double>(p * (p - 1)) / 4 * std::log(M_PI)).cast(dtype).id};
}

// exp(x) - target x, or x - target log(x + eps); `full` adds Stirling's term for targets above 1.
Ids poisson_nll(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "input"), target = given(w, call, "target");
  if (!is_float(x.dtype()) || target.dtype() != x.dtype()) return {};
  Expression loss =
      call.boolean("log_input") ? exp(x) - target * x : x - target * log(x + call.floating("eps"));
  if (call.boolean("full")) {
    const Expression stirling = target * log(target) - target + log(target * (2 * M_PI)) * 0.5;
    loss = loss + where(target <= 1, 0.0, stirling);
  }
  return {reduced(w, call, loss.id)};
}

// Slices along dim whose p-norm is above maxnorm are scaled down to it.
Ids renorm(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self");
  if (!is_float(x.dtype()) || x.rank() < 2) return {};
  std::vector<int64_t> others = every_dim(w, x.id);
  others.erase(others.begin() + normalise_dim(call.integer("dim"), x.rank(), call));
  const double most = call.scalar("maxnorm").as_double();
  const Expression wide = x.cast(computation_of(x.dtype()));
  const Expression norm = wide.with(vector_norm(w, wide.id, passed_on(call, "p"), others, true));
  const Expression scale = (norm + 1e-7).unary("aten::reciprocal.default") * most;
  return {(wide * where(norm > most, scale, 1.0)).cast(x.dtype()).id};
}

// `out` is a tensor of another dtype at most; what it held is lost.
Ids arctangent_into(Rewriter& w, const OpCall& call) {
  const ValueId result =
      w.emit("aten::atan2.default", {{"self", passed_on(call, "self")}, {"other", passed_on(call, "other")}});
  return {w.cast(result, call.output(0).dtype)};
}

}  // namespace

void register_pointwise_forms(DecomposeTable& table) {
  table.add("aten::sinc.default", form(sinc));
  table.add("aten::special_entr.default", form(entropy));
  table.add("aten::special_ndtr.default", form(normal_share));
  table.add("aten::special_log_ndtr.default", form(log_normal_share));
  table.add("aten::logit.default", logit);
  table.add("aten::special_xlog1py.default", xlog1py);
  table.add("aten::heaviside.default", heaviside);
  table.add("aten::atan2.out", arctangent_into);
  table.add("aten::sgn.default", sign);
  table.add("aten::isposinf.default", equals(kInfinity));
  table.add("aten::isneginf.default", equals(-kInfinity));
  table.add("aten::isreal.default", is_real);
  table.add("aten::real.default", real);
  table.add("aten::nan_to_num.default", nan_to_num);
  for (const char* op : {"Tensor_Tensor", "Tensor_Scalar", "Scalar"})
    table.add(std::string("aten::float_power.") + op, float_power);
  table.add("aten::rsub.Tensor", rsub);
  table.add("aten::mvlgamma.default", multivariate_lgamma);
  table.add("aten::poisson_nll_loss.default", poisson_nll);
  table.add("aten::renorm.default", renorm);
}

}  // namespace assay
