// The judge's process: hosts Judge behind frames, so that a crash of it costs one case.
#include <algorithm>
#include <new>
#include <optional>
#include <set>

#include "core/error.h"
#include "harness/case/lift_draws.h"
#include "harness/worker/answer_requests.h"
#include "harness/worker/host_scalars.h"
#include "harness/worker/judge_messages.h"
#include "harness/worker/messages.h"

namespace assay {
namespace {

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

class JudgeServer {
 public:
  Frame answer(Frame request) {
    try {
      const std::string type = type_of(request, kRequestOrigin);
      if (type == "prepare") return prepare(std::move(request));
      if (type == "judge") return judge(std::move(request));
      if (type == "judge-steps") {
        return encode(judge_steps(decode_steps(std::move(request), kRequestOrigin, contract_)));
      }
      throw Error(ErrorCode::invalid_argument, "unknown request '" + type + "'");
    } catch (const Error& error) {
      return encode(WireError{wire_code(error.code()), "", error.what()});
    } catch (const std::bad_alloc&) {
      return encode(WireError{"out_of_memory", "device_memory", "the judge could not allocate memory"});
    } catch (const std::exception& error) {
      return encode(WireError{"internal", "", error.what()});
    }
  }

 private:
  Frame prepare(Frame frame) {
    judge_.reset();
    Prepared prepared;
    JudgeRequest request = decode_prepare(std::move(frame), kRequestOrigin, contract_);
    const std::shared_ptr<const Graph> graph = request.graph;
    const bool eager = request.mode == "eager";
    const bool negative = request.checks.negative;
    judge_.emplace(std::move(request));
    if (!eager && draws_to_lift(*graph).empty()) return encode(prepared);
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
    return encode(prepared);
  }

  Frame judge(Frame frame) {
    if (!judge_) throw Error(ErrorCode::invalid_argument, "judge before prepare");
    Frame verdict = encode(judge_->judge(decode_judge(std::move(frame), kRequestOrigin)));
    judge_.reset();
    return verdict;
  }

  std::optional<Contract> contract_;  // read last: nearly all requests have the same one
  std::optional<Judge> judge_;
};

}  // namespace

int serve_judge(int requests, int replies) {
  JudgeServer server;
  return answer_requests(requests, replies, "assay-judge",
                         [&](Frame request) { return server.answer(std::move(request)); });
}

}  // namespace assay
