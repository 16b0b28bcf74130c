#include "reference/number/special.h"

#include <limits>
#include <numbers>
#include <vector>

#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/airy.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>

namespace assay::reference {
namespace {

using Real = long double;
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr Real kPi = std::numbers::pi_v<Real>;

namespace bm = boost::math;
using Quiet = bm::policies::policy<bm::policies::domain_error<bm::policies::ignore_error>,
                                   bm::policies::pole_error<bm::policies::ignore_error>,
                                   bm::policies::overflow_error<bm::policies::ignore_error>,
                                   bm::policies::underflow_error<bm::policies::ignore_error>,
                                   bm::policies::evaluation_error<bm::policies::ignore_error>,
                                   bm::policies::rounding_error<bm::policies::ignore_error>,
                                   bm::policies::indeterminate_result_error<bm::policies::ignore_error>,
                                   bm::policies::promote_float<false>, bm::policies::promote_double<false>>;

// std::lgamma writes a global for the sign; cases are judged in several threads.
Real log_gamma(Real x) {
  int sign = 0;
  return ::lgammal_r(x, &sign);
}

// Sum of a divergent series with terms t_k = t_{k-1} ratio(k), up to its smallest term (Abramowitz and Stegun
// 7.1.23, 9.7.1, 9.7.2).
template <class F>
Real asymptotic(F&& ratio) {
  Real sum = 1, term = 1;
  for (int k = 1; k < 60; ++k) {
    const Real next = term * ratio(k);
    if (std::fabs(next) >= std::fabs(term)) break;
    sum += term = next;
  }
  return sum;
}

// exp(-|x|) I_v(x), exp(x) K_v(x); large arguments by 9.7.1 and 9.7.2 of Abramowitz and Stegun.
Real scaled_bessel_i(int order, Real x) {
  const Real size = std::fabs(x), sign = order == 1 && x < 0 ? -1 : 1;
  if (std::isnan(x)) return x;
  if (size <= 60) return sign * bm::cyl_bessel_i(order, size, Quiet()) * std::exp(-size);
  const Real mu = 4 * order * order;
  return sign / std::sqrt(2 * kPi * size) * asymptotic([&](int k) {
           const Real odd = 2 * k - 1;
           return -(mu - odd * odd) / (k * 8 * size);
         });
}
Real scaled_bessel_k(int order, Real x) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNan;
  if (x <= 60) return bm::cyl_bessel_k(order, x, Quiet()) * std::exp(x);
  const Real mu = 4 * order * order;
  return std::sqrt(kPi / (2 * x)) * asymptotic([&](int k) {
           const Real odd = 2 * k - 1;
           return (mu - odd * odd) / (k * 8 * x);
         });
}

Real erfcx(Real x) {
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  if (std::isinf(x)) return 0;
  return asymptotic([&](int k) { return -static_cast<Real>(2 * k - 1) / (2 * x * x); }) /
         (x * std::sqrt(kPi));
}

Real erfinv(Real x) {
  if (std::fabs(x) == 1) return x * kInfinity;
  if (!(std::fabs(x) < 1)) return kNan;
  return bm::erf_inv(x, Quiet());
}
Real ndtri(Real p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!(p > 0 && p < 1)) return kNan;
  return -std::numbers::sqrt2_v<Real> * bm::erfc_inv(2 * p, Quiet());
}

Real digamma(Real x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (std::isinf(x)) return x > 0 ? x : kNan;
  if (x < 0 && x == std::floor(x)) return kNan;
  return bm::digamma(x, Quiet());
}

