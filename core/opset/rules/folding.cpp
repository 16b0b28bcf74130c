// Windows laid out as columns and folded back, and what undoes or generalises pooling.
#include <algorithm>

#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

struct Fold {
  std::vector<int64_t> kernel, dilation, padding, stride;
};
Fold fold_of(const OpCall& call) {
  const auto list = [&](const char* name) {
    std::vector<int64_t> out = call.integers(name, 2);
    require_length(call, name, out.size(), 2);
    return out;
  };
  return {list("kernel_size"), list("dilation"), list("padding"), list("stride")};
}

// Number of windows over an image and of elements of a window.
struct Windows {
  int64_t count = 1, area = 1;
};
Windows windows_over(const OpCall& call, const Fold& fold, const Shape& size) {
  Windows out;
  for (std::size_t i = 0; i < 2; ++i) {
    const int64_t count =
        window_count(call, size[i], fold.kernel[i], fold.stride[i], fold.padding[i], fold.dilation[i], false);
    if (count < 1) fail(call, "an image of {} has no window of {}", to_string(size), to_string(fold.kernel));
    if (__builtin_mul_overflow(out.count, count, &out.count) ||
        __builtin_mul_overflow(out.area, fold.kernel[i], &out.area)) {
      fail(call, "image {} or kernel_size {} is too large", to_string(size), to_string(fold.kernel));
    }
  }
  return out;
}

// PyTorch has no kernels for integers here, but for bool and complex.
void require_column_dtype(const OpCall& call) {
  require_kind(call, "self", meta(call, "self").dtype, kBool | kFloat | kComplex);
}

// [N, C * kernel, L] -> [N, C, H, W]; L is the number of windows over the output.
Metas col2im(const OpCall& call) {
  require_rank(call, "self", 2, 3);
  require_column_dtype(call);
  const TensorMeta& self = meta(call, "self");
  const Shape size = call.integers("output_size", 2);
  require_length(call, "output_size", size.size(), 2);
  for (std::size_t i = self.shape.size() - 2; i < self.shape.size(); ++i) {
    if (self.shape[i] == 0)
      fail(call, "self has shape {}; only the batch may be empty", to_string(self.shape));
  }
  const Windows windows = windows_over(call, fold_of(call), size);
  const int64_t rows = size_at(self, -2);
  if (rows % windows.area != 0)
    fail(call, "self has shape {}; its second to last size must be a multiple of the kernel's {} elements",
         to_string(self.shape), windows.area);
  if (size_at(self, -1) != windows.count) {
    fail(call, "self has shape {}; its last size must be {}, the number of windows", to_string(self.shape),
         windows.count);
  }
  Shape shape(self.shape.begin(), self.shape.end() - 2);
  shape.insert(shape.end(), {rows / windows.area, size[0], size[1]});
  return {{self.dtype, shape}};
}

// [N, C, H, W] -> [N, C * kernel, L]
Metas im2col(const OpCall& call) {
  require_rank(call, "self", 3, 4);
  require_column_dtype(call);
  const TensorMeta& self = meta(call, "self");
  const Shape image(self.shape.end() - 2, self.shape.end());
  for (std::size_t i = self.shape.size() - 3; i < self.shape.size(); ++i) {
    if (self.shape[i] == 0)
      fail(call, "self has shape {}; only the batch may be empty", to_string(self.shape));
  }
  const Windows windows = windows_over(call, fold_of(call), image);
  Shape shape(self.shape.begin(), self.shape.end() - 2);
  if (__builtin_mul_overflow(shape.back(), windows.area, &shape.back()))
    fail(call, "self has shape {}, which is too large", to_string(self.shape));
  shape.push_back(windows.count);
  return {{self.dtype, shape}};
}

// `spatial` sizes in place of the last dims of self; the batch may be missing.
Shape resized(const OpCall& call, int64_t spatial) {
  require_rank(call, "self", spatial + 1, spatial + 2);
  Shape shape = meta(call, "self").shape;
  const Shape sizes = call.integers("output_size", static_cast<int>(spatial));
  require_length(call, "output_size", sizes.size(), static_cast<std::size_t>(spatial));
  require_sizes(call, "output_size", sizes);
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] == 0) fail(call, "self has shape {}; only its first size may be 0", to_string(shape));
  }
  std::copy(sizes.begin(), sizes.end(), shape.end() - spatial);
  return shape;
}

Metas adaptive_max_pool(const OpCall& call, int64_t spatial) {
  const DType dtype = meta(call, "self").dtype;
  const Shape shape = resized(call, spatial);
  require_kind(call, "self", dtype, kFloat);
  return {{dtype, shape}, {DType::i64, shape}};
}

Metas max_unpool(const OpCall& call, int64_t spatial) {
  const TensorMeta& self = meta(call, "self");
  require_length(call, "output_size", call.integers("output_size").size(), static_cast<std::size_t>(spatial));
  const Shape shape = resized(call, spatial);
  require_kind(call, "self", self.dtype, kFloat);
  require_index(call, "indices", false);
  require_shape(call, "indices", self.shape);
  if (spatial == 3) {
    for (const char* name : {"stride", "padding"})
      require_length(call, name, call.integers(name, 3).size(), 3);
    for (const int64_t stride : call.integers("stride", 3)) {
      if (stride < 1) fail(call, "stride is {}; it must be positive", stride);
    }
  }
  return {{self.dtype, shape}};
}

// Windows that start at random places: one sample in [0, 1) for each plane and spatial dim.
Metas fractional_max_pool(const OpCall& call, int64_t spatial) {
  const TensorMeta& self = meta(call, "self");
  const Shape shape = resized(call, spatial);
  require_kind(call, "self", self.dtype, kFloat);
  require_same_dtype(call, "random_samples", "self");
  const auto kernel = call.integers("kernel_size", static_cast<int>(spatial));
  require_length(call, "kernel_size", kernel.size(), static_cast<std::size_t>(spatial));
  const std::size_t first = self.shape.size() - kernel.size();
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const int64_t size = self.shape[first + i], out = shape[first + i];
    const bool fits = kernel[i] >= 1 && kernel[i] <= size && out >= 1;
    // Only in two dims may the windows start one element apart.
    if (!fits || out > size - kernel[i] + (spatial == 2 ? 1 : 0)) {
      fail(call, "kernel_size {} and output_size {} do not fit into size {} of dim {}", kernel[i], out, size,
           first + i);
    }
  }
  const int64_t batch = rank(self) == spatial + 2 ? self.shape[0] : 1;
  require_rank(call, "random_samples", 3);
  const Shape& samples = meta(call, "random_samples").shape;
  if (samples[0] < batch || samples[1] < self.shape[first - 1] || samples[2] != spatial) {
    fail(call, "random_samples has shape {}; it must be [{}, {}, {}]", to_string(samples), batch,
         self.shape[first - 1], spatial);
  }
  return {{self.dtype, shape}, {DType::i64, shape}};
}

}  // namespace

void register_folding(ShapeTable& table) {
  table.add("aten::col2im.default", col2im);
  table.add("aten::im2col.default", im2col);
  for (int64_t n = 1; n <= 3; ++n) {
    const std::string dims = std::to_string(n) + "d.default";
    table.add("aten::adaptive_max_pool" + dims,
              [n](const OpCall& call) { return adaptive_max_pool(call, n); });
    if (n == 1) continue;
    table.add("aten::max_unpool" + dims, [n](const OpCall& call) { return max_unpool(call, n); });
    table.add("aten::fractional_max_pool" + dims,
              [n](const OpCall& call) { return fractional_max_pool(call, n); });
  }
}

}  // namespace assay
