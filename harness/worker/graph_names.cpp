#include "harness/worker/graph_names.h"

namespace assay {

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs) {
    if (input.value >= 0) names.push_back(graph.values.at(static_cast<std::size_t>(input.value)).name);
  }
  return names;
}

std::vector<std::optional<std::string>> output_names(const Graph& graph) {
  std::vector<std::optional<std::string>> names;
  for (const GraphOutput& output : graph.outputs) {
    if (output.value < 0) {
      names.emplace_back();
    } else {
      names.emplace_back(graph.values.at(static_cast<std::size_t>(output.value)).name);
    }
  }
  return names;
}

}  // namespace assay
