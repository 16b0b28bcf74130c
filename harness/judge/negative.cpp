#include "harness/judge/negative.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace assay {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

NegativeVerdict judge_negative(const Checks& checks, const RunResult& run) {
  if (!run.failure)
    return {Status::accepted_bad_input, "no_error", "the backend accepted bad input without an error"};
  const bool refused = *run.failure == Status::rejected_bad_input || *run.failure == Status::compile_error;
  if (!refused) return {*run.failure, run.reason, run.detail};
  const bool mentioned =
      !run.detail.empty() && lower(run.detail).find(lower(checks.expect_error)) != std::string::npos;
  if (!mentioned) {
    return {Status::wrong, "wrong_error_message",
            fmt::format("refused, but the message does not mention \"{}\": {}", checks.expect_error,
                        run.detail.empty() ? "(no message)" : run.detail)};
  }
  return {Status::rejected_bad_input, "refused", run.detail};
}

}  // namespace assay
