// Composite losses (formulas: PyTorch documentation of torch.nn).
#include "core/decompose/shorthands.h"

namespace assay {
namespace {

ValueId difference(Rewriter& w, const OpCall& call) {
  return sub(w, value_of(call, "self"), ValueArg{value_of(call, "target")});
}
ValueId absolute(Rewriter& w, ValueId x) { return unary(w, "aten::abs.default", x); }

Ids mse(Rewriter& w, const OpCall& call) {
  const ValueId d = difference(w, call);
  return {reduced(w, call, mul(w, d, ValueArg{d}))};
}

Ids l1(Rewriter& w, const OpCall& call) { return {reduced(w, call, absolute(w, difference(w, call)))}; }

// |d| < beta: d^2 / (2 beta), else |d| - beta / 2
Ids smooth_l1(Rewriter& w, const OpCall& call) {
  const double beta = call.floating("beta");
  const ValueId d = absolute(w, difference(w, call));
  if (beta == 0) return {reduced(w, call, d)};
  const ValueId near = div(w, mul(w, mul(w, d, ValueArg{d}), 0.5), beta);
  return {reduced(w, call, where(w, binary(w, "aten::lt.Scalar", d, beta), near, sub(w, d, beta / 2)))};
}

// |d| <= delta: d^2 / 2, else delta (|d| - delta / 2)
Ids huber(Rewriter& w, const OpCall& call) {
  const double delta = call.floating("delta");
  const ValueId d = absolute(w, difference(w, call));
  const ValueId near = mul(w, mul(w, d, ValueArg{d}), 0.5);
  const ValueId far = mul(w, sub(w, d, delta / 2), delta);
  return {reduced(w, call, where(w, binary(w, "aten::le.Scalar", d, delta), near, far))};
}

ValueId weighted(Rewriter& w, const OpCall& call, ValueId loss) {
  const auto weight = value_of_opt(call, "weight");
  return reduced(w, call, weight ? mul(w, loss, ValueArg{*weight}) : loss);
}

// -(t log x + (1 - t) log(1 - x)), logarithms not below -100
Ids binary_cross_entropy(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self"), t = value_of(call, "target");
  const auto held = [&](ValueId log) { return clamp(w, log, int64_t{-100}, NoneArg{}); };
  const ValueId yes = held(unary(w, "aten::log.default", x));
  const ValueId no = held(unary(w, "aten::log1p.default", unary(w, "aten::neg.default", x)));
  const ValueId inverse = sub(w, t, int64_t{1});
  return {weighted(w, call, sub(w, mul(w, inverse, ValueArg{no}), ValueArg{mul(w, t, ValueArg{yes})}))};
}

// (1 - t) x + (1 + (pos_weight - 1) t) (log1p(exp(-|x|)) + max(-x, 0))
Ids binary_cross_entropy_with_logits(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self"), t = value_of(call, "target");
  const ValueId minus = unary(w, "aten::neg.default", x);
  const ValueId small = unary(w, "aten::exp.default", unary(w, "aten::neg.default", absolute(w, x)));
  ValueId soft =
      add(w, clamp(w, minus, int64_t{0}, NoneArg{}), ValueArg{unary(w, "aten::log1p.default", small)});
  if (const auto pos = value_of_opt(call, "pos_weight")) {
    const ValueId factor = add(w, mul(w, sub(w, *pos, int64_t{1}), ValueArg{t}), int64_t{1});
    soft = mul(w, factor, ValueArg{soft});
  }
  const ValueId rest = mul(w, sub(w, t, int64_t{1}), ValueArg{x});
  return {weighted(w, call, sub(w, soft, ValueArg{rest}))};
}

// target (log target - self), or exp(target) (target - self) for a target in logarithms
Ids kl_div(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self"), t = value_of(call, "target");
  if (call.boolean("log_target"))
    return {reduced(w, call, mul(w, unary(w, "aten::exp.default", t), ValueArg{sub(w, t, ValueArg{x})}))};
  const ValueId log = unary(w, "aten::log.default", t);
  const ValueId zero = binary(w, "aten::eq.Scalar", t, int64_t{0});
  const ValueId entropy = where(w, zero, w.scalar_like(t, int64_t{0}), mul(w, t, ValueArg{log}));
  return {reduced(w, call, sub(w, entropy, ValueArg{mul(w, t, ValueArg{x})}))};
}

// -weight[t] x[t] along the class dim (1, or 0 without a batch); targets equal to ignore_index count as
// nothing, in the mean's divisor too.
ValueId nll(Rewriter& w, const OpCall& call, ValueId x, ValueId target) {
  const int64_t dim = rank_of(w, x) == 1 ? 0 : 1;
  const int64_t ignored = call.integer("ignore_index");
  const ValueId counts = binary(w, "aten::ne.Scalar", target, ignored);
  const ValueId safe = where(w, counts, target, w.scalar_like(target, int64_t{0}));
  const Shape kept = w.shape(target);
  const auto picked = [&](ValueId from) {
    const ValueId index = unsqueeze(w, safe, dim);
    return w.view(gather(w, from, dim, index), kept);
  };
  const ValueId nothing = w.scalar_like(x, int64_t{0});
  ValueId loss = unary(w, "aten::neg.default", picked(x));
  ValueId weight = w.cast(counts, w.dtype(x));
  if (const auto given = value_of_opt(call, "weight")) {
    Shape along(w.shape(x).size(), 1);
    along.at(static_cast<std::size_t>(dim)) = w.shape(x).at(static_cast<std::size_t>(dim));
    weight = where(w, counts, picked(w.expand(w.view(*given, along), w.shape(x))), nothing);
    loss = mul(w, loss, ValueArg{weight});
  }
  loss = where(w, counts, loss, nothing);
  if (call.integer("reduction") == 0) return loss;
  const ValueId total = sum(w, loss, every_dim(w, loss));
  if (call.integer("reduction") == 2) return total;
  return div(w, total, ValueArg{sum(w, weight, every_dim(w, weight))});
}

Ids nll_loss(Rewriter& w, const OpCall& call) {
  return {nll(w, call, value_of(call, "self"), value_of(call, "target"))};
}

// nll of log_softmax; a target of floats holds probabilities of classes.
Ids cross_entropy(Rewriter& w, const OpCall& call) {
  if (call.floating("label_smoothing") != 0) return {};
  const ValueId x = value_of(call, "self"), target = value_of(call, "target");
  const int64_t dim = rank_of(w, x) == 1 ? 0 : 1;
  const ValueId log =
      w.emit("aten::_log_softmax.default", {{"self", ValueArg{x}}, {"dim", dim}, {"half_to_float", false}});
  if (!is_float(w.dtype(target))) return {nll(w, call, log, target)};
  if (value_of_opt(call, "weight")) return {};
  const ValueId each = unary(w, "aten::neg.default", sum(w, mul(w, log, ValueArg{target}), {dim}));
  return {reduced(w, call, each)};
}

}  // namespace

void register_losses(DecomposeTable& table) {
  table.add("aten::mse_loss.default", mse);
  table.add("aten::l1_loss.default", l1);
  table.add("aten::smooth_l1_loss.default", smooth_l1);
  table.add("aten::huber_loss.default", huber);
  table.add("aten::binary_cross_entropy.default", binary_cross_entropy);
  table.add("aten::binary_cross_entropy_with_logits.default", binary_cross_entropy_with_logits);
  table.add("aten::kl_div.default", kl_div);
  table.add("aten::nll_loss_nd.default", nll_loss);
  table.add("aten::cross_entropy_loss.default", cross_entropy);
}

}  // namespace assay
