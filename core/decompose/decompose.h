// Composite operators in terms of Core ATen ones: what torch.export leaves when run_decompositions() was not
// called (linear, layer_norm, scaled_dot_product_attention, reshape, ...). The formulas are those of
// PyTorch's documentation.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay {

// What a rule writes with. Nodes get the source link of the node that they replace.
class Rewriter {
 public:
  explicit Rewriter(Graph& graph);

  // Result metas come from the shape rules. Throws Error as infer() does.
  std::vector<ValueId> emit_all(const std::string& op, std::vector<NamedArgument> arguments);
  ValueId emit(const std::string& op, std::vector<NamedArgument> arguments) {
    return emit_all(op, std::move(arguments)).at(0);
  }

  // A copy: the graph's values move when a node is emitted.
  Shape shape(ValueId id) const { return graph_.values.at(static_cast<std::size_t>(id)).shape; }
  DType dtype(ValueId id) const { return graph_.values.at(static_cast<std::size_t>(id)).dtype; }

  // Shorthands that several rules use.
  ValueId view(ValueId self, const Shape& size);
  ValueId permute(ValueId self, const std::vector<int64_t>& dims);
  ValueId expand(ValueId self, const Shape& size);
  ValueId cast(ValueId self, DType dtype);  // `self` itself if it has the dtype
  ValueId full(const Shape& size, const Argument& value, DType dtype);
  ValueId scalar_like(ValueId self, const Argument& value);  // 0-d, dtype of self

  void begin(const Node& replaced) { replaced_ = &replaced; }

 private:
  friend void decompose(Graph&, const std::function<bool(const std::string&)>&);
  std::string unique_name();
  // The last node emitted takes the name of the node that it stands for.
  void inherit_name(ValueId result, const Value& replaced);

  Graph& graph_;
  std::vector<Node> nodes_;
  std::set<std::string> names_;
  const Node* replaced_ = nullptr;
  int64_t emitted_ = 0;
};

// Gives the values that stand for the call's results, in order; an empty list means "leave the node as it
// is".
using DecomposeRule = std::function<std::vector<ValueId>(Rewriter&, const OpCall&)>;

class DecomposeTable {
 public:
  void add(const std::string& full_name, DecomposeRule rule);
  const DecomposeRule* find(const std::string& full_name) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, DecomposeRule> rules_;
};

// Filled from core/decompose/rules/*.cpp (cmake assay_registry).
const DecomposeTable& decompose_rules();

// Replaces every node that has a rule, until none is left. The graph must have no symbolic sizes (specialise
// first). Names of inputs and outputs of the graph stay. Operators for which `keep` holds stay as they are.
void decompose(Graph& graph, const std::function<bool(const std::string& op)>& keep);
void decompose(Graph& graph);

// Helpers of rules: the value behind a tensor argument.
ValueId value_of(const OpCall& call, std::string_view argument);
std::optional<ValueId> value_of_opt(const OpCall& call, std::string_view argument);
// The argument as it stands (a value, a number, None), to be passed on.
Argument passed_on(const OpCall& call, std::string_view argument);
// All arguments, for an operator that takes the same ones.
std::vector<NamedArgument> passed_on(const OpCall& call);

}  // namespace assay
