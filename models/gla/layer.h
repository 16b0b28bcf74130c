// One GLA block inside a graph under construction. Internal to models/gla and models/parallel.
#pragma once

#include <string>
#include <vector>

#include "models/gla/gla.h"
#include "models/layer_builder.h"

namespace assay::models {

class GlaBuilder : public LayerBuilder {
 public:
  GlaBuilder(GraphBuilder& builder, const GlaConfig& config, const GlaGraph& graph);

  // x [B, T, hidden]; `prefix` of the weights ("model.layers.0.attn."), `suffix` of the state inputs ("_0").
  ValueId attention(ValueId x, const std::string& prefix, const std::string& suffix);
  ValueId mlp(ValueId x, const std::string& prefix) { return gated_mlp(x, prefix, config_.mlp_size()); }
  void read_mask();

  const std::vector<ValueId>& states() const { return states_; }

 private:
  ValueId short_convolution(ValueId x, const std::string& prefix, const std::string& which,
                            const std::string& suffix);
  ValueId heads(ValueId x, int64_t count, int64_t size);
  ValueId shared_heads(ValueId x);
  ValueId feature_map(ValueId x);
  ValueId without_padding(ValueId x);

  const GlaConfig& config_;
  const GlaGraph& graph_;
  std::optional<ValueId> mask_;  // [B, T, 1] bool
  std::vector<ValueId> states_;  // results, in order
};

// What the builder holds, decomposed down to the operators that `form` leaves.
Graph finished_gla(GraphBuilder& builder, GlaForm form);

}  // namespace assay::models
