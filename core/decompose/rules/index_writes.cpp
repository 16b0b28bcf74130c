// Writes by a list of indices or positions, in terms of scatter and index_put.
#include "core/decompose/shorthands.h"

namespace assay {
namespace {

// Slices of self along dim, one for each index; a 0-d tensor is one of one element.
struct Slices {
  ValueId self, source, index;  // index has the shape of source
  int64_t dim;
  Shape shape;  // of the result
};
Slices slices_of(Rewriter& w, const OpCall& call) {
  Slices s{value_of(call, "self"), value_of(call, "source"), value_of(call, "index"), 0, {}};
  s.shape = w.shape(s.self);
  s.dim = normalise_dim(call.integer("dim"), rank_of(w, s.self), call);
  if (s.shape.empty()) s.self = w.view(s.self, {1});
  const int64_t count = element_count(w.shape(s.index));
  Shape sizes = w.shape(s.self);
  sizes.at(static_cast<std::size_t>(s.dim)) = count;
  if (w.shape(s.source) != sizes) s.source = w.view(s.source, sizes);
  Shape one(sizes.size(), 1);
  one.at(static_cast<std::size_t>(s.dim)) = count;
  s.index = w.expand(w.view(w.cast(s.index, DType::i64), one), sizes);
  return s;
}

Ids scattered(Rewriter& w, const Slices& s, const char* op, std::vector<NamedArgument> more = {}) {
  std::vector<NamedArgument> arguments{
      {"self", ValueArg{s.self}}, {"dim", s.dim}, {"index", ValueArg{s.index}}, {"src", ValueArg{s.source}}};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ValueId result = w.emit(op, std::move(arguments));
  return {w.shape(result) == s.shape ? result : w.view(result, s.shape)};
}

Ids index_add(Rewriter& w, const OpCall& call) {
  Slices s = slices_of(w, call);
  if (call.scalar("alpha").as_double() != 1) s.source = mul(w, s.source, passed_on(call, "alpha"));
  return scattered(w, s, "aten::scatter_add.default");
}
Ids index_copy(Rewriter& w, const OpCall& call) {
  return scattered(w, slices_of(w, call), "aten::scatter.src");
}
Ids index_reduce(Rewriter& w, const OpCall& call) {
  return scattered(
      w, slices_of(w, call), "aten::scatter_reduce.two",
      {{"reduce", passed_on(call, "reduce")}, {"include_self", passed_on(call, "include_self")}});
}

// Slices named by `index` along dim become one number; negative indices count from the end.
Ids index_fill(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const Shape shape = w.shape(self);
  const int64_t dim = normalise_dim(call.integer("dim"), rank_of(w, self), call);
  ValueListArg indices;
  indices.ids.assign(static_cast<std::size_t>(dim), -1);  // None: every row of the dims before
  indices.ids.push_back(w.cast(value_of(call, "index"), DType::i64));
  const ValueId value = call.tensor_opt("value") ? w.cast(value_of(call, "value"), w.dtype(self))
                                                 : w.scalar_like(self, passed_on(call, "value"));
  const ValueId result =
      w.emit("aten::index_put.default", {{"self", ValueArg{shape.empty() ? w.view(self, {1}) : self}},
                                         {"indices", indices},
                                         {"values", ValueArg{value}}});
  return {shape.empty() ? w.view(result, shape) : result};
}

// Positions count self's elements in row-major order, from the end if negative.
ValueId flat(Rewriter& w, ValueId id) { return w.view(id, {element_count(w.shape(id))}); }

Ids put(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const ValueId result =
      w.emit("aten::index_put.default", {{"self", ValueArg{flat(w, self)}},
                                         {"indices", ValueListArg{{flat(w, value_of(call, "index"))}}},
                                         {"values", ValueArg{flat(w, value_of(call, "source"))}},
                                         {"accumulate", passed_on(call, "accumulate")}});
  return {w.view(result, w.shape(self))};
}
Ids take(Rewriter& w, const OpCall& call) {
  return {w.emit("aten::index.Tensor", {{"self", ValueArg{flat(w, value_of(call, "self"))}},
                                        {"indices", ValueListArg{{value_of(call, "index")}}}})};
}

// scatter's own reductions, "add" and "multiply".
Ids scatter_reduced(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self"), index = value_of(call, "index");
  const ValueId src = call.schema().find("src") != nullptr
                          ? value_of(call, "src")
                          : w.full(w.shape(index), passed_on(call, "value"), w.dtype(self));
  std::vector<NamedArgument> arguments{{"self", ValueArg{self}},
                                       {"dim", passed_on(call, "dim")},
                                       {"index", ValueArg{index}},
                                       {"src", ValueArg{src}}};
  if (call.string("reduce") == "add") return {w.emit("aten::scatter_add.default", std::move(arguments))};
  arguments.push_back({"reduce", std::string("prod")});
  return {w.emit("aten::scatter_reduce.two", std::move(arguments))};
}

}  // namespace

void register_index_writes(DecomposeTable& table) {
  table.add("aten::index_add.default", index_add);
  table.add("aten::index_copy.default", index_copy);
  table.add("aten::index_reduce.default", index_reduce);
  table.add("aten::index_fill.int_Scalar", index_fill);
  table.add("aten::index_fill.int_Tensor", index_fill);
  table.add("aten::put.default", put);
  table.add("aten::take.default", take);
  table.add("aten::scatter.reduce", scatter_reduced);
  table.add("aten::scatter.value_reduce", scatter_reduced);
  table.add("aten::_unsafe_index.Tensor", renamed("aten::index.Tensor"));
  table.add("aten::_unsafe_index_put.default", renamed("aten::index_put.default"));
}

}  // namespace assay
