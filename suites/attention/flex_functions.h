// Score and mask functions of FlexAttention, as data: graphs that PyTorch exported
// (suites/attention/data/flex_functions.py), and what the buffers that they capture are like.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/io/model.h"

namespace assay::suites {

struct FlexBuffer {
  std::vector<std::string> shape;  // expressions of B, H, M and N: batch, heads, queries, keys
  DType dtype = DType::f32;
  std::string low, high;  // of integers, expressions as well

  TensorRecipe recipe(const std::map<std::string, int64_t>& sizes) const;
};

struct FlexFunction {
  std::string name;
  std::vector<FlexBuffer> buffers;
  std::shared_ptr<const Graph> graph;
};

// Throw Error{internal} for a name that the data does not have.
const FlexFunction& score_function(const std::string& name);
const FlexFunction& mask_function(const std::string& name);
const std::vector<FlexFunction>& score_functions();
const std::vector<FlexFunction>& mask_functions();

}  // namespace assay::suites
