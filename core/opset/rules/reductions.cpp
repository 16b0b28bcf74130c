// Sums, products, extrema, scans and softmax over dims.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

std::vector<int64_t> dims_of(const OpCall& call, const TensorMeta& self) {
  return reduced_dims(call, call.integers_opt("dim").value_or(std::vector<int64_t>{}), rank(self));
}

DType dtype_or(const OpCall& call, DType otherwise) { return call.dtype_opt("dtype").value_or(otherwise); }

Metas sum_dims(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{dtype_or(call, accumulated(self.dtype)),
           reduced_shape(self.shape, dims_of(call, self), call.boolean("keepdim"))}};
}

Metas sum_all(const OpCall& call) { return {{dtype_or(call, accumulated(meta(call, "self").dtype)), {}}}; }

Metas log_sum_exp(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{inexact(self.dtype), reduced_shape(self.shape, dims_of(call, self), call.boolean("keepdim"))}};
}

DType mean_dtype(const OpCall& call, const TensorMeta& self) {
  const std::optional<DType> dtype = call.dtype_opt("dtype");
  require_kind(call, dtype ? "dtype" : "self", dtype.value_or(self.dtype), kInexact);
  return dtype.value_or(self.dtype);
}
Metas mean_dims(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{mean_dtype(call, self), reduced_shape(self.shape, dims_of(call, self), call.boolean("keepdim"))}};
}
Metas mean_all(const OpCall& call) { return {{mean_dtype(call, meta(call, "self")), {}}}; }

Metas prod_all(const OpCall& call) { return {{dtype_or(call, accumulated(meta(call, "self").dtype)), {}}}; }
Metas prod_dim(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  return {
      {dtype_or(call, accumulated(self.dtype)), reduced_shape(self.shape, {dim}, call.boolean("keepdim"))}};
}

Metas extremum_dims(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  const std::vector<int64_t> dims = dims_of(call, self);
  require_not_empty(call, self.shape, dims);
  return {{self.dtype, reduced_shape(self.shape, dims, call.boolean("keepdim"))}};
}

Metas max_all(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  require_not_empty(call, self.shape, reduced_dims(call, {}, rank(self)));
  return {{self.dtype, {}}};
}

// Values and their indices along one dim.
Metas extremum_with_indices(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  require_not_empty(call, self.shape, {dim});
  const Shape shape = reduced_shape(self.shape, {dim}, call.boolean("keepdim"));
  return {{self.dtype, shape}, {DType::i64, shape}};
}

Metas index_of_extremum(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kReal);
  const std::optional<int64_t> dim = call.integer_opt("dim");
  const std::vector<int64_t> dims =
      reduced_dims(call, dim ? std::vector<int64_t>{*dim} : std::vector<int64_t>{}, rank(self));
  require_not_empty(call, self.shape, dims);
  return {{DType::i64, reduced_shape(self.shape, dims, call.boolean("keepdim"))}};
}

// any() of u8 is u8, for historical reasons.
DType any_dtype(DType dtype) { return dtype == DType::u8 ? DType::u8 : DType::boolean; }
Metas any_all(const OpCall& call) { return {{any_dtype(meta(call, "self").dtype), {}}}; }
Metas any_dim(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  return {{any_dtype(self.dtype), reduced_shape(self.shape, {dim}, call.boolean("keepdim"))}};
}
// Unlike in other reductions an empty list reduces nothing; None reduces all.
Metas any_dims(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const std::optional<std::vector<int64_t>> dims = call.integers_opt("dim");
  if (dims && dims->empty()) return {{any_dtype(self.dtype), self.shape}};
  return {{any_dtype(self.dtype), reduced_shape(self.shape, dims_of(call, self), call.boolean("keepdim"))}};
}
Metas is_all_true(const OpCall& call) {
  require_kind(call, "self", meta(call, "self").dtype, kBool);
  return {{DType::boolean, {}}};
}

Metas variance(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kInexact);
  return {{real_part(self.dtype), reduced_shape(self.shape, dims_of(call, self), call.boolean("keepdim"))}};
}

