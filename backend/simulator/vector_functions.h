// The functions of the Scalar engine that models spend their time in, many arguments at a time.
#pragma once

#include <cstdint>

#include "backend/isa/ops.h"
#include "backend/simulator/lanes.h"

namespace assay::backend {

// out[i] = function(x[i]), computed in double (relative error below 1e-15) and rounded to fp32 once; `out`
// may be x. False, and nothing is written, for functions that are not among these. Bits do not depend on the
// CPU: the same additions, multiplications and divisions, none of them fused, in one order.
bool activation_of_many(Activation function, const float* x, float* out, int64_t n,
                        VectorWidth width = VectorWidth::best);

}  // namespace assay::backend
