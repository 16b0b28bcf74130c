// Resampling, folding and Fourier transforms.
#include "core/opset/checks.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

using namespace rules;

// Either output_size or scale_factors; floor(size * scale) as upsample::compute_output_size does.
Metas upsample2d(const OpCall& call) {
  require_rank(call, "input", 4);
  TensorMeta input = meta(call, "input");
  require_kind(call, "input", input.dtype, input.dtype == DType::u8 ? kInt : kFloat);
  const std::optional<std::vector<int64_t>> sizes = call.integers_opt("output_size");
  const std::optional<std::vector<double>> scales = call.floats_opt("scale_factors");
  if (sizes.has_value() == scales.has_value()) {
    fail(call, "exactly one of output_size and scale_factors must be given");
  }
  require_length(call, sizes ? "output_size" : "scale_factors", sizes ? sizes->size() : scales->size(), 2);
  for (std::size_t i = 0; i < 2; ++i) {
    int64_t& size = input.shape[2 + i];
    const double scaled =
        sizes ? static_cast<double>((*sizes)[i]) : std::floor(static_cast<double>(size) * (*scales)[i]);
    if (size < 1 || !(scaled >= 1 && scaled < 0x1p40)) {
      fail(call, "size {} would be resampled to {}; both must be positive", size, scaled);
    }
    size = static_cast<int64_t>(scaled);
  }
  if (input.shape[1] == 0)
    fail(call, "input has shape {}; only the batch may be empty", to_string(input.shape));
  return {input};
}

// input [N, C, H, W], grid [N, Ho, Wo, 2]
Metas grid_sampler_2d(const OpCall& call) {
  require_rank(call, "input", 4);
  require_rank(call, "grid", 4);
  require_same_dtype(call, "grid", "input");
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  const Shape& grid = meta(call, "grid").shape;
  if (grid[0] != input.shape[0] || grid[3] != 2) {
    fail(call, "grid has shape {}; it must be [{}, height, width, 2]", to_string(grid), input.shape[0]);
  }
  if (input.shape[2] < 1 || input.shape[3] < 1) {
    fail(call, "input has shape {}; its spatial dims must not be empty", to_string(input.shape));
  }
  const int64_t mode = call.integer("interpolation_mode");
  if (mode < 0 || mode > 2) fail(call, "interpolation_mode is {}; it must be 0, 1 or 2", mode);
  const int64_t padding = call.integer("padding_mode");
  if (padding < 0 || padding > 2) fail(call, "padding_mode is {}; it must be 0, 1 or 2", padding);
  return {{input.dtype, {input.shape[0], input.shape[1], grid[1], grid[2]}}};
}

// [N, C * kernel, L] -> [N, C, H, W]; L is the number of windows over the output.
Metas col2im(const OpCall& call) {
  require_rank(call, "self", 2, 3);
  const TensorMeta& self = meta(call, "self");
  const Shape size = call.integers("output_size", 2);
  const std::vector<int64_t> kernel = call.integers("kernel_size", 2);
  const std::vector<int64_t> dilation = call.integers("dilation", 2);
  const std::vector<int64_t> padding = call.integers("padding", 2);
  const std::vector<int64_t> stride = call.integers("stride", 2);
  for (const auto* list : {&size, &kernel, &dilation, &padding, &stride}) {
    require_length(call, "an argument", list->size(), 2);
  }
  int64_t windows = 1;
  int64_t area = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const int64_t count = window_count(call, size[i], kernel[i], stride[i], padding[i], dilation[i], false);
    if (__builtin_mul_overflow(windows, count, &windows) || __builtin_mul_overflow(area, kernel[i], &area)) {
      fail(call, "output_size {} or kernel_size {} is too large", to_string(size), to_string(kernel));
    }
  }
  const int64_t rows = size_at(self, -2);
  if (rows % area != 0)
    fail(call, "self has shape {}; its second to last size must be a multiple of the kernel's {} elements",
         to_string(self.shape), area);
  if (size_at(self, -1) != windows) {
    fail(call, "self has shape {}; its last size must be {}, the number of windows", to_string(self.shape),
         windows);
  }
  Shape shape(self.shape.begin(), self.shape.end() - 2);
  shape.insert(shape.end(), {rows / area, size[0], size[1]});
  return {{self.dtype, shape}};
}

std::vector<int64_t> transformed_dims(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const std::vector<int64_t> dims = call.integers("dim");
  if (dims.empty()) return {};
  reduced_dims(call, dims, rank(self));  // distinct and in range
  std::vector<int64_t> out;
  for (const int64_t dim : dims) out.push_back(normalise_dim(dim, rank(self), call));
  for (const int64_t dim : out) {
    if (size_at(self, dim) < 1)
      fail(call, "self has shape {}; dim {} must not be empty", to_string(self.shape), dim);
  }
  return out;
}

Metas fft_c2c(const OpCall& call) {
  require_kind(call, "self", meta(call, "self").dtype, kComplex);
  transformed_dims(call);
  return {meta(call, "self")};
}
Metas fft_r2c(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  const std::vector<int64_t> dims = transformed_dims(call);
  if (dims.empty() || self.shape.empty()) fail(call, "dim is empty; it must name at least one dim");
  int64_t& last = self.shape[static_cast<std::size_t>(dims.back())];
  if (call.boolean("onesided")) last = last / 2 + 1;
  self.dtype = complex_of(self.dtype);
  return {self};
}
Metas fft_c2r(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  require_kind(call, "self", self.dtype, kComplex);
  const std::vector<int64_t> dims = transformed_dims(call);
  if (dims.empty() || self.shape.empty()) fail(call, "dim is empty; it must name at least one dim");
  const int64_t last = call.integer("last_dim_size");
  if (last < 1) fail(call, "last_dim_size is {}; it must be positive", last);
  self.shape[static_cast<std::size_t>(dims.back())] = last;
  self.dtype = part_dtype(self.dtype);
  return {self};
}

}  // namespace

void register_spatial(ShapeTable& table) {
  table.add("aten::upsample_nearest2d.vec", upsample2d);
  table.add("aten::upsample_bilinear2d.vec", upsample2d);
  table.add("aten::grid_sampler_2d.default", grid_sampler_2d);
  table.add("aten::col2im.default", col2im);
  table.add("aten::_fft_c2c.default", fft_c2c);
  table.add("aten::_fft_r2c.default", fft_r2c);
  table.add("aten::_fft_c2r.default", fft_c2r);
}

}  // namespace assay
