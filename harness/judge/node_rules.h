// Which of the judge's rules hold for one operator call.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/contract/contract.h"
#include "core/opset/call.h"
#include "reference/evaluate.h"

namespace assay {

// The dtype that Contract rules match: the promoted dtype of the float tensors that the call reads and
// returns (0-d inputs only if there are no others, as in PyTorch's promotion), else of the integral ones. f32
// for `where` on f32, f32 for a cast between bf16 and f32, f32 for a comparison of f32.
DType computation_dtype(const OpCall& call);

Precision precision_of(const Contract& contract, const OpCall& call, std::string_view mode,
                       const std::map<std::string, std::string>& options);

// The result rounds, or may round, so that a model's outputs behind it have a spread. Copies, selections,
// negation, integers and bools do not round; casts to a narrower float and from integers wider than its
// significand do.
bool is_rounding_point(const OpCall& call, const reference::ErrorModel& model);

// bf16 and f16 add and sub (alpha 1), mul, div and sqrt on an ALU of at least fp32 that rounds to nearest and
// does not flush: rounding twice is then the same as rounding once (24 >= 2 * 11 + 2), so the answer is
// exact.
bool is_exact_by_width(const OpCall& call, const Precision& precision);

// topk, sort, argmax, argmin, max.dim, min.dim, max_pool*_with_indices.
bool is_selection(std::string_view op);

// A selection, or positions among elements of which several may be equal (kthvalue, mode, cummax).
bool makes_choice(std::string_view op);

// True if any tensor of the graph is of this dtype.
bool uses_dtype(const Graph& graph, DType dtype);

}  // namespace assay
