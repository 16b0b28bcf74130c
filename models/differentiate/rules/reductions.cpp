// Sums, means, extrema, norms and running sums.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/opset/checks.h"
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

std::vector<int64_t> dims_of(const OpCall& call, std::string_view name = "dim") {
  const auto rank = static_cast<int64_t>(call.input(0).shape.size());
  std::vector<int64_t> dims;
  if (call.schema().find(name) != nullptr) {
    const auto given = call.integers_opt(name);
    if (given) dims = *given;
  }
  if (rank == 0) return {};
  if (dims.empty()) {
    dims.resize(static_cast<std::size_t>(rank));
    std::iota(dims.begin(), dims.end(), 0);
  }
  for (int64_t& dim : dims) dim = wrapped_dim(dim, rank);
  return dims;
}

// A reduced tensor with its dims of size 1 in place.
ValueId kept(Tape& t, ValueId x, const Shape& full, const std::vector<int64_t>& dims) {
  return t.view(x, rules::reduced_shape(full, dims, true));
}

int64_t reduced_count(const Shape& shape, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= shape.at(static_cast<std::size_t>(d));
  return count;
}

void sum(Tape& t, const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  t.give(call, "self", t.expand(kept(t, t.grad(call), shape, dims_of(call)), shape));
}

void give_mean(Tape& t, const OpCall& call, ValueId gradient) {
  const Shape& shape = call.input(0).shape;
  const std::vector<int64_t> dims = dims_of(call);
  const ValueId g = t.mul_number(gradient, 1 / static_cast<double>(reduced_count(shape, dims)));
  t.give(call, "self", t.expand(kept(t, g, shape, dims), shape));
}

void mean(Tape& t, const OpCall& call) { give_mean(t, call, t.grad(call)); }

// Equal extrema share the gradient, as in PyTorch; so do NaN where one is the median or maximum of all.
void extreme(Tape& t, const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const std::vector<int64_t> dims = dims_of(call);
  const ValueId x = t.value(call, "self");
  const ValueId found = kept(t, t.result(call), shape, dims);
  ValueId best = t.compare("eq", x, found);
  if (call.schema().find("dim") == nullptr) {
    const ValueId both = t.call("aten::logical_and.default", {{"self", ValueArg{t.unary("isnan", x)}},
                                                              {"other", ValueArg{t.unary("isnan", found)}}});
    best = t.call("aten::logical_or.default", {{"self", ValueArg{best}}, {"other", ValueArg{both}}});
  }
  const ValueId mask = t.cast(best, call.input(0).dtype);
  const ValueId share = t.div(kept(t, t.grad(call), shape, dims), t.sum(mask, dims, true));
  t.give(call, "self", t.mul(mask, share));
}

// Values taken along one dim: the gradient goes back to where they came from.
void taken(Tape& t, const OpCall& call) {
  const ValueId indices = t.result(call, 1);
  const Shape& shape = call.input(0).shape;
  const int64_t dim = wrapped_dim(call.integer("dim"), static_cast<int64_t>(shape.size()));
  ValueId g = t.grad(call), at = indices;
  if (shape.empty()) {
    t.give(call, "self", g);
    return;
  }
  if (t.shape(g).size() != shape.size()) {  // keepdim is False
    g = t.unsqueeze(g, dim);
    at = t.unsqueeze(at, dim);
  }
  const ValueId zeros = t.full(shape, 0, call.input(0).dtype);
  t.give(call, "self",
         t.call("aten::scatter.src",
                {{"self", ValueArg{zeros}}, {"dim", dim}, {"index", ValueArg{at}}, {"src", ValueArg{g}}}));
}

// 2 (x - mean) / (n - correction) times g, the gradient of the variance.
void give_variance(Tape& t, const OpCall& call, ValueId gradient) {
  const Shape& shape = call.input(0).shape;
  const std::vector<int64_t> dims = dims_of(call);
  double correction = 1;
  if (call.schema().find("unbiased") != nullptr) {
    correction = call.boolean("unbiased") ? 1 : 0;
  } else if (const auto given = call.scalar_opt("correction")) {
    correction = given->as_double();
  }
  const double factor = 2 / (static_cast<double>(reduced_count(shape, dims)) - correction);
  const ValueId x = t.value(call, "self");
  const ValueId g = t.mul_number(kept(t, gradient, shape, dims), factor);
  t.give(call, "self", t.mul(g, dims.empty() ? t.sub(x, x) : t.sub(x, t.mean(x, dims, true))));
}

void variance(Tape& t, const OpCall& call) { give_variance(t, call, t.grad(call)); }

// The root of it: 0 of values that are all equal, as in PyTorch.
void deviation(Tape& t, const OpCall& call) {
  const ValueId twice = t.mul_number(t.result(call), 2), flat = t.compare_number("eq", twice, 0);
  const ValueId one = t.scalar(1, t.dtype(twice));
  give_variance(t, call,
                t.masked(t.compare_number("ne", twice, 0), t.div(t.grad(call), t.where(flat, one, twice))));
}

void deviation_and_mean(Tape& t, const OpCall& call) {
  if (t.grad_opt(call, 0)) deviation(t, call);
  if (const auto g = t.grad_opt(call, 1)) give_mean(t, call, *g);
}

