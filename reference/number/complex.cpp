#include "reference/number/complex.h"

#include <complex>

namespace assay::reference {
namespace {

using Long = std::complex<long double>;

Long wide(ComplexOf<double> z) { return {z.re, z.im}; }
ComplexOf<double> narrow(Long z) { return {static_cast<double>(z.real()), static_cast<double>(z.imag())}; }

bool finite(ComplexOf<double> z) { return std::isfinite(z.re) && std::isfinite(z.im); }
double modulus(ComplexOf<double> z) { return std::hypot(z.re, z.im); }

// exp(z) - 1 and log(1 + z) without cancellation near 0.
Long expm1(Long z) {
  const long double half = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half,
          std::exp(z.real()) * std::sin(z.imag())};
}
Long log1p(Long z) {
  const long double re = z.real(), im = z.imag();
  if (std::fabs(re) > 0.5L || std::fabs(im) > 0.5L) return std::log(1.0L + z);
  return {std::log1p(re * (2 + re) + im * im) / 2, std::atan2(im, 1 + re)};
}

Long value_of(ComplexFunction function, Long z) {
  switch (function) {
    case ComplexFunction::exp:
      return std::exp(z);
    case ComplexFunction::log:
      return std::log(z);
    case ComplexFunction::log2:
      return std::log(z) / std::numbers::ln2_v<long double>;
    case ComplexFunction::log10:
      return std::log(z) / std::numbers::ln10_v<long double>;
    case ComplexFunction::sqrt:
      return std::sqrt(z);
    case ComplexFunction::rsqrt:
      return 1.0L / std::sqrt(z);
    case ComplexFunction::reciprocal:
      return 1.0L / z;
    case ComplexFunction::sin:
      return std::sin(z);
    case ComplexFunction::cos:
      return std::cos(z);
    case ComplexFunction::tan:
      return std::tan(z);
    case ComplexFunction::asin:
      return std::asin(z);
    case ComplexFunction::acos:
      return std::acos(z);
    case ComplexFunction::atan:
      return std::atan(z);
    case ComplexFunction::sinh:
      return std::sinh(z);
    case ComplexFunction::cosh:
      return std::cosh(z);
    case ComplexFunction::tanh:
      return std::tanh(z);
    case ComplexFunction::asinh:
      return std::asinh(z);
    case ComplexFunction::acosh:
      return std::acosh(z);
    case ComplexFunction::atanh:
      return std::atanh(z);
    case ComplexFunction::sigmoid:
      return 1.0L / (1.0L + std::exp(-z));
    case ComplexFunction::expm1:
      return expm1(z);
    case ComplexFunction::log1p:
      return log1p(z);
  }
  return z;
}

// How far f moves with its argument, by the four corners of the argument's error.
template <class F>
double moved_by(ComplexOf<Bounded> z, ComplexOf<double> centre, F&& f) {
  const double a = z.re.bound, b = z.im.bound;
  if (a == 0 && b == 0) return 0;
  double most = 0;
  for (const auto& [x, y] : {std::pair(a, b), {a, -b}, {-a, b}, {-a, -b}}) {
    const ComplexOf<double> other = f(ComplexOf<double>{z.re.value + x, z.im.value + y});
    const double moved = modulus({other.re - centre.re, other.im - centre.im});
    most = std::isnan(moved) ? HUGE_VAL : std::max(most, moved);
  }
  return 2 * most;
}

}  // namespace

ComplexOf<double> complex_value(ComplexFunction function, ComplexOf<double> z) {
  return narrow(value_of(function, wide(z)));
}
ComplexOf<double> complex_product(ComplexOf<double> a, ComplexOf<double> b) {
  return narrow(wide(a) * wide(b));
}
ComplexOf<double> complex_quotient(ComplexOf<double> a, ComplexOf<double> b) {
  return narrow(wide(a) / wide(b));
}
ComplexOf<double> complex_power(ComplexOf<double> a, ComplexOf<double> b) {
  if (b.re == 0 && b.im == 0) return {1, 0};
  return narrow(std::pow(wide(a), wide(b)));
}

