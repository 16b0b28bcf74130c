#include "reference/number/bounded.h"

namespace assay::reference {
namespace {

// One rounding to `intermediate` of a result whose error so far is `b` and variance s2. `overflow`: that of
// the operands.
Bounded rounded(double v, double b, double s2, double relative, bool overflow) {
  // An infinite operand (or division by zero) makes an exact infinity: no rounding can change it.
  if (std::isinf(v)) return {v, std::isfinite(b) ? 0 : b, 0, overflow};
  const Environment& e = *current_environment;
  const double error = relative * std::fabs(v);
  if (e.early_overflow && !(std::fabs(v) + b <= e.max) && std::isfinite(v)) overflow = true;
  return {v, b + error, s2 + error * error / 3, overflow};
}

// What underflow may cost a product, quotient or function value; nothing where the result is far from it.
double underflow(const Environment& e, double v) {
  return v != 0 && std::fabs(v) < e.eta * 0x1p60 ? e.eta : 0;
}
// The same of a product or quotient, which may have underflowed to 0 in fp64 already.
double underflow(const Environment& e, double v, double numerator, double other) {
  return v == 0 && numerator != 0 && other != 0 && std::isfinite(other) ? e.eta : underflow(e, v);
}

}  // namespace

Bounded operator+(Bounded a, Bounded b) {
  return rounded(a.value + b.value, a.bound + b.bound, a.variance + b.variance, current_environment->u,
                 a.overflow || b.overflow);
}

Bounded operator*(Bounded a, Bounded b) {
  const Environment& e = *current_environment;
  const double va = std::fabs(a.value), vb = std::fabs(b.value);
  // An infinite factor makes the product infinite whatever the other's error, unless that one may be 0.
  if (std::isinf(va) || std::isinf(vb)) {
    const bool may_be_zero = (!std::isinf(va) && a.bound > 0 && a.bound >= va) ||
                             (!std::isinf(vb) && b.bound > 0 && b.bound >= vb);
    return {a.value * b.value, may_be_zero ? HUGE_VAL : 0, 0, a.overflow || b.overflow};
  }
  // 0 * infinity would poison a bound that is exactly 0.
  double bound = a.bound != 0 && b.bound != 0 ? a.bound * b.bound : 0;
  if (b.bound != 0) bound += va * b.bound;
  if (a.bound != 0) bound += vb * a.bound;
  double variance = 0;
  if (a.variance != 0) variance += vb * vb * a.variance;
  if (b.variance != 0) variance += va * va * b.variance;
  const double v = a.value * b.value;
  return rounded(v, bound + underflow(e, v, va, vb), variance, e.u, a.overflow || b.overflow);
}
Bounded operator/(Bounded a, Bounded b) {
  const Environment& e = *current_environment;
  const Allowance& allowance = e.allowance(Function::div);
  const double v = a.value / b.value;
  const double vb = std::fabs(b.value);
  double bound = allowance.absolute;
  double variance = 0;
  if (a.bound != 0 || b.bound != 0) {
    // |a/b - (a+da)/(b+db)| <= (ba + |v| bb) / (|b| - bb): exact, not only first order.
    const double moved = b.bound != 0 ? std::fabs(v) * b.bound : 0;
    bound += b.bound < vb ? (a.bound + moved) / (vb - b.bound) : HUGE_VAL;
  }
  if (a.variance != 0 || b.variance != 0) variance = (a.variance + v * v * b.variance) / (vb * vb);
  if (b.overflow) bound = HUGE_VAL;  // a quotient by infinity is 0
  return rounded(v, bound + underflow(e, v, a.value, b.value), variance, allowance.relative, a.overflow);
}

Bounded constant_of(double v, const Bounded*) {
  if (!std::isfinite(v)) return v;
  // Centred where the device holds it, or a scalar's rounding would look like a bias of the operator.
  const double held = round_to(current_environment->intermediate(), v);
  return std::isfinite(held) ? Bounded(held, std::fabs(v - held), 0) : Bounded(v);
}

Bounded finish_bounded(Function function, double v, Bounded x, double slope) {
  const Environment& e = *current_environment;
  const Allowance& allowance = e.allowance(function);
  const bool inside = x.value >= allowance.lo && x.value <= allowance.hi;
  if (!inside && allowance.undefined_outside && !std::isnan(x.value)) return {v, HUGE_VAL, 0};
  double bound = allowance.absolute + underflow(e, v);
  if (x.bound != 0) bound += std::isinf(x.bound) ? HUGE_VAL : slope * x.bound;
  // An operand that overflowed: the root of infinity is infinity, other functions have any limit there.
  if (x.overflow && function != Function::sqrt) bound = HUGE_VAL;
  const double variance = x.variance != 0 ? slope * slope * x.variance : 0;
  return rounded(v, bound, variance, allowance.relative, x.overflow);
}

}  // namespace assay::reference
