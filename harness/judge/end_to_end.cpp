#include "harness/judge/end_to_end.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/judge/readings.h"
#include "harness/judge/vacuous.h"

namespace assay {
namespace {

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

GateStatus status_of(const EndToEndVerdict& verdict, std::size_t elements) {
  if (!verdict.comparison.ok()) return GateStatus::fail;
  const bool none = verdict.undetermined > 0 && verdict.undetermined == static_cast<int64_t>(elements);
  return none ? GateStatus::undetermined : GateStatus::pass;
}

bool is_marked(const std::vector<bool>& marks, std::size_t i) { return i < marks.size() && marks[i]; }

// One reading of what is right: `file` where the output does not depend on an open decision, `world` where it
// does.
struct Reading {
  const reference::Wide* file = nullptr;   // at `positions`
  const reference::Wide* world = nullptr;  // whole output; null: the file is right there too
  bool skip_undetermined = false;
};

class OutputJudge {
 public:
  OutputJudge(const ReplayedOutput& output, const Tensor& got, const ExpectedOutput* expected, bool flushes,
              const std::string& name)
      : output_(output),
        expected_(expected),
        positions_(expected ? expected->positions : std::vector<int64_t>{}),
        got_(take(got, positions_)),
        flushes_(flushes) {
    rule_.output = name;
    rule_.zero_sign = output.zero_sign && expected == nullptr;
    rule_.flush = flushes && output.rounding;
    if (output.rounding && !is_integral(got.dtype())) sigma_ = spread_of(output);
  }

  EndToEndVerdict judge(const Reading& reading) const {
    EndToEndVerdict verdict;
    reference::Wide want = reading.file ? *reading.file : take(*reading.world, positions_);
    const bool integers = is_integral(got_.dtype());
    const std::size_t count = integers ? want.integer.size() : want.real.size();
    std::vector<bool> open(count, false);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = position(i);
      if (reading.file && reading.world && is_marked(output_.contingent, at)) {
        if (integers) {
          want.integer[i] = reading.world->integer[at];
        } else {
          want.real[i] = reading.world->real[at];
        }
      }
      open[i] = (reading.skip_undetermined && is_marked(output_.undetermined, at)) ||
                is_marked(output_.overflowing, at) || is_other_special(at) ||
                (!sigma_.empty() && std::isnan(sigma_[at]));
      verdict.undetermined += open[i] ? 1 : 0;
    }
    if (integers) {
      if (reading.file && positions_.empty()) prefer_held(output_.centre, output_.widened, want);
      judge_integers(want, open, verdict);
    } else {
      judge_floats(want, open, verdict);
    }
    verdict.status = status_of(verdict, count);
    return verdict;
  }

 private:
  std::size_t position(std::size_t i) const {
    return positions_.empty() ? i : static_cast<std::size_t>(positions_[i]);
  }

  // Infinity times a subnormal number is infinite, times the zero that it is flushed to NaN.
  bool is_other_special(std::size_t at) const {
    return !output_.flushed.real.empty() && !agree(output_.flushed.real[at], output_.centre.real[at]);
  }

  // Equal, except where a decision is open.
  void judge_integers(reference::Wide& want, const std::vector<bool>& open, EndToEndVerdict& verdict) const {
    const std::vector<int64_t> values = got_.to_ints();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (open[i]) want.integer[i] = values[i];
    }
    verdict.comparison = compare_exact(got_, want.rounded(), rule_);
    verdict.all_zero = is_all_zero_unlike(got_, want, {});
  }

