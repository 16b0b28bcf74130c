// Backward operators, batch norm in training, recurrent layers. A backward operator takes what its forward
// operator takes, so that most rules ask the forward operator's rule which shape the gradient must have.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

// What the forward operator would give for the same arguments. `self`: the tensor that the backward operator
// knows the shape of alone. The sentences of its rule are about this operator's arguments. Empty where it has
// no rule.
Metas forward_results(const OpCall& call, const std::string& forward,
                      const std::optional<TensorMeta>& self = {}) {
  const Schema* schema = find_schema(forward);
  if (schema == nullptr) return {};
  std::vector<TensorMeta> inputs = call.inputs();
  std::vector<NamedArgument> arguments;
  for (const SchemaArgument& argument : schema->arguments) {
    const std::string& name = argument.name;
    if (call.schema().find(name) != nullptr) {
      for (const NamedArgument& given : call.arguments()) {
        if (given.name == name) arguments.push_back(given);
      }
    } else if (self && name == "self") {
      arguments.push_back({name, ValueArg{static_cast<ValueId>(inputs.size())}});
      inputs.push_back(*self);
    }
  }
  try {
    return infer(OpCall(forward, inputs, arguments)).value_or(Metas{});
  } catch (const Error& error) {
    std::string text = error.what();
    if (text.starts_with(forward)) text.replace(0, forward.size(), call.op());
    throw Error(error.code(), text);
  }
}

// Gradient of `of`, a tensor argument, given that of the forward operator's first result.
struct Backward {
  const char *name, *forward, *gradient;
};
constexpr Backward kOfSelf[] = {
    {"avg_pool3d_backward", "avg_pool3d", "grad_output"},
    {"max_pool3d_with_indices_backward", "max_pool3d_with_indices", "grad_output"},
    {"reflection_pad1d_backward", "reflection_pad1d", "grad_output"},
    {"reflection_pad2d_backward", "reflection_pad2d", "grad_output"},
    {"reflection_pad3d_backward", "reflection_pad3d", "grad_output"},
    {"replication_pad1d_backward", "replication_pad1d", "grad_output"},
    {"replication_pad2d_backward", "replication_pad2d", "grad_output"},
    {"replication_pad3d_backward", "replication_pad3d", "grad_output"},
};

Metas of_self(const OpCall& call, const Backward& entry) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kInexact);
  require_same_dtype(call, entry.gradient, "self");
  const Metas results = forward_results(call, std::string("aten::") + entry.forward + ".default");
  if (!results.empty()) require_shape(call, entry.gradient, results[0].shape);
  if (call.schema().find("indices") != nullptr) {
    require_shape(call, "indices", meta(call, entry.gradient).shape);
    require_index(call, "indices", false);
  }
  return {self};
}

// The input's sizes are an argument, and nothing of the input itself.
struct FromSizes {
  const char *name, *forward, *gradient, *sizes;
};
constexpr FromSizes kFromSizes[] = {
    {"slice_backward", "slice.Tensor", "grad_output", "input_sizes"},
    {"select_backward", "select.int", "grad_output", "input_sizes"},
    {"index_select_backward", "index_select.default", "grad", "self_sizes"},
};

Metas from_sizes(const OpCall& call, const FromSizes& entry) {
  const TensorMeta self{meta(call, entry.gradient).dtype, call.integers(entry.sizes)};
  require_sizes(call, entry.sizes, self.shape);
  const Metas results = forward_results(call, std::string("aten::") + entry.forward, self);
  if (!results.empty()) require_shape(call, entry.gradient, results[0].shape);
  return {self};
}

Metas unfold_backward(const OpCall& call) {
  const TensorMeta& gradient = meta(call, "grad_in");
  const Shape sizes = call.integers("input_sizes");
  require_sizes(call, "input_sizes", sizes);
  if (sizes.empty()) return {{gradient.dtype, sizes}};
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(sizes.size()), call);
  const int64_t size = call.integer("size"), step = call.integer("step");
  const int64_t whole = sizes[static_cast<std::size_t>(dim)];
  if (step <= 0) fail(call, "step is {}; it must be positive", step);
  if (size < 0 || size > whole)
    fail(call, "size is {}; it must be within [0, {}], the size of dim {}", size, whole, dim);
  Shape expected = sizes;
  expected[static_cast<std::size_t>(dim)] = (whole - size) / step + 1;
  expected.push_back(size);
  require_shape(call, "grad_in", expected);
  return {{gradient.dtype, sizes}};
}

Metas selected_backward(const OpCall& call) {
  const TensorMeta& gradient = meta(call, "grad");
  const Shape sizes = call.integers("sizes");
  require_sizes(call, "sizes", sizes);
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(sizes.size()), call);
  const Shape expected = sizes.empty() ? Shape{} : reduced_shape(sizes, {dim}, call.boolean("keepdim"));
  require_shape(call, "grad", expected);
  require_shape(call, "indices", expected);
  require_index(call, "indices", false);
  return {{gradient.dtype, sizes}};
}

