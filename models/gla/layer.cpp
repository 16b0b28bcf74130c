#include "models/gla/layer.h"

#include "core/decompose/decompose.h"
#include "core/error.h"

namespace assay::models {

GlaBuilder::GlaBuilder(GraphBuilder& builder, const GlaConfig& config, const GlaGraph& graph)
    : LayerBuilder(builder, graph.dtype, graph.parameters, config.norm_eps), config_(config), graph_(graph) {
  config.check();
  if (graph.batch < 0 || graph.length < 0) {
    throw Error(ErrorCode::invalid_argument, "GLA: batch and length cannot be negative");
  }
  if (graph.offsets && graph.mask) {
    throw Error(ErrorCode::invalid_argument,
                "GLA: packed sequences have no padding; leave out mask or offsets");
  }
  if (graph.offsets && config.use_short_conv) {
    throw Error(ErrorCode::unsupported, "GLA: short convolutions over packed sequences are not built");
  }
}

void GlaBuilder::read_mask() {
  if (!graph_.mask) return;
  const ValueId mask = e_.builder().input("mask", DType::boolean, {graph_.batch, graph_.length});
  mask_ = e_.unsqueeze(mask, -1);
}

ValueId GlaBuilder::without_padding(ValueId x) { return mask_ ? e_.masked(*mask_, x) : x; }

ValueId GlaBuilder::heads(ValueId x, int64_t count, int64_t size) {
  return e_.view(x, {graph_.batch, graph_.length, count, size});
}

// Head h of k, v and g serves the query heads h groups ... (h + 1) groups - 1.
ValueId GlaBuilder::shared_heads(ValueId x) {
  const int64_t groups = config_.num_heads / config_.kv_heads();
  if (groups == 1) return x;
  const Shape shape = e_.shape(x);
  const ValueId wide = e_.expand(e_.unsqueeze(x, 3), {shape[0], shape[1], shape[2], groups, shape[3]});
  return e_.view(wide, {shape[0], shape[1], shape[2] * groups, shape[3]});
}

ValueId GlaBuilder::feature_map(ValueId x) {
  if (config_.feature_map == "relu") return e_.unary("relu", x);
  if (config_.feature_map == "swish") return e_.unary("silu", x);
  if (config_.feature_map == "elu") return e_.add_number(e_.unary("elu", x), 1);
  return x;
}

// Causal, one filter a channel, then silu; the rows before the first are the state, or 0.
ValueId GlaBuilder::short_convolution(ValueId x, const std::string& prefix, const std::string& which,
                                      const std::string& suffix) {
  if (!config_.use_short_conv) return x;
  const int64_t channels = e_.size(x, -1), before = config_.conv_size - 1;
  const Shape shape{graph_.batch, before, channels};
  const ValueId history = graph_.state ? e_.builder().input("conv_" + which + suffix, graph_.dtype, shape)
                                       : e_.full(shape, 0, graph_.dtype);
  const ValueId rows = before > 0 ? e_.cat({history, x}, 1) : x;
  states_.push_back(e_.slice(rows, 1, graph_.length, graph_.length + before));
  const ValueId weight = parameter(prefix + which + "_conv1d.weight", {channels, 1, config_.conv_size});
  if (graph_.length == 0) return x;
  const ValueId y = e_.call("aten::convolution.default", {{"input", ValueArg{e_.transpose(rows, 1, 2)}},
                                                          {"weight", ValueArg{weight}},
                                                          {"bias", NoneArg{}},
                                                          {"stride", IntListArg{{1}, {}}},
                                                          {"padding", IntListArg{{0}, {}}},
                                                          {"dilation", IntListArg{{1}, {}}},
                                                          {"transposed", false},
                                                          {"output_padding", IntListArg{{0}, {}}},
                                                          {"groups", channels}});
  return e_.unary("silu", e_.transpose(y, 1, 2));
}

ValueId GlaBuilder::attention(ValueId x, const std::string& prefix, const std::string& suffix) {
  const int64_t groups = config_.num_heads / config_.kv_heads();
  const int64_t keys = config_.key_size(), values = config_.value_size();
  const int64_t head_key = config_.head_key(), head_value = config_.head_value();
  const auto projected = [&](const char* name, int64_t size) {
    const ValueId y = without_padding(linear(x, prefix + name + "_proj", size));
    return short_convolution(y, prefix, name, suffix);
  };
  const std::size_t first_state = states_.size();
  const ValueId q = projected("q", keys);
  // What the convolutions make of the rows before it does not enter the state at a padded row.
  const ValueId k = without_padding(projected("k", keys / groups));
  const ValueId v = without_padding(projected("v", values / groups));
  const ValueId low = linear(x, prefix + "gk_proj.0", config_.gate_low_rank_dim);
  const ValueId logits = linear(low, prefix + "gk_proj.1", keys / groups, true);
  // The gate is kept in f32: sums of it in 16 bits lose the decay (facts of the chunked form).
  const DType wide = graph_.dtype == DType::f64 ? DType::f64 : DType::f32;
  ValueId g = e_.composite("aten::log_sigmoid.default", {{"self", ValueArg{e_.cast(logits, wide)}}},
                           {wide, e_.shape(logits)});
  g = e_.mul_number(g, 1 / config_.gate_logit_normalizer);
  if (config_.clamp_min) {
    g = e_.call("aten::clamp.default", {{"self", ValueArg{g}}, {"min", *config_.clamp_min}});
  }
  g = without_padding(g);

  GlaOperands operands;
  operands.q = feature_map(heads(q, config_.num_heads, head_key));
  operands.k = shared_heads(feature_map(heads(k, config_.kv_heads(), head_key)));
  operands.v = shared_heads(heads(v, config_.kv_heads(), head_value));
  operands.g = shared_heads(heads(g, config_.kv_heads(), head_key));
  operands.offsets = graph_.offsets;
  if (graph_.state) {
    const int64_t sequences =
        graph_.offsets ? static_cast<int64_t>(graph_.offsets->size()) - 1 : graph_.batch;
    operands.state = e_.cast(e_.builder().input("state" + suffix, config_.state_dtype.value_or(wide),
                                                {sequences, config_.num_heads, head_key, head_value}),
                             wide);
  }
  const GlaResult result = gla_attention(e_, operands, config_.chunk_size, graph_.form == GlaForm::recurrent);
  states_.insert(states_.begin() + static_cast<std::ptrdiff_t>(first_state),
                 e_.cast(result.state, config_.state_dtype.value_or(wide)));

  ValueId o = norm(result.output, prefix + "g_norm.weight", config_.elementwise_affine);
  if (config_.use_output_gate) {
    const ValueId gate = heads(linear(x, prefix + "g_proj", values), config_.num_heads, head_value);
    o = e_.mul(o, e_.unary("silu", gate));
  }
  return linear(e_.view(o, {graph_.batch, graph_.length, values}), prefix + "o_proj", config_.hidden_size);
}

Graph finished_gla(GraphBuilder& builder, GlaForm form) {
  Graph made = builder.build();
  if (form == GlaForm::fused) {
    decompose(made, [](const std::string& op) { return op.starts_with("assay::"); });
  } else {
    decompose(made);
  }
  return made;
}

}  // namespace assay::models
