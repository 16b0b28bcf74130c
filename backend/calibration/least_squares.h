// Fits of positive constants.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace assay::backend {

// What is left of a row under given constants; log(predicted / measured) in calibrations.
using Residual = std::function<double(std::size_t row, const std::vector<double>& constants)>;

// Least squares of the rows' residuals in the logarithms of the constants: Gauss-Newton steps with numerical
// derivatives, halved while they do not help. Constants that no row depends on stay.
std::vector<double> fit_constants(const Residual& residual, const std::vector<std::size_t>& rows,
                                  std::vector<double> constants);

}  // namespace assay::backend
