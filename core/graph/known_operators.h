// Which operators a graph may hold, and the one error that lists all others.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// Has a schema (core/opset/schemas.txt) or is a function on host scalars (core/graph/symbolic_function.h).
bool is_known_operator(std::string_view op);

// `unknown` holds pairs of operator and node; does nothing if it is empty. Throws Error{unknown_operator}
// naming every operator once, with its count and its first node.
void throw_if_unknown(const std::string& origin,
                      const std::vector<std::pair<std::string, std::string>>& unknown);

}  // namespace assay
