#include "models/transformer/transformer.h"

#include <fmt/format.h>

#include <string>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "models/differentiate/differentiate.h"
#include "models/layer_builder.h"
#include "models/training/batches.h"

namespace assay::models {
namespace {

class TransformerBuilder : public LayerBuilder {
 public:
  TransformerBuilder(GraphBuilder& builder, const TransformerConfig& config, const TransformerGraph& graph)
      : LayerBuilder(builder, graph.dtype, graph.parameters, config.norm_eps),
        config_(config),
        graph_(graph) {}

  ValueId logits(ValueId ids) {
    const ValueId table = parameter("model.embed_tokens.weight", {config_.vocab_size, config_.hidden_size});
    const ValueId positions =
        parameter("model.embed_positions.weight", {config_.max_positions, config_.hidden_size});
    ValueId x = e_.call("aten::embedding.default", {{"weight", ValueArg{table}}, {"indices", ValueArg{ids}}});
    x = e_.add(x, e_.slice(positions, 0, 0, graph_.length));
    for (int64_t n = 0; n < config_.num_hidden_layers; ++n) {
      const std::string prefix = "model.layers." + std::to_string(n) + ".";
      x = e_.add(x, attention(norm(x, prefix + "attn_norm.weight"), prefix + "attn."));
      x = e_.add(x,
                 gated_mlp(norm(x, prefix + "mlp_norm.weight"), prefix + "mlp.", config_.intermediate_size));
    }
    return linear(norm(x, "model.norm.weight"), "lm_head", config_.vocab_size);
  }

 private:
  ValueId attention(ValueId x, const std::string& prefix) {
    const int64_t size = config_.hidden_size / config_.num_heads;
    const auto heads = [&](const char* name) {
      const ValueId y = linear(x, prefix + name + "_proj", config_.hidden_size);
      return e_.transpose(e_.view(y, {graph_.batch, graph_.length, config_.num_heads, size}), 1, 2);
    };
    const ValueId q = heads("q"), k = heads("k"), v = heads("v");
    const ValueId o =
        e_.call("aten::scaled_dot_product_attention.default",
                {{"query", ValueArg{q}}, {"key", ValueArg{k}}, {"value", ValueArg{v}}, {"is_causal", true}});
    const ValueId joined = e_.view(e_.transpose(o, 1, 2), {graph_.batch, graph_.length, config_.hidden_size});
    return linear(joined, prefix + "o_proj", config_.hidden_size);
  }
  const TransformerConfig& config_;
  const TransformerGraph& graph_;
};

}  // namespace

void TransformerConfig::check() const {
  const auto at_least_one = [](const char* field, int64_t value) {
    if (value >= 1) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("transformer: {} is {}; it must be at least 1", field, value));
  };
  at_least_one("hidden_size", hidden_size);
  at_least_one("num_hidden_layers", num_hidden_layers);
  at_least_one("num_heads", num_heads);
  at_least_one("intermediate_size", intermediate_size);
  at_least_one("vocab_size", vocab_size);
  at_least_one("max_positions", max_positions);
  if (hidden_size % num_heads != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("transformer: hidden_size is {}, which num_heads = {} does not divide",
                            hidden_size, num_heads));
  }
}

int64_t TransformerConfig::parameters() const {
  const int64_t layer = 4 * hidden_size * hidden_size + 3 * hidden_size * intermediate_size + 2 * hidden_size;
  return num_hidden_layers * layer + hidden_size + (2 * vocab_size + max_positions) * hidden_size;
}

Graph transformer_graph(const TransformerConfig& config, const TransformerGraph& graph) {
  config.check();
  if (graph.batch < 1 || graph.length < 1 || graph.length > config.max_positions) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("transformer: batch {} and length {}; both must be at least 1, and the length at most "
                    "max_positions = {}",
                    graph.batch, graph.length, config.max_positions));
  }
  GraphBuilder builder("transformer");
  TransformerBuilder model(builder, config, graph);
  Emitter& e = model.emit();
  const Batch batch = model_batch(e, graph.batches, graph.batch, graph.length, graph.loss);
  const ValueId logits = model.logits(batch.input_ids);
  builder.output(graph.loss ? mean_cross_entropy(e, logits, batch.labels) : logits);
  Graph made = builder.build();
  decompose(made);
  return made;
}

Graph transformer_gradient_graph(const TransformerConfig& config, const TransformerGraph& graph) {
  TransformerGraph with_loss = graph;
  with_loss.loss = true;
  JointOptions options;
  options.outputs = {0};
  Graph joint = joint_graph(transformer_graph(config, with_loss), options);
  decompose(joint);
  return joint;
}

}  // namespace assay::models
