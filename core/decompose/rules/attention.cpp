// Scaled dot product attention, its variants and the backward pass of one. Backends that fuse it have kernels
// for these operators; models are decomposed all the same, since a case's graph is one for all backends.
// 16-bit tensors: scores and softmax in fp32, weights rounded before they meet the values.
#include "core/opset/attention.h"

#include <cmath>
#include <limits>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

ValueId bmm(Rewriter& w, ValueId a, ValueId b) {
  return w.emit("aten::bmm.default", {{"self", ValueArg{a}}, {"mat2", ValueArg{b}}});
}

// [batch..., n, m] as [product of batch, n, m].
ValueId flat(Rewriter& w, ValueId x) {
  const Shape shape = w.shape(x);
  if (shape.size() == 3) return x;
  const int64_t batch = element_count(Shape(shape.begin(), shape.end() - 2));
  return w.view(x, {batch, shape[shape.size() - 2], shape.back()});
}
ValueId shaped(Rewriter& w, ValueId x, const Shape& shape) {
  return w.shape(x) == shape ? x : w.view(x, shape);
}

Shape with(Shape batch, std::initializer_list<int64_t> sizes) {
  batch.insert(batch.end(), sizes);
  return batch;
}

// An operand with all leading dims of the call, heads repeated in blocks of neighbours.
ValueId spread(Rewriter& w, ValueId x, const AttentionCall& a) {
  const Shape own = w.shape(x);
  const Shape wanted = with(a.batch, {own[own.size() - 2], own.back()});
  if (own == wanted) return x;
  const std::size_t heads = own.size() - 3;
  if (own.size() >= 3 && own[heads] > 1 && own[heads] != a.batch.back()) {
    Shape apart = own, wide = wanted, merged = wanted;
    const auto at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
    apart.insert(apart.begin() + at(heads) + 1, 1);
    wide[wide.size() - 3] = own[heads];
    wide.insert(wide.end() - 2, a.batch.back() / own[heads]);
    return w.view(unary(w, "aten::clone.default", w.expand(w.view(x, apart), wide)), merged);
  }
  return unary(w, "aten::clone.default", w.expand(x, wanted));
}

struct Scores {
  ValueId query, key, value;  // with all leading dims
  ValueId scores;             // [batch..., L, S] in fp32 or fp64
  bool may_be_empty;          // a row may have no open key
};

// [L, S]: j <= i + diagonal.
ValueId causal_mask(Rewriter& w, const AttentionCall& a) {
  const ValueId all = w.full({a.rows, a.keys}, true, DType::boolean);
  return w.emit("aten::tril.default", {{"self", ValueArg{all}}, {"diagonal", *a.diagonal}});
}

ValueId masked(Rewriter& w, ValueId scores, ValueId open) {
  return where(w, open, scores, w.scalar_like(scores, kNothing));
}

Scores scores_of(Rewriter& w, const OpCall& call, const AttentionCall& a) {
  Scores s{};
  const DType dtype = w.dtype(value_of(call, "query"));
  const DType wide = size_of(dtype) < 4 ? DType::f32 : dtype;
  s.query = spread(w, value_of(call, "query"), a);
  s.key = spread(w, value_of(call, "key"), a);
  s.value = spread(w, value_of(call, "value"), a);
  const ValueId across = w.permute(flat(w, w.cast(s.key, wide)), {0, 2, 1});
  const ValueId product = bmm(w, flat(w, w.cast(s.query, wide)), across);
  s.scores = mul(w, shaped(w, product, with(a.batch, {a.rows, a.keys})), a.scale);
  if (a.softcap > 0) {
    s.scores = mul(w, unary(w, "aten::tanh.default", div(w, s.scores, a.softcap)), a.softcap);
  }
  const auto mask = value_of_opt(call, "attn_mask");
  if (mask && w.dtype(*mask) == DType::boolean) {
    s.scores = masked(w, s.scores, *mask);
  } else if (mask) {
    s.scores = add(w, s.scores, ValueArg{w.cast(*mask, wide)});
  }
  if (a.diagonal) s.scores = masked(w, s.scores, causal_mask(w, a));
  s.may_be_empty = mask.has_value() || (a.diagonal && *a.diagonal < 0);
  return s;
}

