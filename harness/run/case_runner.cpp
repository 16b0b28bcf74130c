#include "harness/run/case_runner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/graph/functionalise.h"
#include "core/graph/json.h"
#include "harness/case/lift_draws.h"
#include "harness/judge/expected.h"
#include "harness/run/eligibility.h"
#include "harness/run/note.h"
#include "harness/run/rank_resume.h"
#include "harness/run/steps_case.h"
#include "harness/run/worker_options.h"
#include "harness/worker/graph_names.h"

namespace assay {
namespace {

// The judge keeps wide copies of what the worker holds.
ExchangeLimits judge_limits(const RunOptions& options) {
  ExchangeLimits limits = worker_limits(options);
  limits.run_s = std::max(600.0, options.timeout_s);
  limits.resident_bytes = std::max<int64_t>(options.memory_mib * 4, 8192) << 20;
  return limits;
}

// Worker and judge read graphs without in-place operators; all three must mean the same nodes and outputs.
std::shared_ptr<const Case> functional_case(const std::shared_ptr<const Case>& c) {
  if (!c->graph || !changes_in_place(*c->graph)) return c;
  auto functional = std::make_shared<Case>(*c);
  try {
    auto graph = std::make_shared<Graph>(*c->graph);
    functionalise(*graph);
    functional->graph = std::move(graph);
  } catch (const Error& error) {
    set_graph_error(*functional, error);
  }
  return functional;
}

// `graph` becomes the one that the backend runs where it is not the case's own.
// `graph_json` is the text of the case's graph.
RunRequest request_of(const RunOptions& options, const PlannedCase& planned, std::vector<Tensor> inputs,
                      Prepared prepared, std::string graph_json, std::optional<Graph>& graph) {
  const Case& c = *planned.c;
  RunRequest request;
  request.case_id = c.id;
  request.mode = planned.mode;
  request.graph_json = std::move(graph_json);
  request.input_names = input_names(*c.graph);
  request.inputs = std::move(inputs);
  request.chain_names = std::move(prepared.chain_names);
  request.chain = std::move(prepared.chain);
  request.outputs = output_names(*c.graph);
  request.free_nodes = std::move(prepared.free_nodes);
  request.repeats = c.checks.negative ? 0 : options.steady_repeats;
  request.fallback = options.fallback;
  request.fullgraph = options.fullgraph;
  request.negative = c.checks.negative;
  request.seed = draw_seed(c, options.seed);
  request.mutant = c.mutant;
  request.ranks = c.ranks;
  if (auto lifted = lift_draws(*c.graph, planned.mode, request.chain_names, request.chain, request.seed)) {
    request.graph_json = graph_to_json(lifted->graph);
    request.input_names = input_names(lifted->graph);
    request.inputs.insert(request.inputs.end(), lifted->inputs.begin(), lifted->inputs.end());
    graph = std::move(lifted->graph);
  }
  return request;
}

std::map<std::string, Tensor> expected_of(const Case& c, const RunOptions& options) {
  const bool of_seed_0 = c.expected_source.starts_with("golden:") && has_drawn_inputs(c);
  if (!c.load_expected || (of_seed_0 && options.seed != 0)) return {};
  return c.load_expected();
}

// Every byte that was sent was received, and all of them are those of the formulas. Lists that are empty were
// not counted; the algorithm's text says why.
void judge_traffic(const RunResult& result, Record& record) {
  if (!result.traffic) return;
  const Traffic& traffic = *result.traffic;
  record.traffic = RankTraffic{traffic.algorithm, traffic.sent, traffic.received, traffic.formula};
  const auto sum = [](const std::vector<int64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  };
  if (traffic.sent.empty()) return;
  const int64_t sent = sum(traffic.sent), received = sum(traffic.received);
  if (!is_pass(record.status) || (sent == traffic.formula && received == traffic.formula)) return;
  conclude(record, Status::wrong, "ledger",
           fmt::format("ranks sent {} bytes and received {}; the formulas give {}", sent, received,
                       traffic.formula));
}

}  // namespace

Record blank_record(const RunOptions& options, const PlannedCase& planned) {
  Record record = make_record();
  record.id = planned.c->id;
  record.suite = planned.c->suite;
  record.backend = options.backend;
  record.mode = planned.mode;
  record.seed = options.seed;
  record.weight = std::max<int64_t>(1, planned.c->weight);
  record.same_as = planned.same_as;
  record.repro = repro_line(options, planned.c->id, planned.c->suite, planned.c->file, planned.mode);
  return record;
}

CaseRunner::CaseRunner(const RunOptions& options, const BackendSpec& spec, Contract contract, int slots)
    : options_(options),
      worker_(worker_of(options, spec, cache_dir(options), slots)),
      judge_(judge_limits(options)) {
  set_contract(std::move(contract));
}

void CaseRunner::set_contract(Contract contract) {
  contract_ = std::move(contract);
  contract_json_ = contract_.to_json();
}

std::optional<CaseOutcome> CaseRunner::run(const PlannedCase& planned) {
  const auto start = std::chrono::steady_clock::now();
  const double judged_before = judge_.seconds();
  const Record blank = blank_record(options_, planned);
  std::optional<CaseOutcome> outcome;
  const auto failed = [&](Status status, const std::string& reason, const std::string& detail) {
    outcome = CaseOutcome{blank, {}, {}, {}};
    conclude(outcome->record, status, reason, detail);
  };
  try {
    if (planned.c->trials.empty()) {
      outcome = attempt(planned, blank);
    } else if (planned.c->ranks) {
      outcome = run_resumed(*planned.c, blank, [&](const Case& c) {
        return attempt({std::make_shared<const Case>(c), planned.mode, planned.same_as}, blank);
      });
    } else {
      outcome = attempt_mutant(planned, blank);
    }
  } catch (const JudgeFailure& failure) {
    failed(failure.status, failure.reason, failure.detail);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) {
      failed(Status::infrastructure_error, "internal", error.what());
    } else {
      failed(Status::malformed_file,
             error.code() == ErrorCode::unknown_operator ? "unknown_operator" : "malformed", error.what());
    }
  } catch (const std::exception& error) {
    failed(Status::infrastructure_error, "internal", error.what());
  }
  if (!outcome) return std::nullopt;
  outcome->record.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (const double judged = judge_.seconds() - judged_before; judged > 0) outcome->record.judge_s = judged;
  for (NodeRecord& node : outcome->nodes) {
    node.case_id = blank.id;
    node.backend = blank.backend;
    node.mode = blank.mode;
  }
  return outcome;
}

