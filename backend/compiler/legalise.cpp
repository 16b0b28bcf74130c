#include "backend/compiler/legalise.h"

#include <utility>

#include "backend/compiler/eager.h"
#include "core/error.h"
#include "core/opset/classify.h"

namespace assay::backend {
namespace {

CompileError fault(CompileErrorClass error_class, const Node& node, const std::string& message) {
  return {error_class, node.name, node.op, node.source.location, message};
}

}  // namespace

LegalNode read_node(const Graph& graph, const Node& node) {
  const OpCall whole(graph, node);
  std::vector<TensorMeta> outputs;
  std::vector<ValueId> wanted;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] < 0) continue;
    outputs.push_back(whole.outputs()[i]);
    wanted.push_back(node.outputs[i]);
  }
  return {OpCall(node.op, whole.inputs(), whole.arguments(), std::move(outputs)), nullptr,
          whole.input_values(), std::move(wanted)};
}

std::vector<LegalNode> legalise(const Graph& graph) {
  std::vector<LegalNode> out;
  std::vector<CompileError> faults;
  out.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    try {
      if (is_host_scalar_op(node.op)) {
        throw Unsupported(ASSAY_REASON_DYNAMIC_SHAPE, node.op + ": a number of the host program");
      }
      LegalNode legal = read_node(graph, node);
      legal.kernel = &check_call(legal.call);
      out.push_back(std::move(legal));
    } catch (const Unsupported& error) {
      faults.push_back(fault(class_of(error.reason()), node, error.what()));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unknown_operator) {
        faults.push_back(fault(CompileErrorClass::unsupported_operator, node, error.what()));
      } else if (error.code() == ErrorCode::unsupported) {
        faults.push_back(fault(CompileErrorClass::dynamic_shape, node, error.what()));
      } else {
        throw;
      }
    }
  }
  if (!faults.empty()) throw CompileFailure(std::move(faults));
  return out;
}

}  // namespace assay::backend
