// Times of calibration rows as a function of the constants that are fitted; for calibration.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/calibration/calibration.h"
#include "backend/calibration/workloads.h"
#include "backend/simulator/timing/clock.h"

namespace assay::backend {

class Predictor {
 public:
  // Builds the rows' Programs. Throws as read_row's and build's errors, naming the row.
  explicit Predictor(const std::vector<CalibrationRow>& rows);

  // Constants: dma_issue_ns of each target that has rows, then kernel_floor_us and launch_us of all.
  std::vector<double> shipped() const;
  FittedConstant describe(std::size_t constant) const;  // name and target

  std::string why_not(std::size_t row) const;  // "" if the row can be predicted
  double predict_us(std::size_t row, const std::vector<double>& constants);

 private:
  // Without floor and launch, which are added to it.
  double bare_us(std::size_t row, double dma_issue_ns);

  std::vector<CalibrationRow> rows_;
  std::vector<Generation> targets_;
  std::vector<std::unique_ptr<BuiltWorkload>> built_;  // null where not predicted
  std::vector<std::map<double, double>> times_;        // by row: of dma_issue_ns
};

}  // namespace assay::backend
