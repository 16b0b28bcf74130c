// One GLA block inside a graph under construction. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "models/gla/gla.h"

namespace assay::models {

class GlaBuilder {
 public:
  GlaBuilder(GraphBuilder& builder, const GlaConfig& config, const GlaGraph& graph);

  // x [B, T, hidden]; `prefix` of the weights ("model.layers.0.attn."), `suffix` of the state inputs ("_0").
  ValueId attention(ValueId x, const std::string& prefix, const std::string& suffix);
  ValueId mlp(ValueId x, const std::string& prefix);
  ValueId norm(ValueId x, const std::string& weight, int64_t size, bool affine = true);
  ValueId linear(ValueId x, const std::string& name, int64_t out, bool bias = false);
  ValueId parameter(const std::string& name, const Shape& shape);
  void read_mask();

  Emitter& emit() { return e_; }
  const std::vector<ValueId>& states() const { return states_; }

 private:
  ValueId short_convolution(ValueId x, const std::string& prefix, const std::string& which,
                            const std::string& suffix);
  ValueId heads(ValueId x, int64_t count, int64_t size);
  ValueId shared_heads(ValueId x);
  ValueId feature_map(ValueId x);
  ValueId without_padding(ValueId x);

  Emitter e_;
  const GlaConfig& config_;
  const GlaGraph& graph_;
  std::optional<ValueId> mask_;  // [B, T, 1] bool
  std::vector<ValueId> states_;  // results, in order
};

}  // namespace assay::models