Metas masked_select_backward(const OpCall& call) {
  require_kind(call, "mask", meta(call, "mask").dtype, kBool);
  return {{meta(call, "grad").dtype, broadcast(meta(call, "input").shape, meta(call, "mask").shape, call)}};
}

// Pointwise gradients: grad_output and what the forward pass kept, broadcast and promoted.
struct Pointwise {
  const char *name, *kept, *gradient = "grad_output";
};
constexpr Pointwise kPointwise[] = {
    {"elu_backward", "self_or_result"}, {"hardsigmoid_backward", "self"},
    {"hardswish_backward", "self"},     {"hardtanh_backward", "self"},
    {"leaky_relu_backward", "self"},    {"logit_backward", "self"},
    {"mish_backward", "self"},          {"softplus_backward", "self"},
    {"softshrink_backward", "self"},    {"hardshrink_backward", "self", "grad_out"},
};

Metas pointwise(const OpCall& call, const Pointwise& entry) {
  const Operands in = operands(call, {entry.gradient, entry.kept});
  require_kind(call, entry.gradient, meta(call, entry.gradient).dtype, kFloat);
  require_kind(call, entry.kept, meta(call, entry.kept).dtype, kFloat);
  return {{in.type(), in.shape}};
}

Metas log_sigmoid_forward(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  return {self, self};
}
Metas log_sigmoid_backward(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  require_same_dtype(call, "grad_output", "self");
  require_shape(call, "grad_output", self.shape);
  return {self};
}

Metas glu_backward(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  if (self.shape.empty()) fail(call, "self is a 0-d tensor; it must have at least 1 dim");
  Shape half = self.shape;
  int64_t& size = half[static_cast<std::size_t>(dim)];
  if (size % 2 != 0) fail(call, "dim {} of self has size {}; it must be even", dim, size);
  size /= 2;
  require_shape(call, "grad_output", half);
  return {self};
}

Metas prelu(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  require_same_dtype(call, "weight", "self");
  return {{self.dtype, broadcast(self.shape, meta(call, "weight").shape, call)}};
}
Metas prelu_backward(const OpCall& call) {
  const TensorMeta result = prelu(call)[0];
  return {result, result};
}

// Losses: self and target broadcast; the gradient is that of the loss, of one number where it is reduced.
Metas loss_backward(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  Shape shape = broadcast(self.shape, meta(call, "target").shape, call);
  require_expands(call, "grad_output", meta(call, "grad_output").shape, shape);
  const int64_t reduction = call.integer("reduction");
  if (reduction < 0 || reduction > 2) fail(call, "reduction is {}; it must be 0, 1 or 2", reduction);
  return {{self.dtype, shape}};
}

// Classes along dim 1, or 0 without a batch; returns the targets' shape.
Shape nll_targets(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  const bool images = call.op().find("2d") != std::string::npos;
  if (images) {
    require_rank(call, "self", 4);
  } else {
    require_rank(call, "self", 1, 2);
  }
  const std::size_t dim = self.shape.size() == 1 ? 0 : 1;
  Shape expected = self.shape;
  expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(dim));
  require_kind(call, "target", meta(call, "target").dtype, kInt);
  require_shape(call, "target", expected);
  if (meta_opt(call, "weight") != nullptr) {
    require_shape(call, "weight", {self.shape[dim]});
    require_same_dtype(call, "weight", "self");
  }
  return expected;
}
Metas nll_forward(const OpCall& call) {
  const Shape targets = nll_targets(call);
  const DType dtype = meta(call, "self").dtype;
  return {{dtype, call.integer("reduction") == 0 ? targets : Shape{}}, {dtype, {}}};
}
Metas nll_backward(const OpCall& call) {
  const Shape targets = nll_targets(call);
  require_shape(call, "grad_output", call.integer("reduction") == 0 ? targets : Shape{});
  return {meta(call, "self")};
}

// grad_output [N, C, output_size...], result [N, C, input size...].
Metas upsample_backward(const OpCall& call, std::size_t spatial) {
  const TensorMeta& gradient = meta(call, "grad_output");
  require_kind(call, "grad_output", gradient.dtype, kFloat);
  const Shape out = call.integers("output_size"), in = call.integers("input_size");
  require_length(call, "output_size", out.size(), spatial);
  require_length(call, "input_size", in.size(), spatial + 2);
  for (std::size_t d = 0; d < spatial; ++d) {
    if (out[d] < 1) fail(call, "output_size is {}; every size must be positive", to_string(out));
    if (in[d + 2] < 1) fail(call, "input_size is {}; its spatial sizes must be positive", to_string(in));
  }
  require_sizes(call, "input_size", in);
  Shape expected{in[0], in[1]};
  expected.insert(expected.end(), out.begin(), out.end());
  require_shape(call, "grad_output", expected);
  return {{gradient.dtype, in}};
}

