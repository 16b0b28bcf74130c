// Gathers, scatters and embeddings.
#include "core/opset/checks.h"
#include "core/opset/number_checks.h"

namespace assay {
namespace {

using namespace rules;

bool is_mask(const TensorMeta& index) { return index.dtype == DType::boolean || index.dtype == DType::u8; }

// Shape of self[indices] (aten/src/ATen/native/TensorAdvancedIndexing.cpp). The indexed dims are replaced by
// the broadcast shape of the indices: in place if they are adjacent, else in front. A mask stands for as many
// dims as it has and selects a number of elements that depends on data: -1.
Shape indexed_shape(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  std::vector<bool> indexed;
  bool any = false;
  bool masked = false;
  Shape shape;
  for (const int number : call.tensors("indices")) {
    if (number < 0) {
      indexed.push_back(false);
      continue;
    }
    const TensorMeta& index = call.input(number);
    const std::size_t dim = indexed.size();
    if (is_mask(index)) {
      for (std::size_t i = 0; i < index.shape.size(); ++i) {
        if (dim + i >= self.shape.size() || index.shape[i] != self.shape[dim + i]) {
          fail(call,
               "the mask at dim {} has shape {}; it must equal the sizes that it masks in self of shape {}",
               dim, to_string(index.shape), to_string(self.shape));
        }
        indexed.push_back(true);
      }
      if (index.shape.empty()) fail(call, "a 0-d mask is not supported");
      masked = any = true;
      continue;
    }
    if (index.dtype != DType::i64 && index.dtype != DType::i32) {
      fail(call, "an index has dtype {}; it must be i64, i32, bool or u8", name_of(index.dtype));
    }
    indexed.push_back(true);
    shape = any ? broadcast(shape, index.shape, call) : index.shape;
    any = true;
  }
  if (indexed.size() > self.shape.size()) {
    fail(call, "{} indices are too many for self of shape {}", indexed.size(), to_string(self.shape));
  }
  indexed.resize(self.shape.size(), false);
  if (masked) {
    // The masks' count broadcasts with the other indices; only the rank is known.
    if (shape.empty()) shape = {-1};
    shape.back() = -1;
  }
  int runs = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < indexed.size(); ++i) {
    if (indexed[i] && (i == 0 || !indexed[i - 1])) {
      if (runs++ == 0) first = i;
    }
  }
  Shape out;
  if (runs != 1) first = 0;
  for (std::size_t i = 0; i < indexed.size(); ++i) {
    if (any && i == first) out.insert(out.end(), shape.begin(), shape.end());
    if (!indexed[i]) out.push_back(self.shape[i]);
  }
  if (element_count(self.shape) == 0 && any && !masked && element_count(shape) != 0) {
    for (std::size_t i = 0; i < indexed.size(); ++i) {
      if (indexed[i] && self.shape[i] == 0) {
        fail(call, "dim {} of self has size 0, so no index is within it", i);
      }
    }
  }
  return out;
}

Metas index(const OpCall& call) { return {{meta(call, "self").dtype, indexed_shape(call)}}; }

Metas index_put(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const Shape target = indexed_shape(call);
  require_same_dtype(call, "values", "self");
  bool known = true;
  for (const int64_t size : target) known = known && size >= 0;
  if (known) require_expands(call, "values", meta(call, "values").shape, target);
  return {self};
}

Metas index_select(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  require_rank(call, "index", 0, 1);
  require_index(call, "index");
  const int64_t count = element_count(meta(call, "index").shape);
  if (!self.shape.empty()) {
    self.shape[at(dim)] = count;
  } else if (count != 1) {
    fail(call, "index has {} elements; it must have 1, since self is a 0-d tensor", count);
  }
  return {self};
}

// index may be smaller than `limit` but, except along dim, not larger.
void require_within(const OpCall& call, std::string_view limit_name, int64_t except) {
  const TensorMeta& index = meta(call, "index");
  const TensorMeta& limit = meta(call, limit_name);
  if (std::max<int64_t>(rank(index), 1) != std::max<int64_t>(rank(limit), 1)) {
    fail(call, "index has shape {}; it must have as many dims as {} of shape {}", to_string(index.shape),
         limit_name, to_string(limit.shape));
  }
  for (int64_t d = 0; d < std::max<int64_t>(rank(index), 1); ++d) {
    if (d != except && size_at(index, d) > size_at(limit, d)) {
      fail(call, "index has shape {}; its dim {} must not be larger than that of {}, {}",
           to_string(index.shape), d, limit_name, to_string(limit.shape));
    }
  }
}

Metas gather(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  require_index(call, "index");
  const TensorMeta& index = meta(call, "index");
  if (element_count(index.shape) != 0) require_within(call, "self", dim);
  return {{self.dtype, index.shape}};
}

Metas scatter(const OpCall& call, bool from_tensor) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  require_index(call, "index");
  if (from_tensor) require_same_dtype(call, "src", "self");
  if (element_count(meta(call, "index").shape) != 0) {
    require_within(call, "self", dim);
    if (from_tensor) require_within(call, "src", -1);
  }
  return {self};
}
Metas scatter_src(const OpCall& call) { return scatter(call, true); }
Metas scatter_value(const OpCall& call) {
  require_number(call, "value", meta(call, "self").dtype);
  return scatter(call, false);
}
Metas scatter_reduce(const OpCall& call) {
  const std::string reduce = call.string("reduce");
  require_word(call, "reduce", reduce, {"sum", "prod", "mean", "amax", "amin"});
  // Extrema need an order, means a division.
  const unsigned kinds = reduce == "mean" ? kNoBool : reduce.starts_with("am") ? kNoComplex : kAny;
  require_kind(call, "self", meta(call, "self").dtype, kinds);
  return scatter(call, true);
}

