#include "core/opset/attention.h"

#include <cmath>

#include "core/opset/checks.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

using rules::fail;

constexpr const char* kMath = "aten::_scaled_dot_product_attention_math.default";
// Forward and backward.
constexpr const char* kFlash = "aten::_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* kOwn = "assay::scaled_dot_product_attention.default";

Shape leading(const TensorMeta& tensor) { return Shape(tensor.shape.begin(), tensor.shape.end() - 2); }

void check_matrices(const OpCall& call) {
  const TensorMeta& query = rules::meta(call, "query");
  rules::require_kind(call, "query", query.dtype, rules::kFloat);
  for (const std::string_view name : {"query", "key", "value"}) {
    const TensorMeta& tensor = rules::meta(call, name);
    rules::require_same_dtype(call, name, "query");
    if (rules::rank(tensor) < 2) {
      fail(call, "{} has shape {}; it must have at least 2 dims", name, to_string(tensor.shape));
    }
    if (call.op().starts_with(kFlash)) rules::require_rank(call, name, 4);
  }
  const TensorMeta& key = rules::meta(call, "key");
  const TensorMeta& value = rules::meta(call, "value");
  if (key.shape.back() != query.shape.back()) {
    fail(call, "key has shape {}; its last size must equal that of query, {}", to_string(key.shape),
         query.shape.back());
  }
  const int64_t keys = rules::size_at(key, -2);
  if (rules::size_at(value, -2) != keys) {
    fail(call, "value has shape {}; its second to last size must equal that of key, {}",
         to_string(value.shape), keys);
  }
}

bool grouped(const OpCall& call) { return call.op().starts_with(kFlash) || call.boolean("enable_gqa"); }

// Leading dims of key and value as if their heads were repeated; checks that they divide.
Shape repeated(const OpCall& call, std::string_view name, int64_t heads) {
  Shape batch = leading(rules::meta(call, name));
  if (batch.back() == 0 || heads % batch.back() != 0) {
    fail(call, "query has {} heads; with grouped heads that must be a multiple of the {} heads of {}", heads,
         batch.back(), name);
  }
  batch.back() = heads;
  return batch;
}

Shape joint_batch(const OpCall& call) {
  const TensorMeta& query = rules::meta(call, "query");
  Shape key = leading(rules::meta(call, "key")), value = leading(rules::meta(call, "value"));
  if (grouped(call)) {
    if (rules::rank(query) < 3 || key.empty() || value.empty()) {
      fail(call, "enable_gqa needs a dim of heads: query, key and value must have at least 3 dims");
    }
    const int64_t heads = rules::size_at(query, -3);
    key = repeated(call, "key", heads);
    value = repeated(call, "value", heads);
  }
  return broadcast(broadcast(leading(query), key, call), value, call);
}

std::optional<int64_t> diagonal_of(const OpCall& call, int64_t rows, int64_t keys) {
  if (call.op() != kOwn) return call.boolean("is_causal") ? std::optional<int64_t>(0) : std::nullopt;
  const std::string causal = call.string("causal");
  rules::require_word(call, "causal", causal, {"none", "top_left", "bottom_right"});
  if (causal == "none") return std::nullopt;
  return causal == "top_left" ? 0 : keys - rows;
}

void check_mask(const OpCall& call, const TensorMeta& mask, const AttentionCall& a) {
  const DType dtype = rules::meta(call, "query").dtype;
  if (a.diagonal && call.op() != kOwn) fail(call, "attn_mask and is_causal are both given; only one may be");
  // PyTorch's inner operators add whatever they get; scaled_dot_product_attention has converted a bool mask.
  const bool adds = call.op() == kMath || call.op().starts_with(kFlash);
  if (adds && mask.dtype == DType::boolean) {
    fail(call, "attn_mask has dtype bool; this operator adds it to the scores, so it must be {}",
         name_of(dtype));
  }
  if (mask.dtype != DType::boolean && mask.dtype != dtype) {
    fail(call, "attn_mask has dtype {}; it must be bool or the dtype of query, {}", name_of(mask.dtype),
         name_of(dtype));
  }
  Shape scores = a.batch;
  scores.insert(scores.end(), {a.rows, a.keys});
  bool fits = mask.shape.size() <= scores.size();
  for (std::size_t i = 1; fits && i <= mask.shape.size(); ++i) {
    const int64_t size = mask.shape[mask.shape.size() - i];
    fits = size == 1 || size == scores[scores.size() - i];
  }
  if (!fits) {
    fail(call, "attn_mask has shape {}; its sizes must be 1 or those of the scores, {}",
         to_string(mask.shape), to_string(scores));
  }
}

}  // namespace

bool is_attention(const std::string& op) {
  return op == "aten::scaled_dot_product_attention.default" || op == kMath || op.starts_with(kFlash) ||
         op == kOwn;
}

TensorMeta AttentionCall::output(DType dtype) const {
  TensorMeta meta{dtype, batch};
  meta.shape.insert(meta.shape.end(), {rows, width});
  return meta;
}

TensorMeta AttentionCall::logsumexp(DType dtype) const {
  TensorMeta meta{size_of(dtype) < 4 ? DType::f32 : dtype, batch};
  meta.shape.push_back(rows);
  return meta;
}

AttentionCall attention_call(const OpCall& call) {
  check_matrices(call);
  AttentionCall a;
  a.query = call.tensor("query");
  a.key = call.tensor("key");
  a.value = call.tensor("value");
  a.batch = joint_batch(call);
  a.rows = rules::size_at(call.input(a.query), -2);
  a.keys = rules::size_at(call.input(a.key), -2);
  a.depth = call.input(a.query).shape.back();
  a.width = call.input(a.value).shape.back();
  const auto scale = call.scalar_opt("scale");
  // Without a depth all scores are empty sums, which nothing scales.
  a.scale = a.depth == 0 ? 1 : scale ? scale->as_double() : 1 / std::sqrt(static_cast<double>(a.depth));
  a.diagonal = diagonal_of(call, a.rows, a.keys);
  if (call.op() == kOwn) {
    a.softcap = call.floating("softcap");
    if (!(a.softcap >= 0) || std::isinf(a.softcap)) {
      fail(call, "softcap is {}; it must be 0 (none) or a positive finite number", a.softcap);
    }
  } else {
    const double dropout = call.floating("dropout_p");
    if (!(dropout >= 0 && dropout <= 1)) fail(call, "dropout_p is {}; it must lie in [0, 1]", dropout);
  }
  a.mask = call.tensor_opt("attn_mask");
  if (a.mask) check_mask(call, call.input(*a.mask), a);
  return a;
}

int64_t matrix_of(const Shape& leading, const Shape& batch, int64_t index) {
  int64_t matrix = 0, step = 1;
  for (std::size_t k = 1; k <= batch.size(); ++k) {
    const int64_t size = batch[batch.size() - k];
    const int64_t at = index % size;
    index /= size;
    if (k > leading.size()) continue;
    const int64_t own = leading[leading.size() - k];
    matrix += step * (own == size ? at : at / (size / own));
    step *= own;
  }
  return matrix;
}

}  // namespace assay
