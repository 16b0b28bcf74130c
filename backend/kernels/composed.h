// Kernels made of other kernels: the call as a graph of operators, one node after another in one Program,
// with what lies between nodes in HBM.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernels/kernel.h"
#include "core/graph/builder.h"

namespace assay::backend {

// The tensors of the call are inputs of `builder`; who writes the graph adds nodes and, as outputs, one value
// for each result of the call, in order.
class Composition {
 public:
  explicit Composition(KernelContext& ctx);

  GraphBuilder builder;

  // The value behind a tensor argument.
  ValueId input(std::string_view argument) const;
  // The call's arguments, with the values that stand for its tensors.
  std::vector<NamedArgument> arguments() const;

  // Nodes, by the operator's name without "aten::"; "default" is the overload of a name without one.
  ValueId node(const std::string& op, std::vector<NamedArgument> arguments);
  ValueId unary(const std::string& op, ValueId self) { return node(op, {{"self", ValueArg{self}}}); }
  ValueId binary(const std::string& op, ValueId self, const Argument& other) {
    return node(op, {{"self", ValueArg{self}}, {"other", other}});
  }
  ValueId view(ValueId self, const Shape& size) {
    return node("view", {{"self", ValueArg{self}}, {"size", IntListArg{size, {}}}});
  }
  ValueId expand(ValueId self, const Shape& size) {
    return node("expand", {{"self", ValueArg{self}}, {"size", IntListArg{size, {}}}});
  }
  ValueId where(ValueId condition, ValueId yes, ValueId no) {
    return node("where.self",
                {{"condition", ValueArg{condition}}, {"self", ValueArg{yes}}, {"other", ValueArg{no}}});
  }
  ValueId clamp(ValueId self, const Argument& low, const Argument& high) {
    return node("clamp", {{"self", ValueArg{self}}, {"min", low}, {"max", high}});
  }
  ValueId cast(ValueId self, DType dtype);  // itself if it has the dtype

  // Writes the kernels of the graph's nodes. Throws Unsupported (operator) if one has none.
  void run(const Graph& graph);
  void run() { run(builder.build()); }

 private:
  KernelContext& ctx_;
  std::map<ValueId, ValueId> renamed_;  // of the call -> of the builder
  std::map<ValueId, int32_t> places_;   // numbers of the Program's HBM tensors
};

// The call as its decomposition (core/decompose): calls that the kernels of fused operators do not take.
void run_decomposition(KernelContext& ctx);

}  // namespace assay::backend
