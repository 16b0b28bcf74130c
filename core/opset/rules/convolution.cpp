// Convolutions, plain and transposed, and their gradients. input [N, C, ...], weight [out, C / groups, ...]
// or, where transposed, [C, out / groups, ...].
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

struct Window {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;
};

// Spatial sizes beyond this would overflow the formulas below.
constexpr int64_t kLimit = int64_t{1} << 30;

Window window_of(const OpCall& call, std::size_t spatial) {
  Window out;
  const int expand = static_cast<int>(spatial);
  out.stride = call.integers("stride", expand);
  out.padding = call.schema().find("padding")->type.base == BaseType::string
                    ? std::vector<int64_t>(spatial, 0)
                    : call.integers("padding", expand);
  out.dilation = call.integers("dilation", expand);
  out.groups = call.integer("groups");
  require_length(call, "stride", out.stride.size(), spatial);
  require_length(call, "padding", out.padding.size(), spatial);
  require_length(call, "dilation", out.dilation.size(), spatial);
  if (call.schema().find("transposed") != nullptr) {
    out.transposed = call.boolean("transposed");
    out.output_padding = call.integers("output_padding", expand);
    if (out.output_padding.empty()) out.output_padding.assign(spatial, 0);
    require_length(call, "output_padding", out.output_padding.size(), spatial);
  } else {
    out.output_padding.assign(spatial, 0);
  }
  if (out.groups <= 0) fail(call, "groups is {}; it must be positive", out.groups);
  for (std::size_t i = 0; i < spatial; ++i) {
    if (out.stride[i] <= 0 || out.stride[i] > kLimit)
      fail(call, "stride is {}; it must be positive", to_string(out.stride));
    if (out.dilation[i] <= 0 || out.dilation[i] > kLimit) {
      fail(call, "dilation is {}; it must be positive", to_string(out.dilation));
    }
    if (out.padding[i] < 0 || out.padding[i] > kLimit) {
      fail(call, "padding is {}; it cannot be negative", to_string(out.padding));
    }
    if (out.output_padding[i] < 0 ||
        (out.transposed && out.output_padding[i] >= std::max(out.stride[i], out.dilation[i]))) {
      fail(call, "output_padding is {}; it must be within [0, {}), the larger of stride and dilation",
           to_string(out.output_padding), std::max(out.stride[i], out.dilation[i]));
    }
  }
  return out;
}

Shape convolved(const OpCall& call, const Shape& input, const Shape& weight, const Window& window) {
  const int64_t channels = input[1];
  const int64_t groups = window.groups;
  if (window.transposed) {
    if (weight[0] != channels) {
      fail(call, "weight has shape {}; its first size must equal the channels of input, {}",
           to_string(weight), channels);
    }
    if (channels % groups != 0)
      fail(call, "groups is {}; it must divide the {} channels of input", groups, channels);
  } else {
    int64_t expected = 0;
    if (__builtin_mul_overflow(weight[1], groups, &expected) || expected != channels) {
      fail(call, "weight has shape {} and groups is {}; input must have {} * {} channels, it has {}",
           to_string(weight), groups, weight[1], groups, channels);
    }
    if (weight[0] % groups != 0) {
      fail(call, "groups is {}; it must divide the {} output channels of weight", groups, weight[0]);
    }
  }
  Shape out{input[0], weight[0]};
  if (window.transposed && __builtin_mul_overflow(weight[1], groups, &out[1])) {
    fail(call, "weight has shape {} and groups is {}; the result is too large", to_string(weight), groups);
  }
  for (std::size_t i = 0; i < window.stride.size(); ++i) {
    const int64_t size = input[i + 2];
    const int64_t kernel = weight[i + 2];
    if (size > kLimit || kernel > kLimit)
      fail(call, "input {} or weight {} is too large", to_string(input), to_string(weight));
    if (!window.transposed) {
      out.push_back(
          window_count(call, size, kernel, window.stride[i], window.padding[i], window.dilation[i], false));
      continue;
    }
    if (kernel <= 0) fail(call, "weight has shape {}; its kernel must not be empty", to_string(weight));
    const int64_t length = (size - 1) * window.stride[i] - 2 * window.padding[i] +
                           window.dilation[i] * (kernel - 1) + window.output_padding[i] + 1;
    if (length <= 0)
      fail(call, "dim {} of the result would have size {}; it must be positive", i + 2, length);
    out.push_back(length);
  }
  return out;
}

