// Operators that are another one under a name of their own, or nearly so.
#include <cmath>

#include "core/decompose/expression.h"

namespace assay {
namespace {

// Tensors here are never lazily conjugated or negated.
Ids same(Rewriter&, const OpCall& call) { return {value_of(call, "self")}; }

DecomposeRule conjugate(const char* op) {
  return [op](Rewriter& w, const OpCall& call) -> Ids {
    const ValueId self = value_of(call, "self");
    return {is_complex(w.dtype(self)) ? unary(w, op, self) : self};
  };
}

// The operand, in the dtype that PyTorch computes with, times a number.
DecomposeRule scaled(double factor) {
  return [factor](Rewriter& w, const OpCall& call) -> Ids {
    const DType dtype = call.output(0).dtype;
    const ValueId wide = w.cast(value_of(call, "self"), computation_of(dtype));
    return {w.cast(mul(w, wide, factor), dtype)};
  };
}

Ids vdot(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  if (is_complex(w.dtype(self))) return {};
  const int64_t count = element_count(w.shape(self));
  return {w.view(mm(w, w.view(self, {1, count}), w.view(value_of(call, "other"), {count, 1})), {})};
}

// Dims that the size lacks or has as 1 are added up.
Ids sum_to_size(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const Shape from = w.shape(self), to = call.output(0).shape;
  if (to.size() > from.size()) return {};
  const std::size_t lacking = from.size() - to.size();
  std::vector<int64_t> dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d < lacking || (to[d - lacking] == 1 && from[d] != 1)) dims.push_back(static_cast<int64_t>(d));
  }
  return {dims.empty() ? self : w.view(sum(w, self, dims), to)};
}

DecomposeRule flipped(int64_t dim) {
  return [dim](Rewriter& w, const OpCall& call) -> Ids { return {flip(w, value_of(call, "self"), {dim})}; };
}

}  // namespace

void register_aliases(DecomposeTable& table) {
  for (const char* op : {"aten::positive.default", "aten::resolve_conj.default", "aten::resolve_neg.default"})
    table.add(op, same);
  table.add("aten::conj.default", conjugate("aten::_conj.default"));
  table.add("aten::conj_physical.default", conjugate("aten::_conj_physical.default"));
  table.add("aten::alias_copy.default", renamed("aten::clone.default"));
  table.add("aten::max.other", renamed("aten::maximum.default"));
  table.add("aten::min.other", renamed("aten::minimum.default"));
  table.add("aten::unsafe_split_with_sizes.default", renamed("aten::split_with_sizes.default"));
  table.add("aten::deg2rad.default", scaled(M_PI / 180));
  table.add("aten::rad2deg.default", scaled(180 / M_PI));
  table.add("aten::vdot.default", vdot);
  table.add("aten::sum_to_size.default", sum_to_size);
  table.add("aten::flipud.default", flipped(0));
  table.add("aten::fliplr.default", flipped(1));
}

}  // namespace assay
