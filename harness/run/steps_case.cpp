#include "harness/run/steps_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/io/safetensors.h"
#include "harness/run/note.h"

namespace assay {
namespace {

// Steps that are run again from the checkpoint, and without what nobody carries.
constexpr int kRepeatedSteps = 3;

void add(DeviceCounters& sum, const DeviceCounters& step) {
  sum.cycles += step.cycles;
  sum.instructions += step.instructions;
  sum.seconds += step.seconds;
  sum.peak_bytes = std::max(sum.peak_bytes, step.peak_bytes);
}

void add(std::vector<Fallback>& sum, const std::vector<Fallback>& step) {
  for (const Fallback& one : step) {
    const auto same = [&](const Fallback& other) { return other.op == one.op && other.reason == one.reason; };
    const auto found = std::find_if(sum.begin(), sum.end(), same);
    if (found == sum.end()) {
      sum.push_back(one);
      continue;
    }
    found->count += one.count;
    found->bytes += one.bytes;
    found->seconds += one.seconds;
  }
}

// The first step's record grows by a later step's.
void add(RunResult& sum, const RunResult& step) {
  if (step.phases.first_run_s) sum.phases.steady_s.push_back(*step.phases.first_run_s);
  sum.compiles.count += step.compiles.count;
  sum.compiles.hits_memory += step.compiles.hits_memory;
  sum.compiles.hits_disk += step.compiles.hits_disk;
  sum.compiles.misses.insert(sum.compiles.misses.end(), step.compiles.misses.begin(),
                             step.compiles.misses.end());
  add(sum.fallbacks, step.fallbacks);
  if (sum.device && step.device) add(*sum.device, *step.device);
}

class Steps {
 public:
  // `request`: of the first step. `c` is read as long as this lives.
  Steps(const Case& c, RunRequest request, WorkerClient& worker)
      : c_(c), graph_(*c.graph), worker_(worker), request_(std::move(request)) {
    observed_ = observed_outputs(graph_, c.carry);
    for (const auto& [output, name] : c.carry) {
      const std::size_t input = input_number(graph_, name);
      if (output < 0 || static_cast<std::size_t>(output) >= graph_.outputs.size()) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("{}: output {} is carried, which the graph does not have", graph_.id, output));
      }
      carry_.emplace_back(static_cast<std::size_t>(output), input);
    }
    request_.repeats = 0;
  }

  // One step from `inputs`. nullopt: stopped.
  std::optional<RunResult> one(const std::vector<Tensor>& inputs) {
    request_.inputs = inputs;
    return worker_.run(request_, graph_);
  }

  // What `result` hands on, in the order of Case::carry.
  std::vector<Tensor> carried(const RunResult& result) const {
    std::vector<Tensor> tensors;
    for (const auto& [output, input] : carry_) tensors.push_back(result.outputs.at(output));
    return tensors;
  }

  std::vector<Tensor> next(std::vector<Tensor> inputs, const std::vector<Tensor>& carried) const {
    for (std::size_t i = 0; i < carry_.size(); ++i) inputs[carry_[i].second] = carried[i];
    return inputs;
  }

  const std::vector<std::size_t>& observed() const { return observed_; }

  // What is carried, through the bytes of a safetensors file.
  std::vector<Tensor> through_checkpoint(std::vector<Tensor> inputs) const {
    TensorFile file;
    for (const auto& [output, input] : carry_) file.tensors[request_.input_names[input]] = inputs[input];
    const TensorFile read = parse_safetensors(serialize_safetensors(file), "checkpoint");
    for (const auto& [output, input] : carry_) inputs[input] = read.tensors.at(request_.input_names[input]);
    return inputs;
  }

  // The case without the outputs that nobody carries, and its request.
  std::pair<Case, RunRequest> quiet() const {
    Graph graph = graph_;
    graph.outputs.clear();
    Case c = c_;
    RunRequest request = request_;
    request.outputs.clear();
    for (std::size_t i = 0; i < carry_.size(); ++i) {
      graph.outputs.push_back(graph_.outputs[carry_[i].first]);
      request.outputs.push_back(request_.outputs[carry_[i].first]);
      c.carry[i].first = static_cast<int>(i);
    }
    request.graph_json = graph_to_json(graph);
    c.graph = std::make_shared<const Graph>(std::move(graph));
    return {std::move(c), std::move(request)};
  }

 private:
  const Case& c_;
  const Graph& graph_;
  WorkerClient& worker_;
  RunRequest request_;
  std::vector<std::size_t> observed_;
  std::vector<std::pair<std::size_t, std::size_t>> carry_;  // output -> input
};

// A tensor of the steps' results along a new first dim.
Tensor stacked(const std::vector<Tensor>& steps) {
  Shape shape = steps.at(0).shape();
  shape.insert(shape.begin(), static_cast<int64_t>(steps.size()));
  std::string bytes;
  for (const Tensor& step : steps) {
    const Tensor flat = step.contiguous();
    bytes.append(reinterpret_cast<const char*>(flat.data()), flat.bytes());
  }
  return Tensor::from_bytes(steps[0].dtype(), shape, bytes.data(), bytes.size());
}

class StepsCase {
 public:
  StepsCase(const StepsRun& run, Record record, WorkerClient& worker, JudgeClient& judge)
      : run_(run),
        record_(std::move(record)),
        worker_(worker),
        judge_(judge),
        steps_(*run.c, run.request, worker) {}

