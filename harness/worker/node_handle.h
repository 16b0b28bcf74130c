// One graph node as a backend sees it through assay_node_api.
#pragma once

#include <string>
#include <vector>

#include "assay/backend.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay {

// A size that depends on data.
bool has_unknown_size(const std::vector<TensorMeta>& metas);

class NodeHandle {
 public:
  // `node` has plain scalars only (HostScalars::resolve); its values are those of `graph`. Inputs are
  // numbered as OpCall numbers them: in argument order, lists flattened, None left out, a value used twice
  // counted twice. Outputs that nobody asked for are left out.
  NodeHandle(const Graph& graph, const Node& node);
  NodeHandle(const NodeHandle&) = delete;
  NodeHandle& operator=(const NodeHandle&) = delete;

  const assay_node* handle() const { return reinterpret_cast<const assay_node*>(this); }
  static const assay_node_api& api();

  const Node& node() const { return node_; }
  const std::vector<ValueId>& input_values() const { return input_values_; }
  const std::vector<ValueId>& output_values() const { return output_values_; }
  const std::string& value_name(ValueId id) const {
    return graph_.values.at(static_cast<std::size_t>(id)).name;
  }
  const std::vector<TensorMeta>& inputs() const { return inputs_; }
  const std::vector<TensorMeta>& outputs() const { return outputs_; }
  const std::string& json() const { return json_; }

 private:
  friend struct NodeAccess;
  struct Arg {
    std::string name, text;
    assay_argument_kind kind = ASSAY_ARG_NONE;
    std::vector<int64_t> ints;
    std::vector<double> floats;
  };
  int64_t number(ValueId id);
  Arg argument(const NamedArgument& argument);

  const Graph& graph_;
  Node node_;
  std::string schema_;
  std::vector<Arg> arguments_;
  std::vector<ValueId> input_values_, output_values_;
  std::vector<TensorMeta> inputs_, outputs_;
  std::string json_;
};

}  // namespace assay