std::optional<CaseOutcome> CaseRunner::attempt(const PlannedCase& planned, Record record) {
  const std::shared_ptr<const Case> functional = functional_case(planned.c);
  const Case& c = *functional;
  CaseOutcome outcome;
  if (!c.graph) {
    const Status refused =
        c.graph_error_reason == "dynamic_shape" ? Status::unsupported : Status::skip_eligibility;
    conclude(record, c.unsupported_file ? refused : Status::malformed_file,
             c.graph_error_reason.empty() ? "malformed" : c.graph_error_reason, c.graph_error);
    outcome.record = std::move(record);
    return outcome;
  }
  const bool together = c.ranks && planned.mode != "eager";
  if (together || (c.ranks && c.steps != 1)) {
    conclude(record, Status::skip_eligibility, "not_implemented",
             together ? "programs of ranks run in eager mode" : "programs of ranks run for one step");
    outcome.record = std::move(record);
    return outcome;
  }

  JudgeRequest judge_request;
  judge_request.case_id = c.id;
  judge_request.graph = c.graph;
  judge_request.inputs = materialise_inputs(c, options_.seed);
  judge_request.expected = expected_of(c, options_);
  if (!judge_request.expected.empty()) judge_request.expected_source = c.expected_source;
  judge_request.checks = c.checks;
  // Other backends refuse in words of their own.
  if (!worker_.spec().is_ours) {
    judge_request.checks.expect_error.clear();
    judge_request.checks.rank_mentions.clear();
  }
  judge_request.contract = contract_;
  judge_request.options = options_.options;
  judge_request.mode = planned.mode;
  judge_request.seed = draw_seed(c, options_.seed);
  judge_request.backend_is_reference = worker_.spec().is_reference;
  judge_request.keep_all_nodes = options_.all_nodes;

  JudgeTexts texts{graph_to_json(*c.graph), contract_json_};
  const PlannedCase one{functional, planned.mode, planned.same_as};
  std::optional<Graph> lifted;
  if (c.steps != 1) {
    RunRequest request = request_of(options_, one, judge_request.inputs, {}, texts.graph_json, lifted);
    const StepsRun run{std::move(judge_request), std::move(texts),
                       std::move(request),       &c,
                       worker_.spec().is_null,   cache_dir(options_).value_or("")};
    return run_steps_case(run, std::move(record), worker_, judge_);
  }
  const bool here = c.file.empty() && !c.ranks && !c.checks.negative && JudgeClient::is_small(*c.graph);
  auto prepared = judge_.prepare(judge_request, texts, here);
  if (!prepared) return std::nullopt;
  const RunRequest request = request_of(options_, one, judge_request.inputs, std::move(*prepared),
                                        std::move(texts.graph_json), lifted);
  const auto result = worker_.run(request, lifted ? *lifted : *c.graph);
  if (!result) return std::nullopt;
  auto verdict = judge_.judge(*result);
  if (!verdict) return std::nullopt;

  conclude(record, *verdict);
  // A graph without nodes asks for no computation, and gets none: only there can the null backend be right.
  if (worker_.spec().is_null && is_pass(verdict->status)) {
    conclude(record, Status::vacuous, "nothing_ran_on_device", "the null backend computes nothing");
  }
  note_run(record, *result);
  judge_traffic(*result, record);
  if (const auto why = ineligible(c, record, worker_.spec())) {
    const std::string note = *why == "optional_operator"
                                 ? "the backend has no kernel for an operator that it need not have: "
                                 : "the backend does not take such numbers: ";
    conclude(record, Status::skip_eligibility, *why, note + record.detail);
  }
  outcome.nodes = std::move(verdict->nodes);
  outcome.mutant_changed = result->mutant_changed;
  outcome.graph = c.graph;
  outcome.given = judge_request.inputs;
  outcome.returned = result->outputs;
  if (is_failure(record.status)) {
    std::size_t next = 0;
    for (const GraphInput& input : c.graph->inputs) {
      if (input.value < 0) continue;
      if (input.kind == InputKind::user) outcome.inputs.tensors[input.target] = judge_request.inputs.at(next);
      ++next;
    }
    for (std::size_t i = 0; i < result->outputs.size(); ++i) {
      if (result->outputs[i].defined()) outcome.outputs.tensors[output_key(*c.graph, i)] = result->outputs[i];
    }
  }
  outcome.record = std::move(record);
  return outcome;
}

