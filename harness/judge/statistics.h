// The two gates that look at all errors of a result together (NUMERICS, "Gates for one node").
#pragma once

#include <cstdint>
#include <vector>

#include "harness/record/record.h"

namespace assay {

// Fewer outputs say too little, more make the gates fail on effects that are no defect.
constexpr int64_t kStatisticsMinimum = 256;
constexpr int64_t kStatisticsMaximum = 4096;
constexpr double kRmsLimit = 2;   // measured: correct kernels 0.06 to 0.75, tf32 inputs from 4 on
constexpr double kBiasLimit = 5;  // standard errors of the mean

// Errors of one output in units of their standard error: (got - value) / sigma. Elements with sigma 0 and
// elements whose got or value is not finite are left out. Ends once there are more than kStatisticsMaximum:
// no gate applies to so many.
struct StandardErrors {
  std::vector<double> signed_error;    // (got - value) / sigma
  std::vector<double> away_from_zero;  // the same with the sign of value: truncation makes it negative
};
StandardErrors standard_errors(const std::vector<double>& got, const std::vector<double>& value,
                               const std::vector<double>& sigma);

// sqrt(mean(e^2)) <= 2. Not applicable outside [256, 4096] elements.
Gate rms_gate(const StandardErrors& errors);
// The larger of |mean(e)| sqrt(N) and |mean(sign(value) e)| sqrt(N) <= 5: the first sees rounding down, the
// second truncation, whose error changes its sign with the value. Not applicable outside [256, 4096]
// elements.
Gate bias_gate(const StandardErrors& errors);

}  // namespace assay
