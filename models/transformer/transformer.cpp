#include "models/transformer/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "models/differentiate/differentiate.h"
#include "models/training/batches.h"

namespace assay::models {
namespace {

class Builder {
 public:
  Builder(GraphBuilder& builder, const TransformerConfig& config, const TransformerGraph& graph)
      : e_(builder), config_(config), graph_(graph) {}

  ValueId logits(ValueId ids) {
    const ValueId table = parameter("model.embed_tokens.weight", {config_.vocab_size, config_.hidden_size});
    const ValueId positions =
        parameter("model.embed_positions.weight", {config_.max_positions, config_.hidden_size});
    ValueId x = e_.call("aten::embedding.default", {{"weight", ValueArg{table}}, {"indices", ValueArg{ids}}});
    x = e_.add(x, e_.slice(positions, 0, 0, graph_.length));
    for (int64_t n = 0; n < config_.num_hidden_layers; ++n) {
      const std::string prefix = "model.layers." + std::to_string(n) + ".";
      x = e_.add(x, attention(norm(x, prefix + "attn_norm.weight"), prefix + "attn."));
      x = e_.add(x, mlp(norm(x, prefix + "mlp_norm.weight"), prefix + "mlp."));
    }
    return linear(norm(x, "model.norm.weight"), "lm_head", config_.vocab_size);
  }

 private:
  ValueId parameter(const std::string& name, const Shape& shape) {
    std::string id = "p_" + name;
    std::replace(id.begin(), id.end(), '.', '_');
    return e_.builder().input(id, graph_.dtype, shape, InputKind::parameter, name);
  }
  ValueId linear(ValueId x, const std::string& name, int64_t out) {
    const ValueId weight = parameter(name + ".weight", {out, e_.size(x, -1)});
    return e_.call("aten::linear.default", {{"input", ValueArg{x}}, {"weight", ValueArg{weight}}});
  }
  ValueId norm(ValueId x, const std::string& name) {
    const int64_t size = e_.size(x, -1);
    return e_.call("aten::rms_norm.default", {{"input", ValueArg{x}},
                                              {"normalized_shape", IntListArg{{size}, {}}},
                                              {"weight", ValueArg{parameter(name, {size})}},
                                              {"eps", config_.norm_eps}});
  }
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
  ValueId mlp(ValueId x, const std::string& prefix) {
    const ValueId gate = linear(x, prefix + "gate_proj", config_.intermediate_size);
    const ValueId up = linear(x, prefix + "up_proj", config_.intermediate_size);
    return linear(e_.mul(e_.unary("silu", gate), up), prefix + "down_proj", config_.hidden_size);
  }

  Emitter e_;
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
  Emitter e(builder);
  Batch batch{-1, -1};
  if (graph.batches > 0) {
    batch = read_batch(e, graph.batches, graph.batch, graph.length);
  } else {
    batch.input_ids = builder.input("input_ids", DType::i64, {graph.batch, graph.length});
    if (graph.loss) batch.labels = builder.input("labels", DType::i64, {graph.batch, graph.length});
  }
  const ValueId logits = Builder(builder, config, graph).logits(batch.input_ids);
  if (graph.loss) {
    const int64_t count = graph.batch * graph.length;
    const ValueId flat = e.view(e.cast(logits, graph.dtype == DType::f64 ? DType::f64 : DType::f32),
                                {count, config.vocab_size});
    builder.output(
        e.composite("aten::cross_entropy_loss.default",
                    {{"self", ValueArg{flat}}, {"target", ValueArg{e.view(batch.labels, {count})}}},
                    {e.dtype(flat), {}}));
  } else {
    builder.output(logits);
  }
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
