// What language models are made of, inside a graph under construction.
#pragma once

#include <string>

#include "models/emitter.h"

namespace assay::models {

// Parameters are inputs of one dtype: "model.norm.weight" is the value "p_model_norm_weight".
class LayerBuilder {
 public:
  LayerBuilder(GraphBuilder& builder, DType dtype, double norm_eps)
      : e_(builder), dtype_(dtype), norm_eps_(norm_eps) {}

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
  DType dtype_;
  double norm_eps_;
};

}  // namespace assay::models
