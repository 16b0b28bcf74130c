#include "harness/judge/judge.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/opset/classify.h"
#include "core/philox.h"
#include "harness/judge/end_to_end.h"
#include "harness/judge/expected.h"
#include "harness/judge/local_pass.h"
#include "harness/judge/negative.h"
#include "harness/judge/node_rules.h"
#include "harness/judge/rank_agreement.h"
#include "harness/judge/replay.h"
#include "harness/judge/vacuous.h"
#include "reference/draws.h"
#include "reference/overlap.h"

namespace assay {
namespace {

using reference::Wide;

std::map<std::string, Gate> no_gates() { return make_record().gates; }

bool is_device(const NodeOutcome& node) {
  return node.placement == Placement::device || node.placement == Placement::device_soft;
}

bool any_placement(const RunResult& run, Placement placement) {
  return std::any_of(run.nodes.begin(), run.nodes.end(),
                     [placement](const NodeOutcome& node) { return node.placement == placement; });
}

// What a graph output is compared by.
struct OutputPlan {
  std::size_t number;
  std::string key;
};

// All outputs against one replay.
struct OutputsVerdict {
  NodeVerdict verdict;
  Gate gate;
  int64_t compared, determined;
  bool differs_from_file_only, reference_nan;
};

}  // namespace

struct Judge::State {
  explicit State(JudgeRequest r) : request(std::move(r)), graph(*request.graph) {}

  JudgeRequest request;
  const Graph& graph;
  std::optional<std::vector<Tensor>> chain;
  std::vector<Wide> inputs;
  std::vector<Tensor> unread;  // stands for the chain where no value of it is read

  void widen_inputs();
  bool needs_chain() const;
  bool is_nan_everywhere(const std::vector<OutputPlan>& outputs);
  std::vector<OutputPlan> tensor_outputs() const;
  LocalRequest local_request(const RunResult& run);
  std::optional<NodeVerdict> check_outputs_exist(const RunResult& run) const;
  std::optional<Verdict> reference_refuses();
  OutputsVerdict judge_outputs(const RunResult& run,
                               const std::vector<std::optional<ExpectedOutput>>& expected,
                               const std::vector<OutputPlan>& outputs, const Replay& replayed) const;
  void judge_end_to_end(const RunResult& run, const std::vector<std::optional<ExpectedOutput>>& expected,
                        const std::vector<OutputPlan>& outputs, NodeVerdict& total, int64_t& compared);
  std::string witness_name(bool any_witness) const;
  bool has_nan_policy() const;
  bool is_fallback_only(const RunResult& run) const;
  Verdict judge_values(const RunResult& run);
  void conclude(const RunResult& run, Verdict& verdict) const;
};

void Judge::State::widen_inputs() {
  if (!inputs.empty()) return;
  for (const Tensor& tensor : request.inputs) inputs.push_back(Wide::from(tensor));
}

// One node that reads inputs only is judged by values of its own: the chain would be those once more. Draws,
// and sizes and scalars that the node finds out, are the chain's.
bool Judge::State::needs_chain() const {
  if (graph.nodes.size() != 1 || is_random_op(graph.nodes[0].op)) return true;
  return std::any_of(graph.values.begin(), graph.values.end(), [](const Value& value) {
    return value.kind != ValueKind::tensor ||
           std::any_of(value.shape.begin(), value.shape.end(), [](int64_t size) { return size < 0; });
  });
}

bool Judge::State::is_nan_everywhere(const std::vector<OutputPlan>& outputs) {
  if (!chain) chain = reference::local_chain(graph, request.inputs);
  std::vector<const Tensor*> values;
  for (const OutputPlan& plan : outputs) {
    values.push_back(&chain->at(static_cast<std::size_t>(graph.outputs[plan.number].value)));
  }
  return is_chain_nan(values, request.inputs);
}

std::vector<OutputPlan> Judge::State::tensor_outputs() const {
  std::vector<OutputPlan> plans;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId id = graph.outputs[i].value;
    if (id < 0 || graph.values.at(static_cast<std::size_t>(id)).kind != ValueKind::tensor) continue;
    plans.push_back({i, output_key(graph, i)});
  }
  return plans;
}