Metas vector_norm(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kInexact);
  const std::optional<DType> dtype = call.dtype_opt("dtype");
  if (dtype) {
    require_kind(call, "dtype", *dtype, kInexact);
    if (is_complex(*dtype) != is_complex(self.dtype)) {
      fail(call, "dtype is {} and self has dtype {}; both must be real or both complex", name_of(*dtype),
           name_of(self.dtype));
    }
    if (result_type(std::vector<TensorMeta>{{self.dtype, {1}}, {*dtype, {1}}}, {}) != *dtype) {
      fail(call, "dtype is {} and self has dtype {}; it must hold every number of self's dtype",
           name_of(*dtype), name_of(self.dtype));
    }
  }
  const std::vector<int64_t> dims = dims_of(call, self);
  const double order = call.scalar("ord").as_double();
  if (order < 0 || order > 1e300) require_not_empty(call, self.shape, dims);
  return {{real_part(dtype.value_or(self.dtype)), reduced_shape(self.shape, dims, call.boolean("keepdim"))}};
}

Metas cumsum(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  normalise_dim(call.integer("dim"), rank(self), call);
  const DType dtype = dtype_or(call, accumulated(self.dtype));
  require_kind(call, "dtype", dtype, kNoBool);
  return {{dtype, self.shape}};
}

Metas softmax(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  normalise_dim(call.integer("dim"), rank(self), call);
  if (!call.boolean("half_to_float")) return {self};
  if (self.dtype != DType::f16 && self.dtype != DType::bf16) {
    fail(call, "half_to_float is set and self has dtype {}; it must be f16 or bf16", name_of(self.dtype));
  }
  return {{DType::f32, self.shape}};
}
Metas softmax_of_dtype(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const std::optional<DType> dtype = call.dtype_opt("dtype");
  require_kind(call, dtype ? "dtype" : "self", dtype.value_or(self.dtype), kFloat);
  normalise_dim(call.integer("dim"), rank(self), call);
  return {{dtype.value_or(self.dtype), self.shape}};
}
Metas softmax_backward(const OpCall& call) {
  const TensorMeta& gradient = meta(call, "grad_output");
  require_kind(call, "grad_output", gradient.dtype, kFloat);
  require_shape(call, "output", gradient.shape);
  normalise_dim(call.integer("dim"), rank(gradient), call);
  return {{call.dtype_opt("input_dtype").value_or(gradient.dtype), gradient.shape}};
}

Metas sort(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  normalise_dim(call.integer("dim"), rank(self), call);
  return {self, {DType::i64, self.shape}};
}

Metas topk(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kReal);
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  const int64_t k = call.integer("k");
  if (k < 0 || k > size_at(self, dim)) {
    fail(call, "k is {}; it must be within [0, {}], the size of dim {}", k, size_at(self, dim), dim);
  }
  Shape shape = self.shape;
  if (!shape.empty()) shape[static_cast<std::size_t>(dim)] = k;
  return {{self.dtype, shape}, {DType::i64, shape}};
}

}  // namespace

void register_reductions(ShapeTable& table) {
  table.add("aten::sum.dim_IntList", sum_dims);
  table.add("aten::sum.default", sum_all);
  table.add("aten::logsumexp.default", log_sum_exp);
  table.add("aten::mean.dim", mean_dims);
  table.add("aten::mean.default", mean_all);
  table.add("aten::prod.default", prod_all);
  table.add("aten::prod.dim_int", prod_dim);
  table.add("aten::amax.default", extremum_dims);
  table.add("aten::amin.default", extremum_dims);
  table.add("aten::max.default", max_all);
  table.add("aten::max.dim", extremum_with_indices);
  table.add("aten::min.dim", extremum_with_indices);
  table.add("aten::argmax.default", index_of_extremum);
  table.add("aten::argmin.default", index_of_extremum);
  table.add("aten::any.default", any_all);
  table.add("aten::any.dim", any_dim);
  table.add("aten::any.dims", any_dims);
  table.add("aten::_is_all_true.default", is_all_true);
  table.add("aten::var.correction", variance);
  table.add("aten::var.dim", variance);
  table.add("aten::linalg_vector_norm.default", vector_norm);
  table.add("aten::cumsum.default", cumsum);
  table.add("aten::_softmax.default", softmax);
  table.add("aten::_log_softmax.default", softmax);
  table.add("aten::softmax.int", softmax_of_dtype);
  table.add("aten::log_softmax.int", softmax_of_dtype);
  table.add("aten::_softmax_backward_data.default", softmax_backward);
  table.add("aten::_log_softmax_backward_data.default", softmax_backward);
  table.add("aten::sort.default", sort);
  table.add("aten::topk.default", topk);
}

}  // namespace assay
