#include "backend/calibration/least_squares.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace assay::backend {
namespace {

class Fit {
 public:
  Fit(const Residual& residual, const std::vector<std::size_t>& rows) : residual_(residual), rows_(rows) {}

  std::vector<double> run(std::vector<double> constants) {
    constexpr int kSteps = 30;
    constexpr double kEnough = 1e-7;
    double error = squares(constants);
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<double> move = newton(constants);
      double scale = 1, largest = 0;
      while (scale > 1e-3) {
        std::vector<double> next = constants;
        largest = 0;
        for (std::size_t k = 0; k < next.size(); ++k) {
          // No constant changes more than fourfold in one step.
          const double by = std::clamp(scale * move[k], -std::log(4.0), std::log(4.0));
          next[k] *= std::exp(by);
          largest = std::max(largest, std::abs(by));
        }
        if (const double moved = squares(next); moved <= error) {
          constants = std::move(next);
          error = moved;
          break;
        }
        scale /= 2;
      }
      if (scale <= 1e-3 || largest < kEnough) break;
    }
    return constants;
  }

 private:
  double squares(const std::vector<double>& constants) {
    double sum = 0;
    for (const std::size_t row : rows_) sum += std::pow(residual_(row, constants), 2);
    return sum;
  }
  std::vector<double> newton(const std::vector<double>& constants) {
    constexpr double kStep = 1e-2, kDamping = 1e-9;
    const std::size_t n = constants.size();
    std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0));
    for (const std::size_t row : rows_) {
      const double r = residual_(row, constants);
      std::vector<double> slope(n);
      for (std::size_t k = 0; k < n; ++k) {
        std::vector<double> more = constants;
        more[k] *= std::exp(kStep);
        slope[k] = (residual_(row, more) - r) / kStep;
      }
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) a[i][j] += slope[i] * slope[j];
        a[i][n] -= slope[i] * r;
      }
    }
    for (std::size_t i = 0; i < n; ++i) a[i][i] += kDamping;  // a constant that no row depends on stays
    return solve(std::move(a));
  }
  // Gaussian elimination with pivoting of [A | b].
  static std::vector<double> solve(std::vector<std::vector<double>> a) {
    const std::size_t n = a.size();
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t pivot = i;
      for (std::size_t k = i + 1; k < n; ++k) {
        if (std::abs(a[k][i]) > std::abs(a[pivot][i])) pivot = k;
      }
      std::swap(a[i], a[pivot]);
      for (std::size_t k = i + 1; k < n; ++k) {
        const double factor = a[k][i] / a[i][i];
        for (std::size_t j = i; j <= n; ++j) a[k][j] -= factor * a[i][j];
      }
    }
    std::vector<double> x(n);
    for (std::size_t i = n; i-- > 0;) {
      double sum = a[i][n];
      for (std::size_t j = i + 1; j < n; ++j) sum -= a[i][j] * x[j];
      x[i] = sum / a[i][i];
    }
    return x;
  }

  const Residual& residual_;
  const std::vector<std::size_t>& rows_;
};

}  // namespace

std::vector<double> fit_constants(const Residual& residual, const std::vector<std::size_t>& rows,
                                  std::vector<double> constants) {
  return Fit(residual, rows).run(std::move(constants));
}

ConstantFit fit_with_sources(const Residual& residual, const std::vector<std::size_t>& rows,
                             const std::vector<double>& start) {
  constexpr double kStep = 1e-2, kTells = 5e-3;
  ConstantFit fit{fit_constants(residual, rows, start), std::vector<std::vector<std::size_t>>(start.size())};
  for (std::size_t k = 0; k < start.size(); ++k) {
    std::vector<double> more = fit.constants;
    more[k] *= std::exp(kStep);
    for (const std::size_t row : rows) {
      if (std::abs(residual(row, more) - residual(row, fit.constants)) > kTells * kStep)
        fit.told_by[k].push_back(row);
    }
  }
  return fit;
}

std::optional<std::size_t> told_only_by(const ConstantFit& fit, std::size_t row) {
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < fit.told_by.size(); ++k) {
    if (fit.told_by[k] == std::vector<std::size_t>{row}) found = k;
  }
  return found;
}

std::vector<double> fit_without(const Residual& residual, const std::vector<std::size_t>& rows,
                                std::size_t left_out, const ConstantFit& fit) {
  std::vector<std::size_t> others;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(others),
               [&](std::size_t row) { return row != left_out; });
  return fit_constants(residual, others, fit.constants);
}

}  // namespace assay::backend
