// Paired measurements: two backends timed in turns, so that a drift of the machine meets both.
#pragma once

#include <vector>

namespace assay {

struct PairedRatio {
  double ratio = 1;  // median over blocks of time / peer's time
  double low = 1;    // 95 % confidence limits of the mean log-ratio (Student's t over blocks), exponentiated
  double high = 1;
};

double median_of(std::vector<double> values);  // NaN if empty
// Seconds of one block each, in the same order. Needs at least two blocks of equal number.
PairedRatio paired_ratio(const std::vector<double>& times, const std::vector<double>& peer_times);
// Two-sided 95 % quantile of Student's t with `degrees` degrees of freedom.
double student_t95(int degrees);

}  // namespace assay