Metas grid_sampler_backward(const OpCall& call, const char* forward) {
  require_length(call, "output_mask", call.booleans("output_mask").size(), 2);
  require_same_dtype(call, "grad_output", "input");
  const Metas results = forward_results(call, forward);
  if (!results.empty()) require_shape(call, "grad_output", results[0].shape);
  return {meta(call, "input"), meta(call, "grid")};
}

Metas cumprod_backward(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  require_shape(call, "grad", input.shape);
  require_shape(call, "output", input.shape);
  normalise_dim(call.integer("dim"), rank(input), call);
  return {{meta(call, "grad").dtype, input.shape}};
}

// Each maximum's gradient goes to the element that was chosen.
Metas adaptive_max_pool_backward(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  require_same_dtype(call, "grad_output", "self");
  require_rank(call, "grad_output", rank(self));
  require_shape(call, "indices", meta(call, "grad_output").shape);
  require_index(call, "indices", false);
  return {self};
}

Metas adaptive_avg_pool3d_backward(const OpCall& call) {
  require_rank(call, "self", 4, 5);
  require_rank(call, "grad_output", rank(meta(call, "self")));
  require_same_dtype(call, "grad_output", "self");
  return {meta(call, "self")};
}

Metas embedding_bag_backward(const OpCall& call) {
  require_rank(call, "grad", 2);
  const TensorMeta& gradient = meta(call, "grad");
  require_kind(call, "grad", gradient.dtype, kFloat);
  require_index(call, "indices");
  const int64_t rows = call.integer("num_weights");
  if (rows < 0) fail(call, "num_weights is {}; it cannot be negative", rows);
  return {{gradient.dtype, {rows, gradient.shape[1]}}};
}

Shape normalised_tail(const OpCall& call, const TensorMeta& input) {
  const Shape tail = call.integers("normalized_shape");
  if (tail.empty() || tail.size() > input.shape.size() ||
      !std::equal(tail.rbegin(), tail.rend(), input.shape.rbegin())) {
    fail(call, "input has shape {}; its last sizes must be normalized_shape, {}", to_string(input.shape),
         to_string(tail));
  }
  if (meta_opt(call, "weight") != nullptr) require_shape(call, "weight", tail);
  return tail;
}
Metas fused_rms_norm(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  const Shape tail = normalised_tail(call, input);
  Shape statistics = input.shape;
  for (std::size_t d = statistics.size() - tail.size(); d < statistics.size(); ++d) statistics[d] = 1;
  return {input, {input.dtype == DType::f64 ? DType::f64 : DType::f32, statistics}};
}
Metas fused_rms_norm_backward(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  const Shape tail = normalised_tail(call, input);
  require_shape(call, "grad_out", input.shape);
  require_length(call, "output_mask", call.booleans("output_mask").size(), 2);
  const TensorMeta* weight = meta_opt(call, "weight");
  return {input, {weight != nullptr ? weight->dtype : input.dtype, tail}};
}

Metas native_batch_norm(const OpCall& call) {
  Metas out =
      forward_results(call, call.boolean("training") ? "aten::_native_batch_norm_legit.no_stats"
                                                     : "aten::_native_batch_norm_legit_no_training.default");
  if (!call.boolean("training")) return out;
  for (const char* name : {"running_mean", "running_var"}) {
    if (meta_opt(call, name) != nullptr) require_shape(call, name, {meta(call, "input").shape[1]});
  }
  return out;
}

// In training; the last result is scratch that only other devices use.
Metas batch_norm_with_update(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  if (rank(input) < 2) fail(call, "input has shape {}; it must have at least 2 dims", to_string(input.shape));
  const Shape channels{input.shape[1]};
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    if (meta_opt(call, name) != nullptr) require_shape(call, name, channels);
  }
  const TensorMeta* weight = meta_opt(call, "weight");
  const TensorMeta saved{weight != nullptr ? weight->dtype : input.dtype, channels};
  Metas out{input, saved, saved, {DType::u8, {0}}};
  if (call.schema().returns.size() > 4) {
    out.push_back(meta(call, "running_mean"));
    out.push_back(meta(call, "running_var"));
  }
  return out;
}

