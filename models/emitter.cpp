#include "models/emitter.h"

#include <numeric>
#include <utility>

namespace assay::models {
namespace {

Argument value(ValueId id) { return ValueArg{id}; }
Argument ints(const std::vector<int64_t>& list) { return IntListArg{list, {}}; }

}  // namespace

int64_t wrapped_dim(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

int64_t Emitter::size(ValueId id, int64_t dim) const {
  return shape(id).at(static_cast<std::size_t>(wrapped_dim(dim, rank(id))));
}

ValueId Emitter::call(const std::string& op, std::vector<NamedArgument> arguments) {
  return builder_->call(op, std::move(arguments));
}
std::vector<ValueId> Emitter::call_all(const std::string& op, std::vector<NamedArgument> arguments) {
  return builder_->node(op, std::move(arguments));
}
ValueId Emitter::composite(const std::string& op, std::vector<NamedArgument> arguments,
                           const TensorMeta& result) {
  return builder_->declared_node(op, std::move(arguments), {result}).at(0);
}
ValueId Emitter::unary(const std::string& name, ValueId x) {
  return call("aten::" + name + ".default", {{"self", value(x)}});
}

ValueId Emitter::add(ValueId a, ValueId b) {
  return call("aten::add.Tensor", {{"self", value(a)}, {"other", value(b)}});
}
ValueId Emitter::sub(ValueId a, ValueId b) {
  return call("aten::sub.Tensor", {{"self", value(a)}, {"other", value(b)}});
}
ValueId Emitter::mul(ValueId a, ValueId b) {
  return call("aten::mul.Tensor", {{"self", value(a)}, {"other", value(b)}});
}
ValueId Emitter::div(ValueId a, ValueId b) {
  return call("aten::div.Tensor", {{"self", value(a)}, {"other", value(b)}});
}
ValueId Emitter::add_number(ValueId a, double number) {
  return call("aten::add.Tensor", {{"self", value(a)}, {"other", number}});
}
ValueId Emitter::add_integer(ValueId a, int64_t number) {
  return call("aten::add.Tensor", {{"self", value(a)}, {"other", number}});
}
ValueId Emitter::mul_number(ValueId a, double number) {
  return number == 1 ? a : call("aten::mul.Tensor", {{"self", value(a)}, {"other", number}});
}
ValueId Emitter::pow_number(ValueId a, double exponent) {
  return call("aten::pow.Tensor_Scalar", {{"self", value(a)}, {"exponent", exponent}});
}
ValueId Emitter::compare_number(const std::string& name, ValueId a, double number) {
  return call("aten::" + name + ".Scalar", {{"self", value(a)}, {"other", number}});
}
ValueId Emitter::compare(const std::string& name, ValueId a, ValueId b) {
  return call("aten::" + name + ".Tensor", {{"self", value(a)}, {"other", value(b)}});
}
ValueId Emitter::where(ValueId condition, ValueId yes, ValueId no) {
  return call("aten::where.self",
              {{"condition", value(condition)}, {"self", value(yes)}, {"other", value(no)}});
}
ValueId Emitter::masked(ValueId condition, ValueId x) { return where(condition, x, scalar(0, dtype(x))); }

ValueId Emitter::mm(ValueId a, ValueId b) {
  return call("aten::mm.default", {{"self", value(a)}, {"mat2", value(b)}});
}
ValueId Emitter::bmm(ValueId a, ValueId b) {
  return call("aten::bmm.default", {{"self", value(a)}, {"mat2", value(b)}});
}
ValueId Emitter::sum(ValueId x, const std::vector<int64_t>& dims, bool keepdim) {
  if (dims.empty()) return x;  // an empty list would mean all dims
  return call("aten::sum.dim_IntList", {{"self", value(x)}, {"dim", ints(dims)}, {"keepdim", keepdim}});
}
ValueId Emitter::sum_all(ValueId x) {
  std::vector<int64_t> dims(shape(x).size());
  std::iota(dims.begin(), dims.end(), 0);
  return sum(x, dims);
}
ValueId Emitter::mean(ValueId x, const std::vector<int64_t>& dims, bool keepdim) {
  return call("aten::mean.dim", {{"self", value(x)}, {"dim", ints(dims)}, {"keepdim", keepdim}});
}

ValueId Emitter::view(ValueId x, const Shape& size) {
  return shape(x) == size ? x : call("aten::view.default", {{"self", value(x)}, {"size", ints(size)}});
}
ValueId Emitter::permute(ValueId x, const std::vector<int64_t>& dims) {
  return call("aten::permute.default", {{"self", value(x)}, {"dims", ints(dims)}});
}
ValueId Emitter::transpose(ValueId x, int64_t a, int64_t b) {
  std::vector<int64_t> dims(shape(x).size());
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims.at(static_cast<std::size_t>(wrapped_dim(a, rank(x)))),
            dims.at(static_cast<std::size_t>(wrapped_dim(b, rank(x)))));
  return permute(x, dims);
}
ValueId Emitter::expand(ValueId x, const Shape& size) {
  return shape(x) == size ? x : call("aten::expand.default", {{"self", value(x)}, {"size", ints(size)}});
}
ValueId Emitter::unsqueeze(ValueId x, int64_t dim) {
  return call("aten::unsqueeze.default", {{"self", value(x)}, {"dim", dim}});
}
ValueId Emitter::slice(ValueId x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (start == 0 && end == size(x, dim) && step == 1) return x;
  return call("aten::slice.Tensor",
              {{"self", value(x)}, {"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}
ValueId Emitter::select(ValueId x, int64_t dim, int64_t index) {
  return call("aten::select.int", {{"self", value(x)}, {"dim", dim}, {"index", index}});
}
ValueId Emitter::cat(const std::vector<ValueId>& parts, int64_t dim) {
  return parts.size() == 1 ? parts[0]
                           : call("aten::cat.default", {{"tensors", ValueListArg{parts}}, {"dim", dim}});
}
ValueId Emitter::cast(ValueId x, DType to) {
  return dtype(x) == to ? x : call("aten::_to_copy.default", {{"self", value(x)}, {"dtype", DTypeArg{to}}});
}

ValueId Emitter::full(const Shape& size, double number, DType dtype) {
  return call("aten::full.default",
              {{"size", ints(size)}, {"fill_value", number}, {"dtype", DTypeArg{dtype}}});
}
ValueId Emitter::scalar(double number, DType dtype) {
  return call("aten::scalar_tensor.default", {{"s", number}, {"dtype", DTypeArg{dtype}}});
}
ValueId Emitter::numbers(int64_t count) {
  return call("aten::arange.start_step",
              {{"start", int64_t{0}}, {"end", count}, {"dtype", DTypeArg{DType::i64}}});
}

ValueId Emitter::sum_to(ValueId x, const Shape& target) {
  const Shape& from = shape(x);
  if (from == target) return x;
  const std::size_t extra = from.size() - target.size();
  std::vector<int64_t> dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d < extra || (target[d - extra] == 1 && from[d] != 1)) dims.push_back(static_cast<int64_t>(d));
  }
  return view(sum(x, dims), target);
}

}  // namespace assay::models
