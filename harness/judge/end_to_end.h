// The end-to-end gate: outputs of the device's own chain against the fp64 chain and its replays (NUMERICS,
// "Models").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/compare.h"
#include "harness/judge/expected.h"
#include "harness/judge/replay.h"
#include "harness/record/record.h"

namespace assay {

constexpr double kSigmaLimit = 8;  // correct kernels, fused or not, were measured at 4.7 at most

// sigma_i^2 = (sum_r d_ri^2 + R m^2) / R: d the deviation of replay r from the centre, m the median of the
// tensor's finite non-zero RMS deviations (the plain median is 0 for sparse outputs). NaN where centre and
// replays disagree on a NaN, an infinity or, with `zero_sign`, on the sign of a zero: such an element is
// undetermined.
std::vector<double> spread_of(const ReplayedOutput& output);

// How far an element may be off where sigma says nothing of it, because the output is no straight line within
// the roundings' reach (a sign, a quotient of small numbers): a replay whose roundings are kExtrapolation
// times as large strays from kExtrapolation times the replay's deviation by more than `limit`, the element's
// Bound. Then the element may lie anywhere between the centre and the farthest such walk. Below and above the
// centre; 0 where the output is a straight line. Both empty without extrapolated walks. Replays miss few such
// elements: where more than kBentShare of an output (and more than one) would need this, it does not count.
constexpr double kBentShare = 0.01;
struct Reach {
  std::vector<double> below, above;
};
Reach reach_of(const ReplayedOutput& output, const std::vector<double>& limit);

struct EndToEndVerdict {
  GateStatus status = GateStatus::pass;  // undetermined: no element could be judged
  // Bound here is 8 sigma + u_out |want| + u_file |want| + eta, or the reach where that is more.
  Comparison comparison;
  double sigmas = 0;         // largest (|got - want| - u |want| - eta) / sigma
  bool all_zero = false;     // all zeros where the centre or file is not (vacuous.h)
  int64_t undetermined = 0;  // elements left out
};

// Judges one output. `got` has the graph's dtype and shape. Around `expected` where it is given, else around
// the centre. An output without a rounding point among its ancestors, and one of integers, must be equal.
// Where decisions are open, an output that is right in one of the worlds is right, and fully determined; if
// it is in none, what depends on open decisions is left out. A file may have decided otherwise than the
// device: what depends on a decision that rounding leaves open may also agree with the chain.
EndToEndVerdict judge_output(const ReplayedOutput& output, const Tensor& got, const ExpectedOutput* expected,
                             bool flushes, const std::string& name);

}  // namespace assay
