// The judge's messages (docs/worker_protocol.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/worker/frame.h"

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

// `request.graph` crosses as JSON; a case of bad input is read back without being validated.
Frame encode_prepare(const JudgeRequest& request);
JudgeRequest decode_prepare(Frame frame, const std::string& origin);
Frame encode(const Prepared& prepared);
Prepared decode_prepared(Frame frame, const std::string& origin);

Frame encode_judge(const RunResult& result);  // a "result" frame under the type "judge"
RunResult decode_judge(Frame frame, const std::string& origin);
Frame encode(const Verdict& verdict);
Verdict decode_verdict(const Frame& frame, const std::string& origin);

// Answers requests until the end of file; the exit status.
int serve_judge(int requests, int replies);

}  // namespace assay