// A row of nothing but -infinity gets zeros.
ValueId safe_softmax(Rewriter& w, ValueId scores, int64_t dim, bool may_be_empty) {
  const ValueId weights =
      w.emit("aten::_softmax.default", {{"self", ValueArg{scores}}, {"dim", dim}, {"half_to_float", false}});
  if (!may_be_empty) return weights;
  const ValueId open = w.emit("aten::ne.Scalar", {{"self", ValueArg{scores}}, {"other", kNothing}});
  const ValueId any = w.emit("aten::any.dim", {{"self", ValueArg{open}}, {"dim", dim}, {"keepdim", true}});
  return where(w, any, weights, w.scalar_like(weights, int64_t{0}));
}

enum class Extra { none, weights, logsumexp };

Ids attention(Rewriter& w, const OpCall& call, Extra extra) {
  const bool drops = call.schema().find("dropout_p") != nullptr && call.floating("dropout_p") != 0;
  if (drops || (call.schema().find("dropout_mask") != nullptr && !call.is_none("dropout_mask"))) return {};
  const AttentionCall a = attention_call(call);
  const Scores s = scores_of(w, call, a);
  std::optional<ValueId> second;
  if (extra == Extra::logsumexp && call.output_used(1)) {
    second = w.emit("aten::logsumexp.default", {{"self", ValueArg{s.scores}}, {"dim", IntListArg{{-1}, {}}}});
  }
  const ValueId weights =
      w.cast(safe_softmax(w, s.scores, -1, s.may_be_empty), w.dtype(value_of(call, "query")));
  if (extra == Extra::weights) second = weights;
  const ValueId out = shaped(w, bmm(w, flat(w, weights), flat(w, s.value)), with(a.batch, {a.rows, a.width}));
  if (extra == Extra::none) return {out};
  return {out, second.value_or(out)};
}

// Gradients of repeated operands are summed over the repetitions.
ValueId gathered(Rewriter& w, ValueId gradient, const Shape& own) {
  const Shape given = w.shape(gradient);
  if (given == own) return gradient;
  const int64_t groups = given[1] / own[1];
  return sum(w, w.view(gradient, {own[0], own[1], groups, own[2], own[3]}), {2});
}

// P = exp(scores - logsumexp); dV = P^T dO, dS = P (dO V^T - sum(dO O)), dQ = dS K scale, dK = dS^T Q scale.
Ids flash_backward(Rewriter& w, const OpCall& call) {
  if (call.floating("dropout_p") != 0) return {};
  const AttentionCall a = attention_call(call);
  const Scores s = scores_of(w, call, a);
  const DType dtype = w.dtype(s.query), wide = w.dtype(s.scores);
  const ValueId grad = w.cast(value_of(call, "grad_out"), wide);
  const ValueId shifted = sub(w, s.scores, ValueArg{unsqueeze(w, value_of(call, "logsumexp"), -1)});
  const ValueId open = w.emit("aten::ne.Scalar", {{"self", ValueArg{s.scores}}, {"other", kNothing}});
  const ValueId p =
      where(w, open, unary(w, "aten::exp.default", shifted), w.scalar_like(shifted, int64_t{0}));
  const ValueId products =
      shaped(w, bmm(w, flat(w, grad), turned(w, flat(w, w.cast(s.value, wide)))), w.shape(p));
  const ValueId own = sum(w, mul(w, grad, ValueArg{w.cast(value_of(call, "out"), wide)}), {-1}, true);
  const ValueId ds = mul(w, mul(w, p, ValueArg{sub(w, products, ValueArg{own})}), a.scale);
  const auto result = [&](ValueId left, ValueId right, const char* name) {
    const Shape shape = w.shape(value_of(call, name));
    const ValueId product = bmm(w, left, flat(w, w.cast(right, wide)));
    const ValueId apart = w.view(product, {a.batch[0], a.batch[1], shape[2], shape[3]});
    return w.cast(gathered(w, apart, shape), dtype);
  };
  return {result(flat(w, ds), s.key, "query"), result(turned(w, flat(w, ds)), s.query, "key"),
          result(turned(w, flat(w, p)), grad, "value")};
}

}  // namespace

void register_attention(DecomposeTable& table) {
  const auto add_variant = [&](const char* op, Extra extra) {
    table.add(op, [extra](Rewriter& w, const OpCall& call) { return attention(w, call, extra); });
  };
  add_variant("aten::scaled_dot_product_attention.default", Extra::none);
  add_variant("aten::_scaled_dot_product_attention_math.default", Extra::weights);
  add_variant("aten::_scaled_dot_product_flash_attention_for_cpu.default", Extra::logsumexp);
  add_variant("assay::scaled_dot_product_attention.default", Extra::logsumexp);
  table.add("aten::_scaled_dot_product_flash_attention_for_cpu_backward.default", flash_backward);
}

}  // namespace assay
