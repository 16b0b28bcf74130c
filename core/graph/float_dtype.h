// A model exported in one floating dtype, as if it had been exported in another.
#pragma once

#include "core/graph/graph.h"

namespace assay {

// The graph with every f32 input, parameter, buffer and dtype argument in `to` (f16 or bf16), as
// `model.to(to)` before the export gives it. Results follow from the shape rules: what a model computes in
// another dtype, such as integers divided, is promoted as PyTorch promotes it. Numbers that are the limits of
// f32 (masks of attention: finfo(dtype).min) become those of `to`; metadata that the graph asserts becomes
// what is there. Throws Error naming the node where the rules refuse the operands: there the model itself
// would have to cast.
Graph with_float_dtype(Graph graph, DType to);

}  // namespace assay
