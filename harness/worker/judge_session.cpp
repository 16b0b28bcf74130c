#include "harness/worker/judge_session.h"

#include <memory>
#include <set>
#include <utility>

#include "core/error.h"
#include "harness/case/lift_draws.h"
#include "harness/worker/host_scalars.h"

namespace assay {

std::string wire_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::malformed_file:
      return "malformed_file";
    case ErrorCode::unknown_operator:
      return "unknown_operator";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::internal:
      return "internal";
    case ErrorCode::invalid_argument:
    case ErrorCode::io:
      break;
  }
  return "invalid_argument";
}

Prepared JudgeSession::prepare(JudgeRequest request) {
  judge_.reset();
  Prepared prepared;
  const std::shared_ptr<const Graph> graph = request.graph;
  const bool eager = request.mode == "eager";
  const bool negative = request.checks.negative;
  judge_.emplace(std::move(request));
  if (!eager && draws_to_lift(*graph).empty()) return prepared;
  try {
    // Kernels trust shapes that were checked; a case of bad input has not been.
    if (negative) validate(*graph);
    if (eager) prepared.free_nodes = free_nodes(*graph);
    std::set<ValueId> sent;
    if (eager) {
      for (const ValueId id : values_to_feed(*graph)) sent.insert(id);
    }
    for (const ValueId id : draws_to_lift(*graph)) sent.insert(id);
    for (const ValueId id : sent) {
      const Tensor& tensor = judge_->chain().at(static_cast<std::size_t>(id));
      if (!tensor.defined()) continue;
      prepared.chain_names.push_back(graph->values[static_cast<std::size_t>(id)].name);
      prepared.chain.push_back(tensor);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal && !negative) throw;
    prepared = Prepared{};  // the judge says so itself when it is asked for the verdict
    prepared.refused = Prepared::Refusal{wire_code(error.code()), error.what()};
  }
  return prepared;
}

Verdict JudgeSession::judge(const RunResult& run) {
  if (!judge_) throw Error(ErrorCode::invalid_argument, "judge before prepare");
  Verdict verdict = judge_->judge(run);
  judge_.reset();
  return verdict;
}

}  // namespace assay
