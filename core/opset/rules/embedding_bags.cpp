// Sums, means and maxima of rows of a table, a bag of them each, and distances between rows.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

// offset2bag and bag_size follow the indices' dtype; max_indices has the weight's columns in mode max (2).
Metas embedding_bag(const OpCall& call) {
  require_rank(call, "weight", 2);
  require_rank(call, "indices", 1);
  require_rank(call, "offsets", 1);
  require_index(call, "indices");
  require_index(call, "offsets");
  const TensorMeta& weight = meta(call, "weight");
  require_kind(call, "weight", weight.dtype, kFloat);
  const TensorMeta& indices = meta(call, "indices");
  const int64_t mode = call.integer("mode");
  if (mode < 0 || mode > 2) fail(call, "mode is {}; it must be 0 (sum), 1 (mean) or 2 (max)", mode);
  int64_t bags = meta(call, "offsets").shape[0];
  if (call.boolean("include_last_offset")) {
    if (bags < 1) fail(call, "offsets is empty; with include_last_offset it must have at least one entry");
    --bags;
  }
  if (const TensorMeta* weights = meta_opt(call, "per_sample_weights")) {
    if (mode != 0) fail(call, "per_sample_weights are given; they go only with mode 0 (sum)");
    require_shape(call, "per_sample_weights", indices.shape);
    require_same_dtype(call, "per_sample_weights", "weight");
    (void)weights;
  }
  const DType type = indices.dtype == DType::i64 ? DType::i64 : meta(call, "offsets").dtype;
  return {{weight.dtype, {bags, weight.shape[1]}}, {type, {-1}}, {type, {bags}}, {type, {-1}}};
}

// self with some rows scaled down.
Metas embedding_renorm(const OpCall& call) {
  require_rank(call, "self", 2);
  require_index(call, "indices");
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kInexact);
  return {self};
}

// grad, cdist [..., P, R], x1 [..., P, M], x2 [..., R, M] -> gradient of x1
Metas cdist_backward(const OpCall& call) {
  const TensorMeta& x1 = meta(call, "x1");
  require_kind(call, "x1", x1.dtype, kFloat);
  for (const char* name : {"x1", "x2", "grad", "cdist"}) {
    require_same_dtype(call, name, "x1");
    if (rank(meta(call, name)) < 2)
      fail(call, "{} has shape {}; it must have at least 2 dims", name, to_string(meta(call, name).shape));
  }
  if (!(call.floating("p") >= 0)) fail(call, "p is {}; it must not be negative", call.floating("p"));
  const Shape& x2 = meta(call, "x2").shape;
  if (x2.back() != x1.shape.back()) {
    fail(call, "x2 has shape {}; its last size must equal the last size of x1, {}", to_string(x2),
         x1.shape.back());
  }
  Shape batch = broadcast(Shape(x1.shape.begin(), x1.shape.end() - 2), Shape(x2.begin(), x2.end() - 2), call);
  Shape pairs = batch, result = batch;
  pairs.insert(pairs.end(), {size_at(x1, -2), x2[x2.size() - 2]});
  result.insert(result.end(), {size_at(x1, -2), x1.shape.back()});
  require_shape(call, "grad", pairs);
  require_shape(call, "cdist", pairs);
  return {{x1.dtype, result}};
}

}  // namespace

void register_embedding_bags(ShapeTable& table) {
  for (const char* op : {"_embedding_bag.default", "_embedding_bag_forward_only.default",
                         "embedding_bag.default", "embedding_bag.padding_idx"}) {
    table.add(std::string("aten::") + op, embedding_bag);
  }
  table.add("aten::embedding_renorm.default", embedding_renorm);
  table.add("aten::_cdist_backward.default", cdist_backward);
}

}  // namespace assay
