// Differences and sums of neighbours along a dim.
#include <algorithm>
#include <optional>

#include "core/decompose/expression.h"

namespace assay {
namespace {

int64_t size_along(const Expression& x, int64_t dim) { return x.shape().at(static_cast<std::size_t>(dim)); }

// x[1:] - x[:-1], n times; of booleans, whether they differ.
Ids diff(Rewriter& w, const OpCall& call) {
  Expression x = given(w, call, "self");
  if (x.rank() == 0) return {};
  const int64_t dim = normalise_dim(call.integer("dim"), x.rank(), call);
  Ids parts{x.id};
  if (const auto before = value_of_opt(call, "prepend")) parts.insert(parts.begin(), *before);
  if (const auto after = value_of_opt(call, "append")) parts.push_back(*after);
  if (parts.size() > 1) x = x.with(cat(w, parts, dim));
  const bool boolean = x.dtype() == DType::boolean;
  for (int64_t n = std::min(call.integer("n"), size_along(x, dim)); n > 0; --n) {
    const int64_t size = size_along(x, dim);
    if (size == 0) break;
    const Expression after = x.slice(dim, 1, size), before = x.slice(dim, 0, size - 1);
    x = boolean ? after.combined("aten::logical_xor.default", ValueArg{before.id}) : after - before;
  }
  return {x.id};
}

// (y[1:] + y[:-1]) / 2, each times its width: one number, or differences of x.
Expression trapezoids(Rewriter& w, const OpCall& call, int64_t dim) {
  const Expression y = given(w, call, "y");
  const int64_t size = size_along(y, dim);
  const Expression pairs = y.slice(dim, 1, size) + y.slice(dim, 0, size - 1);
  if (!call.schema().find("x")) {
    return pairs * (call.floating("dx") / 2);
  }
  Expression x = given(w, call, "x");
  if (x.rank() == 1) {
    Shape along(static_cast<std::size_t>(y.rank()), 1);
    along.at(static_cast<std::size_t>(dim)) = size_along(x, 0);
    x = x.view(along);
  }
  const int64_t places = size_along(x, x.rank() - y.rank() + dim), at = x.rank() - y.rank() + dim;
  return pairs * (x.slice(at, 1, places) - x.slice(at, 0, places - 1)) / 2;
}

Ids trapezoid(Rewriter& w, const OpCall& call) {
  const Expression y = given(w, call, "y");
  if (y.rank() == 0) return {};
  const int64_t dim = normalise_dim(call.integer("dim"), y.rank(), call);
  if (size_along(y, dim) == 0) return {};
  return {trapezoids(w, call, dim).sum({dim}).id};
}

Ids cumulative_trapezoid(Rewriter& w, const OpCall& call) {
  const Expression y = given(w, call, "y");
  if (y.rank() == 0) return {};
  const int64_t dim = normalise_dim(call.integer("dim"), y.rank(), call);
  if (size_along(y, dim) == 0) return {};
  const Expression parts = trapezoids(w, call, dim);
  return {w.emit("aten::cumsum.default", {{"self", ValueArg{parts.id}}, {"dim", dim}})};
}

}  // namespace

void register_differences(DecomposeTable& table) {
  table.add("aten::diff.default", diff);
  for (const char* op : {"aten::trapezoid.x", "aten::trapezoid.dx", "aten::trapz.x", "aten::trapz.dx"})
    table.add(op, trapezoid);
  for (const char* op : {"aten::cumulative_trapezoid.x", "aten::cumulative_trapezoid.dx"})
    table.add(op, cumulative_trapezoid);
}

}  // namespace assay
