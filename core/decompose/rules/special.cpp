// Pointwise functions that PyTorch defines by others.
#include <cmath>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

// log2(2^a + 2^b) = max + log2(1 + 2^-|a - b|); of equal infinities themselves.
Ids logaddexp2(Rewriter& w, const OpCall& call) {
  const DType dtype = call.output(0).dtype;
  const ValueId a = w.cast(value_of(call, "self"), dtype), b = w.cast(value_of(call, "other"), dtype);
  const ValueId most = binary(w, "aten::maximum.default", a, ValueArg{b});
  const ValueId apart = unary(w, "aten::abs.default", sub(w, a, ValueArg{b}));
  const ValueId power = w.emit("aten::pow.Scalar",
                               {{"self", 2.0}, {"exponent", ValueArg{unary(w, "aten::neg.default", apart)}}});
  const ValueId rest = div(w, unary(w, "aten::log1p.default", power), std::log(2.0));
  const ValueId same = binary(w, "aten::eq.Tensor", a, ValueArg{b});
  const ValueId infinite =
      binary(w, "aten::logical_and.default", same, ValueArg{unary(w, "aten::isinf.default", a)});
  return {where(w, infinite, most, add(w, most, ValueArg{rest}))};
}

// The other operand where one is NaN.
Ids ignore_nan(Rewriter& w, const OpCall& call, const char* extremum) {
  const DType dtype = call.output(0).dtype;
  const ValueId a = w.cast(value_of(call, "self"), dtype), b = w.cast(value_of(call, "other"), dtype);
  const ValueId extreme = binary(w, extremum, a, ValueArg{b});
  if (is_integral(dtype)) return {extreme};
  const ValueId without_b = where(w, unary(w, "aten::isnan.default", b), a, extreme);
  return {where(w, unary(w, "aten::isnan.default", a), b, without_b)};
}

Ids ldexp(Rewriter& w, const OpCall& call) {
  const ValueId power =
      w.emit("aten::pow.Scalar", {{"self", 2.0}, {"exponent", ValueArg{value_of(call, "other")}}});
  return {mul(w, value_of(call, "self"), ValueArg{power})};
}

// round(x 10^d) / 10^d, or with 10^-d the other way round (torch.round).
Ids round_decimals(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  const int64_t decimals = call.integer("decimals");
  if (decimals == 0 || is_integral(w.dtype(x))) return {unary(w, "aten::round.default", x)};
  const double ten = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  if (decimals > 0) return {div(w, unary(w, "aten::round.default", mul(w, x, ten)), ten)};
  return {mul(w, unary(w, "aten::round.default", div(w, x, ten)), ten)};
}

// In evaluation the slope is the mean of the two.
Ids rrelu(Rewriter& w, const OpCall& call) {
  if (call.boolean("training")) return {};
  const double slope = (call.scalar("lower").as_double() + call.scalar("upper").as_double()) / 2;
  return {w.emit("aten::leaky_relu.default",
                 {{"self", ValueArg{value_of(call, "self")}}, {"negative_slope", slope}})};
}

}  // namespace

void register_special(DecomposeTable& table) {
  table.add("aten::logaddexp2.default", logaddexp2);
  table.add("aten::fmax.default",
            [](Rewriter& w, const OpCall& call) { return ignore_nan(w, call, "aten::maximum.default"); });
  table.add("aten::fmin.default",
            [](Rewriter& w, const OpCall& call) { return ignore_nan(w, call, "aten::minimum.default"); });
  table.add("aten::ldexp.Tensor", ldexp);
  table.add("aten::round.decimals", round_decimals);
  table.add("aten::rrelu_with_noise.default", rrelu);
  table.add("aten::__lshift__.Tensor", renamed("aten::bitwise_left_shift.Tensor"));
  table.add("aten::__rshift__.Tensor", renamed("aten::bitwise_right_shift.Tensor"));
}

}  // namespace assay
