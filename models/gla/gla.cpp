#include "models/gla/gla.h"

#include <cmath>
#include <utility>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/opset/gla.h"
#include "models/differentiate/differentiate.h"
#include "models/gla/layer.h"
#include "models/training/batches.h"

namespace assay::models {
namespace {

std::vector<NamedArgument> arguments_of(const GlaOperands& x, int64_t chunk) {
  std::vector<NamedArgument> arguments{
      {"q", ValueArg{x.q}}, {"k", ValueArg{x.k}}, {"v", ValueArg{x.v}}, {"g", ValueArg{x.g}}};
  if (x.state) arguments.push_back({"initial_state", ValueArg{*x.state}});
  if (x.offsets) arguments.push_back({"cu_seqlens", IntListArg{*x.offsets, {}}});
  if (x.scale) arguments.push_back({"scale", *x.scale});
  arguments.push_back({"chunk_size", chunk});
  return arguments;
}

// Row by row: products of [B, H, K, 1] and [B, H, 1, V], and a matrix product to read.
GlaResult recurrent(Emitter& e, const GlaOperands& x, const GlaCall& gla) {
  std::vector<ValueId> outputs, states;
  const DType v_dtype = e.dtype(x.v);
  std::vector<std::vector<GlaSequence>> groups;
  if (!gla.packed && !gla.sequences.empty()) groups.push_back(gla.sequences);
  for (const GlaSequence& s : gla.sequences) {
    if (gla.packed) groups.push_back({s});
  }
  int64_t rows_done = 0;
  for (const auto& group : groups) {
    const auto count = static_cast<int64_t>(group.size());
    const Shape shape{count, gla.heads, gla.key, gla.value};
    ValueId state = !x.state      ? e.full(shape, 0, gla.state)
                    : !gla.packed ? *x.state
                                  : e.slice(*x.state, 0, group[0].number, group[0].number + 1);
    for (int64_t t = group[0].start; t < group[0].end; ++t) {
      const auto row = [&](ValueId id) { return e.cast(e.select(id, 1, t), gla.state); };
      const ValueId decay = e.unsqueeze(e.unary("exp", row(x.g)), -1);
      const ValueId write = e.mul(e.unsqueeze(row(x.k), -1), e.unsqueeze(row(x.v), -2));
      state = e.add(e.mul(decay, state), write);
      const ValueId read = e.sum(e.mul(e.unsqueeze(row(x.q), -1), state), {2});
      outputs.push_back(e.unsqueeze(e.mul_number(read, gla.scale), 1));
    }
    rows_done = group[0].end;
    states.push_back(state);
  }
  if (rows_done < gla.length || outputs.empty()) {
    outputs.push_back(e.full({gla.batch, gla.length - rows_done, gla.heads, gla.value}, 0, gla.state));
  }
  if (states.empty()) states.push_back(e.full(gla.state_shape(), 0, gla.state));
  return {e.cast(e.cat(outputs, 1), v_dtype), e.cat(states, 0)};
}

// One row with a state: O(1) memory and time.
GlaResult step(Emitter& e, const GlaOperands& x) {
  std::vector<NamedArgument> arguments;
  for (const auto& [name, id] : {std::pair{"q", x.q}, {"k", x.k}, {"v", x.v}, {"g", x.g}}) {
    arguments.push_back({name, ValueArg{e.select(id, 1, 0)}});
  }
  arguments.push_back({"state", ValueArg{*x.state}});
  if (x.scale) arguments.push_back({"scale", *x.scale});
  const auto results = e.call_all("assay::gla_recurrent_step.default", arguments);
  return {e.unsqueeze(results[0], 1), results[1]};
}

}  // namespace

GlaResult gla_attention(Emitter& e, const GlaOperands& x, int64_t chunk, bool row_by_row) {
  const std::vector<NamedArgument> arguments = arguments_of(x, chunk);
  if (row_by_row) {
    Node probe;
    probe.op = probe.name = "assay::gla_chunk.default";
    probe.arguments = arguments;
    return recurrent(e, x, gla_call(OpCall(e.builder().graph(), probe)));
  }
  if (x.state && !x.offsets && e.size(x.q, 1) == 1) return step(e, x);
  const auto results = e.call_all("assay::gla_chunk.default", arguments);
  return {results[0], results[1]};
}

Graph gla_layer_graph(const GlaConfig& config, const GlaGraph& graph) {
  GraphBuilder builder("gla_layer");
  GlaBuilder gla(builder, config, graph);
  const ValueId x = builder.input("x", graph.dtype, {graph.batch, graph.length, config.hidden_size});
  gla.read_mask();
  builder.output(gla.attention(x, "", ""));
  for (const ValueId state : gla.states()) builder.output(state);
  return finished_gla(builder, graph.form);
}

Graph gla_model_graph(const GlaConfig& config, const GlaGraph& graph) {
  GraphBuilder builder("gla_model");
  GlaBuilder gla(builder, config, graph);
  Emitter& e = gla.emit();
  const Batch batch = model_batch(e, graph.batches, graph.batch, graph.length, graph.loss);
  gla.read_mask();
  const ValueId table = gla.parameter("model.embeddings.weight", {config.vocab_size, config.hidden_size});
  ValueId x = e.call("aten::embedding.default",
                     {{"weight", ValueArg{table}}, {"indices", ValueArg{batch.input_ids}}});
  for (int64_t n = 0; n < config.num_hidden_layers; ++n) {
    const std::string prefix = "model.layers." + std::to_string(n) + ".";
    const ValueId normed = gla.norm(x, prefix + "attn_norm.weight");
    x = e.add(x, gla.attention(normed, prefix + "attn.", "_" + std::to_string(n)));
    const ValueId second = gla.norm(x, prefix + "mlp_norm.weight");
    x = e.add(x, gla.mlp(second, prefix + "mlp."));
  }
  x = gla.norm(x, "model.norm.weight");
  const ValueId logits =
      config.tie_word_embeddings
          ? e.call("aten::linear.default", {{"input", ValueArg{x}}, {"weight", ValueArg{table}}})
          : gla.linear(x, "lm_head", config.vocab_size);
  builder.output(graph.loss ? mean_cross_entropy(e, logits, batch.labels) : logits);
  for (const ValueId state : gla.states()) builder.output(state);
  return finished_gla(builder, graph.form);
}

Graph gla_gradient_graph(const GlaConfig& config, const GlaGraph& graph) {
  GlaGraph with_loss = graph;
  with_loss.loss = true;
  JointOptions options;
  options.outputs = {0};
  Graph joint = joint_graph(gla_model_graph(config, with_loss), options);
  // The gradient of a fused operator may be fused too.
  if (graph.form != GlaForm::fused) decompose(joint);
  return joint;
}

}  // namespace assay::models
