// Composite views and copies.
#include <algorithm>
#include <numeric>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

Ids to_view(Rewriter& w, const OpCall& call) {
  return {w.view(value_of(call, "self"), call.output(0).shape)};
}

Ids to_expand(Rewriter& w, const OpCall& call) {
  return {w.expand(value_of(call, "self"), call.output(0).shape)};
}

Ids same(Rewriter&, const OpCall& call) { return {value_of(call, "self")}; }

Ids copy(Rewriter& w, const OpCall& call) {
  return {w.emit("aten::clone.default", {{"self", ValueArg{value_of(call, "self")}}})};
}

Ids cast(Rewriter& w, const OpCall& call) { return {w.cast(value_of(call, "self"), call.output(0).dtype)}; }

Ids swap(Rewriter& w, const OpCall& call, const char* first, const char* second) {
  const ValueId self = value_of(call, "self");
  const auto rank = static_cast<int64_t>(w.shape(self).size());
  if (rank == 0) return {self};
  std::vector<int64_t> dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims.at(static_cast<std::size_t>(normalise_dim(call.integer(first), rank, call))),
            dims.at(static_cast<std::size_t>(normalise_dim(call.integer(second), rank, call))));
  return {w.permute(self, dims)};
}

Ids reversed(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  std::vector<int64_t> dims(w.shape(self).size());
  std::iota(dims.rbegin(), dims.rend(), 0);
  return {w.permute(self, dims)};
}

Ids movedim(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t rank = rank_of(w, self);
  const auto dims_in = [&](const char* name) {
    return call.schema().overload == "int" ? std::vector<int64_t>{call.integer(name)} : call.integers(name);
  };
  const std::vector<int64_t> from = dims_in("source"), to = dims_in("destination");
  if (from.size() != to.size()) return {};
  std::vector<int64_t> dims(static_cast<std::size_t>(rank), -1);
  std::vector<bool> moved(dims.size(), false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int64_t source = normalise_dim(from[i], rank, call);
    dims.at(static_cast<std::size_t>(normalise_dim(to[i], rank, call))) = source;
    moved.at(static_cast<std::size_t>(source)) = true;
  }
  for (std::size_t next = 0; int64_t & dim : dims) {
    if (dim >= 0) continue;
    while (moved.at(next)) ++next;
    dim = static_cast<int64_t>(next++);
  }
  return {w.permute(self, dims)};
}

Ids narrow(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const auto rank = static_cast<int64_t>(w.shape(self).size());
  const int64_t dim = normalise_dim(call.integer("dim"), rank, call);
  int64_t start = call.integer("start");
  if (start < 0) start += w.shape(self).at(static_cast<std::size_t>(dim));
  return {w.emit(
      "aten::slice.Tensor",
      {{"self", ValueArg{self}}, {"dim", dim}, {"start", start}, {"end", start + call.integer("length")}})};
}

// split.Tensor and chunk: the sizes are those of the declared results.
Ids split(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(w.shape(self).size()), call);
  IntListArg sizes;
  for (const TensorMeta& part : call.outputs())
    sizes.ints.push_back(part.shape.at(static_cast<std::size_t>(dim)));
  return w.emit_all("aten::split_with_sizes.default",
                    {{"self", ValueArg{self}}, {"split_sizes", sizes}, {"dim", dim}});
}

Ids unbind(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(w.shape(self).size()), call);
  Ids parts;
  for (int64_t i = 0; i < w.shape(self).at(static_cast<std::size_t>(dim)); ++i) {
    parts.push_back(w.emit("aten::select.int", {{"self", ValueArg{self}}, {"dim", dim}, {"index", i}}));
  }
  return parts;
}

Ids stack(Rewriter& w, const OpCall& call) {
  ValueListArg parts;
  const auto indices = call.tensors("tensors");
  const auto rank = static_cast<int64_t>(call.input(indices.at(0)).shape.size()) + 1;
  const int64_t dim = normalise_dim(call.integer("dim"), rank, call);
  for (int index : indices) {
    const ValueId part = call.input_values().at(static_cast<std::size_t>(index));
    parts.ids.push_back(w.emit("aten::unsqueeze.default", {{"self", ValueArg{part}}, {"dim", dim}}));
  }
  return {w.emit("aten::cat.default", {{"tensors", parts}, {"dim", dim}})};
}

Ids tile(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  auto repeats = call.integers("dims");
  const std::size_t rank = w.shape(self).size();
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  return {w.emit("aten::repeat.default", {{"self", ValueArg{self}}, {"repeats", IntListArg{repeats, {}}}})};
}

Ids repeat_interleave(Rewriter& w, const OpCall& call) {
  ValueId self = value_of(call, "self");
  const int64_t repeats = call.integer("repeats");
  int64_t dim = 0;
  if (const auto given = call.integer_opt("dim")) {
    dim = normalise_dim(*given, static_cast<int64_t>(w.shape(self).size()), call);
  } else {
    self = w.view(self, {element_count(w.shape(self))});
  }
  Shape wide = w.shape(self);
  wide.insert(wide.begin() + dim + 1, repeats);
  const ValueId apart = w.emit("aten::unsqueeze.default", {{"self", ValueArg{self}}, {"dim", dim + 1}});
  const ValueId repeated = w.emit("aten::clone.default", {{"self", ValueArg{w.expand(apart, wide)}}});
  return {w.view(repeated, call.output(0).shape)};
}

}  // namespace

void register_views(DecomposeTable& table) {
  for (const char* op : {"reshape.default", "_unsafe_view.default", "view_as.default", "reshape_as.default",
                         "flatten.using_ints", "unflatten.int", "squeeze.default"}) {
    table.add(std::string("aten::") + op, to_view);
  }
  for (const char* op : {"expand_as.default", "broadcast_to.default"})
    table.add(std::string("aten::") + op, to_expand);
  for (const char* op : {"contiguous.default", "detach.default"}) table.add(std::string("aten::") + op, same);
  for (const char* op : {"to.dtype", "to.dtype_layout", "to.device", "type_as.default"})
    table.add(std::string("aten::") + op, cast);
  for (const char* op : {"transpose.int", "swapdims.default"}) {
    table.add(std::string("aten::") + op,
              [](Rewriter& w, const OpCall& call) { return swap(w, call, "dim0", "dim1"); });
  }
  table.add("aten::swapaxes.default",
            [](Rewriter& w, const OpCall& call) { return swap(w, call, "axis0", "axis1"); });
  for (const char* op : {"t.default", "numpy_T.default"}) table.add(std::string("aten::") + op, reversed);
  table.add("aten::lift_fresh_copy.default", copy);
  for (const char* op : {"movedim.int", "movedim.intlist"}) table.add(std::string("aten::") + op, movedim);
  table.add("aten::narrow.default", narrow);
  for (const char* op : {"split.Tensor", "chunk.default", "unsafe_split.Tensor", "unsafe_chunk.default"})
    table.add(std::string("aten::") + op, split);
  table.add("aten::unbind.int", unbind);
  table.add("aten::stack.default", stack);
  table.add("aten::tile.default", tile);
  table.add("aten::repeat_interleave.self_int", repeat_interleave);
}

}  // namespace assay
