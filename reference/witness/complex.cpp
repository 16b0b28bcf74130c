// Complex functions and Fourier transforms in float128, by libquadmath.
#include <quadmath.h>

#include <vector>

#include "reference/witness/quad.h"

namespace assay::reference {
namespace {

__complex128 of(ComplexOf<Quad> z) {
  __complex128 out;
  __real__ out = z.re.value;
  __imag__ out = z.im.value;
  return out;
}
ComplexOf<Quad> of(__complex128 z) { return {Quad::of(__real__ z), Quad::of(__imag__ z)}; }
__complex128 number(__float128 x) { return of(ComplexOf<Quad>{Quad::of(x), Quad::of(0)}); }

// Without cancellation near 0, where f64 has more digits than 34 behind 1.
__complex128 expm1(__complex128 z) {
  const __float128 re = crealq(z), im = cimagq(z), half = sinq(im / 2);
  __complex128 result = expm1q(re) * cosq(im) - 2 * half * half;
  __imag__ result = expq(re) * sinq(im);
  return result;
}
__complex128 log1p(__complex128 z) {
  const __float128 re = crealq(z), im = cimagq(z);
  if (fabsq(re) > 0.5 || fabsq(im) > 0.5) return clogq(number(1) + z);
  __complex128 result = log1pq(re * (2 + re) + im * im) / 2;
  __imag__ result = atan2q(im, 1 + re);
  return result;
}

__complex128 value_of(ComplexFunction function, __complex128 z) {
  switch (function) {
    case ComplexFunction::exp:
      return cexpq(z);
    case ComplexFunction::log:
      return clogq(z);
    case ComplexFunction::log2:
      return clogq(z) / M_LN2q;
    case ComplexFunction::log10:
      return clogq(z) / M_LN10q;
    case ComplexFunction::sqrt:
      return csqrtq(z);
    case ComplexFunction::rsqrt:
      return number(1) / csqrtq(z);
    case ComplexFunction::reciprocal:
      return number(1) / z;
    case ComplexFunction::sin:
      return csinq(z);
    case ComplexFunction::cos:
      return ccosq(z);
    case ComplexFunction::tan:
      return ctanq(z);
    case ComplexFunction::asin:
      return casinq(z);
    case ComplexFunction::acos:
      return cacosq(z);
    case ComplexFunction::atan:
      return catanq(z);
    case ComplexFunction::sinh:
      return csinhq(z);
    case ComplexFunction::cosh:
      return ccoshq(z);
    case ComplexFunction::tanh:
      return ctanhq(z);
    case ComplexFunction::asinh:
      return casinhq(z);
    case ComplexFunction::acosh:
      return cacoshq(z);
    case ComplexFunction::atanh:
      return catanhq(z);
    case ComplexFunction::sigmoid:
      return number(1) / (number(1) + cexpq(-z));
    case ComplexFunction::expm1:
      return expm1(z);
    case ComplexFunction::log1p:
      return log1p(z);
  }
  return z;
}

}  // namespace

Quad hypot(Quad a, Quad b) { return Quad::of(hypotq(a.value, b.value)); }

ComplexOf<Quad> complex_function(ComplexFunction f, ComplexOf<Quad> z) { return of(value_of(f, of(z))); }
ComplexOf<Quad> complex_times(ComplexOf<Quad> a, ComplexOf<Quad> b) { return of(of(a) * of(b)); }
ComplexOf<Quad> complex_over(ComplexOf<Quad> a, ComplexOf<Quad> b) { return of(of(a) / of(b)); }
ComplexOf<Quad> complex_raised(ComplexOf<Quad> a, ComplexOf<Quad> b) {
  if (b.re == Quad(0) && b.im == Quad(0)) return {1, 0};
  return of(cpowq(of(a), of(b)));
}

std::vector<ComplexOf<Quad>> fourier(const std::vector<ComplexOf<Quad>>& x, int sign) {
  using Transform = FourierTransform<__float128>;
  const std::size_t n = x.size();
  std::vector<Transform::Number> roots(n), in(n), out(n);
  for (std::size_t k = 0; k < n; ++k) {
    const __float128 angle = 2 * M_PIq * static_cast<__float128>(k) / static_cast<__float128>(n);
    roots[k] = {cosq(angle), sign * sinq(angle)};
    in[k] = {x[k].re.value, x[k].im.value};
  }
  Transform(std::move(roots)).run(in.data(), out.data());
  std::vector<ComplexOf<Quad>> result(n);
  for (std::size_t k = 0; k < n; ++k) result[k] = {Quad::of(out[k].re), Quad::of(out[k].im)};
  return result;
}

}  // namespace assay::reference
