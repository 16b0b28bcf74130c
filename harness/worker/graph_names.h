// Names by which a RunRequest says which tensor is which.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace assay {

// Of the inputs that have a value, in the order of materialise_inputs.
std::vector<std::string> input_names(const Graph& graph);
// Parallel to graph.outputs; nullopt for constants.
std::vector<std::optional<std::string>> output_names(const Graph& graph);

}  // namespace assay
