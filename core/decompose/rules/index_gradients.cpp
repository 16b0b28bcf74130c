// Gradients of slices, selections, embeddings and paddings: each element goes back to where it was read.
#include <algorithm>

#include "core/decompose/expression.h"
#include "core/opset/checks.h"

namespace assay {
namespace {

ValueId zeros(Rewriter& w, const Shape& shape, DType dtype) { return w.full(shape, int64_t{0}, dtype); }

// zeros with `src` added at `index` along `dim`, in the computation dtype.
Expression added_at(Expression src, const Shape& shape, int64_t dim, Expression index) {
  Rewriter& w = *src.rewriter;
  const Expression wide = src.cast(computation_of(src.dtype()));
  return wide.with(w.emit("aten::scatter_add.default", {{"self", ValueArg{zeros(w, shape, wide.dtype())}},
                                                        {"dim", dim},
                                                        {"index", ValueArg{index.cast(DType::i64).id}},
                                                        {"src", ValueArg{wide.id}}}));
}

// A list of `count` as [1, ..., count, ..., 1] expanded to `shape`.
Expression along(Expression list, const Shape& shape, int64_t dim) {
  Shape one(shape.size(), 1);
  one.at(static_cast<std::size_t>(dim)) = element_count(list.shape());
  return list.view(one).expand(shape);
}

Ids slice_gradient(Rewriter& w, const OpCall& call) {
  const Expression g = given(w, call, "grad_output");
  return {w.emit("aten::slice_scatter.default",
                 {{"self", ValueArg{zeros(w, call.integers("input_sizes"), g.dtype())}},
                  {"src", ValueArg{g.id}},
                  {"dim", call.integer("dim")},
                  {"start", call.integer("start")},
                  {"end", call.integer("end")},
                  {"step", call.integer("step")}})};
}

Ids select_gradient(Rewriter& w, const OpCall& call) {
  const Expression g = given(w, call, "grad_output");
  return {w.emit("aten::select_scatter.default",
                 {{"self", ValueArg{zeros(w, call.integers("input_sizes"), g.dtype())}},
                  {"src", ValueArg{g.id}},
                  {"dim", call.integer("dim")},
                  {"index", call.integer("index")}})};
}

Ids index_select_gradient(Rewriter& w, const OpCall& call) {
  const Expression g = given(w, call, "grad");
  const Shape sizes = call.integers("self_sizes");
  const Expression index = given(w, call, "index");
  if (sizes.empty()) {  // a single number, however often it was chosen
    return {g.cast(computation_of(g.dtype())).view({element_count(g.shape())}).sum({0}).cast(g.dtype()).id};
  }
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(sizes.size()), call);
  return {added_at(g, sizes, dim, along(index, g.shape(), dim)).cast(g.dtype()).id};
}

// Of the broadcast input: what the caller broadcast it sums itself.
Ids masked_select_gradient(Rewriter& w, const OpCall& call) {
  const Expression g = given(w, call, "grad"), mask = given(w, call, "mask");
  const Shape shape = broadcast(given(w, call, "input").shape(), mask.shape(), call);
  return {w.emit("aten::masked_scatter.default", {{"self", ValueArg{zeros(w, shape, g.dtype())}},
                                                  {"mask", ValueArg{mask.expand(shape).id}},
                                                  {"source", ValueArg{g.id}}})};
}

// Of max.dim and its kind: to the element that was chosen.
Ids selected_gradient(Rewriter& w, const OpCall& call) {
  Expression g = given(w, call, "grad"), index = given(w, call, "indices");
  const Shape sizes = call.integers("sizes");
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(sizes.size()), call);
  if (!call.boolean("keepdim") && !sizes.empty()) {
    g = g.with(unsqueeze(w, g.id, dim));
    index = index.with(unsqueeze(w, index.id, dim));
  }
  return {w.emit("aten::scatter.src", {{"self", ValueArg{zeros(w, sizes, g.dtype())}},
                                       {"dim", dim},
                                       {"index", ValueArg{index.id}},
                                       {"src", ValueArg{g.id}}})};
}

