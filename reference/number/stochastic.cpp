#include "reference/number/stochastic.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace assay::reference {
namespace {

double stochastic_round_slow(const Grid& grid, double v, RandomStream& random) {
  if (v == 0 || !std::isfinite(v)) return v;
  const double magnitude = std::fabs(v);
  if (grid.precision >= 53) {
    const double draw = random.uniform();
    if (draw >= 1.0 / 6) return v;
    return std::nextafter(v, draw < 1.0 / 12 ? HUGE_VAL : -HUGE_VAL);
  }
  double quantum = grid.quantum;
  if (magnitude >= grid.smallest_normal) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent-1), 2^exponent)
    quantum = std::ldexp(1.0, exponent - grid.precision);
  }
  const double scaled = magnitude / quantum;  // exact: a power of two
  const double below = std::floor(scaled);
  const double rounded = (random.uniform() < scaled - below ? below + 1 : below) * quantum;
  if (rounded <= grid.max) return std::copysign(rounded, v);
  return grid.has_infinity ? std::copysign(HUGE_VAL, v) : std::numeric_limits<double>::quiet_NaN();
}

// In one function with its callers: it is called for every operation of a replay.
[[gnu::always_inline]] inline double rounded(const Grid& grid, double v, RandomStream& random) {
  const double magnitude = std::fabs(v);
  if (grid.precision < 53 && magnitude >= grid.smallest_normal && magnitude < grid.max) {
    // Add random bits below the last kept one and cut: carries run into the exponent as they should.
    const int dropped = 53 - grid.precision;
    const uint64_t mask = (uint64_t{1} << dropped) - 1;
    const uint64_t bits = std::bit_cast<uint64_t>(v);
    if ((bits & mask) == 0) return v;
    const uint64_t noise = dropped <= 32 ? random.word() & mask : random.word64() & mask;
    const double result = std::bit_cast<double>((bits + noise) & ~mask);
    if (std::fabs(result) <= grid.max) return result;
  }
  return stochastic_round_slow(grid, v, random);
}

}  // namespace

double stochastic_round(const Grid& grid, double v, RandomStream& random) { return rounded(grid, v, random); }

Stochastic stochastic_intermediate(double v) {
  Environment& e = *current_environment;
  return rounded(e.grid, v, e.random);
}

Stochastic constant_of(double v, const Stochastic*) {
  return std::isfinite(v) ? stochastic_intermediate(v) : Stochastic(v);
}

Stochastic finish_stochastic(Function function, double v) {
  if (!std::isfinite(v)) return v;
  Environment& e = *current_environment;
  const Allowance& allowance = e.allowance(function);
  // Half an ulp is the final rounding itself.
  if (allowance.relative > e.u || allowance.absolute > 0) {
    v = v * (1 + allowance.relative * e.random.symmetric()) + allowance.absolute * e.random.symmetric();
  }
  return stochastic_intermediate(v);
}

}  // namespace assay::reference
