// Composite reductions and choices.
#include "core/decompose/expression.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

std::vector<int64_t> dims_of(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const auto given = call.schema().find("dim") ? call.integers_opt("dim") : std::nullopt;
  return given && !given->empty() ? *given : every_dim(w, self);
}

bool keeps(const OpCall& call) { return call.schema().find("keepdim") && call.boolean("keepdim"); }

// var.correction over the dims that the call names; `unbiased` is a correction of 1.
ValueId variance(Rewriter& w, const OpCall& call) {
  Argument correction = int64_t{1};
  if (call.schema().find("unbiased"))
    correction = int64_t{call.boolean("unbiased") ? 1 : 0};
  else if (!call.is_none("correction"))
    correction = passed_on(call, "correction");
  return w.emit("aten::var.correction", {{"self", passed_on(call, "self")},
                                         {"dim", IntListArg{dims_of(w, call), {}}},
                                         {"correction", correction},
                                         {"keepdim", keeps(call)}});
}

Ids var(Rewriter& w, const OpCall& call) { return {variance(w, call)}; }
Ids std_deviation(Rewriter& w, const OpCall& call) {
  return {unary(w, "aten::sqrt.default", variance(w, call))};
}
Ids var_mean(Rewriter& w, const OpCall& call) {
  const ValueId spread = variance(w, call);
  return {spread, mean(w, value_of(call, "self"), dims_of(w, call), keeps(call))};
}
Ids std_mean(Rewriter& w, const OpCall& call) {
  return {std_deviation(w, call).at(0), mean(w, value_of(call, "self"), dims_of(w, call), keeps(call))};
}

// Not any that is not.
Ids all(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  if (w.dtype(self) == DType::u8) return {};  // the one dtype that PyTorch's all() keeps
  std::vector<NamedArgument> arguments = passed_on(call);
  for (NamedArgument& argument : arguments) {
    if (argument.name == "self") argument.value = ValueArg{unary(w, "aten::logical_not.default", self)};
    if (argument.name == "dim" && call.schema().overload == "dims")
      argument.value = IntListArg{dims_of(w, call), {}};
  }
  const std::string any = "aten::any" + call.op().substr(call.op().find('.'));
  return {unary(w, "aten::logical_not.default", w.emit(any, std::move(arguments)))};
}

ValueId extreme(Rewriter& w, ValueId self, const char* op, const std::vector<int64_t>& dims, bool keep) {
  return w.emit(op, {{"self", ValueArg{self}}, {"dim", IntListArg{dims, {}}}, {"keepdim", keep}});
}
Ids min(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  return {extreme(w, self, "aten::amin.default", every_dim(w, self), false)};
}
Ids aminmax(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  std::vector<int64_t> dims = every_dim(w, self);
  if (const auto dim = call.integer_opt("dim")) dims = {*dim};
  return {extreme(w, self, "aten::amin.default", dims, keeps(call)),
          extreme(w, self, "aten::amax.default", dims, keeps(call))};
}

Ids count_nonzero(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  std::vector<int64_t> dims = every_dim(w, self);
  if (call.schema().overload == "dim_IntList") {
    if (!call.integers("dim").empty()) dims = call.integers("dim");
  } else if (const auto dim = call.integer_opt("dim")) {
    dims = {*dim};
  }
  const ValueId counted = w.cast(binary(w, "aten::ne.Scalar", self, int64_t{0}), DType::i64);
  return {dims.empty() ? counted : sum(w, counted, dims)};
}

Ids nansum(Rewriter& w, const OpCall& call) {
  ValueId self = value_of(call, "self");
  if (!is_float(w.dtype(self)) || call.dtype_opt("dtype")) return {};
  self = where(w, unary(w, "aten::isnan.default", self), w.scalar_like(self, int64_t{0}), self);
  return {sum(w, self, dims_of(w, call), keeps(call))};
}

Ids nan_mean(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self");
  if (!is_float(x.dtype()) || call.dtype_opt("dtype")) return {};
  const Expression missing = x.unary("aten::isnan.default");
  const Expression wide = x.cast(computation_of(x.dtype()));
  const auto total = [&](Expression of) { return of.with(sum(w, of.id, dims_of(w, call), keeps(call))); };
  const Expression count = total(missing.unary("aten::logical_not.default").cast(wide.dtype()));
  return {(total(where(missing, 0.0, wide)) / count).cast(x.dtype()).id};
}

// The stable order is one of those that sort may give.
Ids stable_sort(Rewriter& w, const OpCall& call) {
  if (!call.is_none("stable") && call.boolean("stable")) return {};
  return w.emit_all("aten::sort.default", {{"self", passed_on(call, "self")},
                                           {"dim", passed_on(call, "dim")},
                                           {"descending", passed_on(call, "descending")}});
}
Ids argsort(Rewriter& w, const OpCall& call) {
  const char* sort = call.schema().find("stable") != nullptr ? "aten::sort.stable" : "aten::sort.default";
  return {w.emit_all(sort, passed_on(call)).at(1)};
}
Ids msort(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  if (rank_of(w, self) == 0) return {unary(w, "aten::clone.default", self)};
  return {w.emit_all("aten::sort.default", {{"self", ValueArg{self}}, {"dim", int64_t{0}}}).at(0)};
}

