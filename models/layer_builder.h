// What language models are made of, inside a graph under construction.
#pragma once

#include <optional>
#include <string>

#include "models/emitter.h"

namespace assay::models {

// Parameters are inputs of one dtype, `held_in`: "model.norm.weight" is the value "p_model_norm_weight". What
// reads them gets them in `dtype`.
class LayerBuilder {
 public:
  LayerBuilder(GraphBuilder& builder, DType dtype, std::optional<DType> held_in, double norm_eps)
      : e_(builder), dtype_(dtype), held_in_(held_in.value_or(dtype)), norm_eps_(norm_eps) {}

  // In `dtype`.
  ValueId parameter(const std::string& name, const Shape& shape);
  // x W^T (+ b) with "NAME.weight" [out, in] and "NAME.bias".
  ValueId linear(ValueId x, const std::string& name, int64_t out, bool bias = false);
  // RMSNorm over the last dim.
  ValueId norm(ValueId x, const std::string& weight, bool affine = true);
  // down(silu(gate x) * up x): "gate_proj", "up_proj", "down_proj" behind the prefix.
  ValueId gated_mlp(ValueId x, const std::string& prefix, int64_t inner);

  Emitter& emit() { return e_; }

 protected:
  Emitter e_;

 private:
  DType dtype_, held_in_;
  double norm_eps_;
};

}  // namespace assay::models
