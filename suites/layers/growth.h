// Graphs of more and more nodes: what `assay bench compile` shows the growth of compile times with.
#pragma once

#include <vector>

#include "harness/case/case.h"

namespace assay::suites {

// "growth/100" to "growth/20000", nodes: small residual blocks (layer_norm, addmm, GELU, a factor, an
// addition; 64 x 128, bf16), no two of them equal, so that nothing is compiled once for many.
std::vector<Case> growth_cases();

}  // namespace assay::suites