  std::optional<CaseOutcome> run() {
    if (!run_all()) return std::nullopt;
    if (record_.status == Status::pass && !judge_curves()) return std::nullopt;
    const Checks& checks = run_.c->checks;
    if (checks.resumes && is_pass(record_.status) && !repeat_from_checkpoint(steps_, true)) {
      return std::nullopt;
    }
    if (checks.unobserved && is_pass(record_.status)) {
      auto [quiet, request] = steps_.quiet();
      Steps steps(quiet, std::move(request), worker_);
      if (!repeat_from_checkpoint(steps, false)) return std::nullopt;
    }
    CaseOutcome outcome;
    outcome.record = std::move(record_);
    outcome.graph = run_.c->graph;
    return outcome;
  }

 private:
  bool failed(const RunResult& result, int step) {
    if (!result.failure) return false;
    conclude(record_, *result.failure, result.reason, fmt::format("step {}: {}", step + 1, result.detail));
    return true;
  }

  // All steps; false if stopped.
  bool run_all() {
    const int steps = run_.c->steps;
    checkpoint_step_ = steps / 2;
    std::vector<std::vector<Tensor>> seen(steps_.observed().size());
    std::vector<Tensor> inputs = run_.request.inputs;
    std::optional<RunResult> sum;
    record_.status = Status::pass;
    for (int t = 0; t < steps; ++t) {
      if (t == checkpoint_step_) checkpoint_ = inputs;
      auto result = steps_.one(inputs);
      if (!result) return false;
      if (failed(*result, t)) return true;
      for (std::size_t o = 0; o < seen.size(); ++o) seen[o].push_back(result->outputs[steps_.observed()[o]]);
      std::vector<Tensor> carried = steps_.carried(*result);
      for (std::size_t i = 0; i < carried.size(); ++i) {
        if (carried[i].defined()) continue;
        conclude(record_, Status::meta_mismatch, "missing_output",
                 fmt::format("step {}: output {}, which the next step needs, was not returned", t + 1,
                             run_.c->carry[i].first));
        return true;
      }
      inputs = steps_.next(std::move(inputs), carried);
      if (t >= checkpoint_step_ && t < checkpoint_step_ + kRepeatedSteps) {
        carried_.push_back(std::move(carried));
      }
      result->outputs.clear();
      if (sum) {
        add(*sum, *result);
      } else {
        sum = std::move(result);
      }
    }
    note_run(record_, *sum);
    for (const NodeOutcome& node : sum->nodes) {
      on_device_ =
          on_device_ || node.placement == Placement::device || node.placement == Placement::device_soft;
    }
    for (const std::vector<Tensor>& curve : seen) {
      if (std::all_of(curve.begin(), curve.end(), [](const Tensor& t) { return t.defined(); })) {
        curves_.push_back(stacked(curve));
        continue;
      }
      conclude(record_, Status::meta_mismatch, "missing_output", "an output of a step was not returned");
    }
    return true;
  }

  bool judge_curves() {
    StepsRequest request{run_.judge, run_.c->steps, run_.c->carry, curves_, run_.cache_dir};
    const auto verdict = judge_.judge_steps(request, run_.texts);
    if (!verdict) return false;
    conclude(record_, *verdict);
    if (record_.status != Status::pass) return true;
    if (run_.null_backend) {
      conclude(record_, Status::vacuous, "nothing_ran_on_device", "the null backend computes nothing");
    } else if (!record_.fallbacks.empty() && !on_device_) {
      conclude(record_, Status::unsupported, "nothing_ran_on_device", "every node was run by the harness");
    } else if (!record_.fallbacks.empty()) {
      record_.status = Status::pass_with_fallback;
    }
    return true;
  }

  // Some steps again, as `steps` runs them; what they hand on must be what it was. False if stopped.
  bool repeat_from_checkpoint(Steps& steps, bool resumed) {
    std::vector<Tensor> inputs = checkpoint_;
    if (resumed) {
      worker_.stop();  // a new process knows nothing but the file
      inputs = steps.through_checkpoint(std::move(inputs));
    }
    int t = checkpoint_step_;
    for (const std::vector<Tensor>& before : carried_) {
      const auto result = steps.one(inputs);
      if (!result) return false;
      if (failed(*result, t++)) return true;
      const std::vector<Tensor> now = steps.carried(*result);
      for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i].bitwise_equal(before[i])) continue;
        conclude(record_, Status::nondeterministic, resumed ? "resume_differs" : "observation_differs",
                 fmt::format("step {}: '{}' has other bits {}", t, run_.c->carry[i].second,
                             resumed ? "after the run was resumed from a checkpoint"
                                     : "when the step returns nothing but what is carried"));
        return true;
      }
      inputs = steps.next(std::move(inputs), now);
    }
    return true;
  }

  const StepsRun& run_;
  Record record_;
  WorkerClient& worker_;
  JudgeClient& judge_;
  Steps steps_;
  int checkpoint_step_ = 0;
  bool on_device_ = false;
  std::vector<Tensor> checkpoint_;            // inputs of step checkpoint_step_
  std::vector<std::vector<Tensor>> carried_;  // by kRepeatedSteps steps from there on
  std::vector<Tensor> curves_;
};

}  // namespace

std::optional<CaseOutcome> run_steps_case(const StepsRun& run, Record record, WorkerClient& worker,
                                          JudgeClient& judge) {
  return StepsCase(run, std::move(record), worker, judge).run();
}

}  // namespace assay
