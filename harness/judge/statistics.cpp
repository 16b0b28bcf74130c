#include "harness/judge/statistics.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

bool applicable(const StandardErrors& errors) {
  const auto count = static_cast<int64_t>(errors.signed_error.size());
  return count >= kStatisticsMinimum && count <= kStatisticsMaximum;
}

Gate decided(double value, double limit) {
  return {value <= limit ? GateStatus::pass : GateStatus::fail, value, limit};
}

// |mean| in units of its standard error, for terms of unit variance.
double standardised_mean(const std::vector<double>& terms) {
  double sum = 0;
  for (const double term : terms) sum += term;
  return std::fabs(sum) / std::sqrt(static_cast<double>(terms.size()));
}

}  // namespace

StandardErrors standard_errors(const std::vector<double>& got, const std::vector<double>& value,
                               const std::vector<double>& sigma) {
  StandardErrors errors;
  const std::size_t count = std::min({got.size(), value.size(), sigma.size()});
  for (std::size_t i = 0; i < count; ++i) {
    if (!(sigma[i] > 0) || !std::isfinite(sigma[i]) || !std::isfinite(got[i]) || !std::isfinite(value[i]))
      continue;
    // No gate looks at more.
    if (errors.signed_error.size() > static_cast<std::size_t>(kStatisticsMaximum)) break;
    const double error = (got[i] - value[i]) / sigma[i];
    errors.signed_error.push_back(error);
    errors.away_from_zero.push_back(std::signbit(value[i]) ? -error : error);
  }
  return errors;
}

Gate rms_gate(const StandardErrors& errors) {
  if (!applicable(errors)) return {};
  double sum = 0;
  for (const double error : errors.signed_error) sum += error * error;
  return decided(std::sqrt(sum / static_cast<double>(errors.signed_error.size())), kRmsLimit);
}

Gate bias_gate(const StandardErrors& errors) {
  if (!applicable(errors)) return {};
  return decided(std::max(standardised_mean(errors.signed_error), standardised_mean(errors.away_from_zero)),
                 kBiasLimit);
}

}  // namespace assay
