// Matrix products, attention and pairwise distances.
#include "core/opset/attention.h"
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

void require_inner(const OpCall& call, std::string_view name, int64_t size, std::string_view which,
                   std::string_view like, int64_t expected) {
  if (size == expected) return;
  fail(call, "{} has shape {}; its {} size must equal the last size of {}, {}", name,
       to_string(meta(call, name).shape), which, like, expected);
}

// [n, k] x [k, m]
Shape matrix_product(const OpCall& call, std::string_view left, std::string_view right) {
  require_rank(call, left, 2);
  require_rank(call, right, 2);
  require_same_dtype(call, right, left);
  require_kind(call, left, meta(call, left).dtype, kNoBool);
  const Shape& a = meta(call, left).shape;
  const Shape& b = meta(call, right).shape;
  require_inner(call, right, b[0], "first", left, a[1]);
  return {a[0], b[1]};
}

// [b, n, k] x [b, k, m]
Shape batched_product(const OpCall& call, std::string_view left, std::string_view right) {
  require_rank(call, left, 3);
  require_rank(call, right, 3);
  require_same_dtype(call, right, left);
  require_kind(call, left, meta(call, left).dtype, kNoBool);
  const Shape& a = meta(call, left).shape;
  const Shape& b = meta(call, right).shape;
  if (a[0] != b[0]) {
    fail(call, "{} has shape {}; its first size, the batch, must equal that of {}, {}", right, to_string(b),
         left, a[0]);
  }
  require_inner(call, right, b[1], "second", left, a[2]);
  return {a[0], a[1], b[2]};
}

Metas mm(const OpCall& call) { return {{meta(call, "self").dtype, matrix_product(call, "self", "mat2")}}; }
Metas bmm(const OpCall& call) { return {{meta(call, "self").dtype, batched_product(call, "self", "mat2")}}; }

Metas with_addend(const OpCall& call, std::string_view factor, const Shape& shape) {
  require_same_dtype(call, "self", factor);
  require_expands(call, "self", meta(call, "self").shape, shape);
  for (const std::string_view name : {"beta", "alpha"}) {
    const Scalar scale = call.scalar(name);
    if (is_integral(meta(call, "self").dtype) && scale.kind == Scalar::Kind::floating) {
      fail(call, "{} is the float {}; it must be an integer where the operands are integers", name, scale.f);
    }
  }
  return {{meta(call, "self").dtype, shape}};
}
Metas addmm(const OpCall& call) { return with_addend(call, "mat1", matrix_product(call, "mat1", "mat2")); }
Metas baddbmm(const OpCall& call) {
  return with_addend(call, "batch1", batched_product(call, "batch1", "batch2"));
}

// [..., in] x [out, in] (or [in]) + [out]
Metas linear(const OpCall& call) {
  const TensorMeta& input = meta(call, "input");
  require_rank(call, "weight", 1, 2);
  const TensorMeta& weight = meta(call, "weight");
  require_same_dtype(call, "weight", "input");
  require_kind(call, "input", input.dtype, kNoBool);
  if (input.shape.empty()) fail(call, "input is a 0-d tensor; it must have at least 1 dim");
  require_inner(call, "weight", weight.shape.back(), "last", "input", input.shape.back());
  Shape shape(input.shape.begin(), input.shape.end() - 1);
  if (rank(weight) == 2) shape.push_back(weight.shape[0]);
  if (const TensorMeta* bias = meta_opt(call, "bias")) {
    require_same_dtype(call, "bias", "input");
    require_expands(call, "bias", bias->shape, shape);
  }
  return {{input.dtype, shape}};
}

// numpy's matmul: vectors lose their dim, leading dims broadcast.
Metas matmul(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const TensorMeta& other = meta(call, "other");
  require_same_dtype(call, "other", "self");
  require_kind(call, "self", self.dtype, kNoBool);
  if (self.shape.empty()) fail(call, "self is a 0-d tensor; it must have at least 1 dim");
  if (other.shape.empty()) fail(call, "other is a 0-d tensor; it must have at least 1 dim");
  Shape a = self.shape;
  Shape b = other.shape;
  if (self.shape.size() == 1) a.insert(a.begin(), 1);
  if (other.shape.size() == 1) b.push_back(1);
  require_inner(call, "other", b[b.size() - 2], rank(other) == 1 ? "only" : "second to last", "self",
                a.back());
  Shape shape = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2), call);
  if (self.shape.size() != 1) shape.push_back(a[a.size() - 2]);
  if (other.shape.size() != 1) shape.push_back(b.back());
  return {{self.dtype, shape}};
}

