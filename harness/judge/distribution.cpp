#include "harness/judge/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay {
namespace {

const double kLogAlpha = std::log(2 / kRandomAlpha);

// n KL(q || p), the exponent of Chernoff's bound.
double exponent(double n, double count, double p) {
  const double q = count / n;
  double sum = 0;
  if (q > 0) sum += q * std::log(q / p);
  if (q < 1) sum += (1 - q) * std::log((1 - q) / (1 - p));
  return n * sum;
}

// A number with P(X <= x) <= edge has a probability of at most `edge`, one with P(X < x) < edge of at least
// as much: too many of the first or too few of the second are implausible, jumps and rounding or not.
std::string test_below(const std::vector<Quantile>& quantiles, double edge, const char* what) {
  double certain = 0, possible = 0;
  for (const Quantile& q : quantiles) {
    certain += q.upto <= edge ? 1 : 0;
    possible += q.below < edge ? 1 : 0;
  }
  const auto n = static_cast<double>(quantiles.size());
  const double count = certain > n * edge ? certain : possible < n * edge ? possible : n * edge;
  if (exponent(n, count, edge) <= kLogAlpha) return "";
  return fmt::format("{} of {} numbers lie in {} of probability {:.3g}", count, n, what, edge);
}

}  // namespace

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }
double exponential_cdf(double x) { return x > 0 ? -std::expm1(-x) : 0; }
double cauchy_cdf(double x) { return 0.5 + std::atan(x) / std::numbers::pi; }

std::string test_kolmogorov_smirnov(std::vector<Quantile> quantiles) {
  if (quantiles.empty()) return "";
  std::sort(quantiles.begin(), quantiles.end(), [](const Quantile& a, const Quantile& b) {
    return a.below != b.below ? a.below < b.below : a.upto < b.upto;
  });
  const auto n = static_cast<double>(quantiles.size());
  const double reach = std::sqrt(kLogAlpha / (2 * n));
  for (std::size_t first = 0; first < quantiles.size();) {
    std::size_t last = first;
    while (last + 1 < quantiles.size() && quantiles[last + 1].below == quantiles[first].below) ++last;
    const double before = static_cast<double>(first) / n, after = static_cast<double>(last + 1) / n;
    const double high = after - quantiles[last].upto, low = quantiles[first].below - before;
    if (high > reach || low > reach) {
      return fmt::format(
          "the share of numbers up to some point differs from its probability by {:.3g}; {} numbers differ "
          "by "
          "more than {:.3g} with probability {:.0e}",
          std::max(high, low), n, reach, kRandomAlpha);
    }
    first = last + 1;
  }
  return "";
}

std::string test_counts(const std::vector<Quantile>& quantiles) {
  std::vector<Quantile> mirrored(quantiles.size());
  std::transform(quantiles.begin(), quantiles.end(), mirrored.begin(), [](const Quantile& q) {
    return Quantile{1 - q.upto, 1 - q.below};
  });
  for (int k = 1; k < 8; ++k) {
    if (std::string wrong = test_below(quantiles, k / 8.0, "the lower part"); !wrong.empty()) return wrong;
  }
  for (int power = 4; power <= 30; ++power) {
    const double edge = std::ldexp(1.0, -power);
    if (std::string wrong = test_below(quantiles, edge, "the lower tail"); !wrong.empty()) return wrong;
    if (std::string wrong = test_below(mirrored, edge, "the upper tail"); !wrong.empty()) return wrong;
  }
  return "";
}

bool is_plausible_sum(double sum, double variance, double step) {
  const double t = std::fabs(sum);
  return t * t <= 2 * kLogAlpha * (variance + step * t / 3);
}

std::string test_correlation(const std::vector<double>& centred, const std::vector<double>& variances,
                             std::size_t lag) {
  double sum = 0, variance = 0;
  for (std::size_t i = lag; i < centred.size(); ++i) {
    sum += centred[i] * centred[i - lag];
    variance += centred[i - lag] * centred[i - lag] * variances[i];
  }
  if (is_plausible_sum(sum, variance, 1)) return "";
  return fmt::format("numbers {} elements apart depend on each other ({:.1f} standard deviations)", lag,
                     std::fabs(sum) / std::sqrt(variance));
}

std::string test_independence(const std::vector<double>& centred, const std::vector<double>& variances,
                              const std::vector<double>& other) {
  double sum = 0, variance = 0;
  for (std::size_t i = 0; i < std::min(centred.size(), other.size()); ++i) {
    sum += centred[i] * other[i];
    variance += other[i] * other[i] * variances[i];
  }
  if (is_plausible_sum(sum, variance, 1)) return "";
  return fmt::format("{:.1f} standard deviations of correlation", std::fabs(sum) / std::sqrt(variance));
}

std::string test_permutation(const std::vector<int64_t>& order) {
  const auto n = static_cast<int64_t>(order.size());
  std::vector<bool> seen(order.size(), false);
  for (const int64_t i : order) {
    if (i < 0 || i >= n || seen[static_cast<std::size_t>(i)]) {
      return fmt::format("{} is {} among 0 to {}: not a permutation", i,
                         i < 0 || i >= n ? "not" : "more than once", n - 1);
    }
    seen[static_cast<std::size_t>(i)] = true;
  }
  int64_t fixed = 0, descents = 0, stay = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = order[static_cast<std::size_t>(i)];
    fixed += at == i;
    descents += i > 0 && at < order[static_cast<std::size_t>(i - 1)];
    stay += (at < n / 2) == (i < n / 2);
  }
  int sign = 0;  // std::lgamma writes a global for it; cases are judged in several threads
  if (-::lgamma_r(static_cast<double>(fixed) + 1, &sign) < std::log(kRandomAlpha)) {
    return fmt::format("{} of {} elements stay in place", fixed, n);
  }
  const auto size = static_cast<double>(n);
  if (n > 1 && !is_plausible_sum(static_cast<double>(descents) - (size - 1) / 2, (size + 1) / 12, 1)) {
    return fmt::format("{} of {} neighbours descend", descents, n - 1);
  }
  if (n < 2) return "";
  const double low = std::floor(size / 2), high = size - low;
  const double expected = (low * low + high * high) / size,
               off = std::fabs(static_cast<double>(stay) - expected);
  if (off * off > kLogAlpha * (4 * expected + 2 * off)) {
    return fmt::format("{} of {} elements stay in their half", stay, n);
  }
  return "";
}

}  // namespace assay
