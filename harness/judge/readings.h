// Other readings of a call or a graph that are right as well, though they differ by more than rounding.
//
// Widened: every float dtype made f64 (complex: c128), what a file of fp64 outputs was computed with. There a
// number like 0.7 keeps all its digits, where an operator of f32 holds it in f32: remainders, comparisons and
// what follows from them differ.
// Flushed: inputs below the smallest normal number of their dtype are zeros.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/opset/call.h"
#include "reference/evaluate.h"

namespace assay {

// Tensors, `dtype` arguments and functions of higher-order operators.
Graph widened(const Graph& graph);

// nullopt where the operator cannot be widened (it reads bits, or takes one dtype alone).
std::optional<std::vector<reference::Wide>> evaluate_widened(
    const OpCall& call, const std::vector<const reference::Wide*>& inputs);
std::optional<std::vector<reference::Wide>> walk_widened(const Graph& graph,
                                                         const std::vector<reference::Wide>& inputs);

// nullopt where no input is subnormal.
std::optional<std::vector<reference::Wide>> evaluate_flushed(
    const OpCall& call, const std::vector<const reference::Wide*>& inputs);

// How far a number moves from one reading to the other; 0 where one of the two is no finite number.
double moved(const reference::Wide& held, const reference::Wide& other, std::size_t number);

// Integers of a file where it follows the widened reading and that differs from `held`: those of `held`.
void prefer_held(const reference::Wide& held, const reference::Wide& wide, reference::Wide& file);

}  // namespace assay
