#include "core/opset/classify.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/opset/attention.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// In-place operators also return an alias, "a!", but write it.
bool is_view_alias(const SchemaType& type) {
  return !type.alias.empty() && type.alias.find('!') == std::string::npos;
}

constexpr std::array<std::string_view, 34> kRandom = {
    "aten::bernoulli.Tensor",     "aten::bernoulli.default",         "aten::bernoulli.p",
    "aten::bernoulli_.Tensor",    "aten::bernoulli_.float",          "aten::cauchy.default",
    "aten::cauchy_.default",      "aten::dropout.default",           "aten::dropout_.default",
    "aten::exponential.default",  "aten::exponential_.default",      "aten::feature_dropout.default",
    "aten::geometric.default",    "aten::geometric_.default",        "aten::log_normal.default",
    "aten::log_normal_.default",  "aten::multinomial.default",       "aten::native_dropout.default",
    "aten::normal.Tensor_Tensor", "aten::normal.Tensor_float",       "aten::normal.float_Tensor",
    "aten::normal_.default",      "aten::normal_functional.default", "aten::rand.default",
    "aten::rand_like.default",    "aten::randint.default",           "aten::randint.low",
    "aten::randint_like.default", "aten::randint_like.low_dtype",    "aten::randn.default",
    "aten::randn_like.default",   "aten::randperm.default",          "aten::uniform.default",
    "aten::uniform_.default"};

constexpr std::array<std::string_view, 66> kCopies = {
    "aten::_upsample_nearest_exact1d.default",
    "aten::_upsample_nearest_exact1d.vec",
    "aten::_upsample_nearest_exact2d.default",
    "aten::_upsample_nearest_exact2d.vec",
    "aten::_upsample_nearest_exact3d.default",
    "aten::_upsample_nearest_exact3d.vec",
    "aten::cat.default",
    "aten::clone.default",
    "aten::constant_pad_nd.default",
    "aten::copy.default",
    "aten::copy_.default",
    "aten::embedding.default",
    "aten::empty.memory_format",
    "aten::empty_like.default",
    "aten::empty_permuted.default",
    "aten::empty_strided.default",
    "aten::fill.Scalar",
    "aten::flip.default",
    "aten::full.default",
    "aten::full_like.default",
    "aten::gather.default",
    "aten::im2col.default",
    "aten::index.Tensor",
    "aten::index_select.default",
    "aten::lift_fresh_copy.default",
    "aten::masked_fill.Scalar",
    "aten::masked_fill.Tensor",
    "aten::masked_fill_.Scalar",
    "aten::masked_scatter.default",
    "aten::new_full.default",
    "aten::new_ones.default",
    "aten::new_zeros.default",
    "aten::ones.default",
    "aten::ones_like.default",
    "aten::pad.default",
    "aten::reflection_pad1d.default",
    "aten::reflection_pad2d.default",
    "aten::reflection_pad3d.default",
    "aten::repeat.default",
    "aten::repeat_interleave.self_int",
    "aten::replication_pad1d.default",
    "aten::replication_pad2d.default",
    "aten::replication_pad3d.default",
    "aten::resize.default",
    "aten::resize_.default",
    "aten::resize_as.default",
    "aten::scatter.src",
    "aten::scatter.value",
    "aten::select_scatter.default",
    "aten::slice_scatter.default",
    "aten::stack.default",
    "aten::tile.default",
    "aten::tril.default",
    "aten::triu.default",
    "aten::upsample_nearest1d.default",
    "aten::upsample_nearest1d.vec",
    "aten::upsample_nearest2d.default",
    "aten::upsample_nearest2d.vec",
    "aten::upsample_nearest3d.default",
    "aten::upsample_nearest3d.vec",
    "aten::where.Scalar",
    "aten::where.ScalarOther",
    "aten::where.ScalarSelf",
    "aten::where.self",
    "aten::zeros.default",
    "aten::zeros_like.default",
};

// Read only in part: the argument that rows are taken from.
struct Table {
  std::string_view op;
  std::string_view argument;
};
constexpr std::array<Table, 4> kTables = {{{"aten::embedding.default", "weight"},
                                           {"aten::gather.default", "self"},
                                           {"aten::index.Tensor", "self"},
                                           {"aten::index_select.default", "self"}}};

