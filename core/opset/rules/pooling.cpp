// Pooling over the last dims; the batch may be missing.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

struct Pool {
  std::vector<int64_t> kernel, stride, padding, dilation;
};

Pool pool_of(const OpCall& call, int spatial) {
  Pool out;
  const auto n = static_cast<std::size_t>(spatial);
  out.kernel = call.integers("kernel_size", spatial);
  out.stride = call.integers("stride", spatial);
  if (out.stride.empty()) out.stride = out.kernel;
  out.padding = call.integers("padding", spatial);
  out.dilation = call.schema().find("dilation") != nullptr ? call.integers("dilation", spatial)
                                                           : std::vector<int64_t>(n, 1);
  require_length(call, "kernel_size", out.kernel.size(), n);
  require_length(call, "stride", out.stride.size(), n);
  require_length(call, "padding", out.padding.size(), n);
  require_length(call, "dilation", out.dilation.size(), n);
  return out;
}

Shape pooled(const OpCall& call, int spatial) {
  require_rank(call, "self", spatial + 1, spatial + 2);
  Shape shape = meta(call, "self").shape;
  const bool batched = shape.size() == static_cast<std::size_t>(spatial) + 2;
  for (std::size_t i = batched ? 1 : 0; i < shape.size(); ++i) {
    if (shape[i] == 0) fail(call, "self has shape {}; only the batch may be empty", to_string(shape));
  }
  const Pool pool = pool_of(call, spatial);
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    int64_t& size = shape[shape.size() - pool.kernel.size() + i];
    if (pool.kernel[i] > 0 && pool.padding[i] > pool.kernel[i] / 2) {
      fail(call, "padding is {}; it must be at most half the kernel size {}", pool.padding[i],
           pool.kernel[i]);
    }
    size = window_count(call, size, pool.kernel[i], pool.stride[i], pool.padding[i], pool.dilation[i],
                        call.boolean("ceil_mode"));
    if (size < 1) fail(call, "dim {} of the result would have size {}; it must be positive", i, size);
  }
  return shape;
}

Metas max_pool(const OpCall& call, int spatial) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kReal);
  const Shape shape = pooled(call, spatial);
  return {{self.dtype, shape}, {DType::i64, shape}};
}

void require_divisor(const OpCall& call) {
  if (call.schema().find("divisor_override") != nullptr && call.integer_opt("divisor_override") == 0) {
    fail(call, "divisor_override is 0; it must not be zero");
  }
}

Metas avg_pool(const OpCall& call, int spatial) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, self.dtype == DType::i64 ? kInt : kFloat);
  require_divisor(call);
  return {{self.dtype, pooled(call, spatial)}};
}

Metas avg_pool_backward(const OpCall& call) {
  require_same_dtype(call, "grad_output", "self");
  require_divisor(call);
  require_shape(call, "grad_output", pooled(call, 2));
  return {meta(call, "self")};
}
Metas max_pool_backward(const OpCall& call) {
  require_same_dtype(call, "grad_output", "self");
  const Shape shape = pooled(call, 2);
  require_shape(call, "grad_output", shape);
  require_shape(call, "indices", shape);
  require_index(call, "indices", false);
  return {meta(call, "self")};
}

Metas adaptive_avg_pool(const OpCall& call, int spatial) {
  require_rank(call, "self", spatial + 1, spatial + 2);
  TensorMeta self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  const Shape sizes = call.integers("output_size", spatial);
  require_length(call, "output_size", sizes.size(), static_cast<std::size_t>(spatial));
  require_sizes(call, "output_size", sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    int64_t& size = self.shape[self.shape.size() - sizes.size() + i];
    if (size == 0)
      fail(call, "self has shape {}; only the batch may be empty", to_string(meta(call, "self").shape));
    size = sizes[i];
  }
  return {self};
}

Metas adaptive_avg_pool_backward(const OpCall& call) {
  require_rank(call, "self", 3, 4);
  require_rank(call, "grad_output", rank(meta(call, "self")));
  require_same_dtype(call, "grad_output", "self");
  return {meta(call, "self")};
}

}  // namespace

void register_pooling(ShapeTable& table) {
  table.add("aten::max_pool2d_with_indices.default", [](const OpCall& call) { return max_pool(call, 2); });
  table.add("aten::max_pool3d_with_indices.default", [](const OpCall& call) { return max_pool(call, 3); });
  table.add("aten::max_pool2d.default", [](const OpCall& call) { return Metas{max_pool(call, 2)[0]}; });
  table.add("aten::max_pool2d_with_indices_backward.default", max_pool_backward);
  table.add("aten::avg_pool1d.default", [](const OpCall& call) { return avg_pool(call, 1); });
  table.add("aten::avg_pool2d.default", [](const OpCall& call) { return avg_pool(call, 2); });
  table.add("aten::avg_pool3d.default", [](const OpCall& call) { return avg_pool(call, 3); });
  table.add("aten::avg_pool2d_backward.default", avg_pool_backward);
  table.add("aten::adaptive_avg_pool1d.default",
            [](const OpCall& call) { return adaptive_avg_pool(call, 1); });
  table.add("aten::adaptive_avg_pool2d.default",
            [](const OpCall& call) { return adaptive_avg_pool(call, 2); });
  table.add("aten::_adaptive_avg_pool2d.default",
            [](const OpCall& call) { return adaptive_avg_pool(call, 2); });
  table.add("aten::adaptive_avg_pool3d.default",
            [](const OpCall& call) { return adaptive_avg_pool(call, 3); });
  table.add("aten::_adaptive_avg_pool3d.default",
            [](const OpCall& call) { return adaptive_avg_pool(call, 3); });
  table.add("aten::_adaptive_avg_pool2d_backward.default", adaptive_avg_pool_backward);
}

}  // namespace assay