Metas embedding(const OpCall& call) {
  require_rank(call, "weight", 2);
  require_index(call, "indices");
  Shape shape = meta(call, "indices").shape;
  shape.push_back(meta(call, "weight").shape[1]);
  return {{meta(call, "weight").dtype, shape}};
}

Metas embedding_backward(const OpCall& call) {
  require_index(call, "indices");
  const TensorMeta& gradient = meta(call, "grad_output");
  require_kind(call, "grad_output", gradient.dtype, kInexact);
  if (gradient.shape.empty()) fail(call, "grad_output is a 0-d tensor; its last dim must be the embedding's");
  Shape expected = meta(call, "indices").shape;
  expected.push_back(gradient.shape.back());
  require_shape(call, "grad_output", expected);
  const int64_t rows = call.integer("num_weights");
  if (rows < 0) fail(call, "num_weights is {}; it cannot be negative", rows);
  return {{gradient.dtype, {rows, gradient.shape.back()}}};
}

Metas select_scatter(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  if (self.shape.empty()) fail(call, "self is a 0-d tensor; it must have at least 1 dim");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  const int64_t size = self.shape[at(dim)];
  const int64_t index = call.integer("index");
  if (index < -size || index >= size) {
    fail(call, "index is {}; it must be within [{}, {}], since dim {} has size {}", index, -size, size - 1,
         dim, size);
  }
  require_shape(call, "src", reduced_shape(self.shape, {dim}, false));
  return {self};
}

Metas slice_scatter(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  if (self.shape.empty()) fail(call, "self is a 0-d tensor; it must have at least 1 dim");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  Shape expected = self.shape;
  expected[at(dim)] = slice_size(call, self.shape[at(dim)]);
  require_shape(call, "src", expected);
  return {self};
}

Metas nonzero(const OpCall& call) { return {{DType::i64, {-1, rank(meta(call, "self"))}}}; }

}  // namespace

void register_indexing(ShapeTable& table) {
  table.add("aten::index.Tensor", index);
  table.add("aten::_unsafe_index.Tensor", index);
  table.add("aten::index_put.default", index_put);
  table.add("aten::_unsafe_index_put.default", index_put);
  table.add("aten::index_select.default", index_select);
  table.add("aten::gather.default", gather);
  table.add("aten::scatter.src", scatter_src);
  table.add("aten::scatter.value", scatter_value);
  table.add("aten::scatter_add.default", scatter_src);
  table.add("aten::scatter_reduce.two", scatter_reduce);
  table.add("aten::embedding.default", embedding);
  table.add("aten::embedding_dense_backward.default", embedding_backward);
  table.add("aten::select_scatter.default", select_scatter);
  table.add("aten::slice_scatter.default", slice_scatter);
  table.add("aten::nonzero.default", nonzero);
}

}  // namespace assay
