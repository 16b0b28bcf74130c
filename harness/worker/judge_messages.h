// The judge's messages (docs/worker_protocol.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/steps.h"
#include "harness/worker/frame.h"
#include "harness/worker/judge_session.h"

namespace assay {

// Texts of a JudgeRequest that are the same for many requests or serve others as well.
struct JudgeTexts {
  std::string graph_json;     // of request.graph
  std::string contract_json;  // of request.contract
};

// `request.graph` and `request.contract` cross as the texts; a case of bad input is read back without being
// validated. A known Contract is that of the last request to this judge, and does not cross again: `last` is
// where the judge keeps it.
Frame encode_prepare(const JudgeRequest& request, const JudgeTexts& texts, bool contract_is_known);
JudgeRequest decode_prepare(Frame frame, const std::string& origin, std::optional<Contract>& last);
Frame encode(const Prepared& prepared);
Prepared decode_prepared(Frame frame, const std::string& origin);

Frame encode_judge(const RunResult& result);  // a "result" frame under the type "judge"
RunResult decode_judge(Frame frame, const std::string& origin);
// A run of several steps is judged in one message; the answer is a verdict.
Frame encode_steps(const StepsRequest& request, const JudgeTexts& texts, bool contract_is_known);
StepsRequest decode_steps(Frame frame, const std::string& origin, std::optional<Contract>& last);
Frame encode(const Verdict& verdict);
Verdict decode_verdict(const Frame& frame, const std::string& origin);

// Answers requests until the end of file; the exit status.
int serve_judge(int requests, int replies);

}  // namespace assay
