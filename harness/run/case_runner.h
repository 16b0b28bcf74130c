// One case through worker and judge: what one slot of a run does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "harness/case/run_result.h"
#include "harness/plan/plan.h"
#include "harness/record/results.h"
#include "harness/run/mutant_trials.h"
#include "harness/run/options.h"
#include "harness/worker/judge_client.h"
#include "harness/worker/worker_client.h"

namespace assay {

struct CaseOutcome {
  Record record;
  std::vector<NodeRecord> nodes;
  TensorFile inputs, outputs;                         // of failures, to be saved; empty otherwise
  std::optional<bool> mutant_changed = std::nullopt;  // as RunResult says
  // What was run, and the tensors of its inputs and outputs; null and empty if the case was not run.
  std::shared_ptr<const Graph> graph = nullptr;
  std::vector<Tensor> given = {}, returned = {};
};

class CaseRunner {
 public:
  // One of `slots` that run at once.
  CaseRunner(const RunOptions& options, const BackendSpec& spec, Contract contract, int slots);

  WorkerClient& worker() { return worker_; }
  void set_contract(Contract contract);
  // nullopt if request_stop() was called meanwhile. Never throws for what a case, a worker or the judge does.
  std::optional<CaseOutcome> run(const PlannedCase& planned);

 private:
  std::optional<CaseOutcome> attempt(const PlannedCase& planned, Record record);
  std::optional<CaseOutcome> attempt_mutant(const PlannedCase& planned, Record record);

  const RunOptions& options_;
  Contract contract_;
  std::string contract_json_;  // of contract_
  WorkerClient worker_;
  JudgeClient judge_;
  MutantTrials trials_;
};

// The record before anything is known: ids, weight, repro, same_as.
Record blank_record(const RunOptions& options, const PlannedCase& planned);

}  // namespace assay