// Euler and Maclaurin's sum, from a point beyond s where twelve terms of the remainder are below 1e-21.
Real zeta(Real s, Real q) {
  static constexpr Real kBernoulli[] = {
      1.0L / 6, -1.0L / 30,     1.0L / 42,      -1.0L / 30,       5.0L / 66,       -691.0L / 2730,
      7.0L / 6, -3617.0L / 510, 43867.0L / 798, -174611.0L / 330, 854513.0L / 138, -236364091.0L / 2730};
  if (std::isnan(s) || std::isnan(q)) return kNan;
  if (s == 1) return kInfinity;
  if (s < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNan;
    if (q < -1e6L) return kNan;
  }
  if (std::isinf(q)) return 0;
  Real sum = 0;
  while (q < 20 + s) {
    const Real term = std::pow(q, -s);
    sum += term;
    if (q > 0 && term <= sum * 1e-24L) return sum;  // 0 <= 0: underflow, for huge s
    q += 1;
  }
  Real power = std::pow(q, -s), rising = s, factorial = 2;
  sum += power * q / (s - 1) + power / 2;
  power /= q;
  for (int j = 0; j < 12; ++j) {
    const Real term = kBernoulli[j] / factorial * rising * power;
    sum += term;
    if (std::fabs(term) < std::fabs(sum) * 1e-22L) break;
    const Real k = 2 * j + 1;
    rising *= (s + k) * (s + k + 1);
    factorial *= (2 * j + 3) * (2 * j + 4);
    power /= q * q;
  }
  return sum;
}

Real igamma(Real a, Real x, bool complement) {
  if (std::isnan(a) || std::isnan(x) || a < 0 || x < 0) return kNan;
  const Real none = complement ? 1 : 0, all = 1 - none;
  if (a == 0) return x > 0 ? all : kNan;
  if (x == 0) return none;
  if (std::isinf(a)) return std::isinf(x) ? kNan : none;
  if (std::isinf(x)) return all;
  return complement ? bm::gamma_q(a, x, Quiet()) : bm::gamma_p(a, x, Quiet());
}

Real polygamma(Real order, Real x) {
  const auto n = static_cast<int>(order);
  if (n == 0) return digamma(x);
  if (std::isnan(x)) return x;
  const Real sign = n % 2 == 1 ? 1 : -1;
  if (std::isinf(x)) return x > 0 ? sign * 0 : kNan;
  if (x <= 0 && x == std::floor(x)) return sign * kInfinity;
  if (x > 0) return sign * std::tgamma(order + 1) * zeta(order + 1, x);
  return bm::polygamma(n, x, Quiet());
}

Real value_of(Special1 f, Real x) {
  if (std::isnan(x)) return x;
  switch (f) {
    case Special1::erfc:
      return std::erfc(x);
    case Special1::erfinv:
      return erfinv(x);
    case Special1::erfcx:
      return erfcx(x);
    case Special1::ndtri:
      return ndtri(x);
    case Special1::lgamma:
      return log_gamma(x);
    case Special1::digamma:
      return digamma(x);
    case Special1::i0:
    case Special1::i1: {
      const int order = f == Special1::i0 ? 0 : 1;
      return scaled_bessel_i(order, x) * std::exp(std::fabs(x));
    }
    case Special1::i0e:
      return scaled_bessel_i(0, x);
    case Special1::i1e:
      return scaled_bessel_i(1, x);
    case Special1::k0:
      return scaled_bessel_k(0, x) * std::exp(-x);
    case Special1::k1:
      return scaled_bessel_k(1, x) * std::exp(-x);
    case Special1::k0e:
      return scaled_bessel_k(0, x);
    case Special1::k1e:
      return scaled_bessel_k(1, x);
    case Special1::bessel_j0:
      return std::isinf(x) ? 0 : ::j0l(x);
    case Special1::bessel_j1:
      return std::isinf(x) ? 0 : ::j1l(x);
    case Special1::bessel_y0:
      return x == 0 ? -kInfinity : x < 0 ? kNan : std::isinf(x) ? 0 : ::y0l(x);
    case Special1::bessel_y1:
      return x == 0 ? -kInfinity : x < 0 ? kNan : std::isinf(x) ? 0 : ::y1l(x);
    case Special1::spherical_bessel_j0:
      return x == 0 ? 1 : std::isinf(x) ? 0 : std::sin(x) / x;
    case Special1::airy_ai:
      return std::isinf(x) ? kNan : bm::airy_ai(x, Quiet());
  }
  return x;
}

