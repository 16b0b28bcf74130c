// A GLA language model: fields and defaults of flash-linear-attention's GLAConfig (configuration_gla.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/dtype.h"

namespace assay::models {

struct GlaConfig {
  int64_t hidden_size = 2048;
  double expand_k = 0.5;
  double expand_v = 1.0;
  int64_t hidden_ratio = 4;
  std::optional<int64_t> intermediate_size;  // else 256 ceil(int(hidden hidden_ratio 2 / 3) / 256)
  int64_t num_hidden_layers = 24;
  int64_t num_heads = 4;
  std::optional<int64_t> num_kv_heads;  // fewer heads of k, v and g, each shared by num_heads / num_kv_heads
  std::string feature_map;              // "", "relu", "elu" (elu + 1) or "swish", of q and k, head by head
  bool use_short_conv = false;
  int64_t conv_size = 4;
  bool use_output_gate = true;
  std::optional<double> clamp_min;  // of the gate, after division by the normaliser
  std::string hidden_act = "swish";
  bool elementwise_affine = true;  // weight of the heads' norm
  double norm_eps = 1e-6;
  bool tie_word_embeddings = false;
  int64_t vocab_size = 32000;
  // The layer's own, no fields of GLAConfig.
  double gate_logit_normalizer = 16;
  int64_t gate_low_rank_dim = 16;
  // How a kernel works; 128 is the chunk that fits 128 partitions.
  int64_t chunk_size = 128;
  // Of states between calls; none: as they are computed, f32 (f64 of f64).
  std::optional<DType> state_dtype;

  int64_t key_size() const { return static_cast<int64_t>(static_cast<double>(hidden_size) * expand_k); }
  int64_t value_size() const { return static_cast<int64_t>(static_cast<double>(hidden_size) * expand_v); }
  int64_t kv_heads() const { return num_kv_heads.value_or(num_heads); }
  int64_t head_key() const { return key_size() / num_heads; }
  int64_t head_value() const { return value_size() / num_heads; }
  int64_t mlp_size() const;
  // Sets expand_k and expand_v so that the heads there are have these sizes.
  void set_head_sizes(int64_t key, int64_t value);

  // Throws Error{invalid_argument} naming the field: sizes that do not divide, counts below 1, unknown names.
  void check() const;

  // Numbers of elements: weights; the recurrent state of one sequence (and of its convolutions), which no
  // context length enters.
  int64_t parameters() const;
  int64_t state_elements() const;
  int64_t convolution_state_elements() const;
};

}  // namespace assay::models
