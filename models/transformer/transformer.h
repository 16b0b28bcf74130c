// A decoder-only language model with softmax attention: the counterpart of the GLA model, with the same
// embedding, norms, MLP and head, learned positions, and attention in place of GLA.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/builder.h"

namespace assay::models {

struct TransformerConfig {
  int64_t hidden_size = 512;
  int64_t num_hidden_layers = 6;
  int64_t num_heads = 8;
  int64_t intermediate_size = 1408;
  int64_t vocab_size = 32000;
  int64_t max_positions = 2048;
  double norm_eps = 1e-6;

  // Throws Error{invalid_argument} naming the field.
  void check() const;
  int64_t parameters() const;
  // Keys and values of one sequence of `length` tokens.
  int64_t cache_elements(int64_t length) const { return 2 * num_hidden_layers * hidden_size * length; }
};

struct TransformerGraph {
  int64_t batch = 1, length = 1;
  DType dtype = DType::f32;
  std::optional<DType> parameters;  // as in GlaGraph (models/gla/gla.h)
  // With `loss` one output, the mean cross entropy with input "labels"; else logits [batch, length, vocab].
  bool loss = false;
  int64_t batches = 0;  // above 0: symbols and labels come from read_batch (models/training/batches.h)
};

// Input "input_ids" i64 [batch, length]; parameters "model.embed_tokens.weight",
// "model.embed_positions.weight", "model.layers.N.attn.q_proj.weight", ..., "lm_head.weight".
Graph transformer_graph(const TransformerConfig& config, const TransformerGraph& graph);
// Forward, loss and the gradients of all parameters.
Graph transformer_gradient_graph(const TransformerConfig& config, const TransformerGraph& graph);

}  // namespace assay::models
