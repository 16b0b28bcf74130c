// Composite operators whose decomposition, differentiated piece by piece, is wrong somewhere although they
// have a derivative there: abs and clamp meet at 0 in log_sigmoid; where() masks a NaN or an infinity of the
// branch not taken in the value, not in its gradient.
#include <numbers>
#include <string>

#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

ValueId sigmoid(Tape& t, ValueId x) { return t.unary("sigmoid", x); }
ValueId neg(Tape& t, ValueId x) { return t.unary("neg", x); }
ValueId both(Tape& t, ValueId a, ValueId b) {
  return t.call("aten::logical_and.default", {{"self", ValueArg{a}}, {"other", ValueArg{b}}});
}

// log_sigmoid and log_sigmoid_forward: sigmoid(-x).
void log_sigmoid(Tape& t, const OpCall& call) {
  t.give(call, "self", t.mul(t.grad(call), sigmoid(t, neg(t, t.value(call, "self")))));
}

// 1 where beta x > threshold, else sigmoid(beta x).
void softplus(Tape& t, const OpCall& call) {
  const ValueId scaled = t.mul_number(t.value(call, "self"), call.scalar("beta").as_double()),
                g = t.grad(call);
  const ValueId large = t.compare_number("gt", scaled, call.scalar("threshold").as_double());
  t.give(call, "self", t.where(large, g, t.mul(g, sigmoid(t, scaled))));
}

ValueId log1p_exp(Tape& t, ValueId x) {
  return neg(
      t, t.composite("aten::log_sigmoid.default", {{"self", ValueArg{neg(t, x)}}}, {t.dtype(x), t.shape(x)}));
}

// x tanh(s), s = log(1 + exp(x)): tanh(s) + x (1 - tanh(s)^2) sigmoid(x).
void mish(Tape& t, const OpCall& call) {
  const ValueId x = t.value(call, "self"), bent = t.unary("tanh", log1p_exp(t, x));
  const ValueId rest = t.add_number(neg(t, t.mul(bent, bent)), 1);
  t.give(call, "self", t.mul(t.grad(call), t.add(bent, t.mul(t.mul(x, sigmoid(t, x)), rest))));
}

// weight ((1 - target) x + f log(1 + exp(-x))), f = 1 + (pos_weight - 1) target.
void cross_entropy_with_logits(Tape& t, const OpCall& call) {
  enum Reduction { none, mean, sum };
  const ValueId x = t.value(call, "self"), target = t.value(call, "target");
  ValueId g = t.grad(call);
  if (call.integer("reduction") == mean)
    g = t.mul_number(g, 1 / static_cast<double>(element_count(t.shape(x))));
  const bool weighted = !call.is_none("weight"), of_positives = !call.is_none("pos_weight");
  const ValueId soft = log1p_exp(t, neg(t, x)), not_target = t.add_number(neg(t, target), 1);
  ValueId factor = -1, surplus = -1;
  if (of_positives) {
    surplus = t.add_number(t.value(call, "pos_weight"), -1);
    factor = t.add_number(t.mul(surplus, target), 1);
  }
  const auto positives = [&](ValueId y) { return of_positives ? t.mul(factor, y) : y; };
  if (weighted && t.wants(call, "weight"))
    t.give(call, "weight", t.mul(g, t.add(t.mul(not_target, x), positives(soft))));
  if (weighted) g = t.mul(g, t.value(call, "weight"));
  t.give(call, "self", t.mul(g, t.sub(not_target, positives(sigmoid(t, neg(t, x))))));
  if (t.wants(call, "target"))
    t.give(call, "target", t.mul(g, of_positives ? t.sub(t.mul(surplus, soft), x) : neg(t, x)));
  if (of_positives && t.wants(call, "pos_weight")) t.give(call, "pos_weight", t.mul(g, t.mul(target, soft)));
}

// self log(other), or self log(1 + other): where self is 0 the slope is the logarithm, 0 where there is none.
void times_log(Tape& t, const OpCall& call, const char* log, double shift) {
  const ValueId g = t.grad(call), self = t.value(call, "self");
  const ValueId other = t.value(call, "other"), shifted = t.add_number(other, shift);
  const ValueId undefined = both(t, t.compare_number("eq", self, 0), t.compare_number("le", shifted, 0));
  if (t.wants(call, "self")) {
    const ValueId slope = t.mul(g, t.unary(log, other));
    t.give(call, "self", t.where(undefined, t.scalar(0, t.dtype(slope)), slope));
  }
  if (t.wants(call, "other")) t.give(call, "other", t.mul(g, t.div(self, shifted)));
}

