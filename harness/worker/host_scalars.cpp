#include "harness/worker/host_scalars.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/graph/symbolic_function.h"

namespace assay {
namespace {

const Value& value_of(const Graph& graph, ValueId id) {
  return graph.values.at(static_cast<std::size_t>(id));
}

Scalar integer(int64_t value) { return {Scalar::Kind::integer, value, static_cast<double>(value)}; }

[[noreturn]] void fail(const Node& node, const std::string& what) {
  throw Error(ErrorCode::unsupported, fmt::format("node '{}' ({}): {}", node.name, node.op, what));
}

Argument plain(const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::integer:
      return scalar.i;
    case Scalar::Kind::boolean:
      return scalar.i != 0;
    case Scalar::Kind::floating:
      break;
  }
  return scalar.f;
}

Scalar scalar_from(const Tensor& tensor) {
  if (is_integral(tensor.dtype())) {
    Scalar scalar = integer(tensor.to_ints().at(0));
    if (tensor.dtype() == DType::boolean) scalar.kind = Scalar::Kind::boolean;
    return scalar;
  }
  return {Scalar::Kind::floating, 0, tensor.to_doubles().at(0)};
}

// The tensor argument of sym_size, sym_numel and item: the first value that is a tensor.
ValueId tensor_argument(const Graph& graph, const Node& node) {
  for (const ValueId id : inputs_of(node)) {
    if (value_of(graph, id).kind == ValueKind::tensor) return id;
  }
  fail(node, "reads no tensor");
}

}  // namespace

bool is_host_scalar_node(const Graph& graph, const Node& node) {
  if (is_symbolic_function(node.op)) return true;
  return !node.outputs.empty() && std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return id >= 0 && value_of(graph, id).kind != ValueKind::tensor;
  });
}

bool is_assertion_node(const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id < 0; });
}

bool reads_scalars(const Graph& graph, const Node& node) {
  const std::vector<ValueId> ids = inputs_of(node);
  return std::any_of(ids.begin(), ids.end(),
                     [&](ValueId id) { return value_of(graph, id).kind != ValueKind::tensor; });
}

std::vector<ValueId> values_to_feed(const Graph& graph) {
  std::set<ValueId> ids;
  for (const Node& node : graph.nodes) {
    if (is_host_scalar_node(graph, node) || is_assertion_node(node)) continue;
    for (const ValueId id : inputs_of(node)) {
      if (value_of(graph, id).producer >= 0) ids.insert(id);
    }
  }
  return {ids.begin(), ids.end()};
}

void HostScalars::set(ValueId id, const Tensor& tensor) {
  scalars_.at(static_cast<std::size_t>(id)) = scalar_from(tensor);
}

const Scalar& HostScalars::at(ValueId id, const Node& node) const {
  const auto& scalar = scalars_.at(static_cast<std::size_t>(id));
  if (!scalar) fail(node, fmt::format("the scalar '{}' is not known", value_of(graph_, id).name));
  return *scalar;
}

Scalar HostScalars::argument(const Node& node, const Argument& argument) const {
  if (const auto* value = std::get_if<ValueArg>(&argument)) return at(value->id, node);
  if (const auto* i = std::get_if<int64_t>(&argument)) return integer(*i);
  if (const auto* b = std::get_if<bool>(&argument))
    return {Scalar::Kind::boolean, *b ? 1 : 0, *b ? 1.0 : 0.0};
  if (const auto* f = std::get_if<double>(&argument)) return {Scalar::Kind::floating, 0, *f};
  fail(node, "takes an argument that is no scalar");
}

void HostScalars::evaluate(const Node& node, const std::function<Tensor(ValueId)>& read) {
  if (node.outputs.size() != 1 || node.outputs[0] < 0) fail(node, "expected one scalar result");
  auto& result = scalars_.at(static_cast<std::size_t>(node.outputs[0]));
  if (is_symbolic_function(node.op)) {
    std::vector<Scalar> arguments;
    for (const NamedArgument& given : node.arguments) arguments.push_back(argument(node, given.value));
    result = evaluate_symbolic(node.op, arguments);
    if (!result) fail(node, "cannot be computed (unknown function, division by zero or overflow)");
    return;
  }
  const ValueId tensor = tensor_argument(graph_, node);
  const Shape& shape = value_of(graph_, tensor).shape;
  if (node.op == "aten::sym_size.int" || node.op == "aten::sym_stride.int") {
    const NamedArgument* dim_argument = node.find("dim");
    if (dim_argument == nullptr) fail(node, "has no argument dim");
    int64_t dim = argument(node, dim_argument->value).as_int();
    const auto rank = static_cast<int64_t>(shape.size());
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank) fail(node, fmt::format("dim {} of a tensor of rank {}", dim, rank));
    const Shape strides = contiguous_strides(shape);
    const auto i = static_cast<std::size_t>(dim);
    result = integer(node.op == "aten::sym_size.int" ? shape[i] : strides[i]);
  } else if (node.op == "aten::sym_numel.default") {
    result = integer(element_count(shape));
  } else if (node.op == "aten::sym_storage_offset.default") {
    result = integer(0);
  } else if (node.op == "aten::item.default" || node.op == "aten::_local_scalar_dense.default") {
    const Tensor data = read(tensor);
    if (data.count() != 1) fail(node, fmt::format("a tensor of {} elements is no scalar", data.count()));
    result = scalar_from(data);
  } else {
    fail(node, "gives a scalar and is not known to the harness");
  }
}

Node HostScalars::resolve(const Node& node) const {
  Node resolved = node;
  for (NamedArgument& given : resolved.arguments) {
    if (const auto* value = std::get_if<ValueArg>(&given.value)) {
      if (value->id >= 0 && value_of(graph_, value->id).kind != ValueKind::tensor) {
        given.value = plain(at(value->id, node));
      }
    } else if (auto* list = std::get_if<IntListArg>(&given.value)) {
      for (std::size_t i = 0; i < list->values.size(); ++i) {
        if (list->values[i] >= 0) list->ints.at(i) = at(list->values[i], node).as_int();
      }
      list->values.clear();
    }
  }
  return resolved;
}

Tensor HostScalars::as_tensor(ValueId id) const {
  const auto& scalar = scalars_.at(static_cast<std::size_t>(id));
  if (!scalar)
    throw Error(ErrorCode::internal, "scalar '" + value_of(graph_, id).name + "' was not computed");
  switch (scalar->kind) {
    case Scalar::Kind::integer:
      return Tensor::from_ints(DType::i64, {}, {scalar->i});
    case Scalar::Kind::boolean:
      return Tensor::from_ints(DType::boolean, {}, {scalar->i});
    case Scalar::Kind::floating:
      break;
  }
  return Tensor::scalar(DType::f64, scalar->f);
}

}  // namespace assay
