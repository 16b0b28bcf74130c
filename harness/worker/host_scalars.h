// Integers, floats and booleans of the host program: symbolic sizes, _operator.* and the like. They run on
// the host, wherever the tensors are.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay {

// The node computes scalars only (sym_size, _operator.*, item): it is never sent to a device.
bool is_host_scalar_node(const Graph& graph, const Node& node);
// The node has no result at all (_assert_scalar, _assert_tensor_metadata, sym_constrain_range): checks of the
// exporter.
bool is_assertion_node(const Node& node);
// An argument of the node is a scalar that another node computes.
bool reads_scalars(const Graph& graph, const Node& node);
// Values made by nodes and read by nodes that a device may run, ascending: what the local pass needs of the
// reference beside the inputs. Empty where every node reads graph inputs only.
std::vector<ValueId> values_to_feed(const Graph& graph);

class HostScalars {
 public:
  explicit HostScalars(const Graph& graph) : graph_(graph), scalars_(graph.values.size()) {}

  void set(ValueId id, const Tensor& tensor);  // 0-d, from a graph input or the reference's chain
  // `read` fetches a tensor that the node reads (item). Throws Error naming the node if it cannot be
  // computed.
  void evaluate(const Node& node, const std::function<Tensor(ValueId)>& read);
  // The node with scalars in place of the values that hold them. Throws Error if one is not known.
  Node resolve(const Node& node) const;
  Tensor as_tensor(ValueId id) const;  // 0-d: i64, f64 or bool

 private:
  const Scalar& at(ValueId id, const Node& node) const;
  Scalar argument(const Node& node, const Argument& argument) const;

  const Graph& graph_;
  std::vector<std::optional<Scalar>> scalars_;
};

}  // namespace assay
