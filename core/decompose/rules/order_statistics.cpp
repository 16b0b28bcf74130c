// Quantiles.
#include <algorithm>
#include <string>

#include "core/decompose/expression.h"

namespace assay {
namespace {

// self with the reduced elements in its last dim, sorted; NaN is largest.
Expression sorted_rows(Rewriter& w, const OpCall& call) {
  Expression x = given(w, call, "self");
  const auto dim = call.integer_opt("dim");
  if (!dim) {
    x = x.view({element_count(x.shape())});
  } else if (x.rank() == 0) {
    x = x.view({1});
  } else {
    const int64_t at = normalise_dim(*dim, x.rank(), call);
    std::vector<int64_t> order = every_dim(w, x.id);
    order.erase(order.begin() + at);
    order.push_back(at);
    if (at + 1 != x.rank()) x = x.permute(order);
  }
  return x.with(w.emit_all("aten::sort.default", {{"self", ValueArg{x.id}}, {"dim", int64_t{-1}}}).at(0));
}

// The elements of each row whose places are given: [..., 1 or count] floats that are whole, inside the row.
Expression taken(Expression rows, Expression places) {
  Shape shape = rows.shape();
  shape.back() = places.shape().back();
  const Expression index = places.cast(DType::i64).expand(shape);
  return rows.with(gather(*rows.rewriter, rows.id, -1, index.id));
}

// The place of quantile q among n sorted elements is q (n - 1); between two of them counts the share, from
// the nearer one.
Ids quantile(Rewriter& w, const OpCall& call, bool ignore_nan) {
  const Expression self = given(w, call, "self");
  const std::string mode = call.string("interpolation");
  if (!is_float(self.dtype()) || element_count(self.shape()) == 0) return {};
  const bool one = call.schema().overload == "scalar";
  Expression q = one ? self.with(w.full({1}, passed_on(call, "q"), self.dtype())) : given(w, call, "q");
  const std::size_t q_rank = one ? 0 : q.shape().size();
  if (q_rank > 1 || q.dtype() != self.dtype()) return {};
  q = q.view({element_count(q.shape())});

  const Expression rows = sorted_rows(w, call);
  const auto size = static_cast<double>(rows.shape().back());
  const std::vector<int64_t> last{rows.rank() - 1};
  const Expression missing =
      rows.unary("aten::isnan.default").cast(self.dtype()).sum(last, true);  // in a row
  Shape wide = missing.shape();
  wide.back() = q.shape()[0];
  Expression place = q * (size - 1);
  if (ignore_nan) {
    const Expression count = (size - 1) - missing;  // -1 where a row is all NaN: its first element is one
    place = q * count;
    place = place.with(clamp(w, place.id, int64_t{0}, NoneArg{}));
  }
  place = place.expand(wide);
  if (!ignore_nan) place = where((missing > 0).expand(wide), size - 1, place);  // NaN stands last
  const Expression below = place.unary("aten::floor.default"), above = place.unary("aten::ceil.default");

  Expression result = place;
  if (mode == "lower") {
    result = taken(rows, below);
  } else if (mode == "higher") {
    result = taken(rows, above);
  } else if (mode == "nearest") {
    result = taken(rows, place.unary("aten::round.default"));
  } else if (mode == "linear" || mode == "midpoint") {
    const Expression low = taken(rows, below), high = taken(rows, above);
    const Expression share = mode == "midpoint" ? place.filled(place.shape(), 0.5) : place - below;
    const Expression apart = high - low;
    result = where(share < 0.5, low + share * apart, high - apart * (1.0 - share));
  } else {
    return {};
  }
  // The quantiles' dim comes first, if q has one.
  std::vector<int64_t> order{result.rank() - 1};
  for (int64_t d = 0; d + 1 < result.rank(); ++d) order.push_back(d);
  return {result.permute(order).view(call.output(0).shape).id};
}

// Is the element among the others?
Ids isin(Rewriter& w, const OpCall& call) {
  ValueId found = -1;
  if (call.schema().overload == "Tensor_Scalar") {
    found = binary(w, "aten::eq.Scalar", value_of(call, "elements"), passed_on(call, "test_element"));
  } else {
    const ValueId tests = value_of(call, "test_elements");
    const ValueId flat = w.view(tests, {element_count(w.shape(tests))});
    const auto elements = call.schema().find("elements") ? value_of_opt(call, "elements") : std::nullopt;
    const ValueId equal = elements ? binary(w, "aten::eq.Tensor",
                                            unsqueeze(w, *elements, rank_of(w, *elements)), ValueArg{flat})
                                   : binary(w, "aten::eq.Scalar", flat, passed_on(call, "element"));
    found = w.emit("aten::any.dim", {{"self", ValueArg{equal}}, {"dim", int64_t{-1}}});
  }
  return {call.boolean("invert") ? unary(w, "aten::logical_not.default", found) : found};
}

}  // namespace

void register_order_statistics(DecomposeTable& table) {
  for (const char* op : {"aten::quantile.default", "aten::quantile.scalar"})
    table.add(op, [](Rewriter& w, const OpCall& call) { return quantile(w, call, false); });
  for (const char* op : {"aten::nanquantile.default", "aten::nanquantile.scalar"})
    table.add(op, [](Rewriter& w, const OpCall& call) { return quantile(w, call, true); });
  for (const char* op : {"aten::isin.Tensor_Tensor", "aten::isin.Tensor_Scalar", "aten::isin.Scalar_Tensor"})
    table.add(op, isin);
}

}  // namespace assay