std::optional<CaseOutcome> CaseRunner::attempt_mutant(const PlannedCase& planned, Record record) {
  const auto attempt_one = [&](const Case& c) -> std::optional<Trial> {
    const PlannedCase one{std::shared_ptr<const Case>(std::shared_ptr<void>(), &c), planned.mode, ""};
    const Record blank = blank_record(options_, one);
    try {
      auto outcome = attempt(one, blank);
      if (!outcome) return std::nullopt;
      return Trial{std::move(outcome->record), outcome->mutant_changed, std::move(outcome->graph),
                   std::move(outcome->given), std::move(outcome->returned)};
    } catch (const JudgeFailure& failure) {
      Trial trial{blank, std::nullopt};
      conclude(trial.record, failure.status, failure.reason, failure.detail);
      return trial;
    }
  };
  const auto excuse_one = [&](const Mutant& mutant, const OpCall& call) {
    return excuse(mutant, call, contract_, planned.mode, options_.options);
  };
  if (planned.mode != "eager") {
    conclude(record, Status::skip_eligibility, "not_implemented", "defects are planted in eager mode only");
    return CaseOutcome{std::move(record), {}, {}, {}};
  }
  auto judged = trials_.run(*planned.c, std::move(record), attempt_one, excuse_one);
  if (!judged) return std::nullopt;
  return CaseOutcome{std::move(*judged), {}, {}, {}};
}

}  // namespace assay
