// Distances of points, p-norms of their differences.
#include <cmath>

#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

// d|v|_p / dv, where the norm is `norm` (one dim less, the last); 0 where the norm is 0, as in PyTorch. p =
// inf: every largest element, undivided, as PyTorch has it for distances.
ValueId norm_slope(Tape& t, ValueId v, ValueId norm, double p) {
  const ValueId sign = t.unary("sign", v), n = t.unsqueeze(norm, -1);
  if (p == 1) return sign;
  if (std::isinf(p)) return t.mul(sign, t.cast(t.compare("eq", t.unary("abs", v), n), t.dtype(v)));
  const ValueId zero = t.compare_number("eq", n, 0);
  const ValueId safe = t.where(zero, t.scalar(1, t.dtype(v)), n);
  const ValueId ratio = t.div(v, safe);
  if (p == 2) return ratio;
  // (|v| / norm)^(p - 1); for p < 1 infinite at 0, where PyTorch has 0.
  const ValueId power = t.mul(sign, t.pow_number(t.unary("abs", ratio), p - 1));
  return t.masked(t.compare_number("ne", v, 0), power);
}

void cdist(Tape& t, const OpCall& call) {
  const double p = call.floating("p");
  if (p == 0) return;  // counts what differs
  const ValueId difference =
      t.sub(t.unsqueeze(t.value(call, "x1"), -2), t.unsqueeze(t.value(call, "x2"), -3));
  const ValueId g = t.mul(t.unsqueeze(t.grad(call), -1), norm_slope(t, difference, t.result(call), p));
  if (t.wants(call, "x1")) t.give(call, "x1", t.sum(g, {-2}));
  if (t.wants(call, "x2")) t.give(call, "x2", t.unary("neg", t.sum(g, {-3})));
}

// Of the pairs i < j in order of rows; as a symmetric matrix every point sees all others.
void pdist(Tape& t, const OpCall& call) {
  const double p = call.floating("p");
  if (p == 0) return;
  const ValueId x = t.value(call, "self");
  const int64_t n = t.size(x, 0);
  if (n < 2) return;
  const ValueId numbers = t.numbers(n);
  const ValueId pairs = t.compare("lt", t.unsqueeze(numbers, 1), t.unsqueeze(numbers, 0));
  const auto square = [&](ValueId of_pairs) {
    const ValueId upper =
        t.call("aten::masked_scatter.default", {{"self", ValueArg{t.full({n, n}, 0, t.dtype(x))}},
                                                {"mask", ValueArg{pairs}},
                                                {"source", ValueArg{of_pairs}}});
    return t.add(upper, t.transpose(upper, 0, 1));
  };
  const ValueId difference = t.sub(t.unsqueeze(x, 1), t.unsqueeze(x, 0));
  const ValueId slope = norm_slope(t, difference, square(t.result(call)), p);
  t.give(call, "self", t.sum(t.mul(t.unsqueeze(square(t.grad(call)), -1), slope), {1}));
}

}  // namespace

void register_distances(DerivativeTable& table) {
  table.add("aten::_cdist_forward.default", cdist);
  table.add("aten::_pdist_forward.default", pdist);
}

}  // namespace assay::models
