// Gradients of losses and of softmax, and negative log-likelihood (formulas: PyTorch documentation of
// torch.nn). Reductions: 0 none, 1 mean, 2 sum. g is the gradient of the loss.
#include "core/decompose/expression.h"

namespace assay {
namespace {

constexpr int64_t kMean = 1;

struct Loss {
  Expression g, x, target;
  DType result;
  double norm;  // 1, or 1 / elements for a mean
};

Loss loss_of(Rewriter& w, const OpCall& call) {
  const Expression x = widened(w, call, "self");
  const auto count = static_cast<double>(element_count(x.shape()));
  return {widened(w, call, "grad_output"), x, widened(w, call, "target"), given(w, call, "self").dtype(),
          call.integer("reduction") == kMean && count > 0 ? 1 / count : 1};
}

Ids mse_gradient(Rewriter& w, const OpCall& call) {
  const Loss l = loss_of(w, call);
  return {((l.x - l.target) * (2 * l.norm) * l.g).cast(l.result).id};
}

// beta d inside (-delta, delta), and a constant outside.
Ids bent(Rewriter& w, const OpCall& call, double limit, double slope, double outside) {
  const Loss l = loss_of(w, call);
  const Expression d = l.x - l.target;
  const Expression scaled = l.g * l.norm;
  const Expression far = scaled * outside;
  const Expression inner = scaled * d * slope;
  return {where(d <= -limit, -far, where(d >= limit, far, inner)).cast(l.result).id};
}
Ids smooth_l1_gradient(Rewriter& w, const OpCall& call) {
  const double beta = call.floating("beta");
  return bent(w, call, beta, beta == 0 ? 0 : 1 / beta, 1);
}
Ids huber_gradient(Rewriter& w, const OpCall& call) {
  const double delta = call.floating("delta");
  return bent(w, call, delta, 1, delta);
}

// -(t log x + (1 - t) log(1 - x)): (x - t) / (x (1 - x)), the divisor held above 1e-12, which PyTorch has in
// f32 (aten/src/ATen/native/Loss.cpp).
Ids binary_cross_entropy(Rewriter& w, const OpCall& call) {
  const Loss l = loss_of(w, call);
  const Expression divisor = l.x.with(clamp(w, (l.x * (1 - l.x)).id, static_cast<double>(1e-12F), NoneArg{}));
  Expression out = l.g * ((l.x - l.target) / divisor);
  if (is_given(call, "weight")) out = out * widened(w, call, "weight");
  if (l.norm != 1) out = out * l.norm;
  return {out.cast(l.result).id};
}

// Classes lie along dim 1, or 0 without a batch. For each target: does it count, and its class's weight.
struct Targets {
  int64_t dim;
  Expression counts, chosen, weight;  // chosen: a class that exists
};
Targets targets_of(Rewriter& w, const OpCall& call, Expression x) {
  const Expression target = given(w, call, "target");
  Targets t{x.rank() == 1 ? 0 : 1, target.combined("aten::ne.Scalar", call.integer("ignore_index")), target,
            target};
  t.chosen = where(t.counts, target, 0);
  if (is_given(call, "weight")) {
    const Expression each = widened(w, call, "weight");
    const Expression flat = t.chosen.view({element_count(target.shape())});
    const Expression picked =
        each.with(w.emit("aten::index_select.default",
                         {{"self", ValueArg{each.id}}, {"dim", int64_t{0}}, {"index", ValueArg{flat.id}}}));
    t.weight = where(t.counts, picked.view(target.shape()), 0);
  } else {
    t.weight = t.counts.cast(x.dtype());
  }
  return t;
}

// Results: loss, and the sum of the weights that counted (0 for a batch that is not reduced).
Ids nll(Rewriter& w, const OpCall& call) {
  const DType result = given(w, call, "self").dtype();
  const Expression x = widened(w, call, "self");
  const Targets t = targets_of(w, call, x);
  const Shape kept = t.counts.shape();
  const ValueId index = unsqueeze(w, t.chosen.id, t.dim);
  const Expression picked = x.with(gather(w, x.id, t.dim, index)).view(kept);
  const Expression each = where(t.counts, -picked * t.weight, 0);
  if (call.integer("reduction") == 0 && x.rank() > 1)
    return {each.cast(result).id, x.with(w.scalar_like(given(w, call, "self").id, int64_t{0})).id};
  const std::vector<int64_t> all = every_dim(w, each.id);
  const Expression weight = t.weight.sum(all);
  Expression total = each.sum(all);
  if (call.integer("reduction") == kMean) total = total / weight;
  return {total.cast(result).id, weight.cast(result).id};
}

// -weight g at each target's class, divided by the total weight for a mean; 0 elsewhere.
Ids nll_gradient(Rewriter& w, const OpCall& call) {
  const DType result = given(w, call, "self").dtype();
  const Expression x = widened(w, call, "self");
  const Targets t = targets_of(w, call, x);
  Expression g = widened(w, call, "grad_output");
  if (call.integer("reduction") == kMean) g = g / widened(w, call, "total_weight");
  const Expression each = -(t.weight * g);
  Shape along(x.shape().size(), 1);
  along.at(static_cast<std::size_t>(t.dim)) = x.shape().at(static_cast<std::size_t>(t.dim));
  const Expression classes = x.with(numbers(w, along[static_cast<std::size_t>(t.dim)])).view(along);
  const auto beside = [&](Expression e) { return e.with(unsqueeze(w, e.id, t.dim)); };
  const Expression hit = classes.combined("aten::eq.Tensor", ValueArg{beside(t.chosen).id});
  const Expression spread = beside(each).expand(x.shape());
  return {where(hit & beside(t.counts), spread, 0).cast(result).id};
}

// y (g - sum g y) and g - exp(y) sum g along the dim.
Ids softmax(Rewriter& w, const OpCall& call, bool log) {
  const DType result = std::get<DTypeArg>(passed_on(call, "input_dtype")).dtype;
  const Expression g = widened(w, call, "grad_output"), y = widened(w, call, "output");
  const std::vector<int64_t> dims =
      y.rank() == 0 ? std::vector<int64_t>{}
                    : std::vector<int64_t>{normalise_dim(call.integer("dim"), y.rank(), call)};
  const Expression moved = log ? g - exp(y) * g.sum(dims, true) : y * g - y * (y * g).sum(dims, true);
  return {moved.cast(result).id};
}

}  // namespace

void register_loss_gradients(DecomposeTable& table) {
  table.add("aten::mse_loss_backward.default", mse_gradient);
  table.add("aten::smooth_l1_loss_backward.default", smooth_l1_gradient);
  table.add("aten::huber_loss_backward.default", huber_gradient);
  table.add("aten::binary_cross_entropy_backward.default", binary_cross_entropy);
  table.add("aten::nll_loss_forward.default", nll);
  table.add("aten::nll_loss2d_forward.default", nll);
  table.add("aten::nll_loss_backward.default", nll_gradient);
  table.add("aten::nll_loss2d_backward.default", nll_gradient);
  table.add("aten::_softmax_backward_data.default",
            [](Rewriter& w, const OpCall& call) { return softmax(w, call, false); });
  table.add("aten::_log_softmax_backward_data.default",
            [](Rewriter& w, const OpCall& call) { return softmax(w, call, true); });
}

}  // namespace assay