// Rough operations an element where one is too few: subtract the maximum, exponentiate, add, divide; subtract
// the mean, square, add twice, scale, shift, and so on.
struct Weight {
  std::string_view op;
  double flops;
};
constexpr std::array<Weight, 18> kWeights = {{{"aten::_softmax.default", 5},
                                              {"aten::softmax.int", 5},
                                              {"aten::_log_softmax.default", 5},
                                              {"aten::log_softmax.int", 5},
                                              {"aten::_softmax_backward_data.default", 4},
                                              {"aten::_log_softmax_backward_data.default", 4},
                                              {"aten::native_layer_norm.default", 8},
                                              {"aten::layer_norm.default", 8},
                                              {"aten::native_layer_norm_backward.default", 12},
                                              {"aten::native_group_norm.default", 8},
                                              {"aten::group_norm.default", 8},
                                              {"aten::rms_norm.default", 4},
                                              {"aten::_native_batch_norm_legit_no_training.default", 2},
                                              {"aten::batch_norm.default", 2},
                                              {"aten::var.correction", 3},
                                              {"aten::linalg_vector_norm.default", 2},
                                              {"aten::addcmul.default", 3},
                                              {"aten::upsample_bilinear2d.vec", 7}}};

double count_of(const Shape& shape) {
  double count = 1;
  for (const int64_t size : shape) count *= static_cast<double>(std::max<int64_t>(size, 0));
  return count;
}

double bytes_in(const TensorMeta& meta) {
  return count_of(meta.shape) * static_cast<double>(size_of(meta.dtype));
}

// As the graph declares them, or as the shape rule gives them where nothing is declared.
std::vector<TensorMeta> results_of(const OpCall& call) {
  std::vector<TensorMeta> out;
  if (call.outputs().empty()) return infer(call).value_or(std::vector<TensorMeta>{});
  for (std::size_t i = 0; i < call.outputs().size(); ++i) {
    if (call.output_used(static_cast<int>(i))) out.push_back(call.outputs()[i]);
  }
  return out;
}

const Shape& shape_of(const OpCall& call, std::string_view name) {
  return call.input(call.tensor(name)).shape;
}

// The size `from_end` dims before the end; 1 where there is none, so that an unchecked call cannot go wrong
// here.
int64_t size_from_end(const OpCall& call, std::string_view name, std::size_t from_end) {
  const Shape& shape = shape_of(call, name);
  return shape.size() < from_end ? 1 : shape[shape.size() - from_end];
}

// One product and one sum for each element of the result and each of `inner`.
double product(double results, int64_t inner) { return 2 * results * static_cast<double>(inner); }

// Products of each weight with each position that it visits: positions of the output, or of the input where
// transposed.
double convolution_flops(const OpCall& call, const Shape& output) {
  const Shape& weight = shape_of(call, "weight");
  const Shape& input = shape_of(call, "input");
  const bool transposed = call.schema().find("transposed") != nullptr && call.boolean("transposed");
  double per_position = 1;
  for (std::size_t i = 1; i < weight.size(); ++i) per_position *= static_cast<double>(weight[i]);
  return 2 * per_position * count_of(transposed ? input : output);
}

double window_elements(const OpCall& call) {
  double out = 1;
  for (const int64_t size : call.integers("kernel_size")) out *= static_cast<double>(size);
  return out;
}

}  // namespace

bool is_metadata_op(std::string_view full_name) {
  if (full_name == "_operator::getitem" || full_name == "aten::_unsafe_view.default") return true;
  if (full_name.starts_with("aten::to.")) return false;  // returns self only if the dtype is the same already
  const Schema* schema = find_schema(full_name);
  if (schema == nullptr) return false;
  if (schema->returns.empty()) return schema->name.starts_with("aten::_assert");
  return std::all_of(schema->returns.begin(), schema->returns.end(), is_view_alias);
}

bool is_host_scalar_op(std::string_view full_name) {
  if (full_name.starts_with("_operator::")) return full_name != "_operator::getitem";
  if (full_name.starts_with("torch::sym_") || full_name.starts_with("math::")) return true;
  const Schema* schema = find_schema(full_name);
  if (schema == nullptr || schema->returns.empty()) return false;
  return std::none_of(schema->returns.begin(), schema->returns.end(),
                      [](const SchemaType& type) { return type.base == BaseType::tensor; });
}

bool is_random_op(std::string_view full_name) { return contains(kRandom, full_name); }
bool is_copy_op(std::string_view full_name) { return contains(kCopies, full_name); }

bool is_defined_result(const OpCall& call, std::size_t i) {
  if (i == 0 || call.op().find("embedding_bag") == std::string::npos || call.schema().returns.size() < 4)
    return true;
  const int64_t mode = call.integer("mode");
  constexpr int64_t kSum = 0, kMean = 1;
  return mode == kSum ? false : mode == kMean ? i < 3 : true;
}

