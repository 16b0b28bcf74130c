// Inputs that are views: how a tensor argument is laid out in the memory of another tensor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/builder.h"

namespace assay::suites {

enum class Layout {
  contiguous,
  transposed,  // all dims reversed (rank 2 or more)
  strided,     // every second element of the last dim, from the second on
  offset,      // begins at the fourth element of a flat tensor
  expanded,    // the first dim of size 2 or more is one element repeated
  overlapped,  // rows of one window after another, by one element each (rank 2 or more)
  selected,    // one of three tensors, stacked
};

const char* name_of(Layout layout);
// Every layout but contiguous that a tensor of this shape can have.
std::vector<Layout> layouts_of(const Shape& shape);

// The shape of the tensor that the view is taken of.
Shape base_shape(Layout layout, const Shape& shape);
// Appends the node that views `base` (of base_shape) as `shape`.
ValueId append_view(GraphBuilder& builder, Layout layout, ValueId base, const Shape& shape);

}  // namespace assay::suites