LocalRequest Judge::State::local_request(const RunResult& run) {
  LocalRequest local;
  local.graph = &graph;
  local.inputs = &inputs;
  local.contract = &request.contract;
  local.options = &request.options;
  local.mode = request.mode;
  local.case_id = request.case_id;
  local.checks = request.checks;
  local.backend_is_reference = request.backend_is_reference;
  local.keep_all_nodes = request.keep_all_nodes;
  local.run = &run;
  if (!chain) unread.resize(graph.values.size());
  local.chain = chain ? &*chain : &unread;
  return local;
}

// No output at all is vacuous; a missing one, or one of another dtype or shape, is a meta_mismatch.
std::optional<NodeVerdict> Judge::State::check_outputs_exist(const RunResult& run) const {
  NodeVerdict verdict;
  const std::vector<OutputPlan> plans = tensor_outputs();
  const bool none =
      std::none_of(run.outputs.begin(), run.outputs.end(), [](const Tensor& t) { return t.defined(); });
  if (!plans.empty() && none) {
    verdict.status = Status::vacuous;
    verdict.reason = "no_output";
    verdict.detail = "the backend reported success, but returned no output";
    return verdict;
  }
  for (const OutputPlan& plan : plans) {
    const Value& value = graph.values[static_cast<std::size_t>(graph.outputs[plan.number].value)];
    const Tensor got = plan.number < run.outputs.size() ? run.outputs[plan.number] : Tensor();
    // A size that depends on data is known from the reference's chain.
    Shape shape = value.shape;
    if (std::find(shape.begin(), shape.end(), -1) != shape.end() && chain) {
      shape = chain->at(static_cast<std::size_t>(graph.outputs[plan.number].value)).shape();
    }
    if (const auto mismatch = compare_meta(got, value.dtype, shape, plan.key)) {
      verdict.status = Status::meta_mismatch;
      verdict.reason = mismatch->reason;
      verdict.detail = mismatch->detail;
      return verdict;
    }
  }
  return std::nullopt;
}

// A graph that the reference cannot evaluate has no verdict about the device.
std::optional<Verdict> Judge::State::reference_refuses() {
  try {
    widen_inputs();
    if (!chain) chain = reference::local_chain(graph, request.inputs);
    return std::nullopt;
  } catch (const Error& error) {
    Verdict verdict;
    verdict.gates = no_gates();
    verdict.detail = error.what();
    switch (error.code()) {
      case ErrorCode::unsupported:
      case ErrorCode::unknown_operator:
        verdict.status = Status::unmodelled;
        verdict.reason = "no_error_model";
        break;
      case ErrorCode::invalid_argument:
      case ErrorCode::malformed_file:
        verdict.status = Status::malformed_file;
        verdict.reason = "malformed";
        break;
      case ErrorCode::io:
      case ErrorCode::internal:
        verdict.status = Status::infrastructure_error;
        verdict.reason = "internal";
        break;
    }
    return verdict;
  }
}

OutputsVerdict Judge::State::judge_outputs(const RunResult& run,
                                           const std::vector<std::optional<ExpectedOutput>>& expected,
                                           const std::vector<OutputPlan>& outputs,
                                           const Replay& replayed) const {
  OutputsVerdict all{{}, {GateStatus::pass, 0.0, kSigmaLimit}, 0, 0, false, false};
  std::vector<const Wide*> centres;
  NodeVerdict& verdict = all.verdict;
  for (const OutputPlan& plan : outputs) {
    const ReplayedOutput& output = replayed.outputs[plan.number];
    const Tensor& got = run.outputs[plan.number];
    const ExpectedOutput* file = expected[plan.number] ? &*expected[plan.number] : nullptr;
    centres.push_back(&output.centre);
    if (is_unwritten(got, output.centre)) {
      raise(verdict, {Status::vacuous,
                      "stale_output",
                      fmt::format("output {} was not written: all its bytes are equal", plan.key),
                      {},
                      {},
                      {},
                      false});
      continue;
    }
    const EndToEndVerdict judged = judge_output(output, got, file, replayed.flushes, plan.key);
    if (judged.all_zero && judged.status != GateStatus::undetermined) {
      raise(verdict, {Status::vacuous,
                      "all_zero",
                      fmt::format("output {} is all zeros, the reference is not", plan.key),
                      {},
                      {},
                      {},
                      false});
    }
    all.compared += 1;
    all.determined += judged.status == GateStatus::undetermined ? 0 : 1;
    all.gate.value = std::max(*all.gate.value, judged.sigmas);
    NodeVerdict found;
    found.margin = judged.comparison.margin;
    found.worst = judged.comparison.worst;
    const Finding finding = finding_of(judged.comparison);
    if (finding.status != Status::pass) {
      found.status = finding.status;
      found.reason = finding.reason == "element_bound" ? "end_to_end" : finding.reason;
      found.detail = describe(judged.comparison);
      if (file) {
        found.detail = "against the expected file: " + found.detail;
        all.differs_from_file_only =
            judge_output(output, got, nullptr, replayed.flushes, plan.key).comparison.ok();
      }
      all.gate.status = GateStatus::fail;
    }
    raise(verdict, found);
  }
  all.reference_nan = is_reference_nan(centres, request.inputs);
  return all;
}

