// Padding by mode, pooling, sampling and distances as modules call them, in terms of one operator each.
#include <algorithm>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

// Wraps around along each of the last dims. Negative padding crops first; false where what is left is too
// small to wrap.
bool wrap(Rewriter& w, ValueId& self, const std::vector<int64_t>& pad) {
  for (std::size_t i = 0; 2 * i + 1 < pad.size(); ++i) {
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t dim = rank_of(w, self) - 1 - static_cast<int64_t>(i);
    const int64_t start = std::max<int64_t>(-before, 0);
    const int64_t end = w.shape(self).at(static_cast<std::size_t>(dim)) - std::max<int64_t>(-after, 0);
    const int64_t size = end - start;
    if (size < std::max(before, after)) return false;
    const ValueId middle = before < 0 || after < 0 ? slice(w, self, dim, start, end) : self;
    Ids parts;
    if (before > 0) parts.push_back(slice(w, middle, dim, size - before, size));
    parts.push_back(middle);
    if (after > 0) parts.push_back(slice(w, middle, dim, 0, after));
    self = parts.size() == 1 ? middle : cat(w, parts, dim);
  }
  return true;
}

Ids pad(Rewriter& w, const OpCall& call) {
  const std::string mode = call.string("mode");
  ValueId self = value_of(call, "self");
  if (mode == "constant") {
    Argument value = passed_on(call, "value");
    if (std::holds_alternative<NoneArg>(value)) value = int64_t{0};
    return {w.emit("aten::constant_pad_nd.default",
                   {{"self", ValueArg{self}}, {"pad", passed_on(call, "pad")}, {"value", value}})};
  }
  const std::vector<int64_t> sizes = call.integers("pad");
  if (mode == "circular") return wrap(w, self, sizes) ? Ids{self} : Ids{};
  const std::string op = std::string("aten::") + (mode == "reflect" ? "reflection" : "replication") + "_pad" +
                         std::to_string(sizes.size() / 2) + "d.default";
  return {w.emit(op, {{"self", ValueArg{self}}, {"padding", passed_on(call, "pad")}})};
}

Ids grid_sampler(Rewriter& w, const OpCall& call) {
  const bool volume = rank_of(w, value_of(call, "input")) == 5;
  return {
      w.emit(volume ? "aten::grid_sampler_3d.default" : "aten::grid_sampler_2d.default", passed_on(call))};
}

// The same call under another name.
// One row of a two-dimensional pooling: positions in a row are those in the plane.
Ids adaptive_maximum1d(Rewriter& w, const OpCall& call) {
  const ValueId flat = unsqueeze(w, value_of(call, "self"), -2);
  const Ids pooled = w.emit_all(
      "aten::adaptive_max_pool2d.default",
      {{"self", ValueArg{flat}}, {"output_size", IntListArg{{1, call.integers("output_size", 1)[0]}, {}}}});
  Ids out;
  for (const ValueId result : pooled) {
    Shape shape = w.shape(result);
    shape.erase(shape.end() - 2);
    out.push_back(w.view(result, shape));
  }
  return out;
}

// The p-norm of the difference.
Ids distance(Rewriter& w, const OpCall& call) {
  const ValueId difference = sub(w, value_of(call, "self"), passed_on(call, "other"));
  const ValueId flat = w.view(difference, {element_count(w.shape(difference))});
  return {vector_norm(w, flat, passed_on(call, "p"), {0}, false)};
}

// |x1 - x2 + eps| along the last dim.
Ids pairwise_distance(Rewriter& w, const OpCall& call) {
  const ValueId difference = sub(w, value_of(call, "x1"), passed_on(call, "x2"));
  const ValueId moved =
      w.emit("aten::add.Scalar", {{"self", ValueArg{difference}}, {"other", call.floating("eps")}});
  return {vector_norm(w, moved, passed_on(call, "p"), {-1}, call.boolean("keepdim"))};
}

// The product of three tensors, each with dims of size 1 added, summed over `dims` of the result.
ValueId product_of_three(Rewriter& w, const Ids& factors, const std::vector<std::vector<int64_t>>& added,
                         const std::vector<int64_t>& dims) {
  Ids wide;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    std::vector<int64_t> order = added[i];
    std::sort(order.begin(), order.end());
    ValueId factor = factors[i];
    for (const int64_t dim : order) factor = unsqueeze(w, factor, dim);
    wide.push_back(factor);
  }
  const ValueId product = mul(w, mul(w, wide[0], ValueArg{wide[1]}), ValueArg{wide[2]});
  return dims.empty() ? product : sum(w, product, dims);
}

Ids trilinear(Rewriter& w, const OpCall& call) {
  return {product_of_three(w, {value_of(call, "i1"), value_of(call, "i2"), value_of(call, "i3")},
                           {call.integers("expand1"), call.integers("expand2"), call.integers("expand3")},
                           call.integers("sumdim"))};
}

// y[..., o] = sum_ij input1[..., i] weight[o, i, j] input2[..., j] + bias[o]
Ids bilinear(Rewriter& w, const OpCall& call) {
  const ValueId a = value_of(call, "input1"), b = value_of(call, "input2"), weight = value_of(call, "weight");
  Shape shape = w.shape(a);
  const auto flat = [&](ValueId x) {
    const Shape all = w.shape(x);
    return w.view(x, {element_count(Shape(all.begin(), all.end() - 1)), all.back()});
  };
  ValueId result = product_of_three(w, {flat(a), weight, flat(b)}, {{1, 3}, {0}, {1, 2}}, {2, 3});
  shape.back() = w.shape(weight).at(0);
  result = w.view(result, shape);
  if (const auto bias = value_of_opt(call, "bias")) result = add(w, result, ValueArg{*bias});
  return {result};
}

}  // namespace

void register_spatial(DecomposeTable& table) {
  table.add("aten::pad.default", pad);
  table.add("aten::grid_sampler.default", grid_sampler);
  table.add("aten::adaptive_avg_pool3d.default", renamed("aten::_adaptive_avg_pool3d.default"));
  table.add("aten::adaptive_max_pool1d.default", adaptive_maximum1d);
  table.add("aten::cdist.default", renamed("aten::_cdist_forward.default"));
  table.add("aten::pdist.default", renamed("aten::_pdist_forward.default"));
  table.add("aten::dist.default", distance);
  table.add("aten::pairwise_distance.default", pairwise_distance);
  table.add("aten::_trilinear.default", trilinear);
  table.add("aten::bilinear.default", bilinear);
}

}  // namespace assay
