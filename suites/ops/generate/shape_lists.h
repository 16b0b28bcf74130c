// The shapes that regular operators are tried on.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace assay::suites {

// 0-d, zero-size, size-1 and prime sizes, sizes around the 128 partitions and 512 columns of a tile, ranks up
// to 6. The first has 1,024 elements (statistical gates), the second few.
const std::vector<Shape>& single_shapes();

// Shapes of `count` operands that broadcast; `in_place`: to the shape of the first.
std::vector<std::vector<Shape>> pointwise_shapes(std::size_t count, bool in_place);

struct ShapeAndDims {
  Shape shape;
  std::vector<int64_t> dims;
};
// Shapes with each dim from both ends, pairs of dims, and reductions of 0-d, zero-size and size-1 tensors.
const std::vector<ShapeAndDims>& shapes_and_dims();

}  // namespace assay::suites