// (cos(pi x) - y) / x, 0 at 0.
void sinc(Tape& t, const OpCall& call) {
  const ValueId x = t.value(call, "self");
  const ValueId turn = t.unary("cos", t.mul_number(x, std::numbers::pi));
  const ValueId slope = t.div(t.sub(turn, t.result(call)), x);
  t.give(call, "self", t.mul(t.grad(call), t.masked(t.compare_number("ne", x, 0), slope)));
}

// -log x - 1, infinite at 0.
void entropy(Tape& t, const OpCall& call) {
  const ValueId slope = t.add_number(neg(t, t.unary("log", t.value(call, "self"))), -1);
  t.give(call, "self", t.mul(t.grad(call), slope));
}

// Of the logarithm of the normal distribution's function: its density over it, by erfcx.
void log_normal(Tape& t, const OpCall& call) {
  const ValueId turned = t.mul_number(t.value(call, "self"), -1 / std::numbers::sqrt2);
  const ValueId share = t.unary("special_erfcx", turned);
  const double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  t.give(call, "self", t.div(t.mul_number(t.grad(call), factor), share));
}

// 1 / (x (1 - x)), infinite at 0 and 1; with eps 0 outside [eps, 1 - eps].
void logit(Tape& t, const OpCall& call) {
  const ValueId x = t.value(call, "self"), rest = t.add_number(neg(t, x), 1);
  const ValueId slope = t.div(t.grad(call), t.mul(x, rest));
  if (call.is_none("eps")) return t.give(call, "self", slope);
  const double eps = call.floating("eps");
  const ValueId inside = both(t, t.compare_number("ge", x, eps), t.compare_number("le", x, 1 - eps));
  t.give(call, "self", t.masked(inside, slope));
}

// Flat outside (low, high), ends included, as in PyTorch.
ValueId between(Tape& t, ValueId x, double low, double high) {
  return both(t, t.compare_number("gt", x, low), t.compare_number("lt", x, high));
}
void relu6(Tape& t, const OpCall& call) {
  t.give(call, "self", t.masked(between(t, t.value(call, "self"), 0, 6), t.grad(call)));
}
void hardsigmoid(Tape& t, const OpCall& call) {
  t.give(call, "self",
         t.masked(between(t, t.value(call, "self"), -3, 3), t.mul_number(t.grad(call), 1.0 / 6)));
}
// x (x + 3) / 6 between -3 and 3; x above.
void hardswish(Tape& t, const OpCall& call) {
  const ValueId x = t.value(call, "self"), g = t.grad(call);
  const ValueId bent = t.mul(g, t.add_number(t.mul_number(x, 1.0 / 3), 0.5));
  const ValueId left = t.masked(t.compare_number("gt", x, -3), bent);
  t.give(call, "self", t.where(t.compare_number("ge", x, 3), g, left));
}

}  // namespace

void register_composites(DerivativeTable& table) {
  table.add_composite("aten::log_sigmoid.default", log_sigmoid);
  table.add_composite("aten::log_sigmoid_forward.default", log_sigmoid);
  table.add_composite("aten::softplus.default", softplus);
  table.add_composite("aten::mish.default", mish);
  table.add_composite("aten::binary_cross_entropy_with_logits.default", cross_entropy_with_logits);
  table.add_composite("aten::xlogy.Tensor",
                      [](Tape& t, const OpCall& call) { times_log(t, call, "log", 0); });
  table.add_composite("aten::special_xlog1py.default",
                      [](Tape& t, const OpCall& call) { times_log(t, call, "log1p", 1); });
  table.add_composite("aten::sinc.default", sinc);
  table.add_composite("aten::special_entr.default", entropy);
  table.add_composite("aten::special_log_ndtr.default", log_normal);
  table.add_composite("aten::logit.default", logit);
  table.add_composite("aten::relu6.default", relu6);
  table.add_composite("aten::hardsigmoid.default", hardsigmoid);
  table.add_composite("aten::hardswish.default", hardswish);
}

}  // namespace assay::models
