#include "harness/judge/decisions.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/judge/node_rules.h"
#include "harness/judge/selection.h"
#include "reference/overlap.h"

namespace assay {
namespace {

constexpr double kReach = 8;  // the gate's 8 sigma
constexpr int64_t kLarge = 65536;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// centre + factor * (replay - centre); the centre where either is not finite.
reference::Wide moved(const reference::Wide& centre, const reference::Wide& replay, double factor) {
  reference::Wide out = centre;
  for (std::size_t i = 0; i < out.real.size(); ++i) {
    const double deviation = replay.real[i] - centre.real[i];
    if (std::isfinite(deviation)) out.real[i] += factor * deviation;
  }
  return out;
}

double largest_move(const SpreadInputs& inputs, std::size_t r, double factor) {
  double largest = 0;
  for (std::size_t i = 0; i < inputs.centre.size(); ++i) {
    const reference::Wide* replay = inputs.replays[i].empty() ? nullptr : inputs.replays[i][r];
    if (replay == nullptr) continue;
    for (std::size_t k = 0; k < replay->real.size(); ++k) {
      const double deviation = std::fabs(replay->real[k] - inputs.centre[i]->real[k]);
      if (std::isfinite(deviation)) largest = std::max(largest, deviation);
    }
  }
  return largest * std::fabs(factor);
}

bool jumps(double centre, double other, double move) {
  if (same(centre, other)) return false;
  if (!std::isfinite(centre) || !std::isfinite(other)) return true;
  const bool integers = centre == std::nearbyint(centre) && other == std::nearbyint(other);
  return integers || std::fabs(other - centre) > kReach * move;
}

// Distinct alternatives by output and element.
class Alternatives {
 public:
  void add(std::size_t output, std::size_t element, double real, int64_t integer, std::size_t most = kMost) {
    std::vector<Alternative>& known = found_[{output, element}];
    for (const Alternative& other : known) {
      if (same(other.real, real) && other.integer == integer) return;
    }
    if (known.size() < most) known.push_back({output, static_cast<int64_t>(element), real, integer});
  }
  std::vector<Alternative> take() const {
    std::vector<Alternative> all;
    for (const auto& [key, list] : found_) all.insert(all.end(), list.begin(), list.end());
    return all;
  }

 private:
  static constexpr std::size_t kMost = 8;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Alternative>> found_;
};

// Elements written more than once: each of the values.
void add_contested_writes(const OpCall& call, const std::vector<const reference::Wide*>& inputs,
                          Alternatives& alternatives) {
  const reference::Contests contests = reference::contested_writes(call, inputs);
  const auto parts = static_cast<std::size_t>(contests.values.parts());
  for (const auto& [to, sources] : contests.places) {
    for (const int64_t from : sources) {
      for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t e = static_cast<std::size_t>(to) * parts + p;
        const std::size_t i = static_cast<std::size_t>(from) * parts + p;
        const bool integral = contests.values.is_integral();
        alternatives.add(0, e, integral ? 0 : contests.values.real[i],
                         integral ? contests.values.integer[i] : 0, sources.size());
      }
    }
  }
}

}  // namespace

std::vector<const reference::Wide*> SpreadInputs::of_replay(std::size_t r) const {
  std::vector<const reference::Wide*> out = centre;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!replays[i].empty()) out[i] = replays[i][r];
  }
  return out;
}

bool SpreadInputs::any() const {
  return std::any_of(replays.begin(), replays.end(), [](const auto& list) { return !list.empty(); });
}

std::vector<Alternative> uncertain_decisions(const OpCall& call, const SpreadInputs& inputs,
                                             const std::vector<reference::Wide>& centre) {
  Alternatives alternatives;
  add_contested_writes(call, inputs.centre, alternatives);
  if (!inputs.any()) return alternatives.take();
  std::size_t replays = 0;
  int64_t numbers = 0;
  for (std::size_t i = 0; i < inputs.centre.size(); ++i) {
    replays = std::max(replays, inputs.replays[i].size());
    numbers += static_cast<int64_t>(inputs.centre[i]->real.size());
  }
  const std::vector<double> factors = numbers > kLarge
                                          ? std::vector<double>{-kReach, 1, kReach}
                                          : std::vector<double>{-kReach, -4, -2, -1, 1, 2, 4, kReach};
  for (std::size_t r = 0; r < replays; ++r) {
    for (const double factor : factors) {
      std::vector<reference::Wide> storage;
      storage.reserve(inputs.centre.size());
      std::vector<const reference::Wide*> arguments = inputs.centre;
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (inputs.replays[i].empty()) continue;
        storage.push_back(moved(*inputs.centre[i], *inputs.replays[i][r], factor));
        arguments[i] = &storage.back();
      }
      const std::vector<reference::Wide> other = reference::evaluate(call, arguments);
      const double move = largest_move(inputs, r, factor);
      for (std::size_t o = 0; o < centre.size(); ++o) {
        for (std::size_t e = 0; e < centre[o].integer.size(); ++e) {
          if (other[o].integer[e] != centre[o].integer[e]) alternatives.add(o, e, 0, other[o].integer[e]);
        }
        for (std::size_t e = 0; e < centre[o].real.size(); ++e) {
          if (jumps(centre[o].real[e], other[o].real[e], move)) alternatives.add(o, e, other[o].real[e], 0);
        }
      }
    }
  }
  return alternatives.take();
}

