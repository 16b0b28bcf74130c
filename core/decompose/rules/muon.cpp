// Newton-Schulz iterations as matrix products (formula: core/opset/rules/muon.cpp).
#include "core/decompose/shorthands.h"

namespace assay {
namespace {

// beta x + alpha (left right)
ValueId product_plus(Rewriter& w, ValueId x, double beta, ValueId left, ValueId right, double alpha) {
  return w.emit("aten::addmm.default", {{"self", ValueArg{x}},
                                        {"mat1", ValueArg{left}},
                                        {"mat2", ValueArg{right}},
                                        {"beta", beta},
                                        {"alpha", alpha}});
}

// The smaller side comes first, so that the squares are small. A = X X^T, X = a X + (b A + c A A) X.
Ids muon_orthogonalize(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const Shape shape = w.shape(self);
  const DType dtype = w.dtype(self), wide = dtype == DType::f64 ? dtype : DType::f32;
  if (element_count(shape) == 0) return {w.full(shape, 0.0, dtype)};
  ValueId x = w.cast(self, wide);
  const ValueId norm = w.emit("aten::linalg_vector_norm.default",
                              {{"self", ValueArg{x}}, {"ord", int64_t{2}}, {"keepdim", false}});
  const double eps = call.floating("eps");
  const ValueId divisor = call.boolean("clamp_norm") ? clamp(w, norm, eps, NoneArg{}) : add(w, norm, eps);
  x = w.cast(div(w, x, ValueArg{divisor}), dtype);
  const bool tall = shape[0] > shape[1];
  if (tall) x = turned(w, x);
  for (int64_t step = 0; step < call.integer("steps"); ++step) {
    const ValueId a = mm(w, x, turned(w, x));
    const ValueId b = product_plus(w, a, call.floating("b"), a, a, call.floating("c"));
    x = product_plus(w, x, call.floating("a"), b, x, 1);
  }
  return {tall ? turned(w, x) : x};
}

}  // namespace

void register_muon(DecomposeTable& table) {
  table.add("assay::muon_orthogonalize.default", muon_orthogonalize);
}

}  // namespace assay