// Windows [..., window, ..., element] back to one dim, where they may overlap.
Ids unfold_gradient(Rewriter& w, const OpCall& call) {
  const Expression g = given(w, call, "grad_in");
  const Shape sizes = call.integers("input_sizes");
  const int64_t size = call.integer("size"), step = call.integer("step");
  if (sizes.empty()) return {g.view({}).id};
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(sizes.size()), call);
  std::vector<int64_t> order = every_dim(w, g.id);
  order.insert(order.begin() + dim + 1, order.back());
  order.pop_back();
  const int64_t windows = g.shape().at(static_cast<std::size_t>(dim));
  Shape joined = sizes;
  joined.at(static_cast<std::size_t>(dim)) = windows * size;
  const Expression first =
      g.with(w.view(numbers(w, windows), {windows, 1})).combined("aten::mul.Tensor", step);
  const Expression index = first + g.with(w.view(numbers(w, size), {1, size}));
  const Expression flat = g.permute(order).view(joined);
  return {added_at(flat, sizes, dim, along(index, joined, dim)).cast(g.dtype()).id};
}

// A column of factors beside each row of [rows, width].
Expression beside(Expression rows, Expression factors) { return rows * factors.view({rows.shape()[0], 1}); }

// How often each of `count` rows occurs in a list of them.
Expression occurrences(Expression list, int64_t count, DType dtype) {
  const Expression ones = list.with(list.rewriter->full(list.shape(), int64_t{1}, dtype));
  return added_at(ones, {count}, 0, list);
}
Expression picked(Expression list, int64_t dim, Expression index) {
  return list.with(
      list.rewriter->emit("aten::index_select.default",
                          {{"self", ValueArg{list.id}}, {"dim", dim}, {"index", ValueArg{index.id}}}));
}

// Rows g [n, width] added to a table at `index` [n]; nothing goes to `padding`.
Expression to_table(Expression g, Expression index, int64_t rows, int64_t padding) {
  const auto is_padding = index.combined("aten::eq.Scalar", padding);
  if (padding >= 0) g = where(is_padding.view({g.shape()[0], 1}), 0, g);
  return added_at(g, {rows, g.shape()[1]}, 0, along(index, g.shape(), 0));
}

Ids embedding(Rewriter& w, const OpCall& call) {
  const Expression grad = given(w, call, "grad_output");
  const Expression indices = given(w, call, "indices").cast(DType::i64);
  const int64_t rows = call.integer("num_weights"), n = element_count(indices.shape());
  Expression g = widened(w, call, "grad_output").view({n, grad.shape().back()});
  const Expression index = indices.view({n});
  if (call.boolean("scale_grad_by_freq")) {
    const Expression count = picked(occurrences(index, rows, g.dtype()), 0, index);
    g = g / count.view({n, 1});
  }
  return {to_table(g, index, rows, call.integer("padding_idx")).cast(grad.dtype()).id};
}

// Of bags of rows: mode 0 sum, 1 mean, 2 maximum.
Ids embedding_bag(Rewriter& w, const OpCall& call) {
  const Expression grad = given(w, call, "grad");  // [bags, width]
  const Expression wide = widened(w, call, "grad");
  const int64_t rows = call.integer("num_weights"), mode = call.integer("mode");
  const int64_t padding = call.integer("padding_idx");
  if (mode == 2) {
    const Expression best = given(w, call, "maximum_indices").cast(DType::i64);
    const Expression empty = given(w, call, "bag_size").combined("aten::eq.Scalar", int64_t{0});
    const Expression g = where(empty.view({grad.shape()[0], 1}), 0, wide);
    return {added_at(g, {rows, grad.shape()[1]}, 0, best).cast(grad.dtype()).id};
  }
  const Expression index = given(w, call, "indices").cast(DType::i64);
  const Expression bag = given(w, call, "offset2bag").cast(DType::i64);
  const int64_t n = element_count(index.shape());
  Expression g = picked(wide, 0, bag);
  if (is_given(call, "per_sample_weights")) g = beside(g, widened(w, call, "per_sample_weights"));
  if (call.boolean("scale_grad_by_freq"))
    g = g / picked(occurrences(index, rows, g.dtype()), 0, index).view({n, 1});
  if (mode == 1) {
    const Expression size = picked(given(w, call, "bag_size").cast(DType::i64), 0, bag);
    g = g / size.cast(g.dtype()).view({n, 1});
  }
  return {to_table(g, index, rows, padding).cast(grad.dtype()).id};
}

