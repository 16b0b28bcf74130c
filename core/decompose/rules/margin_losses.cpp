// Composite losses with margins (formulas: PyTorch documentation of torch.nn).
#include <algorithm>

#include "core/decompose/expression.h"

namespace assay {
namespace {

Ids reduced(const OpCall& call, Expression loss) { return {reduced(*loss.rewriter, call, loss.id)}; }

Expression positive_part(Expression x) { return x.with(clamp(*x.rewriter, x.id, int64_t{0}, NoneArg{})); }

// max(0, -target (input1 - input2) + margin)
Ids margin_ranking(Rewriter& w, const OpCall& call) {
  const Expression apart = given(w, call, "input1") - given(w, call, "input2");
  return reduced(call, positive_part(-given(w, call, "target") * apart + call.floating("margin")));
}

// margin - x where the target is not 1, held above 0, and x where it is not -1.
Ids hinge_embedding(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self"), target = given(w, call, "target");
  const Expression far = positive_part(call.floating("margin") - x);
  const Expression first = where(target.combined("aten::ne.Scalar", int64_t{1}), far, 0.0);
  return reduced(call, first + where(target.combined("aten::ne.Scalar", int64_t{-1}), x, 0.0));
}

// log(1 + exp(-target x))
Ids soft_margin(Rewriter& w, const OpCall& call) {
  return reduced(call, log1p(exp(-given(w, call, "target") * given(w, call, "self"))));
}

// The p-norm of a - b + eps along the last dim.
Expression distance(const OpCall& call, Expression a, Expression b) {
  const Expression apart = a - b + call.floating("eps");
  return apart.with(vector_norm(*a.rewriter, apart.id, call.floating("p"), {-1}));
}

// max(0, margin + d(anchor, positive) - d(anchor, negative)); with `swap` the negative's nearer one counts.
Ids triplet_margin(Rewriter& w, const OpCall& call) {
  const Expression anchor = given(w, call, "anchor"), positive = given(w, call, "positive");
  const Expression negative = given(w, call, "negative");
  const Expression near = distance(call, anchor, positive);
  Expression far = distance(call, anchor, negative);
  if (call.boolean("swap")) {
    far = far.combined("aten::minimum.default", ValueArg{distance(call, positive, negative).id});
  }
  return reduced(call, positive_part(call.floating("margin") + near - far));
}

// 1 - cos where the target is 1, max(0, cos - margin) where it is -1; cos with 1e-12 added to the squares.
Ids cosine_embedding(Rewriter& w, const OpCall& call) {
  const Expression a = given(w, call, "input1"), b = given(w, call, "input2"),
                   target = given(w, call, "target");
  if (target.rank() > 1 || std::max(a.rank(), b.rank()) != target.rank() + 1) return {};
  const std::vector<int64_t> dims{target.rank()};
  constexpr double kEpsilon = 1e-12;
  const Expression lengths = ((a * a).sum(dims) + kEpsilon) * ((b * b).sum(dims) + kEpsilon);
  const Expression cosine = (a * b).sum(dims) / lengths.unary("aten::sqrt.default");
  const Expression same = where(target.combined("aten::eq.Scalar", int64_t{1}), 1.0 - cosine, 0.0);
  const Expression other = positive_part(cosine - call.floating("margin"));
  return reduced(call, same + where(target.combined("aten::eq.Scalar", int64_t{-1}), other, 0.0));
}

// The mean over the other classes of max(0, margin - x[target] + x[class])^p, times the target's weight.
Ids multi_margin(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self");
  const Expression target = given(w, call, "target");
  if (x.rank() > 2 || element_count(x.shape()) == 0) return {};
  const int64_t classes = x.rank() == 0 ? 1 : x.shape().back(), rows = element_count(x.shape()) / classes;
  const Expression table = x.view({rows, classes}), index = target.view({rows, 1});
  const auto at_target = [&](Expression from) { return from.with(gather(w, from.id, 1, index.id)); };
  Expression loss = positive_part(call.scalar("margin").as_double() - at_target(table) + table);
  if (call.scalar("p").as_double() == 2) loss = loss * loss;
  if (is_given(call, "weight")) {
    loss = loss * at_target(given(w, call, "weight").view({1, classes}).expand({rows, classes}));
  }
  const Expression other =
      x.with(numbers(w, classes)).view({1, classes}).combined("aten::ne.Tensor", ValueArg{index.id});
  loss = where(other, loss, 0.0).sum({1}) / static_cast<double>(classes);
  return reduced(call, target.rank() == 0 ? loss.view({}) : loss);
}

}  // namespace

void register_margin_losses(DecomposeTable& table) {
  table.add("aten::margin_ranking_loss.default", margin_ranking);
  table.add("aten::hinge_embedding_loss.default", hinge_embedding);
  table.add("aten::soft_margin_loss.default", soft_margin);
  table.add("aten::triplet_margin_loss.default", triplet_margin);
  table.add("aten::cosine_embedding_loss.default", cosine_embedding);
  table.add("aten::multi_margin_loss.default", multi_margin);
}

}  // namespace assay
