// Formulas in decompositions as they are written on paper: an Expression is a value of the graph, and its
// operators write nodes. Numbers become Scalar arguments.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/decompose/shorthands.h"

namespace assay {

struct Expression {
  Rewriter* rewriter = nullptr;
  ValueId id = -1;

  Shape shape() const { return rewriter->shape(id); }
  DType dtype() const { return rewriter->dtype(id); }
  int64_t rank() const { return rank_of(*rewriter, id); }
  Expression with(ValueId other) const { return {rewriter, other}; }
  Expression unary(const char* op) const { return with(assay::unary(*rewriter, op, id)); }
  Expression combined(const char* op, const Argument& other) const {
    return with(binary(*rewriter, op, id, other));
  }
  // Broadcast from a shape with the same number of dims or fewer.
  Expression cast(DType dtype) const { return with(rewriter->cast(id, dtype)); }
  Expression view(const Shape& size) const {
    return shape() == size ? *this : with(rewriter->view(id, size));
  }
  Expression expand(const Shape& size) const {
    return shape() == size ? *this : with(rewriter->expand(id, size));
  }
  Expression permute(const std::vector<int64_t>& dims) const { return with(rewriter->permute(id, dims)); }
  Expression slice(int64_t dim, int64_t start, int64_t end) const {
    return with(assay::slice(*rewriter, id, dim, start, end));
  }
  // Over the given dims, kept with size 1 or taken away; over none, the values themselves.
  Expression sum(const std::vector<int64_t>& dims, bool keep = false) const {
    return dims.empty() ? *this : with(assay::sum(*rewriter, id, dims, keep));
  }
  Expression mean(const std::vector<int64_t>& dims, bool keep = false) const {
    return dims.empty() ? *this : with(assay::mean(*rewriter, id, dims, keep));
  }
  // A tensor of this dtype that holds one number.
  Expression filled(const Shape& size, double value) const {
    return with(rewriter->full(size, value, dtype()));
  }
};

inline Expression operator+(Expression a, Expression b) {
  return a.combined("aten::add.Tensor", ValueArg{b.id});
}
inline Expression operator-(Expression a, Expression b) {
  return a.combined("aten::sub.Tensor", ValueArg{b.id});
}
inline Expression operator*(Expression a, Expression b) {
  return a.combined("aten::mul.Tensor", ValueArg{b.id});
}
inline Expression operator/(Expression a, Expression b) {
  return a.combined("aten::div.Tensor", ValueArg{b.id});
}
inline Expression operator+(Expression a, double b) { return a.combined("aten::add.Tensor", b); }
inline Expression operator-(Expression a, double b) { return a.combined("aten::sub.Tensor", b); }
inline Expression operator*(Expression a, double b) { return a.combined("aten::mul.Tensor", b); }
inline Expression operator/(Expression a, double b) { return a.combined("aten::div.Tensor", b); }
inline Expression operator-(Expression a) { return a.unary("aten::neg.default"); }
inline Expression operator+(double a, Expression b) { return b + a; }
inline Expression operator-(double a, Expression b) { return -b + a; }
inline Expression operator*(double a, Expression b) { return b * a; }

inline Expression operator<(Expression a, double b) { return a.combined("aten::lt.Scalar", b); }
inline Expression operator>(Expression a, double b) { return a.combined("aten::gt.Scalar", b); }
inline Expression operator<=(Expression a, double b) { return a.combined("aten::le.Scalar", b); }
inline Expression operator>=(Expression a, double b) { return a.combined("aten::ge.Scalar", b); }
// Of booleans.
inline Expression operator&(Expression a, Expression b) {
  return a.combined("aten::logical_and.default", ValueArg{b.id});
}
inline Expression operator|(Expression a, Expression b) {
  return a.combined("aten::logical_or.default", ValueArg{b.id});
}

inline Expression exp(Expression x) { return x.unary("aten::exp.default"); }
inline Expression log1p(Expression x) { return x.unary("aten::log1p.default"); }
inline Expression erf(Expression x) { return x.unary("aten::erf.default"); }
inline Expression tanh(Expression x) { return x.unary("aten::tanh.default"); }
inline Expression sigmoid(Expression x) { return x.unary("aten::sigmoid.default"); }
inline Expression rsqrt(Expression x) { return x.unary("aten::rsqrt.default"); }
inline Expression abs(Expression x) { return x.unary("aten::abs.default"); }
inline Expression where(Expression condition, Expression yes, Expression no) {
  return yes.with(where(*yes.rewriter, condition.id, yes.id, no.id));
}
inline Expression where(Expression condition, Expression yes, double no) {
  return where(condition, yes, yes.with(yes.rewriter->scalar_like(yes.id, no)));
}
inline Expression where(Expression condition, double yes, Expression no) {
  return where(condition, no.with(no.rewriter->scalar_like(no.id, yes)), no);
}

// PyTorch computes with 16-bit and narrower floats in f32 and rounds once, at the end (at::opmath_type).
inline DType computation_of(DType dtype) {
  return dtype == DType::f64 || !is_float(dtype) ? dtype : DType::f32;
}

// The tensor argument as it is, and in the dtype that is computed with.
inline Expression given(Rewriter& w, const OpCall& call, std::string_view name) {
  return {&w, value_of(call, name)};
}
inline Expression widened(Rewriter& w, const OpCall& call, std::string_view name) {
  const Expression x = given(w, call, name);
  return x.cast(computation_of(x.dtype()));
}
inline bool is_given(const OpCall& call, std::string_view name) {
  return value_of_opt(call, name).has_value();
}

}  // namespace assay
