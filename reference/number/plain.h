// `double` as a number type: the value alone.
#pragma once

#include <cmath>

#include "reference/number/environment.h"

namespace assay::reference {

inline double plain(double x) { return x; }
inline double abs(double x) { return std::fabs(x); }
inline double constant_of(double v, const double*) { return v; }
template <class Slope>
double finish_function(Function, double v, double, Slope&&) {
  return v;
}

}  // namespace assay::reference
