// A number whose every operation rounds stochastically (NUMERICS §4): replaying a graph with it shows how
// rounding moves the outputs, correlations and all.
#pragma once

#include <cmath>

#include "reference/number/environment.h"

namespace assay::reference {

struct Stochastic {
  double value = 0;
  Stochastic() = default;
  Stochastic(double v) : value(v) {}  // NOLINT: exact numbers are numbers
};

// Rounds `v` to a neighbour in the format, the nearer one more often (the expectation is v). For fp64, where
// v carries no finer digits, one ulp up or down with probability 1/12 each: the same variance, ulp^2 / 6.
double stochastic_round(const Grid& grid, double v, RandomStream& random);
// To the environment's `intermediate`.
Stochastic stochastic_intermediate(double v);

inline Stochastic operator-(Stochastic a) { return -a.value; }
inline Stochastic operator+(Stochastic a, Stochastic b) { return stochastic_intermediate(a.value + b.value); }
inline Stochastic operator-(Stochastic a, Stochastic b) { return stochastic_intermediate(a.value - b.value); }
inline Stochastic operator*(Stochastic a, Stochastic b) { return stochastic_intermediate(a.value * b.value); }
inline Stochastic& operator+=(Stochastic& a, Stochastic b) { return a = a + b; }
inline Stochastic& operator*=(Stochastic& a, Stochastic b) { return a = a * b; }

inline bool operator<(Stochastic a, Stochastic b) { return a.value < b.value; }
inline bool operator>(Stochastic a, Stochastic b) { return a.value > b.value; }
inline bool operator<=(Stochastic a, Stochastic b) { return a.value <= b.value; }
inline bool operator>=(Stochastic a, Stochastic b) { return a.value >= b.value; }
inline bool operator==(Stochastic a, Stochastic b) { return a.value == b.value; }

inline double plain(Stochastic x) { return x.value; }
inline Stochastic abs(Stochastic x) { return std::fabs(x.value); }
Stochastic constant_of(double v, const Stochastic*);
// The allowance of a function, drawn uniformly, then one rounding.
Stochastic finish_stochastic(Function function, double v);
template <class Slope>
Stochastic finish_function(Function function, double v, Stochastic, Slope&&) {
  return finish_stochastic(function, v);
}
inline Stochastic operator/(Stochastic a, Stochastic b) {
  return finish_stochastic(Function::div, a.value / b.value);
}

}  // namespace assay::reference
