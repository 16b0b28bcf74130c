// Matrix products. The order of k is natural, so that partial sums are those of the formulas.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/number/matmul_rows.h"
#include "reference/number/normals.h"
#include "reference/number/sums.h"

namespace assay::reference {
namespace {

std::size_t size(int64_t n) { return static_cast<std::size_t>(n); }

// Declared ascending accumulation in a format whose gamma is void: each step rounded, nothing bounded.
Bounded simulated_dot(const Environment& e, const Bounded* a, const Bounded* b, int64_t stride,
                      const Bounded* addend, int64_t k) {
  double sum = 0;
  for (int64_t p = 0; p < k; ++p) {
    double product = a[p].value * b[p * stride].value;
    if (!e.precision().products_exact) product = round_to(e.accumulator(), product);
    sum = round_to(e.accumulator(), sum + product);
  }
  if (addend != nullptr) sum = round_to(e.accumulator(), sum + addend->value);
  return sum;
}

// A sum of products with infinite ones among them, or with partial sums that may overflow where the Contract
// declares that: infinities decide in every order, finite terms only whether infinity or NaN may come of
// them.
Bounded extreme_dot(const Environment& e, const Bounded* a, const Bounded* b, int64_t stride,
                    const Bounded* addend, int64_t k, Bounded ordinary) {
  double finite = 0;
  bool unsure = false, infinite = false;
  const auto add = [&](const Bounded& term) {
    ordinary.overflow = ordinary.overflow || term.overflow;
    if (std::isfinite(term.value)) {
      finite = finite + std::fabs(term.value) + term.bound;
    } else {
      infinite = true;
      unsure = unsure || !(term.bound == 0);
    }
  };
  for (int64_t p = 0; p < k; ++p) add(a[p] * b[p * stride]);
  if (addend != nullptr) add(*addend);
  if (e.early_overflow && !(finite <= e.accumulator().max)) ordinary.overflow = true;
  if (infinite) ordinary = {ordinary.value, unsure ? HUGE_VAL : 0, 0, ordinary.overflow};
  return ordinary;
}

}  // namespace

void matmul_any_order(const double* a, const double* b, const double* addend, double* c, int64_t m, int64_t n,
                      int64_t k) {
  matmul_rows({a, b, addend, c, nullptr, false, m, n, k});
}

void matmul_any_order(const Bounded* a, const Bounded* b, const Bounded* addend, Bounded* c, int64_t m,
                      int64_t n, int64_t k) {
  const Environment& e = *current_environment;
  const int64_t terms = k + (addend != nullptr ? 1 : 0);
  if (static_cast<double>(terms) * e.u_acc >= 1 && e.precision().order == ReductionOrder::ascending) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const Bounded* extra = addend != nullptr ? addend + i * n + j : nullptr;
        c[i * n + j] = simulated_dot(e, a + i * k, b + j, n, extra, k);
      }
    }
    return;
  }
  // Structure of arrays, so that the inner loops vectorise.
  std::vector<double> values(size(k * n)), bounds;
  bool exact = true, overflowed = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = b[i].value;
    exact = exact && b[i].bound == 0;
    overflowed = overflowed || b[i].overflow;
  }
  for (int64_t i = 0; i < m * k; ++i) {
    exact = exact && a[i].bound == 0;
    overflowed = overflowed || a[i].overflow;
  }
  for (int64_t i = 0; addend != nullptr && i < m * n; ++i) overflowed = overflowed || addend[i].overflow;
  if (!exact) {
    bounds.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) bounds[i] = b[i].bound;
  }
  const double product_weight = e.precision().products_exact ? 0 : 1;
  const double allowance = gamma(terms, e.u_acc);
  const double underflow = static_cast<double>(terms) * e.eta_acc;
  std::vector<double> sum(size(n)), magnitude(size(n)), squares(size(n)), error(size(n));
  for (int64_t i = 0; i < m; ++i) {
    std::fill(sum.begin(), sum.end(), 0);
    std::fill(magnitude.begin(), magnitude.end(), 0);
    std::fill(squares.begin(), squares.end(), 0);
    std::fill(error.begin(), error.end(), 0);
    for (int64_t p = 0; p < k; ++p) {
      const double s = a[i * k + p].value;
      const double* other = values.data() + p * n;
      for (std::size_t j = 0; j < sum.size(); ++j) {
        const double product = s * other[j];
        sum[j] += product;
        magnitude[j] += std::fabs(product);
        squares[j] += sum[j] * sum[j] + product_weight * product * product;
      }
      if (!exact) {
        const double s_abs = std::fabs(s), s_bound = a[i * k + p].bound;
        const double* other_bound = bounds.data() + p * n;
        constexpr double kLargest = std::numeric_limits<double>::max();
        for (std::size_t j = 0; j < sum.size(); ++j) {
          // The sum may be infinite where both are finite; times an error of 0 it is 0 all the same.
          const double reach = std::min(std::fabs(other[j]) + other_bound[j], kLargest);
          error[j] += s_abs * other_bound[j] + s_bound * reach;
        }
      }
    }
    for (std::size_t j = 0; j < sum.size(); ++j) {
      double variance = 0;
      if (addend != nullptr) {
        const Bounded extra = addend[i * n + static_cast<int64_t>(j)];
        sum[j] += extra.value;
        magnitude[j] += std::fabs(extra.value);
        error[j] += extra.bound;
        squares[j] += sum[j] * sum[j];
        variance = extra.variance;
      }
      Bounded& result = c[i * n + static_cast<int64_t>(j)];
      result = {sum[j], error[j] + allowance * (magnitude[j] + error[j]) + underflow,
                variance + e.u_acc * e.u_acc / 3 * squares[j]};
      const double reach = magnitude[j] + error[j];
      if (!std::isfinite(reach) || overflowed || (e.early_overflow && reach > e.accumulator().max)) {
        const Bounded* extra = addend != nullptr ? addend + i * n + static_cast<int64_t>(j) : nullptr;
        result = extreme_dot(e, a + i * k, b + j, n, extra, k, result);
      }
    }
  }
}

void matmul_any_order(const Stochastic* a, const Stochastic* b, const Stochastic* addend, Stochastic* c,
                      int64_t m, int64_t n, int64_t k) {
  Environment& e = *current_environment;
  const double scale = e.u_acc * std::sqrt(2.0 / 3.0);
  std::vector<double> left(size(m * k)), right(size(k * n)), sums(size(m * n)), squares(sums.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = a[i].value;
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = b[i].value;
  matmul_rows({left.data(), right.data(), nullptr, sums.data(), squares.data(), !e.precision().products_exact,
               m, n, k});
  std::array<double, 256> noise;
  for (std::size_t first = 0; first < sums.size(); first += noise.size()) {
    const std::size_t count = std::min(noise.size(), sums.size() - first);
    draw_normals(e.random, noise.data(), count);
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t i = first + j;
      double sum = sums[i], square = squares[i];
      if (addend != nullptr) {
        sum += addend[i].value;
        square += sum * sum;
      }
      // An infinite sum has squares that are none.
      c[i] = std::isfinite(sum) ? sum + scale * std::sqrt(square) * noise[j] : sum;
    }
  }
}

}  // namespace assay::reference
