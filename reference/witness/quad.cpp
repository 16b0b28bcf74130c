#include "reference/witness/quad.h"

#include <boost/multiprecision/float128.hpp>

namespace assay::reference {
namespace {

using boost::multiprecision::float128;

float128 of(Quad x) { return float128(x.value); }
Quad of(const float128& x) { return Quad::of(x.backend().value()); }

}  // namespace

Quad abs(Quad x) { return of(boost::multiprecision::fabs(of(x))); }
Quad fabs(Quad x) { return abs(x); }
Quad floor(Quad x) { return of(boost::multiprecision::floor(of(x))); }
Quad ceil(Quad x) { return of(boost::multiprecision::ceil(of(x))); }
Quad trunc(Quad x) { return of(float128(truncq(x.value))); }
Quad fmod(Quad a, Quad b) { return Quad::of(fmodq(a.value, b.value)); }
Quad copysign(Quad a, Quad b) { return Quad::of(copysignq(a.value, b.value)); }
Quad exp(Quad x) { return of(boost::multiprecision::exp(of(x))); }
Quad exp2(Quad x) { return Quad::of(powq(2, x.value)); }
Quad expm1(Quad x) { return Quad::of(expm1q(x.value)); }
Quad log(Quad x) { return of(boost::multiprecision::log(of(x))); }
Quad log2(Quad x) { return Quad::of(log2q(x.value)); }
Quad log10(Quad x) { return of(boost::multiprecision::log10(of(x))); }
Quad log1p(Quad x) { return Quad::of(log1pq(x.value)); }
Quad sqrt(Quad x) { return of(boost::multiprecision::sqrt(of(x))); }
Quad pow(Quad a, Quad b) { return Quad::of(powq(a.value, b.value)); }
Quad sin(Quad x) { return of(boost::multiprecision::sin(of(x))); }
Quad cos(Quad x) { return of(boost::multiprecision::cos(of(x))); }
Quad tan(Quad x) { return of(boost::multiprecision::tan(of(x))); }
Quad asin(Quad x) { return of(boost::multiprecision::asin(of(x))); }
Quad acos(Quad x) { return of(boost::multiprecision::acos(of(x))); }
Quad atan(Quad x) { return of(boost::multiprecision::atan(of(x))); }
Quad atan2(Quad y, Quad x) { return of(boost::multiprecision::atan2(of(y), of(x))); }
Quad sinh(Quad x) { return of(boost::multiprecision::sinh(of(x))); }
Quad cosh(Quad x) { return of(boost::multiprecision::cosh(of(x))); }
Quad tanh(Quad x) { return of(boost::multiprecision::tanh(of(x))); }
Quad asinh(Quad x) { return Quad::of(asinhq(x.value)); }
Quad acosh(Quad x) { return Quad::of(acoshq(x.value)); }
Quad atanh(Quad x) { return Quad::of(atanhq(x.value)); }
Quad erf(Quad x) { return Quad::of(erfq(x.value)); }
Quad erfc(Quad x) { return Quad::of(erfcq(x.value)); }

Quad sum_any_order(const Quad* x, int64_t n) {
  __float128 sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i].value;
  return Quad::of(sum);
}
Quad dot_any_order(const Quad* a, const Quad* b, int64_t n) {
  __float128 sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i].value * b[i].value;
  return Quad::of(sum);
}
Quad product_any_order(const Quad* x, int64_t n) {
  __float128 product = 1;
  for (int64_t i = 0; i < n; ++i) product *= x[i].value;
  return Quad::of(product);
}

void prefix_sums_any_order(const Quad* x, Quad* out, int64_t n) {
  __float128 sum = 0;
  for (int64_t i = 0; i < n; ++i) out[i] = Quad::of(sum += x[i].value);
}
void matmul_any_order(const Quad* a, const Quad* b, const Quad* addend, Quad* c, int64_t m, int64_t n,
                      int64_t k) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      __float128 sum = addend != nullptr ? addend[i * n + j].value : __float128(0);
      for (int64_t p = 0; p < k; ++p) sum += a[i * k + p].value * b[p * n + j].value;
      c[i * n + j] = Quad::of(sum);
    }
  }
}

}  // namespace assay::reference
