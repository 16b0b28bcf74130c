// Functions on host scalars that exported graphs hold beside operators: Python's operator module
// ("_operator::add"), "math::trunc", "torch::sym_max". They have no schema; the list is PyTorch's _SYM_OPS
// (torch/_export/serde).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay {

bool is_symbolic_function(std::string_view op);
// Number of arguments; 0 if `op` is none of them.
int symbolic_function_arity(std::string_view op);

// With Python's semantics. nullopt for unknown functions, wrong counts, division by zero, 64-bit overflow.
std::optional<Scalar> evaluate_symbolic(std::string_view op, const std::vector<Scalar>& arguments);

}  // namespace assay
