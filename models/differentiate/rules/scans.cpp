// Running products, extrema and logarithms of sums; order statistics.
#include <limits>

#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

// x with `dim` last, and back.
struct Line {
  Line(Tape& tape, const OpCall& call)
      : t(tape), dim(wrapped_dim(call.integer("dim"), static_cast<int64_t>(call.input(0).shape.size()))) {}
  ValueId operator()(ValueId x) { return t.transpose(x, dim, -1); }
  Tape& t;
  int64_t dim;
};

// [n, n]: whether k >= i, at row i and column k.
ValueId not_before(Tape& t, int64_t n) {
  const ValueId steps = t.numbers(n);
  return t.compare("ge", t.unsqueeze(steps, 0), t.unsqueeze(steps, 1));
}

// dx_i = sum over k >= i of g_k times the product of x_j, j <= k, j != i: without dividing by elements that
// may be 0, a row of factors for each i, its own replaced by 1.
void cumprod(Tape& t, const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  if (shape.empty()) return t.give(call, "self", t.grad(call));
  Line line(t, call);
  const ValueId g = line(t.grad(call)), x = t.cast(line(t.value(call, "self")), t.dtype(g));
  const int64_t n = t.size(x, -1);
  const ValueId steps = t.numbers(n);
  const ValueId own = t.compare("eq", t.unsqueeze(steps, 0), t.unsqueeze(steps, 1));
  const ValueId factors = t.where(own, t.scalar(1, t.dtype(x)), t.unsqueeze(x, -2));
  const ValueId others = t.call("aten::cumprod.default", {{"self", ValueArg{factors}}, {"dim", int64_t{-1}}});
  const ValueId terms = t.masked(not_before(t, n), t.mul(others, t.unsqueeze(g, -2)));
  t.give(call, "self", line(t.sum(terms, {-1})));
}

// dx_i = sum over k >= i of g_k exp(x_i - y_k), whose exponents are at most 0.
void logcumsumexp(Tape& t, const OpCall& call) {
  if (call.input(0).shape.empty()) return t.give(call, "self", t.grad(call));
  Line line(t, call);
  const ValueId x = line(t.value(call, "self")), y = line(t.result(call)), g = line(t.grad(call));
  const ValueId after = not_before(t, t.size(x, -1));
  const ValueId apart = t.sub(t.unsqueeze(x, -1), t.unsqueeze(y, -2));
  const ValueId share =
      t.unary("exp", t.where(after, apart, t.scalar(-std::numeric_limits<double>::infinity(), t.dtype(x))));
  t.give(call, "self", line(t.sum(t.masked(after, t.mul(share, t.unsqueeze(g, -2))), {-1})));
}

// Values that were found where the second result says, some of them several times.
void running_extreme(Tape& t, const OpCall& call) {
  const TensorMeta& self = call.input(0);
  if (self.shape.empty()) return t.give(call, "self", t.grad(call));
  t.give(call, "self",
         t.call("aten::scatter_add.default", {{"self", ValueArg{t.full(self.shape, 0, self.dtype)}},
                                              {"dim", call.integer("dim")},
                                              {"index", ValueArg{t.result(call, 1)}},
                                              {"src", ValueArg{t.grad(call)}}}));
}

// Row k of the result is row source[k] of self (or element of the flat self).
void repeat_interleave(Tape& t, const OpCall& call) {
  const TensorMeta& self = call.input(call.tensor("self"));
  const bool flat = call.is_none("dim");
  const auto rank = static_cast<int64_t>(self.shape.size());
  const int64_t dim = flat ? 0 : wrapped_dim(call.integer("dim"), rank);
  const Shape shape = flat ? Shape{element_count(self.shape)} : self.shape;
  const int64_t rows = shape[static_cast<std::size_t>(dim)];
  const ValueId given = t.value(call, "repeats");
  const ValueId repeats = t.expand(t.view(given, {element_count(t.shape(given))}), {rows});
  const int64_t count = call.output(0).shape[static_cast<std::size_t>(dim)];
  // The last row that begins at or before k.
  const ValueId ends = t.call("aten::cumsum.default", {{"self", ValueArg{repeats}}, {"dim", int64_t{0}}});
  const ValueId over = t.compare("ge", t.unsqueeze(t.numbers(count), 1), t.unsqueeze(ends, 0));
  const ValueId source = t.sum(t.cast(over, DType::i64), {1});
  ValueListArg indices;
  for (int64_t d = 0; d < dim; ++d) indices.ids.push_back(-1);
  indices.ids.push_back(source);
  const ValueId sums = t.call("aten::index_put.default", {{"self", ValueArg{t.full(shape, 0, self.dtype)}},
                                                          {"indices", indices},
                                                          {"values", ValueArg{t.grad(call)}},
                                                          {"accumulate", true}});
  t.give(call, "self", t.view(sums, self.shape));
}

}  // namespace

void register_scans(DerivativeTable& table) {
  table.add("aten::cumprod.default", cumprod);
  table.add("aten::logcumsumexp.default", logcumsumexp);
  table.add("aten::cummax.default", running_extreme);
  table.add("aten::cummin.default", running_extreme);
  table.add("aten::repeat_interleave.self_Tensor", repeat_interleave);
}

}  // namespace assay::models
