#include "harness/judge/end_to_end.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The same special value: NaN, the same infinity, or neither of the two.
bool agree(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

bool is_undetermined(const ReplayedOutput& output, std::size_t i) {
  return i < output.undetermined.size() && output.undetermined[i];
}

GateStatus status_of(const EndToEndVerdict& verdict, std::size_t elements) {
  if (!verdict.comparison.ok()) return GateStatus::fail;
  const bool none = verdict.undetermined > 0 && verdict.undetermined == static_cast<int64_t>(elements);
  return none ? GateStatus::undetermined : GateStatus::pass;
}

// Equal, except where a decision is open.
EndToEndVerdict judge_integers(const ReplayedOutput& output, const Tensor& got, const reference::Wide& want,
                               const std::vector<int64_t>& positions, const CompareRule& rule) {
  EndToEndVerdict verdict;
  reference::Wide determined = want;
  const std::vector<int64_t> values = got.to_ints();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = positions.empty() ? i : static_cast<std::size_t>(positions[i]);
    if (!is_undetermined(output, at)) continue;
    determined.integer[i] = values[i];
    ++verdict.undetermined;
  }
  verdict.comparison = compare_exact(got, determined.rounded(), rule);
  verdict.status = status_of(verdict, values.size());
  return verdict;
}

}  // namespace

std::vector<double> spread_of(const ReplayedOutput& output) {
  const std::size_t count = output.centre.real.size();
  std::vector<double> rms(count, 0);
  std::vector<double> known;
  for (std::size_t i = 0; i < count; ++i) {
    const double centre = output.centre.real[i];
    double sum = 0;
    bool agreed = true;
    for (const reference::Wide& replay : output.replays) {
      agreed = agreed && agree(centre, replay.real[i]);
      const double deviation = replay.real[i] - centre;
      if (std::isfinite(deviation)) sum += deviation * deviation;
    }
    const auto replays = static_cast<double>(std::max<std::size_t>(output.replays.size(), 1));
    rms[i] = agreed ? std::sqrt(sum / replays) : std::numeric_limits<double>::quiet_NaN();
    if (agreed && rms[i] > 0 && std::isfinite(rms[i])) known.push_back(rms[i]);
  }
  const double m = median(std::move(known));
  for (double& sigma : rms) sigma = std::hypot(sigma, m);
  return rms;
}

EndToEndVerdict judge_output(const ReplayedOutput& output, const Tensor& got, const ExpectedOutput* expected,
                             bool flushes, const std::string& name) {
  CompareRule rule;
  rule.output = name;
  rule.zero_sign = output.zero_sign && expected == nullptr;
  rule.flush = flushes && output.rounding;
  const std::vector<int64_t> positions = expected ? expected->positions : std::vector<int64_t>{};
  const Tensor values = take(got, positions);
  const reference::Wide want = expected ? expected->value : output.centre;
  if (is_integral(got.dtype())) return judge_integers(output, values, want, positions, rule);

  EndToEndVerdict verdict;
  const FloatFormat& format = float_format(got.dtype());
  const std::vector<double> sigma = output.rounding ? spread_of(output) : std::vector<double>();
  const std::vector<double> once = want.rounded().to_doubles();
  const double eta = flushes ? format.smallest_normal() : format.smallest_subnormal();
  const double file = expected ? expected->file_roundoff : 0;
  std::vector<double> bound(want.real.size());
  std::vector<bool> open(want.real.size(), false);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const auto at = positions.empty() ? i : static_cast<std::size_t>(positions[i]);
    const double magnitude = std::isfinite(want.real[i]) ? std::fabs(want.real[i]) : 0;
    if (is_undetermined(output, at) || (output.rounding && std::isnan(sigma[at]))) {
      bound[i] = kInfinity;  // accepts anything
      open[i] = true;
      ++verdict.undetermined;
    } else if (output.rounding) {
      bound[i] = kSigmaLimit * sigma[at] + format.unit_roundoff() * magnitude + file * magnitude + eta;
    } else {
      const double rounding = std::isfinite(once[i]) ? std::fabs(once[i] - want.real[i]) : 0;
      bound[i] = rounding + (file > format.unit_roundoff() ? file * magnitude : 0);
    }
  }
  if (!output.rounding && expected == nullptr) {
    // Rounded once, bit for bit; open elements take what is there.
    reference::Wide determined = want;
    const std::vector<double> ours = values.to_doubles();
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (open[i]) determined.real[i] = ours[i];
    }
    verdict.comparison = compare_exact(values, determined.rounded(), rule);
  } else {
    verdict.comparison = compare_bounded(values, want, bound, rule);
    const std::vector<double> ours = values.to_doubles();
    for (std::size_t i = 0; output.rounding && i < ours.size(); ++i) {
      const auto at = positions.empty() ? i : static_cast<std::size_t>(positions[i]);
      const double error = std::fabs(ours[i] - want.real[i]);
      if (open[i] || !std::isfinite(error)) continue;
      const double excess = error - (bound[i] - kSigmaLimit * sigma[at]);
      if (excess > 0)
        verdict.sigmas = std::max(verdict.sigmas, sigma[at] > 0 ? excess / sigma[at] : kInfinity);
    }
  }
  verdict.status = status_of(verdict, bound.size());
  return verdict;
}

}  // namespace assay
