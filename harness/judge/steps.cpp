#include "harness/judge/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/philox.h"
#include "harness/judge/compare.h"
#include "harness/judge/end_to_end.h"
#include "harness/judge/expected.h"
#include "harness/judge/node_rules.h"
#include "harness/judge/trajectories_cache.h"
#include "harness/judge/vacuous.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

using reference::Wide;

class Trajectories {
 public:
  explicit Trajectories(const StepsRequest& request)
      : request_(request), graph_(*request.request.graph), walker_(graph_) {
    for (const Tensor& tensor : request.request.inputs) inputs_.push_back(Wide::from(tensor));
    observed_ = observed_outputs(graph_, request.carry);
    for (const auto& [output, name] : request.carry) {
      carry_.emplace_back(static_cast<std::size_t>(output), input_number(graph_, name));
    }
    for (const Node& node : graph_.nodes) {
      if (reference::is_host_scalar(node.op)) {
        precisions_.emplace_back();
        continue;
      }
      precisions_.push_back(precision_of(request.request.contract, OpCall(graph_, node), request.request.mode,
                                         request.request.options));
      flushes_ = flushes_ || precisions_.back().ftz_out;
    }
    if (!request.request.backend_is_reference) return;
    parts_ = graph_;
    decompose(*parts_);
    centre_.emplace(*parts_);
  }

  void run() {
    const TrajectoriesCache cache(request_);
    if (auto found = cache.find()) {
      results_ = std::move(*found);
      return;
    }
    const std::size_t count = 1 + static_cast<std::size_t>(kStepReplays);
    results_.resize(count);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) {
        try {
          results_[i] = i == 0 ? centre() : replay(static_cast<uint32_t>(i - 1));
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
          return;
        }
      }
    };
    std::vector<std::thread> threads;
    const std::size_t wanted =
        std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), count);
    for (std::size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    cache.keep(results_);
  }

  bool flushes() const { return flushes_; }
  const std::vector<std::size_t>& observed() const { return observed_; }
  // By step, of an observed output.
  const std::vector<Wide>& of_centre(std::size_t o) const { return results_[0][o]; }
  const std::vector<Wide>& of_replay(std::size_t r, std::size_t o) const { return results_[1 + r][o]; }

 private:
  using Step = std::function<std::vector<Wide>(int, const std::vector<const Wide*>&)>;

  Observations walk(const Step& step) const {
    std::vector<Wide> inputs = inputs_;
    Observations seen(observed_.size());
    for (int t = 0; t < request_.steps; ++t) {
      std::vector<const Wide*> pointers;
      for (const Wide& input : inputs) pointers.push_back(&input);
      std::vector<Wide> outputs = step(t, pointers);
      for (std::size_t o = 0; o < observed_.size(); ++o) seen[o].push_back(outputs[observed_[o]]);
      for (const auto& [output, input] : carry_) inputs[input] = outputs[output];
    }
    return seen;
  }

  Observations centre() const {
    const reference::Walker& walker = centre_ ? *centre_ : walker_;
    return walk([&](int t, const std::vector<const Wide*>& inputs) {
      if (centre_ && t < 2) {
        if (auto exact = walker.run_witness(inputs)) return std::move(*exact);
      }
      return walker.run_wide(inputs);
    });
  }

  Observations replay(uint32_t number) const {
    const auto precision = [this](int node, const OpCall&) -> const Precision& {
      return precisions_[static_cast<std::size_t>(node)];
    };
    return walk([&](int t, const std::vector<const Wide*>& inputs) {
      const uint64_t seed =
          fnv1a64(fmt::format("{}#{}#{}", request_.request.case_id, request_.request.seed, t));
      return walker_.run_stochastic(inputs, precision, seed, number);
    });
  }

  const StepsRequest& request_;
  const Graph& graph_;
  reference::Walker walker_;
  std::optional<Graph> parts_;
  std::optional<reference::Walker> centre_;  // of the decomposed graph
  std::vector<Wide> inputs_;
  std::vector<std::size_t> observed_;
  std::vector<std::pair<std::size_t, std::size_t>> carry_;  // output -> input
  std::vector<Precision> precisions_;
  bool flushes_ = false;
  std::vector<Observations> results_;
};

class CurveJudge {
 public:
  CurveJudge(const StepsRequest& request, const Trajectories& all) : request_(request), all_(all) {}

