// The orchestrator's side of the judge's process.
#pragma once

#include <optional>
#include <string>

#include "harness/worker/judge_messages.h"
#include "harness/worker/process.h"

namespace assay {

// The judge crashed, hung or refused; or the graph that it was given is malformed.
struct JudgeFailure {
  std::string reason, detail;
  Status status = Status::infrastructure_error;
};

class JudgeClient {
 public:
  explicit JudgeClient(ExchangeLimits limits) : limits_(limits) {}
  // Spent waiting for the judge, in all.
  double seconds() const { return process_.exchanged_s(); }

  // Throw JudgeFailure; nullopt if request_stop() was called.
  std::optional<Prepared> prepare(const JudgeRequest& request, const JudgeTexts& texts);
  std::optional<Verdict> judge(const RunResult& result);
  // Of a run of several steps, in place of prepare and judge. May take as long as a case for every step.
  std::optional<Verdict> judge_steps(const StepsRequest& request, const JudgeTexts& texts);

 private:
  // Unless it runs; whether it has the Contract of `texts`.
  bool start(const JudgeTexts& texts);
  std::optional<Frame> ask(const Frame& request, const char* expected, const ExchangeLimits& limits);

  ExchangeLimits limits_;
  ChildProcess process_;
  std::string contract_;  // that the process has; "" until it has answered a request with one
};

}  // namespace assay
