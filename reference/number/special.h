// Special functions over every number type. Values are computed with at least 64 significand bits; errors are
// those that the Contract declares under the function's name ("lgamma", "bessel_j0", ...).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/number/functions.h"

namespace assay::reference {

// Of one argument.
enum class Special1 {
  erfc,
  erfinv,
  erfcx,
  ndtri,
  lgamma,
  digamma,
  i0,
  i0e,
  i1,
  i1e,
  k0,
  k0e,
  k1,
  k1e,
  bessel_j0,
  bessel_j1,
  bessel_y0,
  bessel_y1,
  spherical_bessel_j0,
  airy_ai
};
// Of two: igamma(a, x), zeta(s, q), polygamma(n, x).
enum class Special2 { igamma, igammac, zeta, polygamma };
// Polynomials p(x, n), n truncated to an integer, 0 for n < 0.
enum class Polynomial {
  chebyshev_t,
  chebyshev_u,
  chebyshev_v,
  chebyshev_w,
  shifted_chebyshev_t,
  shifted_chebyshev_u,
  shifted_chebyshev_v,
  shifted_chebyshev_w,
  hermite_h,
  hermite_he,
  laguerre_l,
  legendre_p
};

const char* name_of(Special1 f);
const char* name_of(Special2 f);

// Poles, branch points and infinities follow PyTorch's documentation and kernels (torch.special); C99 for
// lgamma.
double special(Special1 f, double x);
double special(Special2 f, double a, double x);
Bounded special(Special1 f, Bounded x);
Bounded special(Special2 f, Bounded a, Bounded x);
Stochastic special(Special1 f, Stochastic x);
Stochastic special(Special2 f, Stochastic a, Stochastic x);

// hermite_limit: above it PyTorch returns NaN (128 in f32 and narrower, 512 in f64).
double polynomial(Polynomial p, double x, double n, int hermite_limit);
// The error of the three-term recurrence, each step's carried to the end by the adjoint recurrence; of
// Chebyshev polynomials also that of the form in cos(n acos(x)).
Bounded polynomial(Polynomial p, Bounded x, Bounded n, int hermite_limit);
Stochastic polynomial(Polynomial p, Stochastic x, Stochastic n, int hermite_limit);

// One step q_next = (a x + b) q - c p of the recurrence, over a real type.
template <class R>
struct Recurrence {
  R factor, back;
};
template <class R>
Recurrence<R> recurrence(Polynomial p, R x, int64_t k) {
  const R order = static_cast<R>(k);
  switch (p) {
    case Polynomial::hermite_h:
      return {2 * x, 2 * order};
    case Polynomial::hermite_he:
      return {x, order};
    case Polynomial::laguerre_l:
      return {(2 * order + 1 - x) / (order + 1), order / (order + 1)};
    case Polynomial::legendre_p:
      return {(2 * order + 1) * x / (order + 1), order / (order + 1)};
    default:
      return {2 * x, 1};
  }
}
template <class R>
R first_polynomial(Polynomial p, R x) {
  switch (p) {
    case Polynomial::chebyshev_u:
    case Polynomial::shifted_chebyshev_u:
    case Polynomial::hermite_h:
      return 2 * x;
    case Polynomial::chebyshev_v:
    case Polynomial::shifted_chebyshev_v:
      return 2 * x - 1;
    case Polynomial::chebyshev_w:
    case Polynomial::shifted_chebyshev_w:
      return 2 * x + 1;
    case Polynomial::laguerre_l:
      return 1 - x;
    default:
      return x;
  }
}
inline bool is_shifted(Polynomial p) {
  return p >= Polynomial::shifted_chebyshev_t && p <= Polynomial::shifted_chebyshev_w;
}
inline bool is_hermite(Polynomial p) { return p == Polynomial::hermite_h || p == Polynomial::hermite_he; }

template <class R>
R polynomial_value(Polynomial p, R x, int64_t n) {
  if (is_shifted(p)) x = 2 * x - 1;
  if (n < 0) return 0;
  if (n == 0) return 1;
  R before = 1, now = first_polynomial(p, x);
  for (int64_t k = 1; k < n; ++k) {
    const Recurrence<R> step = recurrence(p, x, k);
    const R next = step.factor * now - step.back * before;
    before = now;
    now = next;
  }
  return now;
}

}  // namespace assay::reference
