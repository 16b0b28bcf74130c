// Strided views of HBM tensors, and how an iteration space is cut into tiles that instructions can take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/isa/access_pattern.h"
#include "core/tensor.h"

namespace assay::backend {

// A view of a Program's HBM tensor; offset and strides count elements, strides may be 0 or negative.
struct View {
  int32_t tensor = -1;
  DType dtype = DType::f32;
  int64_t offset = 0;
  Shape shape;
  Shape strides;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t count() const { return element_count(shape); }

  View permuted(std::span<const int64_t> dims) const;
  View broadcast_to(const Shape& to) const;  // PyTorch's rule, leading dimensions added
  View narrowed(int64_t dim, int64_t start, int64_t size, int64_t step = 1) const;
  View selected(int64_t dim, int64_t index) const;  // drops the dimension
  View unsqueezed(int64_t dim) const;
  View reshaped(const Shape& to) const;  // contiguous views only; throws Error{internal}
};

View contiguous_view(int32_t tensor, DType dtype, const Shape& shape);

// Dimensions shared by several views: size-1 dimensions dropped, neighbours merged where every view allows
// it. strides[v][d] belongs to view v.
struct IterationSpace {
  Shape sizes;
  std::vector<Shape> strides;
  int64_t count() const { return element_count(sizes); }
};
IterationSpace collapse(std::span<const View> views);  // equal shapes

// A box inside an iteration space.
struct Box {
  Shape start;
  Shape size;
  int64_t count() const { return element_count(size); }
};

// Boxes in row-major order that cover `sizes`, each with at most `max_elements` elements and at most
// `max_rank` dimensions larger than 1.
std::vector<Box> split(const Shape& sizes, int64_t max_elements, int max_rank);

// The same, each box laid out as `partitions` (<= 128, a divisor of its count) times `free` <= max_free.
struct TileBox {
  Box box;
  int partitions;
  int64_t free;
};
std::vector<TileBox> split_into_tiles(const Shape& sizes, int64_t max_free, int max_rank);

// HBM pattern of a box of `sizes`/`strides`, elements in row-major order; the leading dimension larger than 1
// becomes the pattern's partition dimension, in blocks. At most 6 dimensions larger than 1.
AccessPattern pattern_of(const View& view, const Shape& strides, const Box& box);

inline constexpr int kDmaRank = kMaxRank + 1;  // dimensions of an HBM pattern

}  // namespace assay::backend
