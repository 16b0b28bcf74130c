// The orchestrator's side of judging: a process, or for small cases that Assay made itself a call.
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
  // Spent on judging, in all.
  double seconds() const { return process_.exchanged_s() + called_s_; }

  // Whether a hang or a shortage of memory of the reference need not be feared: few nodes over small tensors
  // of known shapes. For graphs that Assay made; those of files are always another process's.
  static bool is_small(const Graph& graph);

  // Throw JudgeFailure; nullopt if request_stop() was called. `here`: in this process, without frames, limits
  // or stops; for graphs that is_small() and are no bad input.
  std::optional<Prepared> prepare(const JudgeRequest& request, const JudgeTexts& texts, bool here);
  // Of the case that was prepared last, once.
  std::optional<Verdict> judge(const RunResult& result);
  // Of a run of several steps, in place of prepare and judge. May take as long as a case for every step.
  std::optional<Verdict> judge_steps(const StepsRequest& request, const JudgeTexts& texts);

 private:
  // Unless it runs; whether it has the Contract of `texts`.
  bool start(const JudgeTexts& texts);
  std::optional<Frame> ask(const Frame& request, const char* expected, const ExchangeLimits& limits);

  template <class Step>
  auto call(const Step& step);

  ExchangeLimits limits_;
  ChildProcess process_;
  std::optional<JudgeSession> session_;  // of a case that was prepared here
  double called_s_ = 0;
  std::string contract_;  // that the process has; "" until it has answered a request with one
};

}  // namespace assay
