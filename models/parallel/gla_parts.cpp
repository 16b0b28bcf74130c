#include "models/parallel/gla_parts.h"

#include <string>
#include <utility>

#include "core/error.h"
#include "models/differentiate/differentiate.h"
#include "models/gla/layer.h"
#include "models/training/batches.h"

namespace assay::models {
namespace {

int64_t share(int64_t whole, int64_t tp, const char* what) {
  if (tp >= 1 && whole % tp == 0) return whole / tp;
  throw Error(ErrorCode::invalid_argument, "tensor parallelism of " + std::to_string(tp) +
                                               " ranks does not divide the " + std::to_string(whole) + " " +
                                               what);
}

struct Stream {
  ValueId x, normed;
};
// x + r and its norm.
Stream read_stream(GlaBuilder& gla, const GlaConfig& config, const GlaGraph& graph, const char* norm) {
  Emitter& e = gla.emit();
  const Shape shape{graph.batch, graph.length, config.hidden_size};
  const ValueId x = e.builder().input("x", graph.dtype, shape);
  const ValueId sum = e.add(x, e.builder().input("r", graph.dtype, shape));
  return {sum, gla.norm(sum, norm)};
}

}  // namespace

GlaConfig rank_config(const GlaConfig& whole, int64_t tp) {
  whole.check();
  GlaConfig rank = whole;
  rank.num_heads = share(whole.num_heads, tp, "heads");
  if (whole.num_kv_heads) rank.num_kv_heads = share(*whole.num_kv_heads, tp, "heads of keys and values");
  rank.intermediate_size = share(whole.mlp_size(), tp, "columns of the MLP");
  rank.set_head_sizes(whole.head_key(), whole.head_value());
  rank.vocab_size = (whole.vocab_size + tp - 1) / tp;
  return rank;
}

Graph gla_attention_part(const GlaPart& part) {
  const GlaConfig config = rank_config(part.whole, part.tp);
  GraphBuilder builder("gla_attention");
  GlaBuilder gla(builder, config, part.graph);
  const Stream stream = read_stream(gla, config, part.graph, "attn_norm.weight");
  builder.output(stream.x);
  builder.output(gla.attention(stream.normed, "attn.", ""));
  if (part.graph.state) {
    for (const ValueId state : gla.states()) builder.output(state);
  }
  return finished_gla(builder, part.graph.form);
}

Graph gla_mlp_part(const GlaPart& part) {
  const GlaConfig config = rank_config(part.whole, part.tp);
  GraphBuilder builder("gla_mlp");
  GlaBuilder gla(builder, config, part.graph);
  const Stream stream = read_stream(gla, config, part.graph, "mlp_norm.weight");
  builder.output(stream.x);
  builder.output(gla.mlp(stream.normed, "mlp."));
  return finished_gla(builder, part.graph.form);
}

Graph gla_embedding_part(const GlaPart& part) {
  const GlaConfig config = rank_config(part.whole, part.tp);
  GraphBuilder builder("gla_embedding");
  GlaBuilder gla(builder, config, part.graph);
  const ValueId ids = builder.input("input_ids", DType::i64, {part.graph.batch, part.graph.length});
  const ValueId table = gla.parameter("embeddings.weight", {config.vocab_size, config.hidden_size});
  builder.output(
      gla.emit().call("aten::embedding.default", {{"weight", ValueArg{table}}, {"indices", ValueArg{ids}}}));
  return finished_gla(builder, part.graph.form);
}

Graph gla_head_part(const GlaPart& part) {
  const GlaConfig config = rank_config(part.whole, part.tp);
  GraphBuilder builder("gla_head");
  GlaBuilder gla(builder, config, part.graph);
  const Stream stream = read_stream(gla, config, part.graph, "norm.weight");
  const ValueId logits = gla.linear(stream.normed, "lm_head", config.vocab_size);
  if (part.graph.loss) {
    const ValueId labels = builder.input("labels", DType::i64, {part.graph.batch, part.graph.length});
    builder.output(mean_cross_entropy(gla.emit(), logits, labels));
  } else {
    builder.output(logits);
  }
  return finished_gla(builder, part.graph.form);
}

Graph gla_joint_part(const Graph& part) {
  JointOptions options;
  for (const GraphInput& input : part.inputs) {
    if (input.kind == InputKind::parameter) options.wrt.push_back(input.target);
  }
  for (const GraphInput& input : part.inputs) {
    if (input.target == "x" || input.target == "state") options.wrt.push_back(input.target);
  }
  return simplified(joint_graph(part, options));
}

PartitionedGraph gla_part_passes(const Graph& part) {
  return partition(gla_joint_part(part), static_cast<int>(part.outputs.size()));
}

}  // namespace assay::models
