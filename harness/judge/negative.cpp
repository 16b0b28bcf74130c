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

// Every rank must have ended with an error of its own that says what is wrong.
NegativeVerdict judge_ranks(const Checks& checks, const RunResult& run) {
  std::string all;
  for (std::size_t r = 0; r < static_cast<std::size_t>(checks.ranks); ++r) {
    const std::string error = r < run.rank_errors.size() ? run.rank_errors[r] : "";
    if (error.empty()) {
      return {Status::accepted_bad_input, "some_ranks",
              fmt::format("rank {} ended without an error; {}", r, run.detail)};
    }
    for (const std::string& mention : checks.rank_mentions) {
      if (lower(error).find(lower(mention)) != std::string::npos) continue;
      return {Status::wrong, "wrong_error_message",
              fmt::format("rank {} ended with an error that does not mention \"{}\": {}", r, mention, error)};
    }
    if (all.find(error) == std::string::npos) all += (all.empty() ? "" : "; ") + error;
  }
  return {Status::rejected_bad_input, "refused", all};
}

}  // namespace

NegativeVerdict judge_negative(const Checks& checks, const RunResult& run) {
  if (!run.failure)
    return {Status::accepted_bad_input, "no_error", "the backend accepted bad input without an error"};
  const bool refused = *run.failure == Status::rejected_bad_input || *run.failure == Status::compile_error;
  if (!refused) return {*run.failure, run.reason, run.detail};
  if (checks.ranks > 0) return judge_ranks(checks, run);
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
