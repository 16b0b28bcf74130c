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

// Along the class dim (1, or 0 without a batch): -weight[t] x[t], and weight[t], of each target; both are 0
// where the target is ignore_index, elsewhere it counts.
struct TargetLosses {
  ValueId loss, weight, counts;
};

int64_t class_dim(Rewriter& w, ValueId x) { return rank_of(w, x) == 1 ? 0 : 1; }

// The weights of classes as large as x.
ValueId spread_weights(Rewriter& w, const OpCall& call, ValueId x) {
  const auto dim = static_cast<std::size_t>(class_dim(w, x));
  Shape along(w.shape(x).size(), 1);
  along.at(dim) = w.shape(x).at(dim);
  return w.expand(w.view(value_of(call, "weight"), along), w.shape(x));
}

TargetLosses target_losses(Rewriter& w, const OpCall& call, ValueId x, ValueId target) {
  const int64_t dim = class_dim(w, x);
  const ValueId counts = binary(w, "aten::ne.Scalar", target, call.integer("ignore_index"));
  const ValueId safe = where(w, counts, target, w.scalar_like(target, int64_t{0}));
  const Shape kept = w.shape(target);
  const auto picked = [&](ValueId from) {
    return w.view(gather(w, from, dim, unsqueeze(w, safe, dim)), kept);
  };
  const ValueId nothing = w.scalar_like(x, int64_t{0});
  TargetLosses out{unary(w, "aten::neg.default", picked(x)), w.cast(counts, w.dtype(x)), counts};
  if (value_of_opt(call, "weight")) {
    out.weight = where(w, counts, picked(spread_weights(w, call, x)), nothing);
    out.loss = mul(w, out.loss, ValueArg{out.weight});
  }
  out.loss = where(w, counts, out.loss, nothing);
  return out;
}

// The mean is over the weights of the targets.
ValueId reduced_by_weight(Rewriter& w, const OpCall& call, ValueId loss, ValueId weight) {
  if (call.integer("reduction") == 0) return loss;
  const ValueId total = sum(w, loss, every_dim(w, loss));
  if (call.integer("reduction") == 2) return total;
  return div(w, total, ValueArg{sum(w, weight, every_dim(w, weight))});
}

Ids nll_loss(Rewriter& w, const OpCall& call) {
  const TargetLosses of = target_losses(w, call, value_of(call, "self"), value_of(call, "target"));
  return {reduced_by_weight(w, call, of.loss, of.weight)};
}

// -sum over the classes of weight log p share
ValueId spread_loss(Rewriter& w, const OpCall& call, ValueId log, std::optional<ValueId> share) {
  ValueId terms = share ? mul(w, log, ValueArg{*share}) : log;
  if (value_of_opt(call, "weight")) terms = mul(w, terms, ValueArg{spread_weights(w, call, log)});
  return unary(w, "aten::neg.default", sum(w, terms, {class_dim(w, log)}));
}

// nll of log_softmax; a target of floats holds probabilities of classes. Smoothing takes that share of each
// target and gives it to all classes alike.
Ids cross_entropy(Rewriter& w, const OpCall& call) {
  const double smoothing = call.floating("label_smoothing");
  const ValueId x = value_of(call, "self"), target = value_of(call, "target");
  const int64_t dim = class_dim(w, x);
  const auto classes = static_cast<double>(w.shape(x).at(static_cast<std::size_t>(dim)));
  const ValueId log =
      w.emit("aten::_log_softmax.default", {{"self", ValueArg{x}}, {"dim", dim}, {"half_to_float", false}});
  if (is_float(w.dtype(target))) {
    ValueId share = target;
    if (smoothing != 0) share = add(w, mul(w, target, 1 - smoothing), smoothing / classes);
    return {reduced(w, call, spread_loss(w, call, log, share))};
  }
  const auto [loss, weight, counts] = target_losses(w, call, log, target);
  const ValueId plain = reduced_by_weight(w, call, loss, weight);
  if (smoothing == 0) return {plain};
  const ValueId even =
      where(w, counts, spread_loss(w, call, log, std::nullopt), w.scalar_like(log, int64_t{0}));
  return {add(w, mul(w, plain, 1 - smoothing),
              ValueArg{mul(w, reduced_by_weight(w, call, even, weight), smoothing / classes)})};
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
  for (const char* op : {"aten::nll_loss.default", "aten::nll_loss2d.default", "aten::nll_loss_nd.default"})
    table.add(op, nll_loss);
  table.add("aten::cross_entropy_loss.default", cross_entropy);
}

}  // namespace assay
