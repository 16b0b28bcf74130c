// float128 as a number type: what __float128 and Boost.Multiprecision give, behind a header that is quick to
// compile. g++ only (clang lacks quadmath.h); included by the generated witness tables alone.
#pragma once

#include <vector>

#include "reference/number/complex.h"
#include "reference/number/fourier.h"
#include "reference/number/functions.h"
#include "reference/number/special.h"

namespace assay::reference {

struct Quad {
  __float128 value = 0;
  Quad() = default;
  Quad(double v) : value(v) {}  // NOLINT: exact
  Quad(int v) : value(v) {}     // NOLINT: exact
  static Quad of(__float128 v) {
    Quad q;
    q.value = v;
    return q;
  }
  explicit operator double() const { return static_cast<double>(value); }
};

inline Quad operator-(Quad a) { return Quad::of(-a.value); }
inline Quad operator+(Quad a, Quad b) { return Quad::of(a.value + b.value); }
inline Quad operator-(Quad a, Quad b) { return Quad::of(a.value - b.value); }
inline Quad operator*(Quad a, Quad b) { return Quad::of(a.value * b.value); }
inline Quad operator/(Quad a, Quad b) { return Quad::of(a.value / b.value); }
inline Quad& operator+=(Quad& a, Quad b) { return a = a + b; }
inline bool operator<(Quad a, Quad b) { return a.value < b.value; }
inline bool operator>(Quad a, Quad b) { return a.value > b.value; }
inline bool operator<=(Quad a, Quad b) { return a.value <= b.value; }
inline bool operator>=(Quad a, Quad b) { return a.value >= b.value; }
inline bool operator==(Quad a, Quad b) { return a.value == b.value; }
inline bool operator!=(Quad a, Quad b) { return a.value != b.value; }

inline Quad plain(Quad x) { return x; }
inline Quad wider(Quad x) { return x; }
inline Quad constant_of(double v, const Quad*) { return v; }
inline Quad rounded_constant(Quad x) { return x; }
inline Quad scaled(Quad x, double power_of_two) { return x * power_of_two; }
inline Quad recentred(Quad accurate, Quad) { return accurate; }
template <class Slope>
Quad finish_function(Function, Quad v, Quad, Slope&&) {
  return v;
}

Quad abs(Quad x);
Quad fabs(Quad x);
Quad floor(Quad x);
Quad ceil(Quad x);
Quad trunc(Quad x);
Quad fmod(Quad a, Quad b);
Quad copysign(Quad a, Quad b);
Quad exp(Quad x);
Quad exp2(Quad x);
Quad expm1(Quad x);
Quad log(Quad x);
Quad log2(Quad x);
Quad log10(Quad x);
Quad log1p(Quad x);
Quad sqrt(Quad x);
Quad pow(Quad a, Quad b);
Quad sin(Quad x);
Quad cos(Quad x);
Quad tan(Quad x);
Quad asin(Quad x);
Quad acos(Quad x);
Quad atan(Quad x);
Quad atan2(Quad y, Quad x);
Quad sinh(Quad x);
Quad cosh(Quad x);
Quad tanh(Quad x);
Quad asinh(Quad x);
Quad acosh(Quad x);
Quad atanh(Quad x);
Quad erf(Quad x);
Quad erfc(Quad x);

Quad hypot(Quad a, Quad b);

ComplexOf<Quad> complex_function(ComplexFunction f, ComplexOf<Quad> z);
ComplexOf<Quad> complex_times(ComplexOf<Quad> a, ComplexOf<Quad> b);
ComplexOf<Quad> complex_over(ComplexOf<Quad> a, ComplexOf<Quad> b);
ComplexOf<Quad> complex_raised(ComplexOf<Quad> a, ComplexOf<Quad> b);
std::vector<ComplexOf<Quad>> fourier(const std::vector<ComplexOf<Quad>>& x, int sign);

Quad special(Special1 f, Quad x);
Quad special(Special2 f, Quad a, Quad x);
Quad polynomial(Polynomial p, Quad x, Quad n, int hermite_limit);

Quad sum_any_order(const Quad* x, int64_t n);
Quad dot_any_order(const Quad* a, const Quad* b, int64_t n);
void prefix_sums_any_order(const Quad* x, Quad* out, int64_t n);
Quad product_any_order(const Quad* x, int64_t n);
void matmul_any_order(const Quad* a, const Quad* b, const Quad* addend, Quad* c, int64_t m, int64_t n,
                      int64_t k);

}  // namespace assay::reference
