// What run, check and sweep do once they have their cases.
#pragma once

#include <vector>

#include "harness/case/case.h"
#include "harness/run/options.h"

namespace assay::cli {

// Runs the cases, writes the report into the run's folder, prints where it is and the last line; returns the
// exit status.
int execute(const RunOptions& options, std::vector<Case> cases);

}  // namespace assay::cli
