#include "reference/number/sums.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay::reference {
namespace {

// What flushed partial sums may cost: nothing without flushing, since sums of floats underflow exactly.
double flush_cost(const Environment& e, int64_t n) {
  return e.precision().ftz_out ? static_cast<double>(n) * e.eta_acc : 0;
}

// bf16 accumulation beyond 255 terms: gamma is void, and only a declared order has an answer.
bool simulates_order(const Environment& e, int64_t n) {
  return static_cast<double>(n) * e.u_acc >= 1 && e.precision().order == ReductionOrder::ascending;
}

// May a partial sum of these terms, in some order, exceed the accumulator's largest number? Then infinity,
// and NaN where infinities of both signs meet, are right as well if the Contract declares early overflow.
template <class Term>
bool may_overflow(const Environment& e, double magnitude, int64_t n, Term&& term) {
  if (!e.early_overflow || magnitude <= e.accumulator().max) return false;
  if (std::isfinite(magnitude)) return true;
  double finite = 0;  // infinite terms are infinite in every order
  for (int64_t i = 0; i < n; ++i) {
    const Bounded x = term(i);
    const double reach = std::fabs(x.value) + x.bound;
    if (std::isfinite(x.value)) finite = finite + reach;
  }
  return !(finite <= e.accumulator().max);
}

Stochastic with_noise(const Environment& e, RandomStream& random, double sum, double squares) {
  if (!std::isfinite(sum) || squares == 0) return sum;
  return sum + e.u_acc * std::sqrt(2.0 / 3.0 * squares) * random.normal();
}

}  // namespace

double sum_any_order(const double* x, int64_t n) {
  std::array<double, 8> lanes{};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t l = 0; l < 8; ++l) lanes[l] += x[i + static_cast<int64_t>(l)];
  }
  double rest = 0;
  for (; i < n; ++i) rest += x[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])) +
         rest;
}

Bounded sum_any_order(const Bounded* x, int64_t n) {
  const Environment& e = *current_environment;
  if (simulates_order(e, n)) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum = round_to(e.accumulator(), sum + x[i].value);
    return sum;
  }
  double sum = 0, magnitude = 0, bound = 0, variance = 0, squares = 0;
  bool overflow = false;
  for (int64_t i = 0; i < n; ++i) {
    overflow = overflow || x[i].overflow;
    sum += x[i].value;
    magnitude += std::fabs(x[i].value) + x[i].bound;
    bound += x[i].bound;
    variance += x[i].variance;
    if (i > 0) squares += sum * sum;
  }
  if (n <= 1) return {sum, bound, variance, overflow};
  overflow = overflow || may_overflow(e, magnitude, n, [&](int64_t i) { return x[i]; });
  if (std::isinf(sum)) return {sum, std::isfinite(bound) ? 0 : bound, 0, overflow};  // in every order
  return {sum, bound + gamma(n - 1, e.u_acc) * magnitude + flush_cost(e, n),
          variance + e.u_acc * e.u_acc / 3 * squares, overflow};
}

Stochastic sum_any_order(const Stochastic* x, int64_t n) {
  Environment& e = *current_environment;
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += x[i].value;
    if (i > 0) squares += sum * sum;
  }
  return with_noise(e, e.random, sum, squares);
}

double dot_any_order(const double* a, const double* b, int64_t n) {
  double c = 0;
  std::array<double, 8> lanes{};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t l = 0; l < 8; ++l) {
      const int64_t at = i + static_cast<int64_t>(l);
      lanes[l] += a[at] * b[at];
    }
  }
  for (; i < n; ++i) c += a[i] * b[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])) +
         c;
}

Bounded dot_any_order(const Bounded* a, const Bounded* b, int64_t n) {
  Bounded c;
  matmul_any_order(a, b, static_cast<const Bounded*>(nullptr), &c, 1, 1, n);
  return c;
}

Stochastic dot_any_order(const Stochastic* a, const Stochastic* b, int64_t n) {
  Stochastic c;
  matmul_any_order(a, b, static_cast<const Stochastic*>(nullptr), &c, 1, 1, n);
  return c;
}

