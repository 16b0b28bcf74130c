// Elementary functions over every number type: one formula for the value, one for the slope.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "reference/number/bounded.h"
#include "reference/number/plain.h"
#include "reference/number/stochastic.h"

namespace assay::reference {

// A Scalar of the graph: exact in the value, rounded by the device to `intermediate`.
template <class T>
T constant(double v) {
  return constant_of(v, static_cast<const T*>(nullptr));
}

// A number that is finer than the computation dtype, as the device holds it there.
inline double rounded_constant(double x) { return x; }
inline Bounded rounded_constant(Bounded x) {
  Bounded held = constant_of(x.value, &x);
  held.bound += x.bound;
  held.variance += x.variance;
  held.overflow = x.overflow;
  return held;
}
inline Stochastic rounded_constant(Stochastic x) { return constant_of(x.value, &x); }

// x * 2^n: rounds nothing.
inline double scaled(double x, double power_of_two) { return x * power_of_two; }
inline Stochastic scaled(Stochastic x, double power_of_two) { return x.value * power_of_two; }
inline Bounded scaled(Bounded x, double power_of_two) {
  return {x.value * power_of_two, x.bound * std::fabs(power_of_two), x.variance * power_of_two * power_of_two,
          x.overflow};
}

// The error of `formula` around a value computed in a better way. Where the formula has none (infinity times
// 0), the value is a limit, which has no error.
inline double recentred(double accurate, double) { return accurate; }
inline Bounded recentred(double accurate, Bounded formula) {
  if (std::isnan(formula.value) || std::isinf(accurate)) return {accurate, 0, 0, formula.overflow};
  const double moved = std::fabs(accurate - formula.value);
  return {accurate, formula.bound + moved, formula.variance, formula.overflow};
}
inline Stochastic recentred(double accurate, Stochastic formula) {
  return std::isfinite(accurate) && std::isfinite(formula.value) ? formula : Stochastic(accurate);
}

// A type with at least 64 significand bits.
inline long double wider(double x) { return x; }

// Does the Contract name this function? (Then it is one step of the device; else the textbook formula is
// followed.)
template <class T>
bool declared(Function) {
  return false;
}
template <>
inline bool declared<Bounded>(Function function) {
  return current_environment->allowance(function).declared;
}
template <>
inline bool declared<Stochastic>(Function function) {
  return current_environment->allowance(function).declared;
}

namespace fn {

template <class T>
T exp(T x) {
  using std::exp;
  const auto f = exp(plain(x));
  return finish_function(Function::exp, f, x, [&] { return f; });
}
template <class T>
T exp2(T x) {
  using std::exp2;
  const auto f = exp2(plain(x));
  return finish_function(Function::exp2, f, x, [&] { return f * std::numbers::ln2; });
}
template <class T>
T expm1(T x) {
  using std::expm1;
  const auto f = expm1(plain(x));
  return finish_function(Function::expm1, f, x, [&] { return f + 1; });
}
template <class T>
T log(T x) {
  using std::log;
  const auto v = plain(x);
  return finish_function(Function::log, log(v), x, [&] { return 1 / v; });
}
template <class T>
T log2(T x) {
  using std::log2;
  const auto v = plain(x);
  return finish_function(Function::log2, log2(v), x, [&] { return 1 / (v * std::numbers::ln2); });
}
template <class T>
T log10(T x) {
  using std::log10;
  const auto v = plain(x);
  return finish_function(Function::log10, log10(v), x, [&] { return 1 / (v * std::numbers::ln10); });
}
template <class T>
T log1p(T x) {
  using std::log1p;
  const auto v = plain(x);
  return finish_function(Function::log1p, log1p(v), x, [&] { return 1 / (1 + v); });
}
template <class T>
T sqrt(T x) {
  using std::sqrt;
  const auto f = sqrt(plain(x));
  return finish_function(Function::sqrt, f, x, [&] { return 0.5 / f; });
}
template <class T>
T rsqrt(T x) {
  using std::sqrt;
  const auto v = plain(x);
  const auto f = 1 / sqrt(v);
  return finish_function(Function::rsqrt, f, x, [&] { return 0.5 * f / v; });
}
template <class T>
T reciprocal(T x) {
  const auto f = 1 / plain(x);
  return finish_function(Function::reciprocal, f, x, [&] { return f * f; });
}
template <class T>
T sin(T x) {
  using std::cos;
  using std::sin;
  const auto v = plain(x);
  return finish_function(Function::sin, sin(v), x, [&] { return cos(v); });
}
template <class T>
T cos(T x) {
  using std::cos;
  using std::sin;
  const auto v = plain(x);
  return finish_function(Function::cos, cos(v), x, [&] { return sin(v); });
}
template <class T>
T tan(T x) {
  using std::tan;
  const auto f = tan(plain(x));
  return finish_function(Function::tan, f, x, [&] { return 1 + f * f; });
}
template <class T>
T asin(T x) {
  using std::asin;
  using std::sqrt;
  const auto v = plain(x);
  return finish_function(Function::asin, asin(v), x, [&] { return 1 / sqrt(1 - v * v); });
}
template <class T>
T acos(T x) {
  using std::acos;
  using std::sqrt;
  const auto v = plain(x);
  return finish_function(Function::acos, acos(v), x, [&] { return 1 / sqrt(1 - v * v); });
}
template <class T>
T atan(T x) {
  using std::atan;
  const auto v = plain(x);
  return finish_function(Function::atan, atan(v), x, [&] { return 1 / (1 + v * v); });
}
template <class T>
T sinh(T x) {
  using std::cosh;
  using std::sinh;
  const auto v = plain(x);
  return finish_function(Function::sinh, sinh(v), x, [&] { return cosh(v); });
}
template <class T>
T cosh(T x) {
  using std::cosh;
  using std::sinh;
  const auto v = plain(x);
  return finish_function(Function::cosh, cosh(v), x, [&] { return sinh(v); });
}
template <class T>
T tanh(T x) {
  using std::tanh;
  const auto f = tanh(plain(x));
  return finish_function(Function::tanh, f, x, [&] { return 1 - f * f; });
}
template <class T>
T asinh(T x) {
  using std::asinh;
  using std::sqrt;
  const auto v = plain(x);
  return finish_function(Function::asinh, asinh(v), x, [&] { return 1 / sqrt(1 + v * v); });
}
template <class T>
T acosh(T x) {
  using std::acosh;
  using std::sqrt;
  const auto v = plain(x);
  return finish_function(Function::acosh, acosh(v), x, [&] { return 1 / sqrt(v * v - 1); });
}
template <class T>
T atanh(T x) {
  using std::atanh;
  const auto v = plain(x);
  return finish_function(Function::atanh, atanh(v), x, [&] { return 1 / (1 - v * v); });
}
template <class T>
T erf(T x) {
  using std::erf;
  using std::exp;
  const auto v = plain(x);
  return finish_function(Function::erf, erf(v), x,
                         [&] { return 2 * std::numbers::inv_sqrtpi * exp(-(v * v)); });
}

// 1 / (1 + exp(-x)), for negative x as exp(x) / (1 + exp(x)), which does not overflow.
template <class V>
V sigmoid_value(V x) {
  using std::exp;
  if (!(x < 0)) return 1 / (1 + exp(-x));
  const V e = exp(x);
  return e / (1 + e);
}
template <class T>
T sigmoid(T x) {
  const auto f = sigmoid_value(plain(x));
  if (!declared<T>(Function::sigmoid)) return recentred(f, T(1) / (T(1) + fn::exp(-x)));
  return finish_function(Function::sigmoid, f, x, [&] { return f * (1 - f); });
}

// x * sigmoid(x); its limit at -infinity is 0, where the formula gives NaN.
template <class T>
T silu(T x) {
  using std::exp;
  const auto v = plain(x);
  using Value = std::remove_cv_t<decltype(v)>;
  const Value s = sigmoid_value(v);
  const Value f = v < -std::numeric_limits<double>::max() ? Value(-0.0) : v * s;
  if (declared<T>(Function::silu)) {
    return finish_function(Function::silu, f, x, [&] { return s * (1 + v * (1 - s)); });
  }
  return recentred(f, x * sigmoid(x));
}

// x * Phi(x), exact in the left tail through erfc; the error follows 0.5 x (1 + erf(x / sqrt 2)), which
// cancels there. The argument of erfc is formed with more digits: its relative error counts 2 z^2 times.
template <class T>
T gelu(T x) {
  using std::erfc;
  using std::exp;
  using std::sqrt;
  const auto v = plain(x);
  using Value = std::remove_cv_t<decltype(v)>;
  const auto w = wider(v);
  using Wider = std::remove_cv_t<decltype(w)>;
  const Wider phi = erfc(-(w * sqrt(Wider(0.5)))) / 2;
  const Value f = v < -std::numeric_limits<double>::max() ? Value(-0.0) : static_cast<Value>(w * phi);
  if (declared<T>(Function::gelu)) {
    return finish_function(Function::gelu, f, x, [&] {
      return static_cast<Value>(phi) +
             v * exp(-(v * v) / 2) * (std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
    });
  }
  return recentred(f, scaled(x, 0.5) * (T(1) + erf(x * constant<T>(1 / std::numbers::sqrt2))));
}

// PyTorch's approximate="tanh": 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). 1 + tanh(z) = 2 / (1 +
// exp(-2z)).
template <class T>
T gelu_tanh(T x) {
  using std::exp;
  const auto v = plain(x);
  using Value = std::remove_cv_t<decltype(v)>;
  const auto w = wider(v);
  using Wider = std::remove_cv_t<decltype(w)>;
  constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kKappa = 0.044715;
  const Wider z = kBeta * (w + kKappa * w * w * w);
  const Wider s = 1 / (1 + exp(-2 * z));
  const Value f = v < -std::numeric_limits<double>::max() ? Value(-0.0) : static_cast<Value>(w * s);
  if (declared<T>(Function::gelu_tanh)) {
    return finish_function(Function::gelu_tanh, f, x, [&] {
      return static_cast<Value>(s + w * s * (1 - s) * 2 * kBeta * (1 + 3 * kKappa * w * w));
    });
  }
  const T inner = constant<T>(kBeta) * (x + constant<T>(kKappa) * (x * x * x));
  return recentred(f, scaled(x, 0.5) * (T(1) + tanh(inner)));
}

// C99 pow. Small whole exponents may be computed by repeated multiplication, a rounding each.
template <class T>
T power(T base, T exponent) {
  using std::fabs;
  using std::log;
  using std::pow;
  const auto b = plain(base);
  const auto e = plain(exponent);
  const auto f = pow(b, e);
  bool overflow = false;
  if constexpr (std::is_same_v<T, Bounded>) {
    // Infinity to a positive power is infinity.
    overflow = base.overflow && e > 0;
    if (overflow) base.overflow = false;
  }
  T result = finish_function(Function::pow, f, base, [&] { return e * pow(b, e - 1); });
  if constexpr (std::is_same_v<T, Bounded>) {
    if (overflow) result.overflow = true;
    if (exponent.bound != 0 && b > 0 && std::isfinite(f))
      result.bound += std::fabs(f * log(b)) * exponent.bound;
    const double steps = std::fabs(e) <= 16 && e == std::trunc(e) ? std::fabs(e) : 0;
    const double chain = steps * current_environment->u * std::fabs(f);
    if (std::isfinite(chain)) result.bound = std::max(result.bound, chain);
    if (steps == 1 && e == 1) result.bound = 0;
  }
  return result;
}

}  // namespace fn
}  // namespace assay::reference
