#include "backend/kernels/view.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace assay::backend {
namespace {

[[noreturn]] void defect(const std::string& what) { throw Error(ErrorCode::internal, "kernel: " + what); }

int64_t largest_divisor(int64_t n, int64_t limit) {
  for (int64_t d = std::min(n, limit); d > 1; --d) {
    if (n % d == 0) return d;
  }
  return 1;
}

std::size_t first_wide(const Box& box) {
  std::size_t d = 0;
  while (d < box.size.size() && box.size[d] == 1) ++d;
  return d;
}

int wide_rank(const Box& box) {
  return static_cast<int>(std::count_if(box.size.begin(), box.size.end(), [](int64_t s) { return s > 1; }));
}

Box part(const Box& box, std::size_t d, int64_t start, int64_t size) {
  Box out = box;
  out.start[d] += start;
  out.size[d] = size;
  return out;
}

Box whole(const Shape& sizes) { return {Shape(sizes.size(), 0), sizes}; }

void split_box(const Box& box, int64_t max_elements, int max_rank, std::vector<Box>& out) {
  if (wide_rank(box) <= max_rank && box.count() <= max_elements) {
    out.push_back(box);
    return;
  }
  const std::size_t d = first_wide(box);
  const int64_t inner = box.count() / box.size[d];
  const int64_t chunk =
      wide_rank(box) > max_rank ? 1 : std::clamp<int64_t>(max_elements / inner, 1, box.size[d]);
  for (int64_t i = 0; i < box.size[d]; i += chunk) {
    split_box(part(box, d, i, std::min(chunk, box.size[d] - i)), max_elements, max_rank, out);
  }
}

void tile_box(const Box& box, int64_t max_free, std::vector<TileBox>& out) {
  const int64_t n = box.count();
  const int64_t partitions = largest_divisor(n, kPartitions);
  const std::size_t d = first_wide(box);
  if (d < box.size.size()) {
    // Leading rows that fill all partitions first, then the rest.
    const int64_t inner = n / box.size[d];
    const int64_t rows = kPartitions / std::gcd(inner, kPartitions);
    const int64_t full = box.size[d] / rows * rows;
    if (partitions < kPartitions / 2 && full > 0 && full < box.size[d]) {
      tile_box(part(box, d, 0, full), max_free, out);
      tile_box(part(box, d, full, box.size[d] - full), max_free, out);
      return;
    }
    if (n / partitions > max_free) {
      const int64_t half = box.size[d] / 2;
      tile_box(part(box, d, 0, half), max_free, out);
      tile_box(part(box, d, half, box.size[d] - half), max_free, out);
      return;
    }
  }
  out.push_back({box, static_cast<int>(partitions), n / partitions});
}

}  // namespace

View View::permuted(std::span<const int64_t> dims) const {
  View out = *this;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    out.shape[k] = shape[static_cast<std::size_t>(dims[k])];
    out.strides[k] = strides[static_cast<std::size_t>(dims[k])];
  }
  return out;
}

View View::broadcast_to(const Shape& to) const {
  View out = *this;
  if (to.size() < shape.size())
    defect("broadcast of " + assay::to_string(shape) + " to " + assay::to_string(to));
  out.shape = to;
  out.strides.assign(to.size(), 0);
  const std::size_t lead = to.size() - shape.size();
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] != 1 && shape[k] != to[lead + k]) {
      defect("broadcast of " + assay::to_string(shape) + " to " + assay::to_string(to));
    }
    out.strides[lead + k] = shape[k] == 1 ? 0 : strides[k];
  }
  return out;
}

View View::narrowed(int64_t dim, int64_t start, int64_t size, int64_t step) const {
  View out = *this;
  const auto d = static_cast<std::size_t>(dim);
  if (size > 0 && (start < 0 || start + (size - 1) * step >= shape[d])) defect("slice outside of a tensor");
  if (size > 0) out.offset += start * strides[d];
  out.shape[d] = size;
  out.strides[d] *= step;
  return out;
}

View View::selected(int64_t dim, int64_t index) const {
  View out = narrowed(dim, index, 1);
  out.shape.erase(out.shape.begin() + dim);
  out.strides.erase(out.strides.begin() + dim);
  return out;
}

View View::unsqueezed(int64_t dim) const {
  View out = *this;
  out.shape.insert(out.shape.begin() + dim, 1);
  out.strides.insert(out.strides.begin() + dim, 0);
  return out;
}

View View::reshaped(const Shape& to) const {
  if (element_count(to) != count())
    defect("reshape of " + assay::to_string(shape) + " to " + assay::to_string(to));
  int64_t expected = 1;
  // Without elements the strides say nothing.
  for (std::size_t k = count() == 0 ? 0 : shape.size(); k-- > 0;) {
    if (shape[k] != 1 && strides[k] != expected) defect("reshape of a strided view");
    expected *= shape[k];
  }
  View out = *this;
  out.shape = to;
  out.strides = contiguous_strides(to);
  return out;
}

View contiguous_view(int32_t tensor, DType dtype, const Shape& shape) {
  return {tensor, dtype, 0, shape, contiguous_strides(shape)};
}

IterationSpace collapse(std::span<const View> views) {
  IterationSpace space;
  space.strides.resize(views.size());
  const Shape& shape = views[0].shape;
  for (const View& view : views) {
    if (view.shape != shape) defect("views of unequal shapes in one space");
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    bool merge = !space.sizes.empty();
    for (std::size_t v = 0; merge && v < views.size(); ++v) {
      merge = space.strides[v].back() == views[v].strides[d] * shape[d];
    }
    if (merge) {
      space.sizes.back() *= shape[d];
    } else {
      space.sizes.push_back(shape[d]);
    }
    for (std::size_t v = 0; v < views.size(); ++v) {
      if (merge) {
        space.strides[v].back() = views[v].strides[d];
      } else {
        space.strides[v].push_back(views[v].strides[d]);
      }
    }
  }
  return space;
}

std::vector<Box> split(const Shape& sizes, int64_t max_elements, int max_rank) {
  std::vector<Box> out;
  if (element_count(sizes) > 0) split_box(whole(sizes), max_elements, max_rank, out);
  return out;
}

std::vector<TileBox> split_into_tiles(const Shape& sizes, int64_t max_free, int max_rank) {
  std::vector<TileBox> out;
  for (const Box& box : split(sizes, kPartitions * max_free, max_rank)) tile_box(box, max_free, out);
  return out;
}

AccessPattern pattern_of(const View& view, const Shape& strides, const Box& box) {
  int64_t offset = view.offset;
  int64_t partitions = 1, partition_stride = 0;
  Shape sizes, free_strides;
  bool first = true;
  for (std::size_t d = 0; d < box.size.size(); ++d) {
    offset += box.start[d] * strides[d];
    if (box.size[d] == 1) continue;
    if (first) {
      // Long rows are cheaper than many: the leading dimension becomes up to 128 blocks.
      partitions = largest_divisor(box.size[d], kPartitions);
      const int64_t block = box.size[d] / partitions;
      partition_stride = strides[d] * block;
      if (block > 1 && wide_rank(box) < kDmaRank) {
        sizes.push_back(block);
        free_strides.push_back(strides[d]);
      } else {
        partitions = box.size[d];
        partition_stride = strides[d];
      }
      first = false;
    } else {
      sizes.push_back(box.size[d]);
      free_strides.push_back(strides[d]);
    }
  }
  return hbm_tile(view.dtype, view.tensor, offset, static_cast<int>(partitions), partition_stride,
                  std::span<const int64_t>(sizes), std::span<const int64_t>(free_strides));
}

}  // namespace assay::backend
