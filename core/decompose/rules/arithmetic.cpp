// Composite arithmetic, predicates and fills.
#include <cmath>
#include <limits>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

Ids floor_divide(Rewriter& w, const OpCall& call) {
  std::vector<NamedArgument> arguments = passed_on(call);
  arguments.push_back({"rounding_mode", std::string("floor")});
  return {w.emit(call.schema().overload == "Scalar" ? "aten::div.Scalar_mode" : "aten::div.Tensor_mode",
                 std::move(arguments))};
}

Ids frac(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  return {sub(w, x, ValueArg{unary(w, "aten::trunc.default", x)})};
}

// self + weight (end - self), from the nearer end (PyTorch: weight below 0.5 or not).
Ids lerp(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self"), end = value_of(call, "end");
  const ValueId difference = sub(w, end, ValueArg{self});
  if (const auto weight = value_of_opt(call, "weight")) {
    const ValueId near = binary(w, "aten::lt.Scalar", unary(w, "aten::abs.default", *weight), 0.5);
    const ValueId rest = w.emit("aten::sub.Tensor", {{"self", ValueArg{w.scalar_like(*weight, int64_t{1})}},
                                                     {"other", ValueArg{*weight}}});
    return {where(w, near, add(w, self, ValueArg{mul(w, *weight, ValueArg{difference})}),
                  sub(w, end, ValueArg{mul(w, difference, ValueArg{rest})}))};
  }
  const double weight = call.scalar("weight").as_double();
  if (std::abs(weight) < 0.5) return {add(w, self, ValueArg{mul(w, difference, weight)})};
  return {sub(w, end, ValueArg{mul(w, difference, 1 - weight)})};
}

// max(a, b) + log1p(exp(-|a - b|)); equal infinities are their own answer.
Ids logaddexp(Rewriter& w, const OpCall& call) {
  const ValueId a = value_of(call, "self"), b = value_of(call, "other");
  const ValueId most = binary(w, "aten::maximum.default", a, ValueArg{b});
  const ValueId apart = unary(w, "aten::abs.default", sub(w, a, ValueArg{b}));
  const ValueId rest =
      unary(w, "aten::log1p.default", unary(w, "aten::exp.default", unary(w, "aten::neg.default", apart)));
  const ValueId same = binary(w, "aten::eq.Tensor", a, ValueArg{b});
  const ValueId infinite =
      binary(w, "aten::logical_and.default", same, ValueArg{unary(w, "aten::isinf.default", a)});
  return {where(w, infinite, most, add(w, most, ValueArg{rest}))};
}

// 0 where self is 0 and other is no NaN, else self log(other).
Ids xlogy(Rewriter& w, const OpCall& call) {
  const ValueId a = value_of(call, "self"), b = value_of(call, "other");
  const ValueId product = mul(w, a, ValueArg{unary(w, "aten::log.default", b)});
  const ValueId zero = binary(w, "aten::eq.Scalar", a, int64_t{0});
  const ValueId held =
      binary(w, "aten::logical_and.default", zero,
             ValueArg{unary(w, "aten::logical_not.default", unary(w, "aten::isnan.default", b))});
  return {where(w, held, w.scalar_like(product, int64_t{0}), product)};
}

// sqrt(a^2 + b^2), scaled by the larger so that squares neither overflow nor vanish.
Ids hypot(Rewriter& w, const OpCall& call) {
  const ValueId a = unary(w, "aten::abs.default", value_of(call, "self"));
  const ValueId b = unary(w, "aten::abs.default", value_of(call, "other"));
  const ValueId most = binary(w, "aten::maximum.default", a, ValueArg{b});
  const ValueId least = binary(w, "aten::minimum.default", a, ValueArg{b});
  const ValueId ratio = div(w, least, ValueArg{most});
  const ValueId root = unary(w, "aten::sqrt.default", add(w, mul(w, ratio, ValueArg{ratio}), int64_t{1}));
  const ValueId zero = binary(w, "aten::eq.Scalar", most, int64_t{0});
  const ValueId infinite = unary(w, "aten::isinf.default", most);
  const ValueId plain = binary(w, "aten::logical_or.default", zero, ValueArg{infinite});
  return {where(w, plain, most, mul(w, most, ValueArg{root}))};
}

ValueId finite(Rewriter& w, ValueId x) {
  if (is_integral(w.dtype(x))) return w.full(w.shape(x), true, DType::boolean);
  const ValueId magnitude = unary(w, "aten::abs.default", x);
  return binary(w, "aten::lt.Scalar", magnitude, std::numeric_limits<double>::infinity());
}
Ids isfinite(Rewriter& w, const OpCall& call) { return {finite(w, value_of(call, "self"))}; }

