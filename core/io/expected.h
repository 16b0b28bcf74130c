// Outputs that somebody else computed: "0", "1", ... for user outputs in order, "buffer:NAME" and
// "input:NAME" for mutated state (INTERFACE §4).
#pragma once

#include <map>
#include <string>

#include "core/graph/graph.h"

namespace assay {

// Every name is that of an output of the graph and every tensor has its shape (complex outputs also as real
// pairs with a last dim of 2) and its kind, integers or floats of any width; not every output needs a tensor.
// Throws Error{malformed_file} naming `place` and tensor.
void check_expected(const Graph& graph, const std::map<std::string, Tensor>& tensors,
                    const std::string& place);

}  // namespace assay