// 1 at the class, counted along a new last dim.
Ids one_hot(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t classes = call.integer("num_classes");
  if (classes < 0) return {};  // the largest index decides: a size that depends on data
  const ValueId at =
      binary(w, "aten::eq.Tensor", unsqueeze(w, self, rank_of(w, self)), ValueArg{numbers(w, classes)});
  return {w.cast(at, DType::i64)};
}

Ids take_along_dim(Rewriter& w, const OpCall& call) {
  ValueId self = value_of(call, "self"), indices = value_of(call, "indices");
  const auto given = call.integer_opt("dim");
  if (!given) {
    self = w.view(self, {element_count(w.shape(self))});
    indices = w.view(indices, {element_count(w.shape(indices))});
  }
  const int64_t dim = given ? normalise_dim(*given, rank_of(w, self), call) : 0;
  // Both broadcast in every other dim.
  Shape from = w.shape(self), to = w.shape(indices);
  if (from.size() != to.size()) return {};
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d == static_cast<std::size_t>(dim)) continue;
    if (from[d] != to[d] && from[d] != 1 && to[d] != 1) return {};
    from[d] = to[d] = from[d] == 1 ? to[d] : from[d];
  }
  if (from != w.shape(self)) self = w.expand(self, from);
  if (to != w.shape(indices)) indices = w.expand(indices, to);
  return {gather(w, self, dim, indices)};
}

// m + log(sum(exp(x - m))), m the maximum, or 0 where that is infinite.
Ids logsumexp(Rewriter& w, const OpCall& call) {
  ValueId self = value_of(call, "self");
  if (!is_float(w.dtype(self))) self = w.cast(self, DType::f32);
  const std::vector<int64_t> dims = dims_of(w, call);
  ValueId most = extreme(w, self, "aten::amax.default", dims, true);
  most = where(w, unary(w, "aten::isinf.default", most), w.scalar_like(most, int64_t{0}), most);
  const ValueId powers = unary(w, "aten::exp.default", sub(w, self, ValueArg{most}));
  const ValueId log = unary(w, "aten::log.default", sum(w, powers, dims, keeps(call)));
  if (!keeps(call)) most = w.view(most, w.shape(log));
  return {add(w, log, ValueArg{most})};
}

// sum of x / max(|x|, eps) * y / max(|y|, eps) along dim, both spread over each other first.
Ids cosine_similarity(Rewriter& w, const OpCall& call) {
  ValueId x = value_of(call, "x1"), y = value_of(call, "x2");
  const Shape shape = broadcast(w.shape(x), w.shape(y), call);
  if (w.dtype(x) != w.dtype(y) || !is_float(w.dtype(x)) || shape.empty()) return {};
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(shape.size()), call);
  const auto unit = [&](ValueId v) {
    if (w.shape(v) != shape) v = w.expand(v, shape);
    const ValueId length = vector_norm(w, v, int64_t{2}, {dim}, true);
    return div(w, v, ValueArg{clamp(w, length, call.floating("eps"), NoneArg{})});
  };
  x = unit(x);
  y = unit(y);
  return {sum(w, mul(w, x, ValueArg{y}), {dim})};
}

}  // namespace

void register_reductions(DecomposeTable& table) {
  table.add("aten::var.default", var);
  for (const char* op : {"aten::std.default", "aten::std.dim", "aten::std.correction"})
    table.add(op, std_deviation);
  for (const char* op : {"aten::var_mean.default", "aten::var_mean.dim", "aten::var_mean.correction"})
    table.add(op, var_mean);
  for (const char* op : {"aten::std_mean.default", "aten::std_mean.dim", "aten::std_mean.correction"})
    table.add(op, std_mean);
  for (const char* op : {"aten::all.default", "aten::all.dim", "aten::all.dims"}) table.add(op, all);
  table.add("aten::min.default", min);
  table.add("aten::aminmax.default", aminmax);
  table.add("aten::count_nonzero.default", count_nonzero);
  table.add("aten::count_nonzero.dim_IntList", count_nonzero);
  table.add("aten::logsumexp.default", logsumexp);
  table.add("aten::cosine_similarity.default", cosine_similarity);
  table.add("aten::nansum.default", nansum);
  table.add("aten::nanmean.default", nan_mean);
  table.add("aten::sort.stable", stable_sort);
  table.add("aten::argsort.default", argsort);
  table.add("aten::argsort.stable", argsort);
  table.add("aten::msort.default", msort);
  table.add("aten::one_hot.default", one_hot);
  table.add("aten::take_along_dim.default", take_along_dim);
}

}  // namespace assay
