// Both steps of judging a case, in the process that asks: behind frames in one of its own (serve_judge.cpp),
// or the orchestrator's (judge_client.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/judge.h"

namespace assay {

struct Prepared {
  struct Refusal {
    std::string code, message;
  };
  std::optional<Refusal> refused;  // the reference refuses the graph
  std::vector<std::string>
      chain_names;  // values of the reference's chain that nodes read; empty in compile mode
  std::vector<Tensor> chain;
  std::vector<int> free_nodes;
};

class JudgeSession {
 public:
  // Forgets the case before. Throws Error{internal}; what else the reference says against the graph is
  // Prepared::refused, and the verdict's to repeat.
  Prepared prepare(JudgeRequest request);
  // Of the case that was prepared, once. Throws Error{invalid_argument} if there is none.
  Verdict judge(const RunResult& run);

 private:
  std::optional<Judge> judge_;
};

// As the protocol names it.
std::string wire_code(ErrorCode code);

}  // namespace assay