Real value_of(Special2 f, Real a, Real x) {
  switch (f) {
    case Special2::igamma:
      return igamma(a, x, false);
    case Special2::igammac:
      return igamma(a, x, true);
    case Special2::zeta:
      return zeta(a, x);
    case Special2::polygamma:
      return polygamma(a, x);
  }
  return x;
}

double rounded(Real v) { return static_cast<double>(v); }

// By the entry of this name, or of all functions.
Bounded allowed(const char* name, double v, double moved) {
  const Environment& e = *current_environment;
  const FunctionAllowance& entry = e.precision().function(name);
  if (std::isinf(v) || std::isnan(v)) return {v, std::isfinite(moved) ? 0 : moved, 0};
  const double small = v != 0 && std::fabs(v) < e.eta * 0x1p60 ? e.eta : 0;
  const double error = 2 * entry.ulp * e.u * std::fabs(v) + entry.abs + small + moved;
  return {v, e.early_overflow && !(std::fabs(v) + error <= e.max) ? HUGE_VAL : error, error * error / 3};
}
Stochastic drawn(const char* name, double v) {
  Environment& e = *current_environment;
  if (!std::isfinite(v)) return v;
  const FunctionAllowance& entry = e.precision().function(name);
  return stochastic_intermediate(v + (2 * entry.ulp * e.u * std::fabs(v) + entry.abs) * e.random.symmetric());
}

// How far f moves where its argument does, by both ends.
template <class F>
double moved_by(Bounded x, double v, F&& f) {
  if (x.bound == 0) return 0;
  const double up = std::fabs(f(x.value + x.bound) - v), down = std::fabs(f(x.value - x.bound) - v);
  return std::isnan(up) || std::isnan(down) ? HUGE_VAL : 2 * std::max(up, down);
}

}  // namespace

const char* name_of(Special1 f) {
  static constexpr const char* names[] = {"erfc",
                                          "erfinv",
                                          "erfcx",
                                          "ndtri",
                                          "lgamma",
                                          "digamma",
                                          "i0",
                                          "i0e",
                                          "i1",
                                          "i1e",
                                          "k0",
                                          "k0e",
                                          "k1",
                                          "k1e",
                                          "bessel_j0",
                                          "bessel_j1",
                                          "bessel_y0",
                                          "bessel_y1",
                                          "spherical_bessel_j0",
                                          "airy_ai"};
  return names[static_cast<std::size_t>(f)];
}
const char* name_of(Special2 f) {
  static constexpr const char* names[] = {"igamma", "igammac", "zeta", "polygamma"};
  return names[static_cast<std::size_t>(f)];
}

double special(Special1 f, double x) { return rounded(value_of(f, static_cast<Real>(x))); }
double special(Special2 f, double a, double x) { return rounded(value_of(f, static_cast<Real>(a), x)); }

Bounded special(Special1 f, Bounded x) {
  const double v = special(f, x.value);
  Bounded result = allowed(name_of(f), v, moved_by(x, v, [&](double at) { return special(f, at); }));
  // Half of the smallest number, as I1 has it, may be rounded either way.
  const double eta = current_environment->eta;
  if (v == 0 && x.value != 0 && std::fabs(x.value) < eta * 0x1p60) result.bound += eta;
  if (f == Special1::airy_ai && x.value < 0) {
    // Oscillates: the value is known as well as its phase is, 2/3 |x|^(3/2) in extended precision.
    const double phase = 2 * std::pow(-x.value, 1.5) / 3 * 0x1p-62;
    result.bound += phase < 0.1 ? phase * std::pow(-x.value, -0.25) : HUGE_VAL;
  }
  return result;
}
Bounded special(Special2 f, Bounded a, Bounded x) {
  const double v = special(f, a.value, x.value);
  return allowed(name_of(f), v, moved_by(a, v, [&](double at) {
                                  return special(f, at, x.value);
                                }) + moved_by(x, v, [&](double at) { return special(f, a.value, at); }));
}
Stochastic special(Special1 f, Stochastic x) { return drawn(name_of(f), special(f, x.value)); }
Stochastic special(Special2 f, Stochastic a, Stochastic x) {
  return drawn(name_of(f), special(f, a.value, x.value));
}

