// Values at which kernels go wrong: what generated cases plant among ordinary ones.
#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"
#include "suites/ops/generate/facts.h"

namespace assay::suites {

struct EdgeClass {
  const char* name;
  std::vector<double> values;
  std::vector<int64_t> integers = {};  // of an integer dtype: the same numbers, exactly
};

// Of a float dtype, or of the parts of a complex one: nan, inf, zeros (both signs), subnormals, limits
// (largest and smallest normal numbers, the neighbours of 1), halves (ties of rounding), and all of them. Of
// an integer dtype: its extremes. bool has none.
const std::vector<EdgeClass>& edge_classes(DType dtype);

// A tensor of ordinary values of the domain in which every third is an edge value (of many kinds: all but
// every fourth); `phase` shifts which, so that two operands of one call meet in different pairs. With
// `only_edges` every element is one, and operands of phases 0 and 1 meet in all pairs once there are as many
// elements as pairs.
Tensor with_edges(DType dtype, const Shape& shape, const Domain& domain, const EdgeClass& edges, int phase,
                  bool only_edges);

// The integers of a domain that a dtype holds, [low, high).
std::pair<int64_t, int64_t> integers_of(DType dtype, const Domain& domain);

}  // namespace assay::suites
