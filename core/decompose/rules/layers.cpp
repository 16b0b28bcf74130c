// Composite layers: normalisation, softmax, attention, pooling.
#include <cmath>
#include <limits>

#include "core/decompose/shorthands.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

Ids layer_norm(Rewriter& w, const OpCall& call) {
  return {
      w.emit("aten::native_layer_norm.default", {{"input", passed_on(call, "input")},
                                                 {"normalized_shape", passed_on(call, "normalized_shape")},
                                                 {"weight", passed_on(call, "weight")},
                                                 {"bias", passed_on(call, "bias")},
                                                 {"eps", passed_on(call, "eps")}})};
}

Ids group_norm(Rewriter& w, const OpCall& call) {
  const ValueId input = value_of(call, "input");
  const Shape shape = w.shape(input);
  const int64_t n = shape.at(0), c = shape.at(1);
  const int64_t rest = element_count(Shape(shape.begin() + 2, shape.end()));
  return {w.emit("aten::native_group_norm.default", {{"input", ValueArg{input}},
                                                     {"weight", passed_on(call, "weight")},
                                                     {"bias", passed_on(call, "bias")},
                                                     {"N", n},
                                                     {"C", c},
                                                     {"HxW", rest},
                                                     {"group", passed_on(call, "num_groups")},
                                                     {"eps", passed_on(call, "eps")}})};
}

Ids batch_norm(Rewriter& w, const OpCall& call) {
  if (call.boolean("training") || !value_of_opt(call, "running_mean") || !value_of_opt(call, "running_var"))
    return {};
  return {w.emit("aten::_native_batch_norm_legit_no_training.default",
                 {{"input", passed_on(call, "input")},
                  {"weight", passed_on(call, "weight")},
                  {"bias", passed_on(call, "bias")},
                  {"running_mean", passed_on(call, "running_mean")},
                  {"running_var", passed_on(call, "running_var")},
                  {"momentum", passed_on(call, "momentum")},
                  {"eps", passed_on(call, "eps")}})};
}

// x * rsqrt(mean(x^2) + eps) * weight, in f32 for 16-bit inputs (PyTorch documentation of RMSNorm).
Ids rms_norm(Rewriter& w, const OpCall& call) {
  const ValueId input = value_of(call, "input");
  const DType dtype = w.dtype(input);
  const DType wide = size_of(dtype) < 4 ? DType::f32 : dtype;
  const ValueId x = w.cast(input, wide);
  std::vector<int64_t> dims;
  const auto normalised = static_cast<int64_t>(call.integers("normalized_shape").size());
  for (int64_t i = normalised; i >= 1; --i) dims.push_back(-i);
  const Argument given = passed_on(call, "eps");
  const double eps = std::holds_alternative<NoneArg>(given) ? 2 * float_format(dtype).unit_roundoff()
                                                            : call.scalar("eps").as_double();
  const ValueId squares =
      w.emit("aten::pow.Tensor_Scalar", {{"self", ValueArg{x}}, {"exponent", int64_t{2}}});
  const ValueId mean = w.emit(
      "aten::mean.dim", {{"self", ValueArg{squares}}, {"dim", IntListArg{dims, {}}}, {"keepdim", true}});
  const ValueId shifted = w.emit("aten::add.Tensor", {{"self", ValueArg{mean}}, {"other", eps}});
  const ValueId factor = w.emit("aten::rsqrt.default", {{"self", ValueArg{shifted}}});
  ValueId y = w.emit("aten::mul.Tensor", {{"self", ValueArg{x}}, {"other", ValueArg{factor}}});
  if (const auto weight = value_of_opt(call, "weight")) {
    y = w.emit("aten::mul.Tensor", {{"self", ValueArg{y}}, {"other", ValueArg{*weight}}});
  }
  return {w.cast(y, call.output(0).dtype)};
}

Ids softmax(Rewriter& w, const OpCall& call, const char* op) {
  const ValueId self = w.cast(value_of(call, "self"), call.output(0).dtype);
  return {w.emit(op, {{"self", ValueArg{self}}, {"dim", passed_on(call, "dim")}, {"half_to_float", false}})};
}

// [B..., H, L, E] as [B * H, L, E].
ValueId batched(Rewriter& w, ValueId x) {
  const Shape shape = w.shape(x);
  if (shape.size() == 3) return x;
  const int64_t batch = element_count(Shape(shape.begin(), shape.end() - 2));
  return w.view(x, {batch, shape[shape.size() - 2], shape.back()});
}

