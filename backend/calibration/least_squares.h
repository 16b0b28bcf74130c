// Fits of positive constants.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace assay::backend {

// What is left of a row under given constants; log(predicted / measured) in calibrations.
using Residual = std::function<double(std::size_t row, const std::vector<double>& constants)>;

// Least squares of the rows' residuals in the logarithms of the constants: Gauss-Newton steps with numerical
// derivatives, halved while they do not help. Constants that no row depends on stay.
std::vector<double> fit_constants(const Residual& residual, const std::vector<std::size_t>& rows,
                                  std::vector<double> constants);

// Constants fitted to rows, and which of these tell something about each: a change of the constant moves
// them.
struct ConstantFit {
  std::vector<double> constants;
  std::vector<std::vector<std::size_t>> told_by;  // rows, by constant
};
ConstantFit fit_with_sources(const Residual& residual, const std::vector<std::size_t>& rows,
                             const std::vector<double>& start);
// The constant that this row alone tells, which therefore cannot be predicted without it: the last if there
// are several.
std::optional<std::size_t> told_only_by(const ConstantFit& fit, std::size_t row);
// The constants fitted to all rows but one.
std::vector<double> fit_without(const Residual& residual, const std::vector<std::size_t>& rows,
                                std::size_t left_out, const ConstantFit& fit);

}  // namespace assay::backend