Expression flipped(Expression x, int64_t dim) { return x.with(flip(*x.rewriter, x.id, {dim})); }
// With zeros before and after, along `dim`.
Expression between_zeros(Expression x, int64_t dim, int64_t before, int64_t after) {
  Shape pad(2 * static_cast<std::size_t>(x.rank() - dim), 0);
  pad[pad.size() - 2] = before;
  pad[pad.size() - 1] = after;
  return x.with(padded(*x.rewriter, x.id, pad));
}

// Without the border, whose elements are mirrored at the edge (which is not repeated) and added inside.
Expression unreflect(Expression g, int64_t dim, int64_t size, int64_t before, int64_t after) {
  Expression out = g.slice(dim, before, before + size);
  if (before > 0) {
    const Expression border = flipped(g.slice(dim, 0, before), dim);
    out = out + between_zeros(border, dim, 1, size - 1 - before);
  }
  if (after > 0) {
    const Expression border = flipped(g.slice(dim, before + size, before + size + after), dim);
    out = out + between_zeros(border, dim, size - 1 - after, 1);
  }
  return out;
}
// Without the border, whose elements are added to the edge.
Expression unreplicate(Expression g, int64_t dim, int64_t size, int64_t before, int64_t after) {
  if (size == 1) return g.sum({dim}, true);
  std::vector<ValueId> parts;
  if (before > 0) parts.push_back(g.slice(dim, 0, before + 1).sum({dim}, true).id);
  const int64_t first = before > 0 ? 1 : 0, last = after > 0 ? size - 1 : size;
  if (first < last) parts.push_back(g.slice(dim, before + first, before + last).id);
  if (after > 0) parts.push_back(g.slice(dim, before + size - 1, before + size + after).sum({dim}, true).id);
  return parts.size() == 1 ? g.with(parts[0]) : g.with(cat(*g.rewriter, parts, dim));
}

// `padding` goes from the last dim on; negative entries cut.
template <class F>
DecomposeRule border(F undo) {
  return [undo](Rewriter& w, const OpCall& call) -> Ids {
    const Expression self = given(w, call, "self");
    Expression g = widened(w, call, "grad_output");
    const std::vector<int64_t> padding = call.integers("padding");
    for (std::size_t i = 0; 2 * i + 1 < padding.size(); ++i) {
      const int64_t dim = self.rank() - 1 - static_cast<int64_t>(i);
      const int64_t size = self.shape().at(static_cast<std::size_t>(dim));
      const int64_t before = padding[2 * i], after = padding[2 * i + 1];
      const int64_t cut_before = std::max<int64_t>(-before, 0), cut_after = std::max<int64_t>(-after, 0);
      g = undo(g, dim, size - cut_before - cut_after, std::max<int64_t>(before, 0),
               std::max<int64_t>(after, 0));
      if (cut_before > 0 || cut_after > 0) g = between_zeros(g, dim, cut_before, cut_after);
    }
    return {g.cast(self.dtype()).id};
  };
}

}  // namespace

void register_index_gradients(DecomposeTable& table) {
  table.add("aten::slice_backward.default", slice_gradient);
  table.add("aten::select_backward.default", select_gradient);
  table.add("aten::index_select_backward.default", index_select_gradient);
  table.add("aten::masked_select_backward.default", masked_select_gradient);
  table.add("aten::value_selecting_reduction_backward.default", selected_gradient);
  table.add("aten::unfold_backward.default", unfold_gradient);
  table.add("aten::embedding_dense_backward.default", embedding);
  table.add("aten::_embedding_bag_dense_backward.default", embedding_bag);
  for (const char* rank : {"1d", "2d", "3d"}) {
    table.add(std::string("aten::reflection_pad") + rank + "_backward.default", border(unreflect));
    table.add(std::string("aten::replication_pad") + rank + "_backward.default", border(unreplicate));
  }
}

}  // namespace assay