// sign(x) (|x| / norm)^(p - 1): x / norm for p = 2, sign(x) for p = 1; for p = +-inf the elements that are as
// large as the norm share. At a vector of zeros the gradient is 0, as in PyTorch.
void vector_norm(Tape& t, const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const std::vector<int64_t> dims = dims_of(call);
  const double p = call.scalar("ord").as_double();
  if (p == 0) return;  // counts what is not 0
  const ValueId x = t.value(call, "self");
  const ValueId g = kept(t, t.grad(call), shape, dims), norm = kept(t, t.result(call), shape, dims);
  const ValueId sign = t.unary("sign", x), size = t.unary("abs", x);
  if (p == 1) return t.give(call, "self", t.mul(g, sign));
  if (std::isinf(p)) {
    const ValueId best = t.cast(t.compare("eq", size, norm), t.dtype(x));
    const ValueId count = dims.empty() ? best : t.sum(best, dims, true);
    return t.give(call, "self", t.mul(t.mul(sign, best), t.div(g, count)));
  }
  const ValueId zero = t.compare_number("eq", norm, 0);
  const ValueId safe = t.where(zero, t.scalar(1, t.dtype(norm)), norm);
  if (p == 2) return t.give(call, "self", t.mul(g, t.div(x, safe)));
  const ValueId power = t.mul(sign, t.pow_number(t.div(size, safe), p - 1));
  t.give(call, "self", t.mul(g, t.masked(t.compare_number("ne", x, 0), power)));
}

// Sums from the end: total - sum of what comes before.
void cumsum(Tape& t, const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  if (shape.empty()) {
    t.give(call, "self", t.grad(call));
    return;
  }
  const int64_t dim = wrapped_dim(call.integer("dim"), static_cast<int64_t>(shape.size()));
  const auto flip = [&](ValueId x) {
    return t.call("aten::flip.default", {{"self", ValueArg{x}}, {"dims", IntListArg{{dim}, {}}}});
  };
  const ValueId sums = t.call("aten::cumsum.default", {{"self", ValueArg{flip(t.grad(call))}}, {"dim", dim}});
  t.give(call, "self", flip(sums));
}

// Products of the others, without dividing by elements that may be 0: one row of the matrix of factors for
// each element, its own replaced by 1.
void product_over(Tape& t, const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const bool one_dim = call.schema().find("dim") != nullptr;
  const auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0) {
    t.give(call, "self", t.grad(call));
    return;
  }
  const ValueId x = t.value(call, "self");
  const int64_t dim = one_dim ? wrapped_dim(call.integer("dim"), rank) : 0;
  const ValueId line = one_dim ? t.transpose(x, dim, -1) : t.view(x, {element_count(shape)});
  const int64_t n = t.size(line, -1);
  const ValueId steps = t.numbers(n);
  const ValueId own = t.compare("eq", t.unsqueeze(steps, 0), t.unsqueeze(steps, 1));
  const ValueId factors = t.where(own, t.scalar(1, t.dtype(x)), t.unsqueeze(line, -2));
  const ValueId others = t.call("aten::prod.dim_int", {{"self", ValueArg{factors}}, {"dim", int64_t{-1}}});
  ValueId g = t.grad(call);
  if (!one_dim) {
    t.give(call, "self", t.view(t.mul(g, others), shape));
    return;
  }
  g = t.transpose(kept(t, g, shape, {dim}), dim, -1);
  t.give(call, "self", t.transpose(t.mul(g, others), dim, -1));
}

// y (g - sum(g y)).
void softmax(Tape& t, const OpCall& call) {
  const ValueId y = t.result(call), g = t.grad(call);
  const ValueId gy = t.mul(g, y);
  t.give(call, "self", t.sub(gy, t.mul(y, t.sum(gy, {call.integer("dim")}, true))));
}

// g - exp(y) sum(g).
void log_softmax(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  const ValueId total = t.sum(g, {call.integer("dim")}, true);
  t.give(call, "self", t.sub(g, t.mul(t.unary("exp", t.result(call)), total)));
}

}  // namespace

void register_reductions(DerivativeTable& table) {
  table.add("aten::sum.dim_IntList", sum);
  table.add("aten::mean.default", mean);
  table.add("aten::mean.dim", mean);
  for (const char* op : {"amax", "amin", "max", "median", "nanmedian"})
    table.add(std::string("aten::") + op + ".default", extreme);
  for (const char* op : {"max.dim", "min.dim", "median.dim", "nanmedian.dim", "topk.default", "sort.default",
                         "kthvalue.default", "mode.default"}) {
    table.add(std::string("aten::") + op, taken);
  }
  table.add("aten::var.correction", variance);
  table.add("aten::var.dim", variance);
  for (const char* form : {"default", "dim", "correction"}) {
    table.add_composite(std::string("aten::std.") + form, deviation);
    table.add_composite(std::string("aten::std_mean.") + form, deviation_and_mean);
  }
  table.add("aten::linalg_vector_norm.default", vector_norm);
  table.add("aten::cumsum.default", cumsum);
  table.add("aten::prod.default", product_over);
  table.add("aten::prod.dim_int", product_over);
  table.add("aten::_softmax.default", softmax);
  table.add("aten::_log_softmax.default", log_softmax);
}

}  // namespace assay::models
