// libFuzzer: any text ends in a graph or an Error; a graph that was read is written, read again and written
// the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "core/graph/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace assay;
  Graph graph;
  try {
    graph = graph_from_json({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  } catch (const Error&) {
    return 0;
  }
  const std::string text = graph_to_json(graph);
  if (graph_to_json(graph_from_json(text, "written")) != text) std::abort();
  for (const Node& node : graph.nodes) graph_to_json(single_node_graph(graph, node));
  return 0;
}
