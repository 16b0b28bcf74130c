#include "harness/judge/negative.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

RunResult failure(Status status, const std::string& detail) {
  RunResult run;
  run.failure = status;
  run.reason = "reason";
  run.detail = detail;
  return run;
}

Checks expecting(const std::string& text) {
  Checks checks;
  checks.negative = true;
  checks.expect_error = text;
  return checks;
}

TEST(Negative, RefusedWithTheRightMessage) {
  const NegativeVerdict verdict =
      judge_negative(expecting("Dim"), failure(Status::rejected_bad_input, "softmax: dim 3 is out of range"));
  EXPECT_EQ(verdict.status, Status::rejected_bad_input);
  EXPECT_EQ(verdict.reason, "refused");
}

TEST(Negative, RefusedWithAnotherMessageOrNone) {
  for (const std::string detail : {"something went wrong", ""}) {
    const NegativeVerdict verdict =
        judge_negative(expecting("dim"), failure(Status::rejected_bad_input, detail));
    EXPECT_EQ(verdict.status, Status::wrong);
    EXPECT_EQ(verdict.reason, "wrong_error_message");
    EXPECT_FALSE(is_pass(verdict.status));
  }
  EXPECT_EQ(judge_negative(expecting(""), failure(Status::rejected_bad_input, "")).reason,
            "wrong_error_message");
}

TEST(Negative, Accepted) {
  EXPECT_EQ(judge_negative(expecting("dim"), RunResult()).status, Status::accepted_bad_input);
  EXPECT_EQ(judge_negative(expecting("dim"), RunResult()).reason, "no_error");
}

TEST(Negative, ACrashIsNoRefusal) {
  for (const Status status : {Status::crash, Status::run_timeout, Status::out_of_memory, Status::unsupported,
                              Status::infrastructure_error}) {
    const NegativeVerdict verdict = judge_negative(expecting("dim"), failure(status, "dim"));
    EXPECT_EQ(verdict.status, status);
    EXPECT_FALSE(is_pass(verdict.status));
  }
}

}  // namespace
}  // namespace assay
