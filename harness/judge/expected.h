// Expected outputs from files (INTERFACE, "Files"): names, shapes, slices.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor.h"
#include "reference/evaluate.h"

namespace assay {

// The key of graph.outputs[i] in a file of expected outputs: "0", "1", ... in the order of user outputs,
// "buffer:NAME" and "input:NAME" for mutated state.
std::string output_key(const Graph& graph, std::size_t i);

// What a file says about one output of the graph.
struct ExpectedOutput {
  reference::Wide value;     // meta is the graph's dtype; shape as `positions` says
  double file_roundoff = 0;  // unit roundoff of the file's dtype; 0 for integers
  // Flat positions of the output that `value` holds, ascending; empty: all of them.
  std::vector<int64_t> positions;
};

// By output number; nullopt where the file says nothing (it may be partial). A complex output may come as a
// real view with a last dimension of 2. Where `source` starts with "golden:", a 1-d tensor may be the evenly
// spaced slice that sweeps/export/golden.py writes (512 elements at most). Throws Error{malformed_file} for a
// name that the graph does not have, for a shape or kind (float, integer) that contradicts the graph, and for
// an output that is a constant; the message lists the names that there are.
std::vector<std::optional<ExpectedOutput>> match_expected(const Graph& graph,
                                                          const std::map<std::string, Tensor>& expected,
                                                          const std::string& source);

// The elements of `tensor` at `positions` as a 1-d tensor; the tensor itself if `positions` is empty.
Tensor take(const Tensor& tensor, const std::vector<int64_t>& positions);
reference::Wide take(const reference::Wide& tensor, const std::vector<int64_t>& positions);

}  // namespace assay
