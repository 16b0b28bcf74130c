#include "models/differentiate/partition.h"

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/graph/builder.h"
#include "core/opset/classify.h"

namespace assay::models {
namespace {

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

// Nodes that the first outputs need.
std::vector<bool> needed_nodes(const Graph& joint, int outputs) {
  std::vector<bool> value(joint.values.size(), false), node(joint.nodes.size(), false);
  for (int k = 0; k < outputs; ++k) {
    const ValueId id = joint.outputs[static_cast<std::size_t>(k)].value;
    if (id >= 0) value[at(id)] = true;
  }
  for (std::size_t n = joint.nodes.size(); n-- > 0;) {
    for (const ValueId id : joint.nodes[n].outputs) node[n] = node[n] || (id >= 0 && value[at(id)]);
    if (!node[n]) continue;
    for (const ValueId id : inputs_of(joint.nodes[n])) value[at(id)] = true;
  }
  return node;
}

// Copies inputs and nodes of a graph into another one.
class Copier {
 public:
  Copier(const Graph& from, const char* suffix) : from_(from), builder_(from.id + suffix) {}

  void input(const GraphInput& input) {
    const Value& value = from_.values[at(input.value)];
    ids_[input.value] = builder_.input(value.name, value.dtype, value.shape, input.kind, input.target);
  }
  void saved(ValueId id) {
    const Value& value = from_.values[at(id)];
    ids_[id] = builder_.input("saved_" + value.name, value.dtype, value.shape);
  }
  void node(const Node& node) {
    std::vector<NamedArgument> arguments = node.arguments;
    for (NamedArgument& argument : arguments) {
      if (auto* value = std::get_if<ValueArg>(&argument.value)) value->id = ids_.at(value->id);
      if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
        for (ValueId& id : list->ids) id = id < 0 ? id : ids_.at(id);
      }
    }
    std::vector<TensorMeta> results;
    for (const ValueId id : node.outputs) {
      if (id < 0) throw Error(ErrorCode::unsupported, from_.id + ": " + node.name + " has an unused result");
      results.push_back({from_.values[at(id)].dtype, from_.values[at(id)].shape});
    }
    const std::vector<ValueId> made = builder_.declared_node(node.op, arguments, results, node.source);
    for (std::size_t k = 0; k < made.size(); ++k) ids_[node.outputs[k]] = made[k];
  }
  void output(ValueId id) { builder_.output(ids_.at(id)); }
  void output(const GraphOutput& output) {
    builder_.output(ids_.at(output.value), output.kind, output.target);
  }
  Graph build() { return builder_.build(); }

  ValueId& copy_of(ValueId id) { return ids_[id]; }
  ValueId call(const char* op, std::vector<NamedArgument> arguments) {
    return builder_.call(op, std::move(arguments));
  }

 private:
  const Graph& from_;
  GraphBuilder builder_;
  std::map<ValueId, ValueId> ids_;
};

// The node that a value is the result of if it calls `op`, else none.
const Node* made_by(const Graph& graph, ValueId id, const char* op) {
  const int32_t producer = graph.values[at(id)].producer;
  if (producer < 0) return nullptr;
  const Node& node = graph.nodes[static_cast<std::size_t>(producer)];
  return node.op == op ? &node : nullptr;
}

// The matrix of which `id` is the transpose, -1 if it is none.
ValueId transposed_of(const Graph& graph, ValueId id) {
  const Node* node = made_by(graph, id, "aten::permute.default");
  if (node == nullptr) return -1;
  const auto* dims = std::get_if<IntListArg>(&node->find("dims")->value);
  const auto* self = std::get_if<ValueArg>(&node->find("self")->value);
  if (dims == nullptr || self == nullptr || dims->ints != std::vector<int64_t>{1, 0}) return -1;
  return self->id;
}

// Elementwise arithmetic reads what was expanded to the shape of its other operand as it was before.
Node without_expansion(const Graph& graph, const Node& node) {
  Node out = node;
  for (const char* op : {"aten::mul.Tensor", "aten::add.Tensor", "aten::sub.Tensor", "aten::div.Tensor"}) {
    if (node.op != op) continue;
    const Shape& shape = graph.values[at(node.outputs[0])].shape;
    for (std::size_t k = 0; k < 2; ++k) {
      auto* one = std::get_if<ValueArg>(&out.arguments[k].value);
      const auto* other = std::get_if<ValueArg>(&out.arguments[1 - k].value);
      if (one == nullptr || other == nullptr || graph.values[at(other->id)].shape != shape) continue;
      const Node* expand = made_by(graph, one->id, "aten::expand.default");
      if (expand != nullptr) one->id = std::get<ValueArg>(expand->find("self")->value).id;
    }
    break;
  }
  return out;
}

}  // namespace

