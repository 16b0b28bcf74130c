// Negative cases: bad input that must be refused with an error that names what is wrong.
#pragma once

#include <string>

#include "harness/case/case.h"
#include "harness/case/run_result.h"
#include "harness/record/record.h"

namespace assay {

struct NegativeVerdict {
  Status status = Status::accepted_bad_input;
  std::string reason, detail;
};

// rejected_bad_input: refused, and the message mentions `checks.expect_error` (case does not matter; "" asks
// only for a message). accepted_bad_input with reason no_error if there was no failure; wrong with reason
// wrong_error_message if the message says something else. Where `checks.ranks` is not 0 that holds of every
// rank's error; a rank that ended without one: accepted_bad_input, some_ranks. A crash, a time-out, a lack of
// memory or an unsupported operator is no refusal and stays what it is.
NegativeVerdict judge_negative(const Checks& checks, const RunResult& run);

}  // namespace assay
