// Composite joins, cuts and shuffles.
#include <algorithm>

#include "core/decompose/shorthands.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

Ids matrix_turned(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  return rank_of(w, self) < 2 ? Ids{} : Ids{turned(w, self)};
}

Ids ravel(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  return {w.view(self, {element_count(w.shape(self))})};
}

// With at least `rank` dims: a vector is a row, a matrix has one plane behind it.
ValueId at_least(Rewriter& w, ValueId x, int64_t rank) {
  Shape shape = w.shape(x);
  if (static_cast<int64_t>(shape.size()) >= rank) return x;
  if (shape.empty()) shape = {1};
  if (shape.size() == 1 && rank > 1) shape.insert(shape.begin(), 1);
  if (shape.size() == 2 && rank > 2) shape.push_back(1);
  return w.view(x, shape);
}

DecomposeRule all_at_least(int64_t rank) {
  return [rank](Rewriter& w, const OpCall& call) {
    Ids parts = call.schema().find("tensors") ? values_of(call, "tensors") : Ids{value_of(call, "self")};
    for (ValueId& part : parts) part = at_least(w, part, rank);
    return parts;
  };
}

Ids dstack(Rewriter& w, const OpCall& call) {
  Ids parts = values_of(call, "tensors");
  for (ValueId& part : parts) part = at_least(w, part, 3);
  return parts.empty() ? Ids{} : Ids{cat(w, parts, 2)};
}

// Vectors are columns.
Ids column_stack(Rewriter& w, const OpCall& call) {
  Ids parts = values_of(call, "tensors");
  for (ValueId& part : parts) {
    if (rank_of(w, part) < 2) part = w.view(part, {element_count(w.shape(part)), 1});
  }
  return parts.empty() ? Ids{} : Ids{cat(w, parts, 1)};
}

Ids stacked(Rewriter& w, const OpCall& call, bool vertical) {
  Ids parts = values_of(call, "tensors");
  for (ValueId& part : parts) part = at_least(w, part, vertical ? 2 : 1);
  if (parts.empty()) return {};
  return {cat(w, parts, vertical || rank_of(w, parts[0]) == 1 ? 0 : 1)};
}

// Each dim: the last `shift` elements come first. Without dims over the flattened tensor.
Ids roll(Rewriter& w, const OpCall& call) {
  ValueId x = value_of(call, "self");
  const Shape shape = w.shape(x);
  const auto shifts = call.integers("shifts");
  auto dims = call.integers("dims");
  const bool flat = dims.empty();
  if (flat) {
    if (shifts.size() != 1) return {};
    x = w.view(x, {element_count(shape)});
    dims = {0};
  }
  if (dims.size() != shifts.size()) return {};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = normalise_dim(dims[i], rank_of(w, x), call);
    x = rolled(w, x, dim, shifts[i]);
  }
  return {flat ? w.view(x, shape) : x};
}

// The first size % sections parts have one more.
Ids tensor_split(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank_of(w, self), call);
  const int64_t size = w.shape(self).at(static_cast<std::size_t>(dim)), sections = call.integer("sections");
  if (sections < 1 || sections > static_cast<int64_t>(call.outputs().size())) return {};
  Ids parts;
  for (int64_t i = 0, start = 0; i < sections; ++i) {
    const int64_t end = start + size / sections + (i < size % sections ? 1 : 0);
    parts.push_back(slice(w, self, dim, start, end));
    start = end;
  }
  return parts;
}

Ids broadcast_tensors(Rewriter& w, const OpCall& call) {
  Ids parts = values_of(call, "tensors");
  Shape shape;
  for (const ValueId part : parts) shape = broadcast(shape, w.shape(part), call);
  for (ValueId& part : parts) part = w.expand(part, shape);
  return parts;
}

// [..., C, H r, W r] -> [..., C r r, H, W]
Ids pixel_unshuffle(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const Shape shape = w.shape(self);
  const int64_t r = call.integer("downscale_factor");
  if (shape.size() < 3 || r < 1 || shape.back() % r != 0 || shape[shape.size() - 2] % r != 0) return {};
  const std::size_t c = shape.size() - 3;
  const Shape outer(shape.begin(), shape.begin() + static_cast<int64_t>(c));
  const int64_t count = element_count(outer), h = shape[c + 1] / r, width = shape[c + 2] / r;
  const ValueId apart = w.view(self, {count, shape[c], h, r, width, r});
  const ValueId mixed = unary(w, "aten::clone.default", w.permute(apart, {0, 1, 3, 5, 2, 4}));
  Shape result = outer;
  result.insert(result.end(), {shape[c] * r * r, h, width});
  return {w.view(mixed, result)};
}

// [..., C r r, H, W] -> [..., C, H r, W r]
Ids pixel_shuffle(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const Shape shape = w.shape(self);
  const int64_t r = call.integer("upscale_factor");
  if (shape.size() < 3 || r < 1 || r > (int64_t{1} << 20)) return {};
  const std::size_t c = shape.size() - 3;
  if (shape[c] % (r * r) != 0) return {};
  const Shape outer(shape.begin(), shape.begin() + static_cast<int64_t>(c));
  const int64_t count = element_count(outer), channels = shape[c] / (r * r), h = shape[c + 1],
                width = shape[c + 2];
  const ValueId apart = w.view(self, {count, channels, r, r, h, width});
  const ValueId mixed = unary(w, "aten::clone.default", w.permute(apart, {0, 1, 4, 2, 5, 3}));
  Shape result = outer;
  result.insert(result.end(), {channels, h * r, width * r});
  return {w.view(mixed, result)};
}

// [N, g C / g, ...]: groups and their members exchanged.
Ids channel_shuffle(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const Shape shape = w.shape(self);
  const int64_t groups = call.integer("groups");
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0) return {};
  const int64_t rest = element_count(Shape(shape.begin() + 2, shape.end()));
  const ValueId apart = w.view(self, {shape[0], groups, shape[1] / groups, rest});
  const ValueId mixed = unary(w, "aten::clone.default", w.permute(apart, {0, 2, 1, 3}));
  return {w.view(mixed, shape)};
}

}  // namespace

void register_joins(DecomposeTable& table) {
  for (const char* op : {"aten::mT.default", "aten::adjoint.default"}) {
    table.add(op, [](Rewriter& w, const OpCall& call) {
      return is_complex(w.dtype(value_of(call, "self"))) ? Ids{} : matrix_turned(w, call);
    });
  }
  table.add("aten::ravel.default", ravel);
  for (int64_t rank = 1; rank <= 3; ++rank) {
    const std::string name = "aten::atleast_" + std::to_string(rank) + "d";
    table.add(name + ".default", all_at_least(rank));
    table.add(name + ".Sequence", all_at_least(rank));
  }
  table.add("aten::dstack.default", dstack);
  table.add("aten::column_stack.default", column_stack);
  table.add("aten::hstack.default", [](Rewriter& w, const OpCall& call) { return stacked(w, call, false); });
  table.add("aten::vstack.default", [](Rewriter& w, const OpCall& call) { return stacked(w, call, true); });
  table.add("aten::roll.default", roll);
  table.add("aten::tensor_split.sections", tensor_split);
  table.add("aten::broadcast_tensors.default", broadcast_tensors);
  table.add("aten::pixel_shuffle.default", pixel_shuffle);
  table.add("aten::pixel_unshuffle.default", pixel_unshuffle);
  table.add("aten::channel_shuffle.default", channel_shuffle);
  table.add("aten::native_channel_shuffle.default", channel_shuffle);
}

}  // namespace assay