void Judge::State::judge_end_to_end(const RunResult& run,
                                    const std::vector<std::optional<ExpectedOutput>>& expected,
                                    const std::vector<OutputPlan>& outputs, NodeVerdict& total,
                                    int64_t& compared) {
  if (outputs.empty()) return;
  ReplayRequest replay_request;
  replay_request.graph = &graph;
  replay_request.inputs = &inputs;
  replay_request.contract = &request.contract;
  replay_request.mode = request.mode;
  replay_request.options = &request.options;
  replay_request.seed = fnv1a64(fmt::format("{}#{}", request.case_id, request.seed));
  replay_request.witness = request.backend_is_reference || uses_dtype(graph, DType::f64);
  replay_request.expected = !request.expected.empty();
  for (const std::optional<ExpectedOutput>& file : expected) {
    replay_request.file_outputs.push_back(file && file->positions.empty() ? &file->value : nullptr);
  }
  replay_request.device = run.nodes.empty() ? nullptr : &run.nodes;
  OutputsVerdict judged = judge_outputs(run, expected, outputs, replay(replay_request));
  const std::string& reason = judged.verdict.reason;
  if (total.status == Status::pass && (reason == "end_to_end" || reason == "special_value" ||
                                       judged.verdict.status == Status::nan_mismatch)) {
    replay_request.second_look = true;
    judged = judge_outputs(run, expected, outputs, replay(replay_request));
  }
  NodeVerdict& verdict = judged.verdict;
  Gate& gate = judged.gate;
  compared += judged.compared;
  if (judged.differs_from_file_only)
    verdict.detail += "; the output agrees with Assay's reference, the file does not";
  if (gate.status == GateStatus::pass && judged.determined == 0) gate.status = GateStatus::undetermined;
  if (verdict.status == Status::pass && judged.reference_nan && !has_nan_policy()) {
    verdict.status = Status::vacuous;
    verdict.reason = "reference_nan";
    verdict.detail =
        "the reference's outputs are NaN everywhere although no input is: nothing can be compared";
  }
  if (request.mode == "compile" && gate.status == GateStatus::undetermined &&
      verdict.status == Status::pass) {
    verdict.status = Status::vacuous;
    verdict.reason = "no_output";
    verdict.detail =
        "every output depends on a decision that rounding leaves open: nothing could be compared";
  }
  verdict.gates["end_to_end"] = gate;
  // The margin of a model is that of its nodes; where none was judged alone, that of its outputs.
  if (total.margin) verdict.margin.reset();
  if (total.margin && verdict.status == Status::pass) verdict.worst.reset();
  raise(total, verdict);
}

// A result that is NaN everywhere is an answer: a probe says so, or a suite does of operators whose models
// all name the definition that gives it.
bool Judge::State::has_nan_policy() const {
  if (request.checks.exact_probe) return true;
  return request.checks.nan_policy &&
         std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
           return reference::is_host_scalar(node.op) ||
                  (reference::has_operator(node.op) && !reference::error_model(node.op).authority.empty());
         });
}

// The harness ran what was to be computed: its own numbers say nothing about the device.
bool Judge::State::is_fallback_only(const RunResult& run) const {
  return any_placement(run, Placement::fallback) &&
         std::none_of(run.nodes.begin(), run.nodes.end(), is_device);
}

std::string Judge::State::witness_name(bool any_witness) const {
  if (!request.expected.empty())
    return request.expected_source.empty() ? "expected_file" : request.expected_source;
  return any_witness ? "float128" : "reference";
}

