// Layer, group, batch and RMS norms and their gradients.
#include "core/opset/checks.h"

#include <algorithm>

namespace assay {
namespace {

using namespace rules;

// Statistics are kept in the parameters' dtype where a low-precision input has f32 parameters
// (param_scalar_type in aten/src/ATen/native/cpu/mixed_data_type.h).
DType statistics_dtype(const OpCall& call, const TensorMeta& input) {
  const TensorMeta* weight = meta_opt(call, "weight");
  return weight != nullptr ? weight->dtype : input.dtype;
}

// weight, bias and running statistics: of the input's dtype, or f32 beside an f16 or bf16 input.
void require_parameter(const OpCall& call, std::string_view name, const TensorMeta& input,
                       const Shape& shape) {
  const TensorMeta* parameter = meta_opt(call, name);
  if (parameter == nullptr) return;
  require_shape(call, name, shape);
  const bool mixed =
      (input.dtype == DType::f16 || input.dtype == DType::bf16) && parameter->dtype == DType::f32;
  if (parameter->dtype != input.dtype && !mixed) {
    fail(call, "{} has dtype {}; it must be {}, the dtype of input, or f32 beside a 16-bit input", name,
         name_of(parameter->dtype), name_of(input.dtype));
  }
}

// The leading dims of input, those that are not normalised; checks that normalized_shape is its tail.
Shape outer_of(const OpCall& call, const TensorMeta& input, const Shape& normalized) {
  if (normalized.empty()) fail(call, "normalized_shape is empty; it must have at least one entry");
  if (normalized.size() > input.shape.size() ||
      !std::equal(normalized.rbegin(), normalized.rend(), input.shape.rbegin())) {
    fail(call, "input has shape {}; its last sizes must be normalized_shape, {}", to_string(input.shape),
         to_string(normalized));
  }
  return Shape(input.shape.begin(), input.shape.end() - static_cast<std::ptrdiff_t>(normalized.size()));
}

Metas native_layer_norm(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  const Shape normalized = call.integers("normalized_shape");
  Shape outer = outer_of(call, input, normalized);
  require_parameter(call, "weight", input, normalized);
  require_parameter(call, "bias", input, normalized);
  outer.resize(input.shape.size(), 1);
  const DType statistics = statistics_dtype(call, input);
  return {input, {statistics, outer}, {statistics, outer}};
}
Metas layer_norm(const OpCall& call) { return {native_layer_norm(call)[0]}; }

Metas rms_norm(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kInexact);
  const Shape normalized = call.integers("normalized_shape");
  outer_of(call, input, normalized);
  if (meta_opt(call, "weight") != nullptr) require_shape(call, "weight", normalized);
  return {input};
}

Metas layer_norm_backward(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  const Shape normalized = call.integers("normalized_shape");
  outer_of(call, input, normalized);
  require_shape(call, "grad_out", input.shape);
  require_length(call, "output_mask", call.booleans("output_mask").size(), 3);
  const TensorMeta parameter{statistics_dtype(call, input), normalized};
  return {input, parameter, parameter};
}

struct Groups {
  int64_t batch, channels, groups;
};
Groups groups_of(const OpCall& call, const TensorMeta& input) {
  require_kind(call, "input", input.dtype, kFloat);
  const Groups out{call.integer("N"), call.integer("C"), call.integer("group")};
  const int64_t inner = call.integer("HxW");
  if (out.groups <= 0 || out.channels <= 0 || out.channels % out.groups != 0) {
    fail(call, "group is {}; it must be positive and divide C, {}", out.groups, out.channels);
  }
  int64_t count = 0;
  if (out.batch < 0 || inner < 0 || __builtin_mul_overflow(out.batch, out.channels, &count) ||
      __builtin_mul_overflow(count, inner, &count) || count != element_count(input.shape)) {
    fail(call, "input has shape {}; it must have N * C * HxW elements, {} * {} * {}", to_string(input.shape),
         out.batch, out.channels, inner);
  }
  return out;
}

Metas native_group_norm(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  const Groups g = groups_of(call, input);
  require_parameter(call, "weight", input, {g.channels});
  require_parameter(call, "bias", input, {g.channels});
  const TensorMeta statistics{statistics_dtype(call, input), {g.batch, g.groups}};
  return {input, statistics, statistics};
}
Metas native_group_norm_backward(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  const Groups g = groups_of(call, input);
  require_shape(call, "grad_out", input.shape);
  require_shape(call, "mean", {g.batch, g.groups});
  require_shape(call, "rstd", {g.batch, g.groups});
  require_length(call, "output_mask", call.booleans("output_mask").size(), 3);
  const TensorMeta parameter{statistics_dtype(call, input), {g.channels}};
  return {input, parameter, parameter};
}
Metas group_norm(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  if (rank(input) < 2) fail(call, "input has shape {}; it must have at least 2 dims", to_string(input.shape));
  const int64_t groups = call.integer("num_groups");
  if (groups <= 0 || input.shape[1] % groups != 0) {
    fail(call, "num_groups is {}; it must be positive and divide the {} channels of input", groups,
         input.shape[1]);
  }
  require_parameter(call, "weight", input, {input.shape[1]});
  require_parameter(call, "bias", input, {input.shape[1]});
  return {input};
}

// Checks the operands of all batch norms and returns the number of channels.
int64_t batch_norm_channels(const OpCall& call, bool running) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  if (rank(input) < 2) fail(call, "input has shape {}; it must have at least 2 dims", to_string(input.shape));
  const int64_t channels = input.shape[1];
  for (const std::string_view name : {"weight", "bias"}) {
    if (call.schema().find(name) != nullptr) require_parameter(call, name, input, {channels});
  }
  if (running) {
    require_parameter(call, "running_mean", input, {channels});
    require_parameter(call, "running_var", input, {channels});
  }
  return channels;
}

