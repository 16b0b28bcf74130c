// Writes nodes into a GraphBuilder by short names: what differentiation rules and model builders share.
#pragma once

#include <string>
#include <vector>

#include "core/graph/builder.h"

namespace assay::models {

// Every method appends one node and returns its result. `a` and `b` are values of the graph and broadcast as
// in PyTorch; numbers are Scalars. Dims may be negative. Throws Error as GraphBuilder::node does.
class Emitter {
 public:
  explicit Emitter(GraphBuilder& builder) : builder_(&builder) {}

  GraphBuilder& builder() const { return *builder_; }
  Shape shape(ValueId id) const {
    return builder_->value(id).shape;
  }  // a copy: values move as nodes are added
  DType dtype(ValueId id) const { return builder_->value(id).dtype; }
  int64_t rank(ValueId id) const { return static_cast<int64_t>(shape(id).size()); }
  int64_t size(ValueId id, int64_t dim) const;

  ValueId call(const std::string& op, std::vector<NamedArgument> arguments);
  std::vector<ValueId> call_all(const std::string& op, std::vector<NamedArgument> arguments);
  // A composite operator without a shape rule; what is declared is checked when it is decomposed.
  ValueId composite(const std::string& op, std::vector<NamedArgument> arguments, const TensorMeta& result);
  // "exp" -> aten::exp.default(self)
  ValueId unary(const std::string& name, ValueId x);

  ValueId add(ValueId a, ValueId b);
  ValueId sub(ValueId a, ValueId b);
  ValueId mul(ValueId a, ValueId b);
  ValueId div(ValueId a, ValueId b);
  ValueId add_number(ValueId a, double number);
  ValueId mul_number(ValueId a, double number);
  ValueId add_integer(ValueId a, int64_t number);  // integers stay integers
  ValueId pow_number(ValueId a, double exponent);
  // name "gt", "eq", ...: aten::NAME.Scalar and aten::NAME.Tensor
  ValueId compare_number(const std::string& name, ValueId a, double number);
  ValueId compare(const std::string& name, ValueId a, ValueId b);
  ValueId where(ValueId condition, ValueId yes, ValueId no);
  // x where the condition holds, 0 elsewhere; NaN and infinities of x do not get through.
  ValueId masked(ValueId condition, ValueId x);

  ValueId mm(ValueId a, ValueId b);                                                // [m,k] [k,n]
  ValueId bmm(ValueId a, ValueId b);                                               // [b,m,k] [b,k,n]
  ValueId sum(ValueId x, const std::vector<int64_t>& dims, bool keepdim = false);  // no dims: nothing
  ValueId sum_all(ValueId x);                                                      // 0-d
  ValueId mean(ValueId x, const std::vector<int64_t>& dims, bool keepdim = false);

  ValueId view(ValueId x, const Shape& size);
  ValueId permute(ValueId x, const std::vector<int64_t>& dims);
  ValueId transpose(ValueId x, int64_t a, int64_t b);
  ValueId expand(ValueId x, const Shape& size);
  ValueId unsqueeze(ValueId x, int64_t dim);
  ValueId slice(ValueId x, int64_t dim, int64_t start, int64_t end, int64_t step = 1);
  ValueId select(ValueId x, int64_t dim, int64_t index);
  ValueId cat(const std::vector<ValueId>& parts, int64_t dim);
  ValueId cast(ValueId x, DType dtype);  // `x` itself if it has the dtype

  ValueId full(const Shape& size, double value, DType dtype);
  ValueId scalar(double value, DType dtype);  // 0-d
  ValueId numbers(int64_t count);             // 0, 1, ... count - 1 as i64

  // Sums the dims that broadcasting `shape` to x's shape would have repeated; the result has `shape`.
  ValueId sum_to(ValueId x, const Shape& shape);

 private:
  GraphBuilder* builder_;
};

int64_t wrapped_dim(int64_t dim, int64_t rank);

}  // namespace assay::models
