// A value together with the largest error that the declared precision can explain (facts: anchors, §3.4).
#pragma once

#include <cmath>

#include "reference/number/environment.h"

namespace assay::reference {

// `value` is computed in fp64. `bound` follows the first-order rules of running error analysis; NaN means
// that no Bound exists, infinity that any value is right. `variance` is that of the error of a correctly
// rounding implementation in natural order (anchors §3.2), for the RMS gate. `overflow`: the Contract
// declares early overflow and an intermediate may have exceeded the largest number, so that infinity and NaN
// are right too.
struct Bounded {
  double value = 0;
  double bound = 0;
  double variance = 0;
  bool overflow = false;

  Bounded() = default;
  Bounded(double v) : value(v) {}  // NOLINT: exact numbers are numbers
  Bounded(double v, double b, double s2, bool o = false) : value(v), bound(b), variance(s2), overflow(o) {}
};

inline Bounded operator-(Bounded a) { return {-a.value, a.bound, a.variance, a.overflow}; }
Bounded operator+(Bounded a, Bounded b);
inline Bounded operator-(Bounded a, Bounded b) { return a + -b; }
Bounded operator*(Bounded a, Bounded b);
Bounded operator/(Bounded a, Bounded b);
inline Bounded& operator+=(Bounded& a, Bounded b) { return a = a + b; }
inline Bounded& operator*=(Bounded& a, Bounded b) { return a = a * b; }

inline bool operator<(Bounded a, Bounded b) { return a.value < b.value; }
inline bool operator>(Bounded a, Bounded b) { return a.value > b.value; }
inline bool operator<=(Bounded a, Bounded b) { return a.value <= b.value; }
inline bool operator>=(Bounded a, Bounded b) { return a.value >= b.value; }
inline bool operator==(Bounded a, Bounded b) { return a.value == b.value; }

inline double plain(Bounded x) { return x.value; }
// Steps that round nothing: selection, negation and scaling by powers of two.
inline Bounded abs(Bounded x) { return {std::fabs(x.value), x.bound, x.variance, x.overflow}; }

// A constant of the graph (an unrounded Scalar), as the device holds it in `intermediate`.
Bounded constant_of(double v, const Bounded*);

// f(x) for an elementary function: v = f(x), `slope` = |f'(x)|.
Bounded finish_bounded(Function function, double v, Bounded x, double slope);
template <class Slope>
Bounded finish_function(Function function, double v, Bounded x, Slope&& slope) {
  return finish_bounded(function, v, x, x.bound != 0 ? std::fabs(slope()) : 0.0);
}

}  // namespace assay::reference