  void judge_floats(reference::Wide& want, const std::vector<bool>& open, EndToEndVerdict& verdict) const {
    const std::vector<double> values = got_.to_doubles();
    if (!output_.rounding && expected_ == nullptr) {
      // Rounded once, bit for bit; open elements take what is there.
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (open[i]) want.real[i] = values[i];
      }
      verdict.comparison = compare_exact(got_, want.rounded(), rule_);
      verdict.all_zero = is_all_zero_unlike(got_, want, {});
      return;
    }
    const FloatFormat& format = float_format(got_.dtype());
    const std::vector<double> once = want.rounded().to_doubles();
    const double eta = flushes_ ? format.smallest_normal() : format.smallest_subnormal();
    const double file = expected_ ? expected_->file_roundoff : 0;
    std::vector<double> bound(values.size()), rounding(values.size());
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const double magnitude = std::isfinite(want.real[i]) ? std::fabs(want.real[i]) : 0;
      if (output_.rounding) {
        rounding[i] = (format.unit_roundoff() + file) * magnitude + eta;
        bound[i] = open[i] ? kInfinity : kSigmaLimit * sigma_[position(i)] + rounding[i];
      } else {
        rounding[i] = std::isfinite(once[i]) ? std::fabs(once[i] - want.real[i]) : 0;
        if (file > format.unit_roundoff()) rounding[i] += file * magnitude;
        bound[i] = open[i] ? kInfinity : rounding[i];
      }
    }
    for (const reference::Wide* other : {expected_ ? &output_.widened : nullptr, &output_.flushed}) {
      if (other == nullptr || other->real.size() != output_.centre.real.size()) continue;
      for (std::size_t i = 0; i < bound.size(); ++i) bound[i] += moved(output_.centre, *other, position(i));
    }
    std::vector<bool> bent(values.size(), false);
    if (output_.rounding && !output_.extrapolated.empty())
      widen_where_bent(want, values, rounding, bound, bent);
    verdict.comparison = compare_bounded(got_, want, bound, rule_);
    verdict.all_zero = is_all_zero_unlike(got_, want, bound);
    for (std::size_t i = 0; output_.rounding && i < values.size(); ++i) {
      const double excess = std::fabs(values[i] - want.real[i]) - rounding[i];
      if (bent[i] || open[i] || !std::isfinite(excess) || excess <= 0) continue;
      const double sigma = sigma_[position(i)];
      verdict.sigmas = std::max(verdict.sigmas, sigma > 0 ? excess / sigma : kInfinity);
    }
  }

  // Sigma is no measure of the elements that become `bent`.
  void widen_where_bent(const reference::Wide& want, const std::vector<double>& values,
                        const std::vector<double>& rounding, std::vector<double>& bound,
                        std::vector<bool>& bent) const {
    std::vector<double> limit(output_.centre.real.size(), kInfinity);
    for (std::size_t i = 0; i < bound.size(); ++i) limit[position(i)] = bound[i];
    const Reach reach = reach_of(output_, limit);
    std::vector<std::pair<std::size_t, double>> found;
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const double far = (values[i] < want.real[i] ? reach.below : reach.above)[position(i)] + rounding[i];
      if (std::fabs(values[i] - want.real[i]) > bound[i] && far > bound[i]) found.emplace_back(i, far);
    }
    if (static_cast<double>(found.size()) > std::max(1.0, kBentShare * static_cast<double>(bound.size())))
      return;
    for (const auto& [i, far] : found) {
      bent[i] = true;
      bound[i] = far;
    }
  }

  const ReplayedOutput& output_;
  const ExpectedOutput* expected_;
  std::vector<int64_t> positions_;
  Tensor got_;
  bool flushes_;
  CompareRule rule_;
  std::vector<double> sigma_;
};

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

Reach reach_of(const ReplayedOutput& output, const std::vector<double>& limit) {
  const std::size_t count = output.centre.real.size();
  Reach reach;
  if (output.extrapolated.empty()) return reach;
  reach.below.assign(count, 0);
  reach.above.assign(count, 0);
  for (std::size_t w = 0; w < output.extrapolated.size(); ++w) {
    const double factor = w % 2 == 0 ? kExtrapolation : -kExtrapolation;
    for (std::size_t i = 0; i < count; ++i) {
      const double centre = output.centre.real[i];
      const double far = output.extrapolated[w].real[i] - centre;
      const double near = output.replays.empty() ? 0 : output.replays[w / 2].real[i] - centre;
      if (!(std::fabs(far - factor * near) > limit[i]) || !std::isfinite(far)) continue;
      double& side = far < 0 ? reach.below[i] : reach.above[i];
      side = std::max(side, std::fabs(far));
    }
  }
  return reach;
}

EndToEndVerdict judge_output(const ReplayedOutput& output, const Tensor& got, const ExpectedOutput* expected,
                             bool flushes, const std::string& name) {
  const OutputJudge judge(output, got, expected, flushes, name);
  const reference::Wide* file = expected && !output.file_ties ? &expected->value : nullptr;
  EndToEndVerdict verdict = judge.judge({file, file ? nullptr : &output.centre, false});
  if (output.contingent.empty() || verdict.comparison.ok()) return verdict;
  // Some decision is open: any consistent way to take it is right.
  std::vector<const reference::Wide*> worlds;
  if (file) worlds.push_back(&output.centre);
  for (const reference::Wide& world : output.worlds) worlds.push_back(&world);
  for (const reference::Wide* world : worlds) {
    EndToEndVerdict other = judge.judge({file, world, false});
    if (other.comparison.ok()) return other;
  }
  return judge.judge({file, &output.centre, true});
}

}  // namespace assay