Verdict Judge::State::judge_values(const RunResult& run) {
  Verdict verdict;
  verdict.gates = no_gates();
  const std::vector<std::optional<ExpectedOutput>> expected = match_expected(
      graph, request.expected, request.expected_source.empty() ? "expected file" : request.expected_source);

  NodeVerdict total;
  std::vector<std::string> without_witness;
  int64_t compared = 0;
  if (const auto missing = check_outputs_exist(run)) {
    raise(total, *missing);
  } else {
    const LocalRequest request_local = local_request(run);
    // Outputs of a graph's one node are judged by its standard, others end to end.
    std::vector<OutputPlan> end_to_end = tensor_outputs();
    const std::vector<OutputPlan> all = end_to_end;
    std::map<std::size_t, ExpectedOutput> by_number;
    if (graph.nodes.size() == 1 && !is_fallback_only(run) && !graph.nodes[0].op.starts_with("_operator")) {
      end_to_end.clear();
      for (const OutputPlan& plan : all) {
        const bool computed =
            graph.values[static_cast<std::size_t>(graph.outputs[plan.number].value)].producer == 0;
        const bool slice = expected[plan.number] && !expected[plan.number]->positions.empty();
        if (!computed || slice) {
          end_to_end.push_back(plan);
          continue;
        }
        ++compared;
        if (expected[plan.number]) by_number[plan.number] = *expected[plan.number];
      }
    }
    const bool has_single = end_to_end.size() < all.size();
    const SingleNode single_node{&run.outputs, &by_number};
    std::optional<NodeVerdict> single;
    if (request.mode != "compile" && !run.nodes.empty()) {
      LocalVerdict local = judge_local(request_local, has_single ? &single_node : nullptr);
      if (!local.missing.empty() && graph.nodes.size() > 1) {
        verdict.status = Status::infrastructure_error;
        verdict.reason = "internal";
        verdict.detail =
            fmt::format("the worker returned no local result of {} nodes that the device ran, first {}",
                        local.missing.size(), local.missing.front());
        return verdict;
      }
      raise(total, local.total);
      verdict.first_bad_node = local.first_bad_node;
      verdict.nodes = std::move(local.nodes);
      without_witness = std::move(local.without_witness);
      compared += local.judged;
      single = std::move(local.single);
    }
    if (has_single) {
      if (!single) single = judge_single_node(request_local, single_node);
      if (single->status == Status::vacuous && single->reason == "no_witness") {
        without_witness.push_back(graph.nodes[0].op);
      } else {
        raise(total, *single);
      }
      if (single->status != Status::pass && single->reason != "no_witness" && !verdict.first_bad_node) {
        const Node& node = graph.nodes[0];
        verdict.first_bad_node = BadNode{node.name, node.op, node.source.location, single->margin};
      }
      if (total.status == Status::pass && !single->holds_number && !has_nan_policy() &&
          is_nan_everywhere(all)) {
        total.status = Status::vacuous;
        total.reason = "reference_nan";
        total.detail = "the reference is NaN everywhere although no input is: nothing can be compared";
      }
    }
    judge_end_to_end(run, expected, end_to_end, total, compared);
  }

  if (total.status == Status::pass && compared == 0) {
    total.status = Status::vacuous;
    total.reason = "no_output";
    total.detail = "nothing was compared";
  }
  if (total.status == Status::pass && !without_witness.empty() && request.expected.empty()) {
    total.status = Status::vacuous;
    total.reason = "no_witness";
    total.detail = fmt::format("no float128 kernel to judge by: {}", fmt::join(without_witness, ", "));
  }
  verdict.status = total.status;
  verdict.reason = total.reason;
  verdict.detail = total.detail;
  verdict.margin = total.margin;
  verdict.worst = total.worst;
  for (const auto& [name, gate] : total.gates) verdict.gates[name] = gate;
  verdict.witness = witness_name(request.backend_is_reference || uses_dtype(graph, DType::f64));
  return verdict;
}