ComplexOf<Bounded> complex_bounded(ComplexOf<double> value, double moved, double steps, Function function,
                                   double times) {
  const Environment& e = *current_environment;
  const Allowance& allowance = e.allowance(function);
  const double size = modulus(value);
  // Infinities, NaN and what overflows: what a part is then depends on the formula.
  double error = HUGE_VAL;
  if (size <= e.max) {
    error = moved + (steps * e.u + times * allowance.relative) * size + allowance.absolute;
    if (size < e.eta * 0x1p60) error += 4 * e.eta;
    if (e.early_overflow && !(size + error <= e.max)) error = HUGE_VAL;
    if (std::isnan(error)) error = HUGE_VAL;  // an infinite exponent of what is 0
  }
  const double variance = std::isfinite(error) ? error * error / 3 : 0;
  return {{value.re, error, variance}, {value.im, error, variance}};
}

ComplexOf<Stochastic> complex_stochastic(ComplexOf<double> value, Function function) {
  // An error of the modulus' size in either part.
  const auto noise = [&](double part) {
    const double size = modulus(value);
    if (!std::isfinite(size)) return Stochastic(part);
    const Stochastic drawn = finish_stochastic(function, size);
    return stochastic_intermediate(part + (drawn.value - size));
  };
  return {noise(value.re), noise(value.im)};
}

// How much larger the relative error of the last quotient of 1 / (1 + exp(-z)) is than that of exp(-z):
// beside the poles i pi (2 n + 1) the sum cancels. |s exp(-z)| = |1 - s|.
double cancellation(ComplexFunction f, ComplexOf<double> value) {
  return f == ComplexFunction::sigmoid ? modulus({1 - value.re, value.im}) : 0;
}

ComplexOf<Bounded> complex_function(ComplexFunction f, ComplexOf<Bounded> z) {
  const ComplexOf<double> at = plain(z), value = complex_value(f, at);
  const double moved = moved_by(z, value, [&](ComplexOf<double> x) { return complex_value(f, x); });
  const double more = cancellation(f, value);
  return complex_bounded(value, moved, 4 + more, entry_of(f), 3 + more);
}
ComplexOf<Stochastic> complex_function(ComplexFunction f, ComplexOf<Stochastic> z) {
  return complex_stochastic(complex_value(f, plain(z)), entry_of(f));
}

ComplexOf<Bounded> complex_times(ComplexOf<Bounded> a, ComplexOf<Bounded> b) {
  const ComplexOf<double> x = plain(a), y = plain(b), value = complex_product(x, y);
  if (!finite(x) || !finite(y) || !(modulus(value) <= current_environment->max))
    return complex_bounded(value, 0, 2, Function::div, 0);
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
ComplexOf<Stochastic> complex_times(ComplexOf<Stochastic> a, ComplexOf<Stochastic> b) {
  const ComplexOf<double> x = plain(a), y = plain(b);
  if (!finite(x) || !finite(y)) return {complex_product(x, y).re, complex_product(x, y).im};
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

ComplexOf<Bounded> complex_over(ComplexOf<Bounded> a, ComplexOf<Bounded> b) {
  const ComplexOf<double> x = plain(a), y = plain(b), value = complex_quotient(x, y);
  const double moved = moved_by(a, value, [&](ComplexOf<double> z) { return complex_quotient(z, y); }) +
                       moved_by(b, value, [&](ComplexOf<double> z) { return complex_quotient(x, z); });
  return complex_bounded(value, moved, 8, Function::div, 2);
}
ComplexOf<Stochastic> complex_over(ComplexOf<Stochastic> a, ComplexOf<Stochastic> b) {
  return complex_stochastic(complex_quotient(plain(a), plain(b)), Function::div);
}

ComplexOf<Bounded> complex_raised(ComplexOf<Bounded> a, ComplexOf<Bounded> b) {
  const ComplexOf<double> x = plain(a), y = plain(b), value = complex_power(x, y);
  // exp(b log a): the exponent's absolute error is the result's relative one.
  const double size = modulus(x);
  const double exponent = size > 0 && std::isfinite(size) ? modulus(y) * (std::fabs(std::log(size)) + 4) : 0;
  const double moved = moved_by(a, value, [&](ComplexOf<double> z) { return complex_power(z, y); }) +
                       moved_by(b, value, [&](ComplexOf<double> z) { return complex_power(x, z); });
  return complex_bounded(value, moved, 4 + 4 * exponent, Function::pow, 2);
}
ComplexOf<Stochastic> complex_raised(ComplexOf<Stochastic> a, ComplexOf<Stochastic> b) {
  return complex_stochastic(complex_power(plain(a), plain(b)), Function::pow);
}

}  // namespace assay::reference
