// Writing into a record what became of its case.
#pragma once

#include <string>

#include "harness/case/run_result.h"
#include "harness/judge/judge.h"
#include "harness/record/record.h"

namespace assay {

void conclude(Record& record, Status status, const std::string& reason, const std::string& detail);
// All that the judge says of the whole case; its nodes have records of their own.
void conclude(Record& record, const Verdict& verdict);
// What the backend did and how long it took.
void note_run(Record& record, const RunResult& result);

}  // namespace assay
