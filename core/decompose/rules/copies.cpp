// Copies of views, and tensors of which a view is replaced.
#include "core/decompose/shorthands.h"
#include "core/error.h"

namespace assay {
namespace {

// The view's arguments are those of the copy.
DecomposeRule copy_of(const std::string& view) {
  return [view](Rewriter& w, const OpCall& call) {
    Ids out;
    for (const ValueId part : w.emit_all(view, passed_on(call)))
      out.push_back(unary(w, "aten::clone.default", part));
    return out;
  };
}

Ids expand_copy(Rewriter& w, const OpCall& call) {
  return {unary(w, "aten::clone.default", w.expand(value_of(call, "self"), call.output(0).shape))};
}

Ids unbind_copy(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank_of(w, self), call);
  Ids parts;
  for (int64_t i = 0; i < w.shape(self).at(static_cast<std::size_t>(dim)); ++i) {
    const ValueId part = w.emit("aten::select.int", {{"self", ValueArg{self}}, {"dim", dim}, {"index", i}});
    parts.push_back(unary(w, "aten::clone.default", part));
  }
  return parts;
}

// `self` with the elements that the same view of 0, 1, 2, ... names replaced by `src`. Where the view names
// an element twice, either of the two stays.
Ids scatter_view(Rewriter& w, const OpCall& call, const std::string& view, std::vector<NamedArgument> how) {
  const ValueId self = value_of(call, "self");
  const Shape shape = w.shape(self);
  const int64_t count = element_count(shape);
  how.push_back({"self", ValueArg{w.view(numbers(w, count), shape)}});
  const ValueId positions = w.emit(view, std::move(how));
  if (w.shape(value_of(call, "src")) != w.shape(positions)) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": src has shape " +
                                                 to_string(w.shape(value_of(call, "src"))) + "; it must be " +
                                                 to_string(w.shape(positions)));
  }
  const ValueId changed = w.emit("aten::index_put.default", {{"self", ValueArg{w.view(self, {count})}},
                                                             {"indices", ValueListArg{{positions}}},
                                                             {"values", passed_on(call, "src")}});
  return {w.view(changed, shape)};
}

Ids diagonal_scatter(Rewriter& w, const OpCall& call) {
  return scatter_view(w, call, "aten::diagonal.default",
                      {{"offset", passed_on(call, "offset")},
                       {"dim1", passed_on(call, "dim1")},
                       {"dim2", passed_on(call, "dim2")}});
}
Ids as_strided_scatter(Rewriter& w, const OpCall& call) {
  return scatter_view(w, call, "aten::as_strided.default",
                      {{"size", passed_on(call, "size")},
                       {"stride", passed_on(call, "stride")},
                       {"storage_offset", passed_on(call, "storage_offset")}});
}

// Not initialised, whatever the strides: tensors are contiguous here.
Ids new_empty_strided(Rewriter& w, const OpCall& call) {
  const DType dtype = call.dtype_opt("dtype").value_or(w.dtype(value_of(call, "self")));
  return {w.emit("aten::empty_strided.default", {{"size", passed_on(call, "size")},
                                                 {"stride", passed_on(call, "stride")},
                                                 {"dtype", DTypeArg{dtype}}})};
}

}  // namespace

void register_copies(DecomposeTable& table) {
  for (const char* op :
       {"view", "permute", "as_strided", "unsqueeze", "diagonal", "split_with_sizes", "unfold"}) {
    const std::string name = std::string("aten::") + op;
    table.add(name + "_copy.default", copy_of(name + ".default"));
  }
  for (const char* overload : {".default", ".dim", ".dims"})
    table.add(std::string("aten::squeeze_copy") + overload, copy_of(std::string("aten::squeeze") + overload));
  table.add("aten::t_copy.default", copy_of("aten::t.default"));
  table.add("aten::slice_copy.Tensor", copy_of("aten::slice.Tensor"));
  table.add("aten::select_copy.int", copy_of("aten::select.int"));
  table.add("aten::transpose_copy.int", copy_of("aten::transpose.int"));
  table.add("aten::narrow_copy.default", copy_of("aten::narrow.default"));
  table.add("aten::unbind_copy.int", unbind_copy);
  table.add("aten::expand_copy.default", expand_copy);
  table.add("aten::diagonal_scatter.default", diagonal_scatter);
  table.add("aten::as_strided_scatter.default", as_strided_scatter);
  table.add("aten::new_empty_strided.default", new_empty_strided);
}

}  // namespace assay