double polynomial(Polynomial p, double x, double n, int hermite_limit) {
  if (std::isnan(x) && n >= 1) return x;
  if (is_hermite(p) && n > hermite_limit) return std::numeric_limits<double>::quiet_NaN();
  return rounded(polynomial_value<Real>(p, x, static_cast<int64_t>(std::min(n, 1e6))));
}

Bounded polynomial(Polynomial p, Bounded x, Bounded n, int hermite_limit) {
  const double v = polynomial(p, x.value, n.value, hermite_limit);
  const auto order = static_cast<int64_t>(std::min(n.value, 1e6));
  if (!std::isfinite(v)) return {v, std::isnan(v) ? 0 : HUGE_VAL, 0};
  if (order <= 0) return v;
  const double u = current_environment->u, at = is_shifted(p) ? 2 * x.value - 1 : x.value;
  // Values forwards, influence of each step on the last backwards.
  const auto count = static_cast<std::size_t>(order) + 1;
  std::vector<double> q(count, 1);
  q[1] = first_polynomial(p, at);
  for (std::size_t k = 1; k + 1 < count; ++k) {
    const auto step = recurrence(p, at, static_cast<int64_t>(k));
    q[k + 1] = step.factor * q[k] - step.back * q[k - 1];
  }
  double later = 0, influence = 1, error = 0;
  for (std::size_t k = count - 1; k >= 1; --k) {
    double local = 3 * (std::fabs(at) + 1) * 2;
    if (k > 1) {
      const auto step = recurrence(p, at, static_cast<int64_t>(k) - 1);
      local = 5 * std::fabs(step.factor * q[k - 1]) + 2 * std::fabs(step.back * q[k - 2]) + std::fabs(q[k]);
      // 2x - 1, (2k + 1 - x): the argument itself is rounded.
      if (is_shifted(p)) local += 2 * (2 * std::fabs(x.value) + 1) * std::fabs(q[k - 1]);
      if (p == Polynomial::laguerre_l) local += 4 * std::fabs(q[k - 1]);
    }
    error += std::fabs(influence) * local;
    if (k == 1) break;
    const auto step = recurrence(p, at, static_cast<int64_t>(k) - 1);
    const double back = k + 1 < count ? recurrence(p, at, static_cast<int64_t>(k)).back : 0;
    const double earlier = step.factor * influence - back * later;
    later = influence;
    influence = earlier;
  }
  error *= u;
  if (p < Polynomial::hermite_h && std::fabs(at) < 1) {
    const double sine = std::sqrt(1 - at * at), low = std::sqrt((1 + at) / 2), high = std::sqrt((1 - at) / 2);
    double divisor = 1;
    if (p == Polynomial::chebyshev_u || p == Polynomial::shifted_chebyshev_u) divisor = sine;
    if (p == Polynomial::chebyshev_v || p == Polynomial::shifted_chebyshev_v) divisor = low;
    if (p == Polynomial::chebyshev_w || p == Polynomial::shifted_chebyshev_w) divisor = high;
    // The angle may be off by a rounding of itself and of the shifted argument.
    const double angle = std::numbers::pi + (is_shifted(p) ? 2 / sine : 0);
    error += 4 * u * (static_cast<double>(order) + 2) * angle / divisor;
  }
  const double moved =
      moved_by(x, v, [&](double other) { return polynomial(p, other, n.value, hermite_limit); });
  return {v, error + moved, error * error / 3};
}
Stochastic polynomial(Polynomial p, Stochastic x, Stochastic n, int hermite_limit) {
  const Bounded b = polynomial(p, Bounded(x.value), Bounded(n.value), hermite_limit);
  return std::isfinite(b.bound) ? Stochastic(b.value + b.bound / 3 * current_environment->random.symmetric())
                                : Stochastic(b.value);
}

}  // namespace assay::reference
