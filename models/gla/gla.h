// Builders of gated linear attention: the layer, the language model, and their forms.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/builder.h"
#include "models/emitter.h"
#include "models/gla/config.h"

namespace assay::models {

// How S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T, o_t = scale S_t^T q_t is written down.
enum class GlaForm {
  fused,      // assay::gla_chunk (assay::gla_recurrent_step for one row with a state)
  chunked,    // its decomposition: chunks and sub-chunks, matrix products, no exponent above 0
  recurrent,  // the definition, row by row, in ATen operators
};

struct GlaOperands {
  ValueId q, k, v, g;                           // [B, T, H, K], v [B, T, H, V]; g the gate's logarithm
  std::optional<ValueId> state;                 // [N, H, K, V]
  std::optional<std::vector<int64_t>> offsets;  // cu_seqlens
  std::optional<double> scale;
};
struct GlaResult {
  ValueId output;  // as v
  ValueId state;   // [N, H, K, V], f32 (f64 of f64)
};

// Gated linear attention in the fused or the recurrent form (the chunked one: decompose the graph).
GlaResult gla_attention(Emitter& e, const GlaOperands& x, int64_t chunk, bool recurrent = false);

// What a graph of the layer or the model reads and returns.
struct GlaGraph {
  int64_t batch = 1;
  int64_t length = 1;  // 1 with `state`: a decode step
  DType dtype = DType::f32;
  // Weights are held in this dtype and cast to `dtype` where they are read (their gradients back); none:
  // `dtype`.
  std::optional<DType> parameters;
  GlaForm form = GlaForm::fused;
  bool state = false;  // initial states are inputs: "state" of the layer, "state_N" of layer N of the model
  bool mask = false;   // input "mask" [B, T] bool: false where a row is padding, which leaves the state alone
  std::optional<std::vector<int64_t>> offsets;  // packed sequences, batch 1
  // The model only: with `loss`, input "labels" i64 [B, T] (-100: left out) and one output, the mean cross
  // entropy, instead of logits.
  bool loss = false;
  int64_t batches = 0;  // the model, above 0: symbols and labels come from read_batch (training/batches.h)
};

// One attention layer: input "x" [B, T, hidden], weights "q_proj.weight", ... as parameters with fla's names.
// Outputs: [B, T, hidden], the final state and, with short convolutions, their last rows ("conv_q", "conv_k",
// "conv_v" [B, conv_size - 1, channels] are inputs too when `state` is set).
Graph gla_layer_graph(const GlaConfig& config, const GlaGraph& graph);

// Embedding, layers, norm, head: input "input_ids" i64 [B, T]. Outputs: logits [B, T, vocab] (or the loss),
// then the final states of all layers in order, each followed by its convolutions' last rows.
Graph gla_model_graph(const GlaConfig& config, const GlaGraph& graph);

// Forward, loss and the gradients of all parameters (models/differentiate); optimisers join theirs
// (models/optimisers).
Graph gla_gradient_graph(const GlaConfig& config, const GlaGraph& graph);

}  // namespace assay::models
