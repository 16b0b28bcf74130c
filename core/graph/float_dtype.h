// A model exported in one floating dtype, as if it had been exported in another.
#pragma once

#include "core/graph/graph.h"

namespace assay {

// The graph with every f32 input, parameter, buffer and dtype argument in `to` (f16 or bf16), as
// `model.to(to)` before the export gives it of a model that names no dtype itself: what one computes in f32
// by its own will (`softmax(dtype=torch.float32)`) is in `to` here. Results follow from the shape rules: what
// a model computes in another dtype, such as integers divided, is promoted as PyTorch promotes it. Numbers
// that are the limits of f32 (masks of attention: finfo(dtype).min) become those of `to`, but where f64 is
// computed; metadata that the graph asserts becomes what is there. Throws Error naming the node where the
// rules refuse the operands: there the model itself would have to cast; or where nothing of the model is f32.
Graph with_float_dtype(Graph graph, DType to);

}  // namespace assay
