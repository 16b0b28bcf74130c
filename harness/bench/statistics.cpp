#include "harness/bench/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/median.h"

namespace assay {

double median_of(std::vector<double> values) {
  return median(std::move(values)).value_or(std::numeric_limits<double>::quiet_NaN());
}

double student_t95(int degrees) {
  // Standard table, two-sided 95 %; beyond it the normal quantile with the first correction term.
  constexpr std::array<double, 30> table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                         2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                         2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                         2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees < 1) return std::numeric_limits<double>::infinity();
  if (degrees <= static_cast<int>(table.size())) return table[static_cast<std::size_t>(degrees - 1)];
  return 1.960 + 2.4 / degrees;
}

PairedRatio paired_ratio(const std::vector<double>& times, const std::vector<double>& peer_times) {
  const std::size_t n = std::min(times.size(), peer_times.size());
  std::vector<double> logs;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    logs.push_back(std::log(times[i] / peer_times[i]));
    sum += logs.back();
  }
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (double x : logs) squares += (x - mean) * (x - mean);
  const double error = std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
  const double reach = student_t95(static_cast<int>(n) - 1) * error;
  return {std::exp(median_of(logs)), std::exp(mean - reach), std::exp(mean + reach)};
}

}  // namespace assay