Graph simplified(const Graph& graph) {
  std::vector<int> readers(graph.values.size(), 0);
  std::vector<ValueId> turned(graph.values.size(), -1);  // its transpose, if that is all that is read of it
  for (const Node& node : graph.nodes) {
    for (const ValueId id : inputs_of(node)) ++readers[at(id)];
  }
  for (const GraphOutput& output : graph.outputs) {
    if (output.value >= 0) ++readers[at(output.value)];
  }
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    const ValueId of =
        graph.values[id].kind == ValueKind::tensor ? transposed_of(graph, static_cast<ValueId>(id)) : -1;
    if (of >= 0 && readers[at(of)] == 1) turned[at(of)] = static_cast<ValueId>(id);
  }
  Copier copy(graph, "");
  const auto transpose = [&](ValueId id) {
    const ValueId of = transposed_of(graph, id);
    if (of >= 0) return copy.copy_of(of);
    return copy.call("aten::permute.default",
                     {{"self", ValueArg{copy.copy_of(id)}}, {"dims", IntListArg{{1, 0}, {}}}});
  };
  for (const GraphInput& input : graph.inputs) {
    if (input.value >= 0) copy.input(input);
  }
  for (const Node& node : graph.nodes) {
    const ValueId out = node.outputs.empty() ? -1 : node.outputs[0];
    if (node.op == "aten::mm.default" && turned[at(out)] >= 0) {
      const ValueId a = std::get<ValueArg>(node.find("self")->value).id;
      const ValueId b = std::get<ValueArg>(node.find("mat2")->value).id;
      const ValueId left = transpose(b), right = transpose(a);
      copy.copy_of(turned[at(out)]) =
          copy.call("aten::mm.default", {{"self", ValueArg{left}}, {"mat2", ValueArg{right}}});
      continue;
    }
    if (node.op == "aten::permute.default" && out >= 0) {
      const ValueId of = transposed_of(graph, out);
      if (of >= 0 && turned[at(of)] == out && made_by(graph, of, "aten::mm.default") != nullptr) {
        continue;  // written with its product
      }
      if (of >= 0 && transposed_of(graph, of) >= 0) {
        copy.copy_of(out) = copy.copy_of(transposed_of(graph, of));
        continue;
      }
    }
    copy.node(without_expansion(graph, node));
  }
  for (const GraphOutput& output : graph.outputs) {
    if (output.value >= 0) copy.output(output);
  }
  return copy.build();
}

PartitionedGraph partition(const Graph& joint, int outputs) {
  if (outputs < 0 || static_cast<std::size_t>(outputs) > joint.outputs.size()) {
    throw Error(ErrorCode::invalid_argument, joint.id + ": there are " +
                                                 std::to_string(joint.outputs.size()) + " outputs, not the " +
                                                 std::to_string(outputs) + " of a forward pass and more");
  }
  const std::vector<bool> forward = needed_nodes(joint, outputs);
  const std::vector<bool> live = needed_nodes(joint, static_cast<int>(joint.outputs.size()));
  std::vector<bool> made_forward(joint.values.size(), false), read_back(joint.values.size(), false),
      read_forward(joint.values.size(), false);
  for (std::size_t n = 0; n < joint.nodes.size(); ++n) {
    for (const ValueId id : joint.nodes[n].outputs) {
      if (id >= 0 && forward[n]) made_forward[at(id)] = true;
    }
    if (!live[n]) continue;
    for (const ValueId id : inputs_of(joint.nodes[n])) (forward[n] ? read_forward : read_back)[at(id)] = true;
  }
  for (std::size_t k = 0; k < joint.outputs.size(); ++k) {
    const ValueId id = joint.outputs[k].value;
    if (id >= 0) (k < static_cast<std::size_t>(outputs) ? read_forward : read_back)[at(id)] = true;
  }

  // Views that the backward pass takes again; what they are views of it then reads itself.
  std::vector<bool> again(joint.nodes.size(), false);
  for (std::size_t n = joint.nodes.size(); n-- > 0;) {
    const Node& node = joint.nodes[n];
    if (!forward[n] || !is_metadata_op(node.op)) continue;
    for (const ValueId id : node.outputs) again[n] = again[n] || (id >= 0 && read_back[at(id)]);
    if (!again[n]) continue;
    for (const ValueId id : inputs_of(node)) read_back[at(id)] = true;
    for (const ValueId id : node.outputs) {
      if (id >= 0) made_forward[at(id)] = false;
    }
  }

  PartitionedGraph out;
  const auto bytes = [&](ValueId id) {
    const Value& value = joint.values[at(id)];
    return element_count(value.shape) * static_cast<int64_t>(size_of(value.dtype));
  };
  Copier before(joint, "_forward"), after(joint, "_backward");
  for (const GraphInput& input : joint.inputs) {
    if (input.value < 0) continue;
    if (read_forward[at(input.value)]) before.input(input);
    if (!read_back[at(input.value)]) continue;
    after.input(input);
    if (input.kind != InputKind::parameter && read_forward[at(input.value)]) {
      out.saved_bytes += bytes(input.value);
    }
  }
  for (std::size_t id = 0; id < joint.values.size(); ++id) {
    if (!made_forward[id] || !read_back[id]) continue;
    after.saved(static_cast<ValueId>(id));
    out.saved_bytes += bytes(static_cast<ValueId>(id));
  }
  for (std::size_t n = 0; n < joint.nodes.size(); ++n) {
    if (forward[n]) before.node(joint.nodes[n]);
    if (again[n] || (live[n] && !forward[n])) after.node(joint.nodes[n]);
  }
  for (std::size_t k = 0; k < joint.outputs.size(); ++k) {
    if (joint.outputs[k].value < 0) continue;
    (k < static_cast<std::size_t>(outputs) ? before : after).output(joint.outputs[k].value);
  }
  for (std::size_t id = 0; id < joint.values.size(); ++id) {
    if (made_forward[id] && read_back[id]) before.output(static_cast<ValueId>(id));
  }
  out.forward = before.build();
  out.backward = after.build();
  return out;
}

}  // namespace assay::models