// The saved statistics are empty in inference (aten/src/ATen/native/Normalization.cpp, batch_norm_cpu).
Metas batch_norm_results(const OpCall& call, int64_t channels, bool training) {
  const TensorMeta& input = meta(call, "input");
  const TensorMeta saved{statistics_dtype(call, input), {training ? channels : 0}};
  return {input, saved, saved};
}

Metas batch_norm_inference(const OpCall& call) {
  return batch_norm_results(call, batch_norm_channels(call, true), false);
}
Metas batch_norm_legit(const OpCall& call) {
  return batch_norm_results(call, batch_norm_channels(call, true), call.boolean("training"));
}
Metas batch_norm_no_stats(const OpCall& call) {
  return batch_norm_results(call, batch_norm_channels(call, false), call.boolean("training"));
}
Metas batch_norm_functional(const OpCall& call) {
  Metas out = batch_norm_legit(call);
  out.push_back(meta(call, "running_mean"));
  out.push_back(meta(call, "running_var"));
  return out;
}
Metas batch_norm(const OpCall& call) {
  batch_norm_channels(call, true);
  if (!call.boolean("training") && (call.is_none("running_mean") || call.is_none("running_var"))) {
    fail(call, "running_mean and running_var must be given unless training is set");
  }
  return {meta(call, "input")};
}
Metas batch_norm_backward(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  const int64_t channels = batch_norm_channels(call, true);
  require_shape(call, "grad_out", input.shape);
  require_length(call, "output_mask", call.booleans("output_mask").size(), 3);
  const TensorMeta parameter{statistics_dtype(call, input), {channels}};
  return {input, parameter, parameter};
}

}  // namespace

void register_normalisation(ShapeTable& table) {
  table.add("aten::native_layer_norm.default", native_layer_norm);
  table.add("aten::layer_norm.default", layer_norm);
  table.add("aten::rms_norm.default", rms_norm);
  table.add("aten::native_layer_norm_backward.default", layer_norm_backward);
  table.add("aten::native_group_norm.default", native_group_norm);
  table.add("aten::native_group_norm_backward.default", native_group_norm_backward);
  table.add("aten::group_norm.default", group_norm);
  table.add("aten::_native_batch_norm_legit_no_training.default", batch_norm_inference);
  table.add("aten::_native_batch_norm_legit.default", batch_norm_legit);
  table.add("aten::_native_batch_norm_legit.no_stats", batch_norm_no_stats);
  table.add("aten::_native_batch_norm_legit_functional.default", batch_norm_functional);
  table.add("aten::batch_norm.default", batch_norm);
  table.add("aten::native_batch_norm_backward.default", batch_norm_backward);
}

}  // namespace assay
