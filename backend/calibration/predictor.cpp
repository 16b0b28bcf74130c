#include "backend/calibration/predictor.h"

#include <algorithm>

namespace assay::backend {

Predictor::Predictor(const std::vector<CalibrationRow>& rows)
    : rows_(rows), built_(rows.size()), times_(rows.size()) {
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const CalibrationRow& row = rows_[r];
    if (!why_not(r).empty() || row.boundary == Boundary::launch) continue;
    const std::string origin = "calibration row " + row.id;
    const Workload workload = parse_workload(row.workload, origin);
    built_[r] = std::make_unique<BuiltWorkload>(build(workload, core(row.target), origin));
    if (std::find(targets_.begin(), targets_.end(), row.target) == targets_.end())
      targets_.push_back(row.target);
  }
  std::sort(targets_.begin(), targets_.end());
}

std::vector<double> Predictor::shipped() const {
  std::vector<double> out;
  for (const Generation target : targets_) out.push_back(core(target).dma_issue_ns);
  // The floor and the launch are the same for all generations.
  out.push_back(core(Generation::trn2).kernel_floor_us);
  out.push_back(core(Generation::trn2).launch_us);
  return out;
}

FittedConstant Predictor::describe(std::size_t k) const {
  FittedConstant out;
  if (k < targets_.size()) {
    out.name = "dma_issue_ns";
    out.target = core(targets_[k]).name;
  } else {
    out.name = k == targets_.size() ? "kernel_floor_us" : "launch_us";
    out.target = "all";
  }
  return out;
}

std::string Predictor::why_not(std::size_t row) const {
  if (rows_[row].boundary == Boundary::outside) return "the timer contains more than the clock models";
  if (rows_[row].boundary == Boundary::launch) return "";
  if (rows_[row].workload.empty()) return "no workload of one core";
  return "";
}

double Predictor::bare_us(std::size_t row, double dma_issue_ns) {
  const auto known = times_[row].find(dma_issue_ns);
  if (known != times_[row].end()) return known->second;
  CoreDescription what_if = core(rows_[row].target);
  what_if.dma_issue_ns.value = dma_issue_ns;
  what_if.kernel_floor_us.value = 0;
  const BuiltWorkload& built = *built_[row];
  const TimingResult timing = Clock(what_if).time(built.program);
  double seconds = timing.seconds;
  if (rows_[row].boundary == Boundary::transfer) {
    seconds = 0;
    for (const DmaEngineTiming& engine : timing.dma_engines) seconds = std::max(seconds, engine.active_s);
  } else if (rows_[row].boundary == Boundary::instruction) {
    seconds /= static_cast<double>(built.steps);
  }
  return times_[row][dma_issue_ns] = seconds * 1e6;
}

double Predictor::predict_us(std::size_t row, const std::vector<double>& constants) {
  const double floor = constants[targets_.size()], launch = constants[targets_.size() + 1];
  if (rows_[row].boundary == Boundary::launch) return launch;
  const auto target = static_cast<std::size_t>(
      std::find(targets_.begin(), targets_.end(), rows_[row].target) - targets_.begin());
  const double bare = bare_us(row, constants[target]);
  switch (rows_[row].boundary) {
    case Boundary::device:
      return bare + floor;
    case Boundary::host:
      return bare + floor + launch;
    default:
      return bare;
  }
}

}  // namespace assay::backend
