#include "harness/case/packed_case.h"

#include <memory>
#include <utility>

#include "core/decompose/decompose.h"

namespace assay {

Case case_of(PackedModel packed, const std::string& file) {
  Case c;
  c.id = packed.id;
  c.subject = packed.id.substr(0, packed.id.rfind('/'));
  if (packed.problem) {
    set_graph_error(c, *packed.problem);
    return c;
  }
  try {
    decompose(packed.model.graph);
  } catch (const Error& error) {
    set_graph_error(c, error);
    return c;
  }
  if (packed.model.graph.nodes.size() == 1) c.subject = packed.model.graph.nodes[0].op;
  c.graph = std::make_shared<const Graph>(std::move(packed.model.graph));
  c.inputs = std::move(packed.model.inputs);
  if (!packed.model.weights.empty()) {
    c.load_weights = [weights = std::move(packed.model.weights)] { return weights; };
  }
  c.load_expected = [expected = std::move(packed.expected)] { return expected; };
  c.expected_source = "golden:" + file;
  c.checks.nan_policy = true;
  return c;
}

}  // namespace assay