void prefix_sums_any_order(const double* x, double* out, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) out[i] = sum += x[i];
}

void prefix_sums_any_order(const Bounded* x, Bounded* out, int64_t n) {
  const Environment& e = *current_environment;
  double sum = 0, magnitude = 0, bound = 0, variance = 0, squares = 0;
  const bool simulate = simulates_order(e, n);
  bool overflow = false;
  for (int64_t i = 0; i < n; ++i) {
    overflow = overflow || x[i].overflow;
    sum += x[i].value;
    if (simulate) {
      sum = round_to(e.accumulator(), sum);
      out[i] = sum;
      continue;
    }
    magnitude += std::fabs(x[i].value) + x[i].bound;
    bound += x[i].bound;
    variance += x[i].variance;
    if (i > 0) squares += sum * sum;
    overflow = overflow || (i > 0 && may_overflow(e, magnitude, i + 1, [&](int64_t j) { return x[j]; }));
    if (std::isinf(sum)) {
      out[i] = {sum, std::isfinite(bound) ? 0 : bound, 0, overflow};  // in every order
      continue;
    }
    out[i] = {sum, bound + (i > 0 ? gamma(i, e.u_acc) * magnitude + flush_cost(e, i) : 0),
              variance + e.u_acc * e.u_acc / 3 * squares, overflow};
  }
}

void prefix_sums_any_order(const Stochastic* x, Stochastic* out, int64_t n) {
  Environment& e = *current_environment;
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += x[i].value;
    if (i > 0) squares += sum * sum;
    out[i] = with_noise(e, e.random, sum, squares);
  }
}

namespace {

template <class T>
T product_in_order(const T* x, int64_t n) {
  T product = n > 0 ? x[0] : T(1);
  for (int64_t i = 1; i < n; ++i) product = product * x[i];
  return product;
}

}  // namespace

double product_any_order(const double* x, int64_t n) { return product_in_order(x, n); }
Stochastic product_any_order(const Stochastic* x, int64_t n) { return product_in_order(x, n); }

Bounded product_any_order(const Bounded* x, int64_t n) {
  const Environment& e = *current_environment;
  Bounded product = product_in_order(x, n);
  if (n <= 1) return product;
  // The largest and the smallest product of some of the factors: those above 1, and those below.
  double largest = 1, smallest = 1;
  bool infinite = false, zero = false;
  for (int64_t i = 0; i < n; ++i) {
    const double v = std::fabs(x[i].value);
    infinite = infinite || std::isinf(v);
    zero = zero || v == 0;
    if (std::isfinite(v) && v + x[i].bound > 1) largest *= v + x[i].bound;
    if (v > 0 && v - x[i].bound < 1) smallest *= std::max(v - x[i].bound, 0.0);
  }
  const bool underflows = smallest < 2 * e.intermediate().smallest_normal();
  // A partial product that overflowed meets 0, or one that underflowed to 0 meets infinity: NaN.
  if (e.early_overflow && (!(largest <= e.max) || (infinite && underflows))) product.overflow = true;
  if (underflows && !zero && !infinite && std::isfinite(product.value)) {
    product.bound += static_cast<double>(n) * e.eta * largest;
  }
  return product;
}

int64_t wrapped_sum(const int64_t* x, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<uint64_t>(x[i]);
  return static_cast<int64_t>(sum);
}

void wrapped_prefix_sums(const int64_t* x, int64_t* out, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += static_cast<uint64_t>(x[i]);
    out[i] = static_cast<int64_t>(sum);
  }
}

int64_t wrapped_dot(const int64_t* a, const int64_t* b, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<uint64_t>(a[i]) * static_cast<uint64_t>(b[i]);
  return static_cast<int64_t>(sum);
}

int64_t wrapped_product(const int64_t* x, int64_t n) {
  uint64_t product = 1;
  for (int64_t i = 0; i < n; ++i) product *= static_cast<uint64_t>(x[i]);
  return static_cast<int64_t>(product);
}

}  // namespace assay::reference
