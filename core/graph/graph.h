// The graph that every case is: PyTorch's exported form, with values and nodes in order of execution.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/argument.h"
#include "core/tensor.h"

namespace assay {

enum class ValueKind { tensor, symbolic_int, symbolic_float, symbolic_bool };

struct Value {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  DType dtype = DType::f32;  // tensors only
  Shape shape;               // -1 where symbolic and not yet specialised
  int32_t producer = -1;     // index of the node; -1 for graph inputs
  // Symbol of each symbolic size ("s0", "s0 + 1"), "" where the size is plain; empty if all are plain.
  std::vector<std::string> symbols;
};

struct NamedArgument {
  std::string name;  // as in the schema; "" only for _operator.* (positional)
  Argument value;
};

struct SourceLink {
  std::string location;     // "transformers/models/llama/modeling_llama.py:123", or ""
  std::string module_path;  // "model.layers.0.self_attn", or ""
};

struct Node {
  std::string name;  // unique in the graph
  std::string op;    // "aten::add.Tensor", "_operator::add"; the overload is always spelled
  std::vector<NamedArgument> arguments;  // as serialised: only those given
  std::vector<ValueId> outputs;          // a Tensor[] result is flattened (split_with_sizes); -1: unused None
  SourceLink source;
  const NamedArgument* find(std::string_view argument) const;  // nullptr if not given
};

enum class InputKind { user, parameter, buffer, constant };
struct GraphInput {
  ValueId value = -1;  // -1 for a user input that is a constant (None, int, str): it does not enter the graph
  InputKind kind = InputKind::user;
  std::string
      target;  // fully qualified name of parameter, buffer or constant; for user inputs the value's name
  bool persistent = true;            // buffers
  std::optional<Argument> constant;  // the value of a constant user input (value -1)
};

enum class OutputKind { user, buffer_mutation, user_input_mutation };
struct GraphOutput {
  ValueId value = -1;  // -1: a constant output, see `constant`
  OutputKind kind = OutputKind::user;
  std::string target;                // buffer FQN or input name for mutations
  std::optional<Argument> constant;  // None, int, ... returned as it is
};

struct Graph {
  std::string id;  // for messages
  std::vector<Value> values;
  std::vector<Node> nodes;  // topologically sorted (checked by validate)
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;

  ValueId find_value(std::string_view name) const;  // -1 if absent
  bool has_symbols() const;
};

// Calls visit(ValueId&) for every value that the argument reads, None entries included as -1.
template <typename Arg, typename Visit>
void visit_values(Arg& argument, Visit visit) {
  if (auto* value = std::get_if<ValueArg>(&argument)) {
    visit(value->id);
  } else if (auto* list = std::get_if<ValueListArg>(&argument)) {
    for (auto& id : list->ids) visit(id);
  } else if (auto* ints = std::get_if<IntListArg>(&argument)) {
    for (auto& id : ints->values) visit(id);
  }
}

// Values read by the node, in argument order (lists flattened, -1 left out).
std::vector<ValueId> inputs_of(const Node& node);

// Throws Error{malformed_file} naming graph, node and place: undefined or doubly defined values, use before
// definition, cycles, wrong argument types against the schema, unknown operators
// (ErrorCode::unknown_operator), output counts and declared shapes and dtypes that contradict the shape rules
// (core/opset/shapes.h).
void validate(const Graph& graph);

// A graph of one node whose tensor inputs become user inputs "arg0", "arg1", ... in argument order and whose
// outputs are "out0", ...: the canonical form in which single operators cross the ABI, equal for equal
// signatures.
Graph single_node_graph(const Graph& graph, const Node& node);

}  // namespace assay
