// Operators at sizes worth timing: what `assay bench ops` runs.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/case/case.h"

namespace assay::suites {

std::vector<Case> bench_op_cases();

// What `assay bench harness` runs: every n-th small case of the suite `ops` that no device may skip, in its
// order, and one with more than 100,000 elements for each nine of them.
std::vector<Case> rate_cases(int64_t count);

}  // namespace assay::suites