// query [..., L, E], key [..., S, E], value [..., S, Ev] -> [..., L, Ev], and beside it the weights or the
// logarithm of their sum before normalisation.
Metas attention(const OpCall& call) {
  const AttentionCall a = attention_call(call);
  return {a.output(meta(call, "query").dtype)};
}
Metas attention_and_weights(const OpCall& call) {
  const AttentionCall a = attention_call(call);
  const DType dtype = meta(call, "query").dtype;
  TensorMeta weights{dtype, a.batch};
  weights.shape.insert(weights.shape.end(), {a.rows, a.keys});
  return {a.output(dtype), weights};
}
Metas attention_and_logsumexp(const OpCall& call) {
  const AttentionCall a = attention_call(call);
  const DType dtype = meta(call, "query").dtype;
  return {a.output(dtype), a.logsumexp(dtype)};
}

// Gradients of query, key and value.
Metas attention_backward(const OpCall& call) {
  const AttentionCall a = attention_call(call);
  const TensorMeta& query = meta(call, "query");
  for (const std::string_view name : {"grad_out", "out"}) {
    require_same_dtype(call, name, "query");
    require_shape(call, name, a.output(query.dtype).shape);
  }
  require_shape(call, "logsumexp", a.logsumexp(query.dtype).shape);
  return {query, meta(call, "key"), meta(call, "value")};
}

// [..., P, M] and [..., R, M] -> [..., P, R]
Metas cdist(const OpCall& call) {
  const TensorMeta& x1 = meta(call, "x1");
  const TensorMeta& x2 = meta(call, "x2");
  for (const std::string_view name : {"x1", "x2"}) {
    require_kind(call, name, meta(call, name).dtype, kFloat);
    if (rank(meta(call, name)) < 2) {
      fail(call, "{} has shape {}; it must have at least 2 dims", name, to_string(meta(call, name).shape));
    }
  }
  require_same_dtype(call, "x2", "x1");
  require_inner(call, "x2", x2.shape.back(), "last", "x1", x1.shape.back());
  if (!(call.floating("p") >= 0)) fail(call, "p is {}; it must not be negative", call.floating("p"));
  Shape shape = broadcast(Shape(x1.shape.begin(), x1.shape.end() - 2),
                          Shape(x2.shape.begin(), x2.shape.end() - 2), call);
  shape.push_back(size_at(x1, -2));
  shape.push_back(size_at(x2, -2));
  return {{x1.dtype, shape}};
}

// Cosine of the angle between the vectors along dim.
Metas cosine_similarity(const OpCall& call) {
  const Operands in = operands(call, {"x1", "x2"});
  require_kind(call, "the promoted type of x1 and x2", in.type(), kInexact);
  const int64_t dim = normalise_dim(call.integer("dim"), static_cast<int64_t>(in.shape.size()), call);
  return {{in.type(), reduced_shape(in.shape, {dim}, false)}};
}

// Distances of the n (n - 1) / 2 pairs of rows.
Metas pdist(const OpCall& call) {
  require_rank(call, "self", 2);
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  if (!(call.floating("p") >= 0)) fail(call, "p is {}; it must not be negative", call.floating("p"));
  const int64_t n = self.shape[0];
  if (n > (int64_t{1} << 31)) fail(call, "self has {} rows, which is too many", n);
  return {{self.dtype, {n < 2 ? 0 : n * (n - 1) / 2}}};
}

}  // namespace

void register_matmul(ShapeTable& table) {
  table.add("aten::mm.default", mm);
  table.add("aten::bmm.default", bmm);
  table.add("aten::addmm.default", addmm);
  table.add("aten::baddbmm.default", baddbmm);
  table.add("aten::linear.default", linear);
  table.add("aten::matmul.default", matmul);
  table.add("aten::scaled_dot_product_attention.default", attention);
  table.add("aten::_scaled_dot_product_attention_math.default", attention_and_weights);
  table.add("aten::_scaled_dot_product_flash_attention_for_cpu.default", attention_and_logsumexp);
  table.add("aten::_scaled_dot_product_flash_attention_for_cpu_backward.default", attention_backward);
  table.add("assay::scaled_dot_product_attention.default", attention_and_logsumexp);
  table.add("aten::_cdist_forward.default", cdist);
  table.add("aten::cosine_similarity.default", cosine_similarity);
  table.add("aten::_pdist_forward.default", pdist);
}

}  // namespace assay
