// One operator call with its arguments resolved against the schema: what kernels and shape rules read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/opset/schema.h"

namespace assay {

struct TensorMeta {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorMeta&) const = default;
};

// A PyTorch Scalar.
struct Scalar {
  enum class Kind { integer, floating, boolean } kind = Kind::integer;
  int64_t i = 0;  // integer, boolean
  double f = 0;   // floating; also holds the value of the others
  double as_double() const { return kind == Kind::floating ? f : static_cast<double>(i); }
  // Throws Error for a non-integral floating scalar.
  int64_t as_int() const;
};

// "aten::add" of "aten::add.Tensor".
inline std::string_view without_overload(std::string_view op) { return op.substr(0, op.find('.')); }

// Tensors are numbered in the order in which the node lists its arguments, lists flattened, None left out, a
// value that is used twice counted twice: inputs_of(node) without the symbolic scalars. `input(i)` is the
// index that kernels use to find their data. Accessors take the schema's argument name, fall back to the
// schema's default, and throw Error{invalid_argument} naming operator and argument if the kind is wrong.
//
// // Exported graphs write a number where the schema says Tensor in add, sub, mul, div and copy:
// mul.Tensor(x, 0.25). Such an argument has no input number: is_number(name) is true, scalar(name) reads it,
// tensor_opt(name) is nullopt and tensor(name) throws. In type promotion it counts as a Scalar.
class OpCall {
 public:
  // Symbolic scalars must have been resolved: `symbolic[id]` gives the Scalar of a non-tensor ValueId.
  // Throws Error{unknown_operator}, Error{unsupported} for an unresolved symbolic scalar or an unspecialised
  // size, and Error{invalid_argument} for arguments that the schema does not have, lacks or types
  // differently.
  OpCall(const Graph& graph, const Node& node, const std::vector<Scalar>* symbolic = nullptr);
  // For tables and tests: arguments as a node has them, tensors by number (ValueArg::id is an index into
  // `inputs`).
  OpCall(std::string op, std::vector<TensorMeta> inputs, const std::vector<NamedArgument>& arguments,
         std::vector<TensorMeta> outputs = {});

  const Schema& schema() const { return *schema_; }
  const std::string& op() const { return op_; }
  const std::string& node_name() const { return node_name_; }
  const std::vector<TensorMeta>& inputs() const { return inputs_; }
  const std::vector<TensorMeta>& outputs() const { return outputs_; }  // as the graph declares them
  const TensorMeta& input(int i) const { return inputs_.at(static_cast<std::size_t>(i)); }
  const TensorMeta& output(int i) const { return outputs_.at(static_cast<std::size_t>(i)); }
  // False for a result that nobody asked for (an output masked out, an unused None); its meta is empty.
  bool output_used(int i) const { return output_values_.at(static_cast<std::size_t>(i)) >= 0; }
  // The values behind inputs() and outputs(), in their numbering.
  const std::vector<ValueId>& input_values() const { return input_values_; }
  const std::vector<ValueId>& output_values() const { return output_values_; }
  // Arguments in schema order, defaults filled in, symbolic scalars replaced by numbers.
  const std::vector<NamedArgument>& arguments() const { return resolved_; }

  bool is_number(std::string_view name) const;  // a number was given for an argument of type Tensor or Scalar
  bool is_none(std::string_view name) const;
  int tensor(std::string_view name) const;                     // index of a required tensor
  std::optional<int> tensor_opt(std::string_view name) const;  // nullopt for None
  std::vector<int> tensors(std::string_view name) const;       // Tensor[]; -1 for None
  Scalar scalar(std::string_view name) const;
  std::optional<Scalar> scalar_opt(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  std::optional<int64_t> integer_opt(std::string_view name) const;
  double floating(std::string_view name) const;
  bool boolean(std::string_view name) const;
  // int[]; a single int (or a list of one) is repeated `expand` times if given; a single int given for int[N]
  // is repeated N times otherwise.
  std::vector<int64_t> integers(std::string_view name, int expand = 0) const;
  std::optional<std::vector<int64_t>> integers_opt(std::string_view name) const;
  std::optional<std::vector<double>> floats_opt(std::string_view name) const;
  std::vector<bool> booleans(std::string_view name) const;
  std::string string(std::string_view name) const;
  std::optional<std::string> string_opt(std::string_view name) const;
  std::optional<DType> dtype_opt(std::string_view name) const;
  const Graph* graph_opt(std::string_view name) const;  // a function; nullptr for None

 private:
  void resolve(const std::vector<NamedArgument>& given);
  const Argument& argument(std::string_view name) const;
  [[noreturn]] void wrong_kind(std::string_view name, std::string_view expected) const;
  const Schema* schema_;
  std::string op_;
  std::string node_name_;
  std::vector<NamedArgument> resolved_;  // in schema order, defaults filled in
  std::vector<std::pair<std::string, std::vector<int>>>
      tensor_index_;  // argument -> input numbers, -1 for None
  std::vector<TensorMeta> inputs_;
  std::vector<TensorMeta> outputs_;
  std::vector<ValueId> input_values_;
  std::vector<ValueId> output_values_;
};

// Non-negative dim; throws Error naming the operator if it is outside [-rank, rank) (rank 0 counts as 1).
int64_t normalise_dim(int64_t dim, int64_t rank, const OpCall& call);

}  // namespace assay
