// Composite layers: normalisation, softmax, pooling.
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
  table.add("aten::rms_norm.default", rms_norm);
  table.add("aten::softmax.int",
            [](Rewriter& w, const OpCall& call) { return softmax(w, call, "aten::_softmax.default"); });
  table.add("aten::log_softmax.int",
            [](Rewriter& w, const OpCall& call) { return softmax(w, call, "aten::_log_softmax.default"); });
  table.add("aten::max_pool2d.default", max_pool);
  table.add("aten::max_pool1d.default", max_pool1d);
  table.add("aten::max_pool3d.default", [](Rewriter& w, const OpCall& call) {
    return Ids{w.emit("aten::max_pool3d_with_indices.default", passed_on(call))};
  });
  table.add("aten::adaptive_avg_pool1d.default", adaptive_average1d);
  table.add("aten::adaptive_avg_pool2d.default", adaptive_average);
}

}  // namespace assay