std::vector<bool> follow_device(const std::vector<Alternative>& alternatives,
                                const std::vector<Tensor>& device, std::vector<reference::Wide>& centre) {
  std::vector<bool> settled(alternatives.size(), false);
  std::vector<std::vector<double>> reals(device.size());
  std::vector<std::vector<int64_t>> integers(device.size());
  for (std::size_t o = 0; o < device.size(); ++o) {
    if (!device[o].defined() || o >= centre.size() || device[o].dtype() != centre[o].meta.dtype ||
        device[o].shape() != centre[o].meta.shape) {
      continue;
    }
    if (is_integral(device[o].dtype())) {
      integers[o] = device[o].to_ints();
    } else {
      reals[o] = device[o].to_doubles();
    }
  }
  for (std::size_t begin = 0; begin < alternatives.size();) {
    std::size_t end = begin;
    while (end < alternatives.size() && alternatives[end].output == alternatives[begin].output &&
           alternatives[end].element == alternatives[begin].element) {
      ++end;
    }
    const std::size_t o = alternatives[begin].output;
    const auto e = static_cast<std::size_t>(alternatives[begin].element);
    bool found = false;
    if (o < integers.size() && e < integers[o].size()) {
      const int64_t choice = integers[o][e];
      found = choice == centre[o].integer[e];
      for (std::size_t i = begin; i < end; ++i) found = found || alternatives[i].integer == choice;
      if (found) centre[o].integer[e] = choice;
    } else if (o < reals.size() && e < reals[o].size()) {
      // The nearest of the fp64 values: the device's own carries its rounding.
      const double choice = reals[o][e];
      double nearest = centre[o].real[e];
      for (std::size_t i = begin; i < end; ++i) {
        if (std::fabs(alternatives[i].real - choice) < std::fabs(nearest - choice))
          nearest = alternatives[i].real;
      }
      centre[o].real[e] = nearest;
      found = !std::isnan(choice);
    }
    std::fill(settled.begin() + static_cast<std::ptrdiff_t>(begin),
              settled.begin() + static_cast<std::ptrdiff_t>(end), found);
    begin = end;
  }
  return settled;
}

bool follow_device_selection(const OpCall& call, const SpreadInputs& inputs,
                             const std::vector<Tensor>& device, std::vector<reference::Wide>& centre) {
  const auto indices = static_cast<std::size_t>(index_output(call));
  if (device.size() <= indices || !device[indices].defined()) return false;
  const Tensor& chosen = device[indices];
  if (chosen.dtype() != centre[indices].meta.dtype || chosen.shape() != centre[indices].meta.shape)
    return false;
  const auto self = static_cast<std::size_t>(call.tensor("self"));
  const reference::Wide& input = *inputs.centre[self];
  Slack slack;
  if (!inputs.replays[self].empty()) {
    slack.assign(input.real.size(), 0);
    for (const reference::Wide* replay : inputs.replays[self]) {
      for (std::size_t i = 0; i < slack.size(); ++i) {
        const double deviation = replay->real[i] - input.real[i];
        if (std::isfinite(deviation)) slack[i] += deviation * deviation;
      }
    }
    const auto count = static_cast<double>(inputs.replays[self].size());
    for (double& s : slack) s = kReach * std::sqrt(s / count);
  }
  CompareRule rule;
  if (!judge_selection(call, input, centre, device, slack, rule, false).ok) return false;
  centre[indices].integer = chosen.to_ints();
  if (indices == 1) gather_values(call, input, centre[1], centre[0]);
  return true;
}

void gather_values(const OpCall& call, const reference::Wide& input, const reference::Wide& indices,
                   reference::Wide& values) {
  const std::vector<int64_t> positions = selected_positions(call, input.meta.shape, indices);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto at = static_cast<std::size_t>(positions[i]);
    if (!values.real.empty()) values.real[i] = input.real[at];
    if (!values.integer.empty()) values.integer[i] = input.integer[at];
  }
}

}  // namespace assay
