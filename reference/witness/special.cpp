// Special functions in float128, by other ways than reference/number/special.cpp: libquadmath where it has
// the function, else series, integrals and Newton's iteration.
#include <quadmath.h>

#include "reference/witness/quad.h"

namespace assay::reference {
namespace {

using Q = __float128;
const Q kInfinity = HUGE_VALQ;
const Q kNan = nanq("");

// sum t_k, t_k = t_{k-1} ratio(k), until terms no longer count.
template <class F>
Q series(Q first, F&& ratio) {
  Q sum = first, term = first;
  for (int k = 1; k < 4000; ++k) {
    sum += term *= ratio(k);
    if (fabsq(term) < fabsq(sum) * 1e-36Q) break;
  }
  return sum;
}
template <class F>
Q asymptotic(F&& ratio) {
  Q sum = 1, term = 1;
  for (int k = 1; k < 200; ++k) {
    const Q next = term * ratio(k);
    if (fabsq(next) >= fabsq(term)) break;
    sum += term = next;
  }
  return sum;
}

// I_v(x) exp(-|x|): Abramowitz and Stegun 9.6.10, all terms of one sign; 9.7.1 beyond.
Q scaled_bessel_i(int order, Q x) {
  const Q size = fabsq(x), sign = order == 1 && x < 0 ? -1 : 1;
  if (size < 100) {
    const Q quarter = size * size / 4;
    const Q sum = series(order == 0 ? Q(1) : size / 2, [&](int k) { return quarter / (Q(k) * (k + order)); });
    return sign * sum * expq(-size);
  }
  const Q mu = 4 * order * order;
  return sign / sqrtq(2 * M_PIq * size) *
         asymptotic([&](int k) { return -(mu - Q(2 * k - 1) * (2 * k - 1)) / (8 * k * size); });
}

// K_v(x) exp(x) = integral of exp(-x (cosh t - 1)) cosh(v t), t > 0 (9.6.24). The trapezoidal rule converges
// doubly exponentially.
Q scaled_bessel_k(Q order, Q x) {
  const Q h = x > 256 ? 1 / (4 * sqrtq(x)) : 1 / Q(64);
  Q sum = 0.5Q;
  for (int k = 1; k < 64 * 100; ++k) {
    const Q t = h * k, half = sinhq(t / 2);
    const Q exponent = 2 * x * half * half;
    const Q term = expq(-exponent) * coshq(order * t);
    sum += term;
    if (exponent > 90 + order * t) break;
  }
  return h * sum;
}
Q checked_bessel_k(int order, Q x) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return kInfinity;
  if (isinfq(x)) return 0;
  // The first term of the series; the next is x^2 log x of it.
  constexpr Q kEuler = 0.57721566490153286060651209008240243Q;
  if (x < 0x1p-100Q) return order == 0 ? -logq(x / 2) - kEuler : 1 / x;
  return scaled_bessel_k(order, x);
}

Q erfcx(Q x) {
  if (isinfq(x)) return x > 0 ? Q(0) : kInfinity;
  if (x < 80) return expq(x * x) * erfcq(x);
  return asymptotic([&](int k) { return -Q(2 * k - 1) / (2 * x * x); }) / (x * sqrtq(M_PIq));
}

// y with erfc(y) = p, 0 < p < 1: Newton on log erfc(y), which is concave, from below.
Q erfc_inverse(Q p) {
  Q y = 0;
  const Q target = logq(p);
  for (int i = 0; i < 200; ++i) {
    const Q scaled = erfcx(y);
    const Q step = (logq(scaled) - y * y - target) * scaled * sqrtq(M_PIq) / 2;
    y += step;
    if (fabsq(step) <= fabsq(y) * 1e-32Q) break;
  }
  return y;
}
Q erfinv(Q x) {
  if (fabsq(x) == 1) return x * kInfinity;
  if (!(fabsq(x) < 1)) return kNan;
  if (fabsq(x) > 0.5Q) return copysignq(erfc_inverse(1 - fabsq(x)), x);
  Q y = x;
  for (int i = 0; i < 50; ++i) {
    const Q step = (erfq(y) - x) * expq(y * y) * sqrtq(M_PIq) / 2;
    y -= step;
    if (fabsq(step) <= fabsq(y) * 1e-33Q) break;
  }
  return y;
}
Q ndtri(Q p) {
  if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
  if (!(p > 0 && p < 1)) return kNan;
  if (p < 0.25Q) return -M_SQRT2q * erfc_inverse(2 * p);
  if (p > 0.75Q) return M_SQRT2q * erfc_inverse(2 * (1 - p));
  return M_SQRT2q * erfinv(2 * p - 1);
}

// Stirling's series (6.3.18), raised to 30 by recurrence; reflected to the right of 0.
Q digamma(Q x) {
  static const Q kTerms[] = {1 / 12.0Q,        -1 / 120.0Q,       1 / 252.0Q,     -1 / 240.0Q,
                             1 / 132.0Q,       -691 / 32760.0Q,   1 / 12.0Q,      -3617 / 8160.0Q,
                             43867 / 14364.0Q, -174611 / 6600.0Q, 77683 / 276.0Q, -236364091 / 65520.0Q};
  if (x == 0) return copysignq(kInfinity, -x);
  if (isinfq(x)) return x > 0 ? x : kNan;
  if (x < 0) {
    if (x == floorq(x)) return kNan;
    const Q fraction = x > -0.5Q ? x : x - floorq(x);  // of a tiny x the floor would leave nothing
    return digamma(1 - x) - M_PIq / tanq(M_PIq * fraction);
  }
  Q sum = 0;
  for (; x < 30; x += 1) {
    sum -= 1 / x;
    if (x < 0x1p-100Q) return sum;  // x + 1 would be 1, and -1 / x is all there is
  }
  Q power = 1;
  sum += logq(x) - 1 / (2 * x);
  for (const Q term : kTerms) sum -= term * (power /= x * x);
  return sum;
}

// Sum and Euler-Maclaurin remainder, from 60 + s on.
Q zeta(Q s, Q q) {
  static const Q kBernoulli[] = {1 / 6.0Q,       -1 / 30.0Q,       1 / 42.0Q,       -1 / 30.0Q,
                                 5 / 66.0Q,      -691 / 2730.0Q,   7 / 6.0Q,        -3617 / 510.0Q,
                                 43867 / 798.0Q, -174611 / 330.0Q, 854513 / 138.0Q, -236364091 / 2730.0Q};
  if (s == 1) return kInfinity;
  if (!(s > 1)) return kNan;
  if (q <= 0) {
    if (q == floorq(q)) return kInfinity;
    if (s != floorq(s) || q < -1e6Q) return kNan;
  }
  if (isinfq(q)) return 0;
  Q sum = 0;
  for (; q < 60 + s; q += 1) {
    const Q term = powq(q, -s);
    sum += term;
    if (q > 0 && term <= sum * 1e-37Q) return sum;  // 0 <= 0: underflow, for huge s
  }
  sum += powq(q, 1 - s) / (s - 1) + powq(q, -s) / 2;
  Q rising = s, factorial = 2, power = powq(q, -s - 1);
  for (int j = 0; j < 12; ++j) {
    sum += kBernoulli[j] / factorial * rising * power;
    const Q k = 2 * j + 1;
    rising *= (s + k) * (s + k + 1);
    factorial *= Q(2 * j + 3) * (2 * j + 4);
    power /= q * q;
  }
  return sum;
}

Q polygamma(Q order, Q x) {
  const int n = static_cast<int>(order);
  if (n == 0) return digamma(x);
  const Q sign = n % 2 == 1 ? 1 : -1;
  if (isinfq(x)) return x > 0 ? sign * 0 : kNan;
  if (x <= 0 && x == floorq(x)) return sign * kInfinity;
  return sign * tgammaq(order + 1) * zeta(order + 1, x);
}

// E_1(x) for x < 2 (5.1.11), where Q(a, x) = a E_1(x) + O(a^2).
Q exponential_integral(Q x) {
  Q sum = -0.57721566490153286060651209008240243Q - logq(x), power = -1;
  for (int k = 1; k < 60; ++k) {
    power *= -x / k;
    sum += power / k;
  }
  return sum;
}

// P(a, x) by 6.5.29, Q(a, x) by its continued fraction (6.5.31).
Q igamma(Q a, Q x, bool complement) {
  if (isnanq(a) || isnanq(x) || a < 0 || x < 0) return kNan;
  const Q none = complement ? 1 : 0, all = 1 - none;
  if (a == 0) return x > 0 ? all : kNan;
  if (x == 0) return none;
  if (isinfq(a)) return isinfq(x) ? kNan : none;
  if (isinfq(x)) return all;
  if (a > 0x1p80Q) {
    // The sum of that many waiting times is normal (26.4.11) but for its skewness, 2 / sqrt(a); the terms
    // after are of the order of 1 / a.
    const Q z = (x - a) / sqrtq(a);
    if (fabsq(z) > 1000) return (z > 0) == complement ? 0 : 1;
    const Q skewed = expq(-z * z / 2) / sqrtq(2 * M_PIq) * (z * z - 1) / (3 * sqrtq(a));
    return complement ? erfcq(z / M_SQRT2q) / 2 + skewed : erfcq(-z / M_SQRT2q) / 2 - skewed;
  }
  const Q scale = expq(a * logq(x) - x - lgammaq(a));
  if (x < a + 1) {
    const Q lower = scale * series(1 / a, [&](int k) { return x / (a + k); });
    if (complement && a < 0x1p-50Q) return a * exponential_integral(x);  // 1 - lower would cancel
    return complement ? 1 - lower : lower;
  }
  Q b = x + 1 - a, c = 1e300Q, d = 1 / b, h = d;
  for (int i = 1; i < 20000; ++i) {
    const Q factor = -i * (i - a);
    b += 2;
    d = 1 / (factor * d + b);
    c = b + factor / c;
    h *= d * c;
    if (fabsq(d * c - 1) < 1e-33Q) break;
  }
  const Q upper = scale * h;
  return complement ? upper : 1 - upper;
}

// 10.4.14 to the right of 0; the power series (10.4.2) and, far to the left, 10.4.60.
Q airy_ai(Q x) {
  if (isinfq(x)) return kNan;
  if (x > 0.5Q) {
    const Q z = 2 * x * sqrtq(x) / 3;
    return sqrtq(x / 3) / M_PIq * scaled_bessel_k(1 / Q(3), z) * expq(-z);
  }
  if (x > -12) {
    const Q cube = x * x * x, first = 1 / (powq(3, 2 / Q(3)) * tgammaq(2 / Q(3))),
            second = 1 / (powq(3, 1 / Q(3)) * tgammaq(1 / Q(3)));
    const Q f = series(Q(1), [&](int k) { return cube / (Q(3 * k - 1) * (3 * k)); });
    const Q g = series(x, [&](int k) { return cube / (Q(3 * k) * (3 * k + 1)); });
    return first * f - second * g;
  }
  const Q z = 2 * -x * sqrtq(-x) / 3;
  Q even = 1, odd = 0, term = 1;
  for (int k = 1; k < 60; ++k) {
    const Q next = term * Q(6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (Q(216) * k * (2 * k - 1)) / z;
    if (next >= term) break;
    term = next;
    (k % 2 == 1 ? odd : even) += (k / 2 % 2 == 0 ? term : -term);
  }
  const Q angle = z + M_PIq / 4;
  return (sinq(angle) * even - cosq(angle) * odd) / (sqrtq(M_PIq) * sqrtq(sqrtq(-x)));
}

Q value_of(Special1 f, Q x) {
  if (isnanq(x)) return x;
  switch (f) {
    case Special1::erfc:
      return erfcq(x);
    case Special1::erfinv:
      return erfinv(x);
    case Special1::erfcx:
      return erfcx(x);
    case Special1::ndtri:
      return ndtri(x);
    case Special1::lgamma:
      return lgammaq(x);
    case Special1::digamma:
      return digamma(x);
    case Special1::i0:
    case Special1::i1:
      return scaled_bessel_i(f == Special1::i0 ? 0 : 1, x) * expq(fabsq(x));
    case Special1::i0e:
      return scaled_bessel_i(0, x);
    case Special1::i1e:
      return scaled_bessel_i(1, x);
    case Special1::k0:
      return checked_bessel_k(0, x) * expq(-x);
    case Special1::k1:
      return checked_bessel_k(1, x) * expq(-x);
    case Special1::k0e:
      return checked_bessel_k(0, x);
    case Special1::k1e:
      return checked_bessel_k(1, x);
    case Special1::bessel_j0:
      return isinfq(x) ? Q(0) : j0q(x);
    case Special1::bessel_j1:
      return isinfq(x) ? Q(0) : j1q(x);
    case Special1::bessel_y0:
      return x == 0 ? -kInfinity : x < 0 ? kNan : isinfq(x) ? Q(0) : y0q(x);
    case Special1::bessel_y1:
      return x == 0 ? -kInfinity : x < 0 ? kNan : isinfq(x) ? Q(0) : y1q(x);
    case Special1::spherical_bessel_j0:
      return x == 0 ? Q(1) : isinfq(x) ? Q(0) : sinq(x) / x;
    case Special1::airy_ai:
      return airy_ai(x);
  }
  return x;
}

}  // namespace

Quad special(Special1 f, Quad x) { return Quad::of(value_of(f, x.value)); }
Quad special(Special2 f, Quad a, Quad x) {
  switch (f) {
    case Special2::igamma:
      return Quad::of(igamma(a.value, x.value, false));
    case Special2::igammac:
      return Quad::of(igamma(a.value, x.value, true));
    case Special2::zeta:
      return Quad::of(zeta(a.value, x.value));
    case Special2::polygamma:
      return Quad::of(isnanq(x.value) ? x.value : polygamma(a.value, x.value));
  }
  return x;
}
Quad polynomial(Polynomial p, Quad x, Quad n, int hermite_limit) {
  if (is_hermite(p) && n > Quad(hermite_limit)) return Quad::of(kNan);
  return Quad::of(polynomial_value<Q>(p, x.value, static_cast<int64_t>(static_cast<double>(n))));
}

}  // namespace assay::reference