// Key and value heads repeated in blocks for grouped-query attention.
ValueId repeat_heads(Rewriter& w, ValueId x, int64_t heads) {
  const Shape shape = w.shape(x);
  const std::size_t at = shape.size() - 3;
  if (shape[at] == heads || shape[at] == 0 || heads % shape[at] != 0) return x;
  Shape wide = shape;
  wide.insert(wide.begin() + static_cast<int64_t>(at) + 1, heads / shape[at]);
  const ValueId apart =
      w.emit("aten::unsqueeze.default", {{"self", ValueArg{x}}, {"dim", static_cast<int64_t>(at) + 1}});
  const ValueId repeated = w.emit("aten::clone.default", {{"self", ValueArg{w.expand(apart, wide)}}});
  Shape merged = shape;
  merged[at] = heads;
  return w.view(repeated, merged);
}

// [L, S], true where row i may look at column j: j <= i (top-left alignment, PyTorch documentation).
ValueId causal_mask(Rewriter& w, int64_t rows, int64_t columns) {
  const ValueId all = w.full({rows, columns}, true, DType::boolean);
  return w.emit("aten::tril.default", {{"self", ValueArg{all}}});
}

// With these sizes in front of the last two.
ValueId with_batch(Rewriter& w, ValueId x, const Shape& batch) {
  const Shape shape = w.shape(x);
  Shape wide = batch;
  wide.insert(wide.end(), shape.end() - 2, shape.end());
  return shape == wide ? x : unary(w, "aten::clone.default", w.expand(x, wide));
}