void require_operands(const OpCall& call, std::string_view data) {
  require_same_dtype(call, "weight", data);
  require_kind(call, data, meta(call, data).dtype, kNoBool);
}

void require_bias(const OpCall& call, std::string_view data, int64_t channels) {
  if (meta_opt(call, "bias") == nullptr) return;
  require_same_dtype(call, "bias", data);
  require_shape(call, "bias", {channels});
}

Metas convolution(const OpCall& call) {
  require_rank(call, "input", 3, 5);
  const TensorMeta& input = meta(call, "input");
  require_rank(call, "weight", rank(input));
  require_operands(call, "input");
  const Window window = window_of(call, input.shape.size() - 2);
  const Shape shape = convolved(call, input.shape, meta(call, "weight").shape, window);
  require_bias(call, "input", shape[1]);
  return {{input.dtype, shape}};
}

bool is_same_padding(const OpCall& call) {
  require_word(call, "padding", call.string("padding"), {"same", "valid"});
  return call.string("padding") == "same";
}

// "same": the result has the input's size. The padding may be uneven, so the input is padded instead.
void pad_to_same(const OpCall& call, const Window& window, const Shape& weight, Shape& input) {
  for (std::size_t i = 0; i < window.stride.size(); ++i) {
    if (window.stride[i] != 1)
      fail(call, "stride is {}; with padding \"same\" it must be 1", window.stride[i]);
    if (weight[i + 2] < 1 || weight[i + 2] > kLimit)
      fail(call, "weight has shape {}; its kernel must be within [1, {}]", to_string(weight), kLimit);
    input[i + 2] += window.dilation[i] * (weight[i + 2] - 1);
  }
}

// convNd: the batch may be missing.
Metas convolution_of_rank(const OpCall& call, int64_t spatial) {
  require_rank(call, "input", spatial + 1, spatial + 2);
  require_rank(call, "weight", spatial + 2);
  TensorMeta input = meta(call, "input");
  require_operands(call, "input");
  const bool batched = rank(input) == spatial + 2;
  if (!batched) input.shape.insert(input.shape.begin(), 1);
  Window window = window_of(call, static_cast<std::size_t>(spatial));
  const Shape& weight = meta(call, "weight").shape;
  const bool same = call.schema().overload == "padding" && is_same_padding(call);
  if (same) pad_to_same(call, window, weight, input.shape);
  Shape shape = convolved(call, input.shape, weight, window);
  require_bias(call, "input", shape[1]);
  if (!batched) shape.erase(shape.begin());
  return {{input.dtype, shape}};
}

// Gradients of input, weight and bias; output_mask says which are wanted.
Metas convolution_backward(const OpCall& call) {
  require_rank(call, "input", 3, 5);
  const TensorMeta& input = meta(call, "input");
  const TensorMeta& weight = meta(call, "weight");
  require_rank(call, "weight", rank(input));
  require_operands(call, "input");
  require_same_dtype(call, "grad_output", "input");
  const Shape shape = convolved(call, input.shape, weight.shape, window_of(call, input.shape.size() - 2));
  require_shape(call, "grad_output", shape);
  require_length(call, "output_mask", call.booleans("output_mask").size(), 3);
  return {input, weight, {input.dtype, {shape[1]}}};
}

}  // namespace

void register_convolution(ShapeTable& table) {
  table.add("aten::convolution.default", convolution);
  table.add("aten::convolution_backward.default", convolution_backward);
  table.add("aten::conv3d.default", [](const OpCall& call) { return convolution_of_rank(call, 3); });
  table.add("aten::conv3d.padding", [](const OpCall& call) { return convolution_of_rank(call, 3); });
  table.add("aten::conv1d.default", [](const OpCall& call) { return convolution_of_rank(call, 1); });
  table.add("aten::conv1d.padding", [](const OpCall& call) { return convolution_of_rank(call, 1); });
  table.add("aten::conv2d.padding", [](const OpCall& call) { return convolution_of_rank(call, 2); });
  table.add("aten::conv2d.default", [](const OpCall& call) { return convolution_of_rank(call, 2); });
}

}  // namespace assay
