// The orchestrator's side: a worker that is started when needed and replaced when it breaks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "harness/case/run_result.h"
#include "harness/worker/locate.h"
#include "harness/worker/messages.h"
#include "harness/worker/process.h"

namespace assay {

// The backend is not there on this machine: every case is skip_environment.
struct BackendMissing {
  std::string reason, message;  // pytorch_missing, device_missing
};

class WorkerClient {
 public:
  // Use and destroy on one thread (see ChildProcess::start).
  WorkerClient(BackendSpec spec, HelloRequest hello, ExchangeLimits limits);

  // Starts the worker unless it runs. Throws BackendMissing, or Error{invalid_argument} if the backend cannot
  // be loaded or breaks before it has greeted.
  const BackendInfo& hello();
  const BackendSpec& spec() const { return spec_; }

  // Never throws for what the backend does: a crash, a hang or rubbish is a RunResult with a failure, and the
  // next call starts a new worker. nullopt if request_stop() was called.
  std::optional<RunResult> run(const RunRequest& request, const Graph& graph);

  std::vector<NodeSupport> supports(const std::vector<std::string>& node_graphs);  // throws Error

  // Benchmarks; throw Error.
  LoadReply load(const RunRequest& request);
  MeasureReply measure(int64_t session, int iterations);
  // One more pass, recorded by the backend.
  ProfileReply profile(int64_t session);
  void unload(int64_t session);

  void stop() { process_.kill(); }

 private:
  std::vector<std::string> command() const;
  Frame ask(const Frame& request, const char* expected);  // throws Error for anything else

  BackendSpec spec_;
  HelloRequest hello_;
  ExchangeLimits limits_;
  ChildProcess process_;
  BackendInfo info_;
};

// "killed by SIGSEGV", "exited with status 3", ... and what the process printed.
std::string describe_end(const Exchange& exchange, const ExchangeLimits& limits);

}  // namespace assay
