// Resampling by sizes or factors, and at the places that a grid names.
#include "core/opset/checks.h"

#include <cmath>

namespace assay {
namespace {

using namespace rules;

// Which dtypes have kernels beside the float ones: PyTorch resamples 8-bit images as well, but not along one
// or three dims unless by copying.
enum class Image { floats, floats_and_bytes };

void require_image(const OpCall& call, std::string_view name, Image image) {
  const DType dtype = meta(call, name).dtype;
  require_kind(call, name, dtype, image == Image::floats_and_bytes && dtype == DType::u8 ? kInt : kFloat);
}

// Either output_size or scale_factors where the overload has both; floor(size * scale) as
// upsample::compute_output_size does.
Metas upsample(const OpCall& call, std::size_t spatial, Image image) {
  const bool by_name = call.schema().find("scale_factors") != nullptr;
  const std::string_view name = by_name ? "input" : "self";
  require_rank(call, name, static_cast<int64_t>(spatial) + 2);
  TensorMeta input = meta(call, name);
  require_image(call, name, image);
  std::optional<std::vector<int64_t>> sizes;
  std::optional<std::vector<double>> scales;
  if (by_name) {
    sizes = call.integers_opt("output_size");
    scales = call.floats_opt("scale_factors");
    if (sizes.has_value() == scales.has_value()) {
      fail(call, "exactly one of output_size and scale_factors must be given");
    }
  } else {
    sizes = call.integers("output_size", static_cast<int>(spatial));
  }
  require_length(call, sizes ? "output_size" : "scale_factors", sizes ? sizes->size() : scales->size(),
                 spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    int64_t& size = input.shape[2 + i];
    const double scaled =
        sizes ? static_cast<double>((*sizes)[i]) : std::floor(static_cast<double>(size) * (*scales)[i]);
    if (size < 1 || !(scaled >= 1 && scaled < 0x1p40)) {
      fail(call, "size {} would be resampled to {}; both must be positive", size, scaled);
    }
    size = static_cast<int64_t>(scaled);
  }
  if (input.shape[1] == 0)
    fail(call, "{} has shape {}; only the batch may be empty", name, to_string(meta(call, name).shape));
  return {input};
}

// input [N, C, spatial...], grid [N, out..., number of spatial dims]
Metas grid_sampler(const OpCall& call, int64_t spatial) {
  require_rank(call, "input", spatial + 2);
  require_rank(call, "grid", spatial + 2);
  require_same_dtype(call, "grid", "input");
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  const Shape& grid = meta(call, "grid").shape;
  if (grid[0] != input.shape[0] || grid.back() != spatial) {
    fail(call, "grid has shape {}; its first size must be {} and its last {}", to_string(grid),
         input.shape[0], spatial);
  }
  for (std::size_t i = 2; i < input.shape.size(); ++i) {
    if (input.shape[i] < 1)
      fail(call, "input has shape {}; its spatial dims must not be empty", to_string(input.shape));
  }
  const int64_t mode = call.integer("interpolation_mode");
  if (mode < 0 || mode > 2)
    fail(call, "interpolation_mode is {}; it must be 0 (linear), 1 (nearest) or 2 (cubic)", mode);
  if (spatial == 3 && mode == 2) fail(call, "interpolation_mode is 2 (cubic); it goes only with 4-d inputs");
  const int64_t padding = call.integer("padding_mode");
  if (padding < 0 || padding > 2) fail(call, "padding_mode is {}; it must be 0, 1 or 2", padding);
  Shape shape{input.shape[0], input.shape[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return {{input.dtype, shape}};
}

Metas grid_sampler_any(const OpCall& call) {
  require_rank(call, "input", 4, 5);
  return grid_sampler(call, rank(meta(call, "input")) - 2);
}

}  // namespace

void register_resampling(ShapeTable& table) {
  const auto add = [&](const std::string& name, std::size_t spatial, Image image) {
    const auto rule = [spatial, image](const OpCall& call) { return upsample(call, spatial, image); };
    table.add("aten::" + name + ".default", rule);
    table.add("aten::" + name + ".vec", rule);
  };
  for (std::size_t n = 1; n <= 3; ++n) {
    const std::string dims = std::to_string(n) + "d";
    add("upsample_nearest" + dims, n, Image::floats_and_bytes);
    add("_upsample_nearest_exact" + dims, n, Image::floats_and_bytes);
  }
  add("upsample_linear1d", 1, Image::floats);
  add("upsample_bilinear2d", 2, Image::floats_and_bytes);
  add("upsample_trilinear3d", 3, Image::floats);
  add("upsample_bicubic2d", 2, Image::floats_and_bytes);
  add("_upsample_bilinear2d_aa", 2, Image::floats_and_bytes);
  add("_upsample_bicubic2d_aa", 2, Image::floats_and_bytes);
  table.add("aten::grid_sampler.default", grid_sampler_any);
  table.add("aten::grid_sampler_2d.default", [](const OpCall& call) { return grid_sampler(call, 2); });
  table.add("aten::grid_sampler_3d.default", [](const OpCall& call) { return grid_sampler(call, 3); });
}

}  // namespace assay
