// Carries out a schedule on data, with the device's numerics.
#pragma once

#include <vector>

#include "backend/collectives/schedule.h"
#include "core/tensor.h"

namespace assay::backend {

struct CollectiveNumerics {
  // Integers are reduced through fp32, inexact above 2^24, as the real device does without being asked
  // (Neuron compiler, --implicit-integer-downcast); exact and wrapping otherwise.
  bool integers_through_f32 = false;
};

// Inputs of all ranks, any shape, contiguous, of the plan's dtype and its input_count elements (of the
// operation that was asked for; a rank without input gives an undefined tensor or one of 0 elements). Outputs
// are 1-d, of output_count elements; undefined where a rank has no output. Floats are added in fp32 within a
// transfer and rounded to nearest even when it is written; subnormals are kept; min and max propagate NaN and
// take -0 < +0; sums of booleans are "or". Throws Error{invalid_argument} naming operation and rank for
// inputs that do not match.
std::vector<Tensor> execute(const Plan& plan, const std::vector<Tensor>& inputs,
                            const CollectiveNumerics& numerics = {});

}  // namespace assay::backend