// a == b, or |a - b| <= atol + rtol |b| where both are finite.
Ids isclose(Rewriter& w, const OpCall& call) {
  const ValueId a = value_of(call, "self"), b = value_of(call, "other");
  if (call.boolean("equal_nan")) return {};
  const ValueId same = binary(w, "aten::eq.Tensor", a, ValueArg{b});
  const ValueId allowed =
      add(w, mul(w, unary(w, "aten::abs.default", b), call.floating("rtol")), call.floating("atol"));
  const ValueId apart = unary(w, "aten::abs.default", sub(w, a, ValueArg{b}));
  ValueId near = binary(w, "aten::le.Tensor", apart, ValueArg{allowed});
  near = binary(w, "aten::logical_and.default", near, ValueArg{finite(w, apart)});
  near = binary(w, "aten::logical_and.default", near, ValueArg{finite(w, allowed)});
  return {binary(w, "aten::logical_or.default", same, ValueArg{near})};
}

Ids exp2(Rewriter& w, const OpCall& call) {
  return {w.emit("aten::pow.Scalar", {{"self", int64_t{2}}, {"exponent", passed_on(call, "self")}})};
}

// x * 2^n, and floor(x / 2^n): the bits of two's complement move.
Ids shift(Rewriter& w, const OpCall& call, bool left) {
  const ValueId x = value_of(call, "self");
  const Scalar by = call.scalar("other");
  const int64_t width = 8 * static_cast<int64_t>(size_of(w.dtype(x)));
  if (!is_integral(w.dtype(x)) || by.kind != Scalar::Kind::integer || by.i < 0 || by.i >= width - 1)
    return {};
  const int64_t power = int64_t{1} << by.i;
  if (left) return {mul(w, x, power)};
  return {w.emit("aten::div.Tensor_mode",
                 {{"self", ValueArg{x}}, {"other", power}, {"rounding_mode", std::string("floor")}})};
}

// The argument spread over self's shape, in self's dtype.
Ids fill(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  if (!call.schema().find("value")) return {w.full(w.shape(self), int64_t{0}, w.dtype(self))};
  const auto value = value_of_opt(call, "value");
  if (!value) return {w.full(w.shape(self), passed_on(call, "value"), w.dtype(self))};
  const ValueId spread = w.expand(w.cast(*value, w.dtype(self)), w.shape(self));
  return {unary(w, "aten::clone.default", spread)};
}

DType dtype_or_default(const OpCall& call) { return call.dtype_opt("dtype").value_or(DType::f32); }

Ids eye(Rewriter& w, const OpCall& call) {
  const int64_t rows = call.integer("n");
  const int64_t columns = call.schema().find("m") ? call.integer("m") : rows;
  const ValueId row = w.view(numbers(w, rows), {rows, 1});
  return {w.cast(binary(w, "aten::eq.Tensor", numbers(w, columns), ValueArg{row}), dtype_or_default(call))};
}

// Both ends exact: counted from the nearer one, as PyTorch does.
Ids linspace(Rewriter& w, const OpCall& call) {
  const DType dtype = dtype_or_default(call);
  if (!is_float(dtype)) return {};
  const int64_t steps = call.integer("steps");
  const double start = call.scalar("start").as_double(), end = call.scalar("end").as_double();
  if (steps == 1) return {w.full({1}, start, dtype)};
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  const ValueId index = numbers(w, steps, DType::f32);
  const ValueId back = w.emit(
      "aten::sub.Tensor", {{"self", ValueArg{w.scalar_like(index, steps - 1)}}, {"other", ValueArg{index}}});
  const ValueId wide = w.cast(index, dtype), wide_back = w.cast(back, dtype);
  const ValueId low = binary(w, "aten::lt.Scalar", index, steps / 2);
  const ValueId from_end = w.emit("aten::sub.Tensor", {{"self", ValueArg{w.scalar_like(wide, end)}},
                                                       {"other", ValueArg{mul(w, wide_back, step)}}});
  return {where(w, low, add(w, mul(w, wide, step), start), from_end)};
}

}  // namespace

void register_arithmetic(DecomposeTable& table) {
  table.add("aten::floor_divide.default", floor_divide);
  table.add("aten::floor_divide.Scalar", floor_divide);
  table.add("aten::frac.default", frac);
  table.add("aten::lerp.Scalar", lerp);
  table.add("aten::lerp.Tensor", lerp);
  table.add("aten::logaddexp.default", logaddexp);
  table.add("aten::xlogy.Tensor", xlogy);
  table.add("aten::hypot.default", hypot);
  table.add("aten::isfinite.default", isfinite);
  table.add("aten::isclose.default", isclose);
  table.add("aten::exp2.default", exp2);
  for (const char* op : {"aten::fill.Tensor", "aten::zero.default"}) table.add(op, fill);
  table.add("aten::eye.default", eye);
  table.add("aten::eye.m", eye);
  table.add("aten::linspace.default", linspace);
  table.add("aten::__lshift__.Scalar", [](Rewriter& w, const OpCall& call) { return shift(w, call, true); });
  table.add("aten::__rshift__.Scalar", [](Rewriter& w, const OpCall& call) { return shift(w, call, false); });
}

}  // namespace assay
