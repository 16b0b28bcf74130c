#include "models/gla/config.h"

#include <fmt/format.h>

#include "core/error.h"

namespace assay::models {
namespace {

void at_least_one(const char* field, int64_t value) {
  if (value >= 1) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("GLA: {} is {}; it must be at least 1", field, value));
}

void divides(const char* field, int64_t size, const char* by, int64_t parts) {
  if (size >= parts && size % parts == 0) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("GLA: {} is {}, which {} = {} does not divide", field, size, by, parts));
}

}  // namespace

int64_t GlaConfig::mlp_size() const {
  if (intermediate_size) return *intermediate_size;
  const auto wanted = static_cast<int64_t>(static_cast<double>(hidden_size * hidden_ratio) * 2 / 3);
  return 256 * ((wanted + 255) / 256);
}

void GlaConfig::set_head_sizes(int64_t key, int64_t value) {
  // key_size() truncates hidden_size * expand_k; half an element more keeps the size whole.
  const auto expand = [&](int64_t head) {
    return (static_cast<double>(num_heads * head) + 0.5) / static_cast<double>(hidden_size);
  };
  expand_k = expand(key);
  expand_v = expand(value);
}

void GlaConfig::check() const {
  at_least_one("hidden_size", hidden_size);
  at_least_one("num_hidden_layers", num_hidden_layers);
  at_least_one("num_heads", num_heads);
  at_least_one("num_kv_heads", kv_heads());
  at_least_one("vocab_size", vocab_size);
  at_least_one("gate_low_rank_dim", gate_low_rank_dim);
  at_least_one("chunk_size", chunk_size);
  at_least_one("intermediate_size", mlp_size());
  divides("num_heads", num_heads, "num_kv_heads", kv_heads());
  divides("hidden_size * expand_k", key_size(), "num_heads", num_heads);
  divides("hidden_size * expand_v", value_size(), "num_heads", num_heads);
  if (use_short_conv) at_least_one("conv_size", conv_size);
  if (!(gate_logit_normalizer > 0)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("GLA: gate_logit_normalizer is {}; it must be positive", gate_logit_normalizer));
  }
  if (hidden_act != "swish" && hidden_act != "silu") {
    throw Error(ErrorCode::invalid_argument, "GLA: hidden_act is '" + hidden_act + "'; only swish is built");
  }
  if (!feature_map.empty() && feature_map != "relu" && feature_map != "elu" && feature_map != "swish") {
    throw Error(ErrorCode::invalid_argument,
                "GLA: feature_map is '" + feature_map + "'; it must be empty, relu, elu or swish");
  }
}

int64_t GlaConfig::parameters() const {
  const int64_t groups = num_heads / kv_heads(), keys = key_size(), values = value_size();
  int64_t layer = hidden_size * (keys + keys / groups + values / groups) + values * hidden_size;
  layer += hidden_size * gate_low_rank_dim + gate_low_rank_dim * keys / groups + keys / groups;
  if (use_output_gate) layer += hidden_size * values;
  if (use_short_conv) layer += conv_size * (keys + keys / groups + values / groups);
  if (elementwise_affine) layer += head_value();
  layer += 2 * hidden_size + 3 * hidden_size * mlp_size();
  return num_hidden_layers * layer + hidden_size + vocab_size * hidden_size * (tie_word_embeddings ? 1 : 2);
}

int64_t GlaConfig::state_elements() const {
  return num_hidden_layers * num_heads * head_key() * head_value();
}

int64_t GlaConfig::convolution_state_elements() const {
  const int64_t groups = num_heads / kv_heads();
  const int64_t channels = key_size() + key_size() / groups + value_size() / groups;
  return use_short_conv ? num_hidden_layers * (conv_size - 1) * channels : 0;
}

}  // namespace assay::models