// softmax(q k^T scale + mask) v; a row that may look at nothing is zero (PyTorch's _safe_softmax).
Ids attention(Rewriter& w, const OpCall& call) {
  if (call.floating("dropout_p") != 0) return {};
  ValueId query = value_of(call, "query"), key = value_of(call, "key"), value = value_of(call, "value");
  if (rank_of(w, query) < 2 || rank_of(w, key) < 2 || rank_of(w, value) < 2) return {};
  if (call.boolean("enable_gqa")) {
    const Shape given = w.shape(query);
    if (given.size() < 3 || rank_of(w, key) < 3 || rank_of(w, value) < 3) return {};
    key = repeat_heads(w, key, given[given.size() - 3]);
    value = repeat_heads(w, value, given[given.size() - 3]);
  }
  Shape batch;
  for (const ValueId one : {query, key, value}) {
    const Shape& shape = w.shape(one);
    batch = broadcast(batch, Shape(shape.begin(), shape.end() - 2), call);
  }
  query = with_batch(w, query, batch);
  key = with_batch(w, key, batch);
  value = with_batch(w, value, batch);
  const Shape q = w.shape(query), k = w.shape(key);
  const int64_t rows = q[q.size() - 2], columns = k[k.size() - 2];
  const double scale = call.scalar_opt("scale") ? call.scalar("scale").as_double()
                                                : 1 / std::sqrt(static_cast<double>(q.back()));

  const ValueId across = w.permute(batched(w, key), {0, 2, 1});
  ValueId scores =
      w.emit("aten::bmm.default", {{"self", ValueArg{batched(w, query)}}, {"mat2", ValueArg{across}}});
  Shape full(q.begin(), q.end() - 1);
  full.push_back(columns);
  if (w.shape(scores) != full) scores = w.view(scores, full);
  scores = w.emit("aten::mul.Tensor", {{"self", ValueArg{scores}}, {"other", scale}});

  std::optional<ValueId> mask = value_of_opt(call, "attn_mask");
  if (call.boolean("is_causal")) mask = causal_mask(w, rows, columns);
  const double nothing = -std::numeric_limits<double>::infinity();
  if (mask && w.dtype(*mask) == DType::boolean) {
    scores = w.emit("aten::where.self", {{"condition", ValueArg{*mask}},
                                         {"self", ValueArg{scores}},
                                         {"other", ValueArg{w.scalar_like(scores, nothing)}}});
  } else if (mask) {
    scores = w.emit("aten::add.Tensor", {{"self", ValueArg{scores}}, {"other", ValueArg{*mask}}});
  }
  ValueId weights = w.emit("aten::_softmax.default",
                           {{"self", ValueArg{scores}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
  if (mask && !call.boolean("is_causal")) {
    const ValueId open = w.emit("aten::ne.Scalar", {{"self", ValueArg{scores}}, {"other", nothing}});
    const ValueId any =
        w.emit("aten::any.dim", {{"self", ValueArg{open}}, {"dim", int64_t{-1}}, {"keepdim", true}});
    weights = w.emit("aten::where.self", {{"condition", ValueArg{any}},
                                          {"self", ValueArg{weights}},
                                          {"other", ValueArg{w.scalar_like(weights, int64_t{0})}}});
  }
  const ValueId product = w.emit(
      "aten::bmm.default", {{"self", ValueArg{batched(w, weights)}}, {"mat2", ValueArg{batched(w, value)}}});
  Shape result = batch;
  result.insert(result.end(), {rows, w.shape(value).back()});
  return {w.shape(product) == result ? product : w.view(product, result)};
}

// One row of a two-dimensional pooling.
Ids max_pool1d(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const auto pair = [&](const char* name, int64_t other) {
    const auto given = call.integers(name, 1);
    return given.empty() ? IntListArg{} : IntListArg{{other, given[0]}, {}};
  };
  const ValueId flat = w.emit("aten::unsqueeze.default", {{"self", ValueArg{self}}, {"dim", int64_t{-2}}});
  const ValueId pooled =
      w.emit_all("aten::max_pool2d_with_indices.default", {{"self", ValueArg{flat}},
                                                           {"kernel_size", pair("kernel_size", 1)},
                                                           {"stride", pair("stride", 1)},
                                                           {"padding", pair("padding", 0)},
                                                           {"dilation", pair("dilation", 1)},
                                                           {"ceil_mode", passed_on(call, "ceil_mode")}})[0];
  Shape shape = w.shape(pooled);
  shape.erase(shape.end() - 2);
  return {w.view(pooled, shape)};
}

Ids max_pool(Rewriter& w, const OpCall& call) {
  return {w.emit("aten::max_pool2d_with_indices.default", passed_on(call))};
}

// Where every output covers equally many inputs it is an ordinary average pooling.
Ids adaptive_average(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const Shape& shape = w.shape(self);
  const auto size = call.integers("output_size", 2);
  const int64_t h = shape.at(shape.size() - 2), width = shape.back();
  if (size[0] == 1 && size[1] == 1) {
    return {w.emit("aten::mean.dim",
                   {{"self", ValueArg{self}}, {"dim", IntListArg{{-1, -2}, {}}}, {"keepdim", true}})};
  }
  if (size[0] <= 0 || size[1] <= 0 || h % size[0] != 0 || width % size[1] != 0) return {};
  const IntListArg kernel{{h / size[0], width / size[1]}, {}};
  return {w.emit("aten::avg_pool2d.default",
                 {{"self", ValueArg{self}}, {"kernel_size", kernel}, {"stride", kernel}})};
}

// One row of a two-dimensional pooling.
Ids adaptive_average1d(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const ValueId flat = unsqueeze(w, self, -2);
  const ValueId pooled = w.emit(
      "aten::adaptive_avg_pool2d.default",
      {{"self", ValueArg{flat}}, {"output_size", IntListArg{{1, call.integers("output_size", 1)[0]}, {}}}});
  Shape shape = w.shape(pooled);
  shape.erase(shape.end() - 2);
  return {w.view(pooled, shape)};
}

}  // namespace

void register_layers(DecomposeTable& table) {
  table.add("aten::layer_norm.default", layer_norm);
  table.add("aten::group_norm.default", group_norm);
  table.add("aten::batch_norm.default", batch_norm);
  table.add("aten::rms_norm.default", rms_norm);
  table.add("aten::softmax.int",
            [](Rewriter& w, const OpCall& call) { return softmax(w, call, "aten::_softmax.default"); });
  table.add("aten::log_softmax.int",
            [](Rewriter& w, const OpCall& call) { return softmax(w, call, "aten::_log_softmax.default"); });
  table.add("aten::scaled_dot_product_attention.default", attention);
  table.add("aten::max_pool2d.default", max_pool);
  table.add("aten::max_pool1d.default", max_pool1d);
  table.add("aten::max_pool3d.default", [](Rewriter& w, const OpCall& call) {
    return Ids{w.emit("aten::max_pool3d_with_indices.default", passed_on(call))};
  });
  table.add("aten::adaptive_avg_pool1d.default", adaptive_average1d);
  table.add("aten::adaptive_avg_pool2d.default", adaptive_average);
}

}  // namespace assay