// input [T, N, features], states [layers * directions, N, size].
Metas recurrent_layers(const OpCall& call) {
  require_rank(call, "input", 3);
  const TensorMeta& input = meta(call, "input");
  require_kind(call, "input", input.dtype, kFloat);
  const bool lstm = call.op() == "aten::lstm.input";
  const std::vector<int> states = lstm ? call.tensors("hx") : std::vector<int>{call.tensor("hx")};
  if (lstm) require_length(call, "hx", states.size(), 2);
  const int64_t directions = call.boolean("bidirectional") ? 2 : 1, layers = call.integer("num_layers");
  if (layers < 1) fail(call, "num_layers is {}; it must be positive", layers);
  const int64_t batch = input.shape[call.boolean("batch_first") ? 0 : 1];
  Metas out{input};
  for (const int i : states) {
    TensorMeta state = call.input(i);
    if (state.dtype != input.dtype)
      fail(call, "hx has dtype {}; it must be {}, the dtype of input", name_of(state.dtype),
           name_of(input.dtype));
    if (state.shape.size() != 3 || state.shape[0] != layers * directions || state.shape[1] != batch) {
      fail(call, "hx has shape {}; it must be [{}, {}, size], layers times directions and batch",
           to_string(state.shape), layers * directions, batch);
    }
    out.push_back(state);
  }
  out[0].shape[2] = directions * out[1].shape[2];
  return out;
}

Metas recurrent_cell(const OpCall& call) {
  require_rank(call, "input", 2);
  require_rank(call, "hx", 2);
  const TensorMeta &input = meta(call, "input"), &state = meta(call, "hx");
  require_same_dtype(call, "hx", "input");
  require_shape(call, "w_ih", {state.shape[1], input.shape[1]});
  require_shape(call, "w_hh", {state.shape[1], state.shape[1]});
  if (state.shape[0] != input.shape[0])
    fail(call, "hx has shape {}; its batch must be that of input, {}", to_string(state.shape),
         input.shape[0]);
  return {state};
}

}  // namespace

void register_gradients(ShapeTable& table) {
  const auto add = [&](const std::string& name, auto rule) { table.add("aten::" + name + ".default", rule); };
  for (const Backward& entry : kOfSelf)
    add(entry.name, [entry](const OpCall& call) { return of_self(call, entry); });
  for (const FromSizes& entry : kFromSizes)
    add(entry.name, [entry](const OpCall& call) { return from_sizes(call, entry); });
  for (const Pointwise& entry : kPointwise)
    add(entry.name, [entry](const OpCall& call) { return pointwise(call, entry); });
  for (const char* name : {"mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward",
                           "binary_cross_entropy_backward"})
    add(name, loss_backward);
  for (const char* name : {"nll_loss_forward", "nll_loss2d_forward"}) add(name, nll_forward);
  for (const char* name : {"nll_loss_backward", "nll_loss2d_backward"}) add(name, nll_backward);
  add("unfold_backward", unfold_backward);
  add("value_selecting_reduction_backward", selected_backward);
  add("masked_select_backward", masked_select_backward);
  add("log_sigmoid_forward", log_sigmoid_forward);
  add("log_sigmoid_backward", log_sigmoid_backward);
  add("glu_backward", glu_backward);
  add("_prelu_kernel", prelu);
  add("_prelu_kernel_backward", prelu_backward);
  add("_adaptive_avg_pool3d_backward", adaptive_avg_pool3d_backward);
  add("_embedding_bag_dense_backward", embedding_bag_backward);
  add("_fused_rms_norm", fused_rms_norm);
  add("_fused_rms_norm_backward", fused_rms_norm_backward);
  add("native_batch_norm", native_batch_norm);
  add("_batch_norm_with_update", batch_norm_with_update);
  add("_batch_norm_with_update_functional", batch_norm_with_update);
  for (const char* name : {"upsample_nearest1d", "upsample_linear1d"})
    add(std::string(name) + "_backward", [](const OpCall& call) { return upsample_backward(call, 1); });
  for (const char* name : {"upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d"})
    add(std::string(name) + "_backward", [](const OpCall& call) { return upsample_backward(call, 2); });
  for (const char* name : {"upsample_nearest3d", "upsample_trilinear3d"})
    add(std::string(name) + "_backward", [](const OpCall& call) { return upsample_backward(call, 3); });
  add("grid_sampler_2d_backward",
      [](const OpCall& call) { return grid_sampler_backward(call, "aten::grid_sampler_2d.default"); });
  add("grid_sampler_3d_backward",
      [](const OpCall& call) { return grid_sampler_backward(call, "aten::grid_sampler_3d.default"); });
  add("cumprod_backward", cumprod_backward);
  add("adaptive_max_pool2d_backward", adaptive_max_pool_backward);
  add("adaptive_max_pool3d_backward", adaptive_max_pool_backward);
  add("rnn_tanh_cell", recurrent_cell);
  add("rnn_relu_cell", recurrent_cell);
  for (const char* name : {"lstm", "gru", "rnn_tanh", "rnn_relu"})
    table.add(std::string("aten::") + name + ".input", recurrent_layers);
}

}  // namespace assay
