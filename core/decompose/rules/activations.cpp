// Composite activations (formulas: PyTorch documentation of torch.nn).
#include "core/decompose/shorthands.h"

namespace assay {
namespace {

ValueId greater(Rewriter& w, ValueId x, const Argument& limit) {
  return binary(w, "aten::gt.Scalar", x, limit);
}

// max(0, x) + min(0, alpha (exp(x / alpha) - 1))
Ids celu(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  const double alpha = call.scalar("alpha").as_double();
  return {w.emit("aten::elu.default", {{"self", ValueArg{x}}, {"alpha", alpha}, {"input_scale", 1 / alpha}})};
}

// ELU with the constants of torch.nn.SELU's documentation.
Ids selu(Rewriter& w, const OpCall& call) {
  return {w.emit("aten::elu.default", {{"self", passed_on(call, "self")},
                                       {"alpha", 1.6732632423543772848170429916717},
                                       {"scale", 1.0507009873554804934193349852946}})};
}

// x where x > 0, else weight x; a weight of several elements goes along dim 1.
Ids prelu(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  ValueId weight = value_of(call, "weight");
  const int64_t rank = rank_of(w, x);
  Shape along(w.shape(x).size(), 1);
  if (rank >= 2)
    along[1] = element_count(w.shape(weight));
  else if (element_count(w.shape(weight)) != 1)
    return {};
  if (w.shape(weight) != along) weight = w.view(weight, along);
  return {where(w, greater(w, x, int64_t{0}), x, mul(w, x, ValueArg{weight}))};
}

// min(0, x) - log1p(exp(-|x|))
Ids log_sigmoid(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  const ValueId small =
      unary(w, "aten::exp.default", unary(w, "aten::neg.default", unary(w, "aten::abs.default", x)));
  return {sub(w, clamp(w, x, NoneArg{}, int64_t{0}), ValueArg{unary(w, "aten::log1p.default", small)})};
}

// value where x <= threshold; NaN stays.
Ids threshold(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  const ValueId low = binary(w, "aten::le.Scalar", x, passed_on(call, "threshold"));
  return {where(w, low, w.scalar_like(x, passed_on(call, "value")), x)};
}

// 0 where |x| <= lambd; else x, moved towards 0 by lambd if `soft`.
Ids shrink(Rewriter& w, const OpCall& call, bool soft) {
  const ValueId x = value_of(call, "self");
  const ValueId inner =
      binary(w, "aten::le.Scalar", unary(w, "aten::abs.default", x), passed_on(call, "lambd"));
  ValueId outer = x;
  if (soft) outer = sub(w, x, ValueArg{mul(w, unary(w, "aten::sign.default", x), passed_on(call, "lambd"))});
  return {where(w, inner, w.scalar_like(x, int64_t{0}), outer)};
}

// First half times the sigmoid of the second.
Ids glu(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank_of(w, x), call);
  const int64_t size = w.shape(x).at(static_cast<std::size_t>(dim));
  if (size % 2 != 0) return {};
  const ValueId gate = unary(w, "aten::sigmoid.default", slice(w, x, dim, size / 2, size));
  return {mul(w, slice(w, x, dim, 0, size / 2), ValueArg{gate})};
}

}  // namespace

void register_activations(DecomposeTable& table) {
  table.add("aten::celu.default", celu);
  table.add("aten::selu.default", selu);
  table.add("aten::prelu.default", prelu);
  table.add("aten::log_sigmoid.default", log_sigmoid);
  table.add("aten::threshold.default", threshold);
  table.add("aten::softshrink.default",
            [](Rewriter& w, const OpCall& call) { return shrink(w, call, true); });
  table.add("aten::hardshrink.default",
            [](Rewriter& w, const OpCall& call) { return shrink(w, call, false); });
  table.add("aten::glu.default", glu);
}

}  // namespace assay
