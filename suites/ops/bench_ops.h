// Operators at sizes worth timing: what `assay bench ops` runs.
#pragma once

#include <vector>

#include "harness/case/case.h"

namespace assay::suites {

std::vector<Case> bench_op_cases();

}  // namespace assay::suites
