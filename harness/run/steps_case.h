// A case of several steps: its graph is run over and over, outputs feeding the inputs of the next step.
#pragma once

#include <optional>
#include <string>

#include "harness/judge/steps.h"
#include "harness/run/case_runner.h"

namespace assay {

// What a run of several steps is made of.
struct StepsRun {
  JudgeRequest judge;  // of the first step
  JudgeTexts texts;    // of `judge`
  RunRequest request;  // of the first step, without a chain: nodes are judged by cases of one step
  const Case* c = nullptr;
  bool null_backend = false;
  std::string cache_dir;  // StepsRequest::cache_dir
};

// Runs all steps and has them judged. With Checks::resumes the run is then resumed in the middle from a
// safetensors file, in a new worker, and with Checks::unobserved steps are repeated without the outputs that
// nobody carries: both must give the same bits (nondeterministic, reasons resume_differs and
// observation_differs). Phases: prepare, compile and first run
// are those of the first step, `steady_s` holds one entry for each later step. Ledger and counters are sums.
// nullopt if request_stop() was called. Throws JudgeFailure, and Error for a carry that does not fit the
// graph.
std::optional<CaseOutcome> run_steps_case(const StepsRun& run, Record record, WorkerClient& worker,
                                          JudgeClient& judge);

}  // namespace assay
