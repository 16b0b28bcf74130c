#include "models/differentiate/partition.h"

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/graph/builder.h"

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
  Graph build() { return builder_.build(); }

 private:
  const Graph& from_;
  GraphBuilder builder_;
  std::map<ValueId, ValueId> ids_;
};

}  // namespace

PartitionedGraph partition(const Graph& joint, int outputs) {
  if (outputs < 0 || static_cast<std::size_t>(outputs) > joint.outputs.size()) {
    throw Error(ErrorCode::invalid_argument, joint.id + ": there are " +
                                                 std::to_string(joint.outputs.size()) + " outputs, not the " +
                                                 std::to_string(outputs) + " of a forward pass and more");
  }
  const std::vector<bool> forward = needed_nodes(joint, outputs);
  std::vector<bool> made_forward(joint.values.size(), false), read_back(joint.values.size(), false),
      read_forward(joint.values.size(), false);
  for (std::size_t n = 0; n < joint.nodes.size(); ++n) {
    for (const ValueId id : joint.nodes[n].outputs) {
      if (id >= 0 && forward[n]) made_forward[at(id)] = true;
    }
    for (const ValueId id : inputs_of(joint.nodes[n])) (forward[n] ? read_forward : read_back)[at(id)] = true;
  }
  for (std::size_t k = 0; k < joint.outputs.size(); ++k) {
    const ValueId id = joint.outputs[k].value;
    if (id >= 0) (k < static_cast<std::size_t>(outputs) ? read_forward : read_back)[at(id)] = true;
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
  for (std::size_t n = 0; n < joint.nodes.size(); ++n) (forward[n] ? before : after).node(joint.nodes[n]);
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