// Findings that are not about values, and the kind of pass.
void Judge::State::conclude(const RunResult& run, Verdict& verdict) const {
  if (!run.guard_violation.empty() && (is_pass(verdict.status) || verdict.status == Status::unmodelled)) {
    verdict.status = Status::wrong;
    verdict.reason =
        run.guard_violation.find("modified") != std::string::npos ? "input_modified" : "guard_overwritten";
    verdict.detail = run.guard_violation;
  }
  if (is_pass(verdict.status)) {
    if (std::string what = rank_disagreement(graph, run.outputs); !what.empty()) {
      verdict.status = Status::nondeterministic;
      verdict.reason = "ranks_disagree";
      verdict.detail = std::move(what);
    }
  }
  // A generator goes on where it stopped.
  const bool draws = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                 [](const Node& node) { return is_random_op(node.op); });
  if (verdict.status == Status::pass && run.repeatable && !*run.repeatable && !draws) {
    verdict.status = Status::nondeterministic;
    verdict.reason = "not_repeatable";
    verdict.detail = "a second execution with the same inputs gave other bits";
  }
  const bool fallback = any_placement(run, Placement::fallback) || !run.fallbacks.empty();
  if (verdict.status != Status::pass || !fallback) return;
  const bool on_device = std::any_of(run.nodes.begin(), run.nodes.end(), is_device);
  if (on_device || !request.expected.empty()) {
    verdict.status = Status::pass_with_fallback;
    return;
  }
  verdict.status = Status::unsupported;
  verdict.reason = "nothing_ran_on_device";
  verdict.detail = "every node was run by the harness, none by the device, and no expected file was given";
}

Judge::Judge(JudgeRequest request) : state_(std::make_unique<State>(std::move(request))) {}
Judge::~Judge() = default;
Judge::Judge(Judge&&) noexcept = default;

const std::vector<Tensor>& Judge::chain() {
  const reference::DrawSeed draws(state_->request.seed);
  if (!state_->chain) state_->chain = reference::local_chain(state_->graph, state_->request.inputs);
  return *state_->chain;
}

Verdict Judge::judge(const RunResult& run) {
  Verdict verdict;
  verdict.gates = no_gates();
  if (state_->request.checks.negative) {
    const NegativeVerdict negative = judge_negative(state_->request.checks, run);
    verdict.status = negative.status;
    verdict.reason = negative.reason;
    verdict.detail = negative.detail;
    return verdict;
  }
  if (run.failure) {
    verdict.status = *run.failure;
    verdict.reason = run.reason;
    verdict.detail = run.detail;
    for (const Node& node : state_->graph.nodes) {
      if (!run.failed_node.empty() && node.name == run.failed_node) {
        verdict.first_bad_node = BadNode{node.name, node.op, node.source.location, std::nullopt};
      }
    }
    return verdict;
  }
  const reference::DrawSeed draws(state_->request.seed);
  if (state_->needs_chain()) {
    if (auto refused = state_->reference_refuses()) return *refused;
  }
  try {
    state_->widen_inputs();
    if (state_->request.expected.empty() && state_->is_fallback_only(run)) {
      verdict.status = Status::pass;  // the conclusion says that nothing ran on the device
    } else {
      verdict = state_->judge_values(run);
    }
  } catch (const Error& error) {
    // Without the chain, whether the reference refuses the graph was not asked before.
    if (auto refused = state_->reference_refuses()) return *refused;
    if (error.code() != ErrorCode::malformed_file) throw;
    verdict.status = Status::malformed_file;
    verdict.reason = "malformed";
    verdict.detail = error.what();
    return verdict;
  }
  state_->conclude(run, verdict);
  return verdict;
}

std::vector<int> free_nodes(const Graph& graph) {
  std::vector<int> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op.starts_with("_operator") || !reference::has_operator(node.op)) continue;
    const auto is_kind = [&](ValueId id, bool floats) {
      if (id < 0) return false;
      const Value& value = graph.values[static_cast<std::size_t>(id)];
      return value.kind == ValueKind::tensor && is_integral(value.dtype) != floats;
    };
    const std::vector<ValueId> inputs = inputs_of(node);
    const bool reads_floats =
        std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) { return is_kind(id, true); });
    const bool gives_integers =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return is_kind(id, false); });
    const bool decides = reads_floats && (gives_integers || reference::error_model(node.op).discontinuous);
    if (decides || makes_choice(node.op) || reference::writes_may_meet(node)) {
      nodes.push_back(static_cast<int>(i));
    }
  }
  return nodes;
}

}  // namespace assay
