// Complex numbers as pairs, and their functions: values after C99 Annex G, errors measured against the
// modulus (no algorithm in use promises more of the smaller part).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/number/functions.h"

namespace assay::reference {

template <class T>
struct ComplexOf {
  T re{}, im{};
};

enum class ComplexFunction {
  exp,
  log,
  log2,
  log10,
  sqrt,
  rsqrt,
  reciprocal,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  sigmoid,
  expm1,
  log1p
};

// Accurate values: computed with at least 64 significand bits. divide and power follow Annex G for infinities
// and zeros.
ComplexOf<double> complex_value(ComplexFunction function, ComplexOf<double> z);
ComplexOf<double> complex_product(ComplexOf<double> a, ComplexOf<double> b);
ComplexOf<double> complex_quotient(ComplexOf<double> a, ComplexOf<double> b);
ComplexOf<double> complex_power(ComplexOf<double> a, ComplexOf<double> b);

// The Contract's entry that stands for a complex function.
constexpr Function entry_of(ComplexFunction function) {
  constexpr Function entries[] = {Function::exp,   Function::log,   Function::log2,       Function::log10,
                                  Function::sqrt,  Function::rsqrt, Function::reciprocal, Function::sin,
                                  Function::cos,   Function::tan,   Function::asin,       Function::acos,
                                  Function::atan,  Function::sinh,  Function::cosh,       Function::tanh,
                                  Function::asinh, Function::acosh, Function::atanh,      Function::sigmoid,
                                  Function::expm1, Function::log1p};
  return entries[static_cast<std::size_t>(function)];
}

inline ComplexOf<double> plain(ComplexOf<Bounded> z) { return {z.re.value, z.im.value}; }
inline ComplexOf<double> plain(ComplexOf<Stochastic> z) { return {z.re.value, z.im.value}; }

// A result with the given value: `steps` roundings of the modulus and the function's allowance. Where the
// result is not finite although it could be computed from finite numbers in another way, any bits are right.
ComplexOf<Bounded> complex_bounded(ComplexOf<double> value, double moved, double steps, Function function,
                                   double times);
ComplexOf<Stochastic> complex_stochastic(ComplexOf<double> value, Function function);

// f(z): a product of two functions and a sum at most (exp(x) cos(y), sin(x) cosh(y), ...).
inline ComplexOf<double> complex_function(ComplexFunction f, ComplexOf<double> z) {
  return complex_value(f, z);
}
ComplexOf<Bounded> complex_function(ComplexFunction f, ComplexOf<Bounded> z);
ComplexOf<Stochastic> complex_function(ComplexFunction f, ComplexOf<Stochastic> z);

// a b: two products and a sum. Infinite or NaN parts: Annex G and the plain formula differ, both are in use.
inline ComplexOf<double> complex_times(ComplexOf<double> a, ComplexOf<double> b) {
  return complex_product(a, b);
}
ComplexOf<Bounded> complex_times(ComplexOf<Bounded> a, ComplexOf<Bounded> b);
ComplexOf<Stochastic> complex_times(ComplexOf<Stochastic> a, ComplexOf<Stochastic> b);

// a / b: by scaling (Smith) or by b's conjugate.
inline ComplexOf<double> complex_over(ComplexOf<double> a, ComplexOf<double> b) {
  return complex_quotient(a, b);
}
ComplexOf<Bounded> complex_over(ComplexOf<Bounded> a, ComplexOf<Bounded> b);
ComplexOf<Stochastic> complex_over(ComplexOf<Stochastic> a, ComplexOf<Stochastic> b);

inline ComplexOf<double> complex_raised(ComplexOf<double> a, ComplexOf<double> b) {
  return complex_power(a, b);
}
ComplexOf<Bounded> complex_raised(ComplexOf<Bounded> a, ComplexOf<Bounded> b);
ComplexOf<Stochastic> complex_raised(ComplexOf<Stochastic> a, ComplexOf<Stochastic> b);

// |z|: infinite where a part is, whatever the other one (C99 hypot).
template <class T>
T complex_modulus(ComplexOf<T> z) {
  using std::hypot;
  const auto v = hypot(plain(z.re), plain(z.im));
  // The sum of squares and its root: an allowance each.
  T result = finish_function(Function::sqrt, v, finish_function(Function::sqrt, v, z.re, [] { return 1.0; }),
                             [] { return 1.0; });
  if constexpr (std::is_same_v<T, Bounded>) result.bound += z.im.bound;
  return result;
}

}  // namespace assay::reference