  void judge(std::size_t o, Verdict& verdict) const {
    const Graph& graph = *request_.request.graph;
    const std::string name = output_key(graph, all_.observed()[o]);
    const Wide centre = joined_steps(all_.of_centre(o));
    const Tensor& got = request_.observed[o];
    if (const auto mismatch = compare_meta(got, centre.meta.dtype, centre.meta.shape, name)) {
      set(verdict, Status::meta_mismatch, mismatch->reason, mismatch->detail);
      return;
    }
    CompareRule rule;
    rule.output = name;
    rule.zero_sign = false;
    rule.flush = all_.flushes();
    Comparison comparison;
    if (is_integral(got.dtype())) {
      comparison = compare_exact(got, centre.rounded(), rule);
    } else {
      const std::vector<double> bound = bounds(o, centre);
      if (is_all_zero_unlike(got, centre, bound)) {
        set(verdict, Status::vacuous, "all_zero",
            fmt::format("output {} is all zeros in every step, the reference is not", name));
        return;
      }
      comparison = compare_bounded(got, centre, bound, rule);
      Gate& gate = verdict.gates["end_to_end"];
      gate.limit = kSigmaLimit;
      gate.value = std::max(gate.value.value_or(0), comparison.margin * kSigmaLimit);
      gate.status = comparison.ok() ? GateStatus::pass : GateStatus::fail;
    }
    if (!verdict.margin || comparison.margin > *verdict.margin) {
      verdict.margin = comparison.margin;
      verdict.worst = comparison.worst;
    }
    const Finding finding = finding_of(comparison);
    if (finding.status == Status::pass) return;
    set(verdict, finding.status, finding.reason == "element_bound" ? "end_to_end" : finding.reason,
        "of the curve over all steps: " + describe(comparison));
  }

  // The mean over the last tenth of the steps against the first.
  void judge_descent(Verdict& verdict) const {
    const double share = request_.request.checks.descends;
    if (share <= 0 || all_.observed().empty() || verdict.status != Status::pass) return;
    const std::vector<double> curve = request_.observed[0].to_doubles();
    const std::size_t last = std::max<std::size_t>(1, curve.size() / 10);
    double sum = 0;
    for (std::size_t i = curve.size() - last; i < curve.size(); ++i) sum += curve[i];
    const double end = sum / static_cast<double>(last);
    if (end <= share * curve[0]) return;
    set(verdict, Status::wrong, "no_descent",
        fmt::format(
            "the first output is {:.4f} in the first step and {:.4f} in the mean of the last {}: more than "
            "{} of the start",
            curve[0], end, last, share));
  }

 private:
  static void set(Verdict& verdict, Status status, const std::string& reason, const std::string& detail) {
    if (verdict.status != Status::pass) return;
    verdict.status = status;
    verdict.reason = reason;
    verdict.detail = detail;
  }

  std::vector<double> bounds(std::size_t o, const Wide& centre) const {
    const auto steps = static_cast<std::size_t>(request_.steps),
               window = static_cast<std::size_t>(kStepWindow);
    const std::size_t width = centre.real.size() / steps;
    const FloatFormat& format = float_format(centre.meta.dtype);
    const double eta = all_.flushes() ? format.smallest_normal() : format.smallest_subnormal();
    std::vector<double> bound(centre.real.size());
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t first = t < window ? 0 : t - window, last = std::min(steps, t + window + 1);
      ReplayedOutput part;
      part.zero_sign = false;
      const auto steps_around = [&](const std::vector<Wide>& all) {
        return joined_steps(std::span(all).subspan(first, last - first));
      };
      part.centre = steps_around(all_.of_centre(o));
      for (std::size_t r = 0; r < static_cast<std::size_t>(kStepReplays); ++r) {
        part.replays.push_back(steps_around(all_.of_replay(r, o)));
      }
      const std::vector<double> sigma = spread_of(part);
      for (std::size_t e = 0; e < width; ++e) {
        const double want = std::fabs(centre.real[t * width + e]);
        const double rounding = format.unit_roundoff() * (std::isfinite(want) ? want : 0) + eta;
        bound[t * width + e] = kSigmaLimit * sigma[(t - first) * width + e] + rounding;
      }
    }
    return bound;
  }

  const StepsRequest& request_;
  const Trajectories& all_;
};

}  // namespace

std::vector<std::size_t> observed_outputs(const Graph& graph,
                                          const std::vector<std::pair<int, std::string>>& carry) {
  std::set<std::size_t> carried;
  for (const auto& [output, name] : carry) carried.insert(static_cast<std::size_t>(output));
  std::vector<std::size_t> observed;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId id = graph.outputs[i].value;
    if (id < 0 || graph.values.at(static_cast<std::size_t>(id)).kind != ValueKind::tensor) continue;
    if (!carried.contains(i)) observed.push_back(i);
  }
  return observed;
}

std::size_t input_number(const Graph& graph, const std::string& name) {
  std::size_t number = 0;
  for (const GraphInput& input : graph.inputs) {
    if (input.value < 0) continue;
    if (input.kind == InputKind::user && input.target == name) return number;
    ++number;
  }
  throw Error(ErrorCode::invalid_argument,
              graph.id + ": an output is carried to '" + name + "', which is no user input");
}

Verdict judge_steps(const StepsRequest& request) {
  Verdict verdict;
  verdict.gates = make_record().gates;
  verdict.status = Status::pass;
  const JudgeRequest& of = request.request;
  verdict.witness = of.backend_is_reference ? "float128" : "reference";
  Trajectories all(request);
  if (all.observed().size() != request.observed.size() || all.observed().empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: {} outputs are observed in every step, and {} curves were given", of.case_id,
                            all.observed().size(), request.observed.size()));
  }
  all.run();
  const CurveJudge judge(request, all);
  for (std::size_t o = 0; o < all.observed().size(); ++o) judge.judge(o, verdict);
  judge.judge_descent(verdict);
  return verdict;
}

}  // namespace assay
