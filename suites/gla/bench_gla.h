// Gated linear attention and Muon at sizes worth timing: what `assay bench gla` and `assay bench muon` run.
#pragma once

#include <vector>

#include "suites/bench_case.h"

namespace assay::suites {

// Forward, and forward with backward, in bf16 and f32: batch 1, 8 heads, 2,048 rows in 16 chunks of 128, head
// sizes 160 and 320; judged with fewer rows and heads.
std::vector<BenchCase> bench_gla_cases();
// Five Newton-Schulz iterations of a 2560 x 2560 matrix in bf16 and f32; judged with a smaller one.
std::vector<BenchCase> bench_muon_cases();

}  // namespace assay::suites
