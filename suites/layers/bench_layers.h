// Single layers of full width: what `assay bench layers` runs.
#pragma once

#include <vector>

#include "suites/bench_case.h"

namespace assay::suites {

// Eight layers of 768 to 4,096 channels and 512 tokens (convolutions: 16 x 32 positions), batch 1, in bf16
// and f32: attention written out and as one operator, a GELU and a gated MLP, a convolution, a depthwise
// block, a mixture of experts, gated linear attention. Judged with a sixteenth of the channels and of the
// tokens.
std::vector<BenchCase> bench_layer_cases();

}  // namespace assay::suites
