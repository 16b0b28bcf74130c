// What `assay bench` runs of cases that are too large to judge.
#pragma once

#include "harness/case/case.h"

namespace assay::suites {

// A case that is timed, and the same graph with smaller sizes that is judged in its place, under the same id:
// the reference would take from minutes to hours for the first.
struct BenchCase {
  Case timed, judged;
};

}  // namespace assay::suites