namespace {

// Products of gated linear attention, key and value sizes K and V, by chunks of C rows: 4 K V + 2 C (K + V)
// a row and head; twice that and the states once more for the backward pass. Muon: three products a step.
double gla_flops(const OpCall& call) {
  if (call.op() == "assay::muon_orthogonalize.default") {
    const double low =
        static_cast<double>(std::min(size_from_end(call, "self", 2), size_from_end(call, "self", 1)));
    const double size = count_of(shape_of(call, "self"));
    return static_cast<double>(call.integer("steps")) * (4 * low * size + 2 * low * low * low);
  }
  const double key = static_cast<double>(size_from_end(call, "q", 1));
  const double value = static_cast<double>(size_from_end(call, "v", 1));
  const double rows = key > 0 ? count_of(shape_of(call, "q")) / key : 0;
  if (call.op() == "assay::gla_recurrent_step.default") return 5 * rows * key * value;
  const double chunk = static_cast<double>(std::min(call.integer("chunk_size"), size_from_end(call, "q", 3)));
  const double forward = rows * (4 * key * value + 2 * chunk * (key + value));
  return call.op() == "assay::gla_chunk.default" ? forward : 2 * forward + 2 * rows * key * value;
}
bool is_fused_model_op(std::string_view op) {
  return op.starts_with("assay::gla_") || op.starts_with("assay::muon_");
}

}  // namespace

double flops_of(const OpCall& call) {
  const std::string& op = call.op();
  if (is_metadata_op(op) || is_host_scalar_op(op) || is_copy_op(op)) return 0;
  const std::vector<TensorMeta> results = results_of(call);
  const double first = results.empty() ? 0 : count_of(results[0].shape);

  if (is_fused_model_op(op)) return gla_flops(call);
  if (op == "aten::mm.default" || op == "aten::bmm.default")
    return product(first, size_from_end(call, "self", 1));
  if (op == "aten::addmm.default") return product(first, size_from_end(call, "mat1", 1)) + first;
  if (op == "aten::baddbmm.default") return product(first, size_from_end(call, "batch1", 1)) + first;
  if (op == "aten::linear.default") {
    return product(first, size_from_end(call, "input", 1)) + (call.is_none("bias") ? 0 : first);
  }
  if (op == "aten::matmul.default") return product(first, size_from_end(call, "self", 1));
  if (is_attention(op) && !op.ends_with("_backward.default")) {
    const int64_t keys = size_from_end(call, "key", 2);
    const double width = static_cast<double>(std::max<int64_t>(size_from_end(call, "value", 1), 1));
    const double scores = first / width * static_cast<double>(keys);
    return product(scores, size_from_end(call, "query", 1)) + product(first, keys) + 5 * scores;
  }
  if (op == "aten::_cdist_forward.default") return 1.5 * product(first, size_from_end(call, "x1", 1));
  if (op == "aten::convolution.default" || op == "aten::conv1d.default" || op == "aten::conv2d.default") {
    if (results.empty()) return 0;
    return convolution_flops(call, results[0].shape) + (call.is_none("bias") ? 0 : first);
  }
  if (op == "aten::convolution_backward.default") {
    const std::vector<bool> mask = call.booleans("output_mask");
    const Shape& gradient = shape_of(call, "grad_output");
    const double one = convolution_flops(call, gradient);
    double out = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) out += !mask[i] ? 0 : i < 2 ? one : count_of(gradient);
    return out;
  }
  if (call.schema().find("kernel_size") != nullptr && call.schema().name != "aten::col2im") {
    return first * window_elements(call);
  }

  double elements = 0;
  for (const TensorMeta& meta : results) elements = std::max(elements, count_of(meta.shape));
  for (const TensorMeta& meta : call.inputs()) elements = std::max(elements, count_of(meta.shape));
  for (const Weight& weight : kWeights) {
    if (weight.op == op) return weight.flops * elements;
  }
  return elements;
}

double bytes_of(const OpCall& call) {
  const std::string& op = call.op();
  if (is_metadata_op(op)) return 0;
  double written = 0;
  for (const TensorMeta& meta : results_of(call)) written += bytes_in(meta);
  int table = -1;
  for (const Table& entry : kTables) {
    if (entry.op == op) table = call.tensor(entry.argument);
  }
  double read = 0;
  std::set<ValueId> seen;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) {
    if (!seen.insert(call.input_values()[i]).second) continue;
    const double whole = bytes_in(call.inputs()[i]);
    read += static_cast<int>(i) == table ? std::min(whole, written) : whole;
  }
  return read + written;
}

}  // namespace assay
