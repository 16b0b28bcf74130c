#include "core/graph/builder.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/opset/shapes.h"

namespace assay {

GraphBuilder::GraphBuilder(std::string id) { graph_.id = std::move(id); }

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {
  for (const Value& value : graph_.values) taken_.insert(value.name);
  for (const Node& node : graph_.nodes) taken_.insert(node.name);
}

ValueId GraphBuilder::input(const std::string& name, DType dtype, const Shape& shape, InputKind kind,
                            const std::string& target) {
  Value value;
  value.name = name;
  value.dtype = dtype;
  value.shape = shape;
  const auto id = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back(std::move(value));
  GraphInput entry;
  entry.value = id;
  entry.kind = kind;
  entry.target = target.empty() ? name : target;
  graph_.inputs.push_back(std::move(entry));
  return id;
}

std::vector<ValueId> GraphBuilder::node(const std::string& op, std::vector<NamedArgument> arguments,
                                        SourceLink source) {
  Node probe;
  probe.name = op;
  probe.op = op;
  probe.arguments = arguments;
  const auto results = infer(OpCall(graph_, probe));
  if (!results) {
    throw Error(ErrorCode::unsupported, op + ": the result's shape is not known before the operator is run");
  }
  return declared_node(op, std::move(arguments), *results, std::move(source));
}

std::vector<TensorMeta> GraphBuilder::results_of(const std::string& op,
                                                 const std::vector<NamedArgument>& arguments) const {
  Node probe;
  probe.name = op;
  probe.op = op;
  probe.arguments = arguments;
  const OpCall call(graph_, probe);
  if (auto results = infer(call)) return *results;
  // infer() gives no sizes that depend on data; the rule says which they are.
  const ShapeRule* rule = shape_rules().find(op);
  if (rule == nullptr) throw Error(ErrorCode::unsupported, op + ": there is no shape rule");
  return (*rule)(call);
}

ValueId GraphBuilder::call(const std::string& op, std::vector<NamedArgument> arguments, SourceLink source) {
  return node(op, std::move(arguments), std::move(source)).at(0);
}

std::vector<ValueId> GraphBuilder::declared_node(const std::string& op, std::vector<NamedArgument> arguments,
                                                 const std::vector<TensorMeta>& results, SourceLink source) {
  const std::size_t number = graph_.nodes.size();
  Node node;
  node.op = op;
  // "aten::add.Tensor" -> "add_Tensor_3", as readable as PyTorch's own node names and unique.
  const std::size_t colon = op.rfind(':');
  node.name = op.substr(colon == std::string::npos ? 0 : colon + 1) + "_" + std::to_string(number);
  for (char& c : node.name) {
    if (c == '.') c = '_';
  }
  while (taken_.contains(node.name)) node.name += "_";
  node.arguments = std::move(arguments);
  node.source = std::move(source);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Value value;
    value.name = results.size() == 1 ? node.name : node.name + "_out" + std::to_string(i);
    value.dtype = results[i].dtype;
    value.shape = results[i].shape;
    value.producer = static_cast<int32_t>(number);
    if (std::find(value.shape.begin(), value.shape.end(), -1) != value.shape.end()) {
      for (std::size_t d = 0; d < value.shape.size(); ++d) {
        const std::string symbol = "u" + std::to_string(graph_.values.size()) + std::to_string(d);
        value.symbols.push_back(value.shape[d] == -1 ? symbol : "");
      }
    }
    node.outputs.push_back(static_cast<ValueId>(graph_.values.size()));
    graph_.values.push_back(std::move(value));
  }
  auto outputs = node.outputs;
  graph_.nodes.push_back(std::move(node));
  return outputs;
}

void GraphBuilder::output(ValueId value, OutputKind kind, const std::string& target) {
  GraphOutput output;
  output.value = value;
  output.kind = kind;
  output.target = target;
  graph_.outputs.push_back(std::move(output));
}

Graph GraphBuilder::build() {
  Graph graph = build_unchecked();
  validate(graph);
  return graph;
}

Graph GraphBuilder::build_unchecked() { return std::exchange(graph_, Graph{}); }

}  // namespace assay
