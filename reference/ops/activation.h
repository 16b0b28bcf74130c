// Activations and clamps.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

// fn::gelu with the argument of erfc in double, some five times as fast: the value's relative error of 2 z^2
// units is 1e-13 where an f32 underflows, and so nothing for dtypes narrower than f64.
template <class T>
T gelu_in_double(T x) {
  if (!std::is_same_v<T, double> && !declared<T>(Function::gelu)) return fn::gelu(x);
  using std::erfc;
  using std::exp;
  using std::sqrt;
  const auto v = plain(x);
  using Value = std::remove_cv_t<decltype(v)>;
  const Value phi = erfc(-(v * sqrt(Value(0.5)))) / 2;
  const Value f = v < -std::numeric_limits<double>::max() ? Value(-0.0) : Value(v * phi);
  return finish_function(Function::gelu, f, x, [&] {
    return phi + v * exp(-(v * v) / 2) * (std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
  });
}

template <class T>
std::vector<Array<T>> gelu(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const std::string approximate = call.string("approximate");
  if (approximate != "none" && approximate != "tanh") {
    throw Error(ErrorCode::invalid_argument,
                call.op() + ": approximate is \"" + approximate + "\", expected \"none\" or \"tanh\"");
  }
  if (approximate == "none" && out.meta.dtype == DType::f64) {
    map(in[0]->real, out.real, fn::gelu<T>);
  } else if (approximate == "none") {
    map(in[0]->real, out.real, gelu_in_double<T>);
  } else {
    map(in[0]->real, out.real, fn::gelu_tanh<T>);
  }
  return one(std::move(out));
}

// min(max(x, lo), hi): where lo > hi, hi wins; NaN in any of the three stays.
template <class V>
V clamped_below(V x, V lo) {
  if (!(x == x)) return x;
  if (!(lo == lo)) return lo;
  return x < lo ? lo : x;
}
template <class V>
V clamped_above(V x, V hi) {
  if (!(x == x)) return x;
  if (!(hi == hi)) return hi;
  return hi < x ? hi : x;
}
template <class T>
std::vector<Array<T>> clamp_to(const OpCall& call, const Inputs<T>& in, std::string_view lo,
                               std::string_view hi) {
  auto out = make_array<T>(call.output(0));
  const Shape& shape = out.meta.shape;
  const auto given = [&](std::string_view name) {
    return call.is_number(name) || call.tensor_opt(name).has_value();
  };
  if (out.is_integral()) {
    const DType dtype = out.meta.dtype;
    const auto x = integer_argument(call, in, "self", dtype);
    zip(shape, x, x, out.integer, [](int64_t v, int64_t) { return v; });
    const Operand<int64_t> self{shape, out.integer.data(), {}};
    if (given(lo))
      zip(shape, self, integer_argument(call, in, lo, out.meta.dtype), out.integer, clamped_below<int64_t>);
    if (given(hi))
      zip(shape, self, integer_argument(call, in, hi, out.meta.dtype), out.integer, clamped_above<int64_t>);
  } else {
    const DType dtype = out.meta.dtype;
    const auto x = real_argument(call, in, "self", dtype);
    zip(shape, x, x, out.real, [](T v, T) { return v; });
    const Operand<T> self{shape, out.real.data(), {}};
    if (given(lo)) zip(shape, self, real_argument(call, in, lo, dtype), out.real, clamped_below<T>);
    if (given(hi)) zip(shape, self, real_argument(call, in, hi, dtype), out.real, clamped_above<T>);
  }
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> clamp(const OpCall& call, const Inputs<T>& in) {
  return clamp_to(call, in, "min", "max");
}
template <class T>
std::vector<Array<T>> hardtanh(const OpCall& call, const Inputs<T>& in) {
  return clamp_to(call, in, "min_val", "max_val");
}

template <class T>
std::vector<Array<T>> leaky_relu(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const T slope = constant<T>(call.scalar("negative_slope").as_double());
  map(in[0]->real, out.real, [&](T x) { return x > T(0) || !(x == x) ? x : x * slope; });
  return one(std::move(out));
}

// scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1)).
template <class T>
std::vector<Array<T>> elu(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const double alpha = call.scalar("alpha").as_double(), scale = call.scalar("scale").as_double(),
               input_scale = call.scalar("input_scale").as_double();
  const auto times = [](double factor, T x) { return factor == 1 ? x : constant<T>(factor) * x; };
  map(in[0]->real, out.real, [&](T x) {
    if (x > T(0) || !(x == x)) return times(scale, x);
    return times(scale * alpha, fn::expm1(times(input_scale, x)));
  });
  return one(std::move(out));
}

template <class T>
void register_activation(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits selection = exact_traits("PyTorch");
  selection.model.signed_zero = false;  // max(-0, +0) may be either
  table.add("aten::gelu.default", function_traits("limit of x Phi(x)"), gelu<T>);
  table.add_exact("aten::clamp.default", selection, clamp<E>);
  table.add_exact("aten::clamp.Tensor", selection, clamp<E>);
  table.add_exact("aten::hardtanh.default", selection, hardtanh<E>);
  table.add("aten::leaky_relu.default", function_traits("PyTorch"), leaky_relu<T>);
  table.add("aten::elu.default", function_traits("PyTorch"), elu<T>);
}

}  // namespace assay::reference
