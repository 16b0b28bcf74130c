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
  std::vector<TensorMeta> inputs, outputs;
  std::vector<ValueId> in, out;
  const auto number = [&](ValueId& id) {
    if (id < 0) return;
    const Value& value = graph.values[static_cast<std::size_t>(id)];
    if (value.kind != ValueKind::tensor) {
      throw Unsupported(ASSAY_REASON_DYNAMIC_SHAPE, node.op + ": reads the number '" + value.name +
                                                        "', which is known only when the graph runs");
    }
    in.push_back(id);
    inputs.push_back({value.dtype, value.shape});
    id = static_cast<ValueId>(inputs.size()) - 1;
  };
  std::vector<NamedArgument> arguments = node.arguments;
  for (NamedArgument& argument : arguments) {
    if (auto* value = std::get_if<ValueArg>(&argument.value)) number(value->id);
    if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
      for (ValueId& id : list->ids) number(id);
    }
    if (const auto* ints = std::get_if<IntListArg>(&argument.value)) {
      for (ValueId id : ints->values) number(id);
    }
  }
  for (const ValueId id : node.outputs) {
    if (id < 0) continue;
    const Value& value = graph.values[static_cast<std::size_t>(id)];
    out.push_back(id);
    outputs.push_back({value.dtype, value.shape});
  }
  return {OpCall(node.op, std::move(inputs), arguments, std::move(outputs)), nullptr, std::move(in),
          std::move(out)};
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
