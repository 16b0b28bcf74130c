// Rearrangements that read every element at most once: PyTorch's views. Tensors are logically contiguous, so
// `view` is reshape.
#include "core/opset/checks.h"

#include <algorithm>

namespace assay {
namespace {

using namespace rules;

Metas reshaped(const OpCall& call, std::string_view sizes) {
  const TensorMeta& self = meta(call, "self");
  return {{self.dtype, inferred_sizes(call, call.integers(sizes), element_count(self.shape), self.shape)}};
}

Metas permute(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const std::vector<int64_t> given = call.integers("dims");
  require_length(call, "dims", given.size(), self.shape.size());
  if (given.empty()) return {self};
  reduced_dims(call, given, rank(self));  // distinct and in range
  Shape shape;
  for (const int64_t dim : given) shape.push_back(self.shape[at(normalise_dim(dim, rank(self), call))]);
  return {{self.dtype, shape}};
}

Metas swapped(const OpCall& call, std::string_view first, std::string_view second) {
  TensorMeta self = meta(call, "self");
  const int64_t a = normalise_dim(call.integer(first), rank(self), call);
  const int64_t b = normalise_dim(call.integer(second), rank(self), call);
  if (!self.shape.empty()) std::swap(self.shape[at(a)], self.shape[at(b)]);
  return {self};
}

Metas reversed_dims(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  std::reverse(self.shape.begin(), self.shape.end());
  return {self};
}
Metas matrix_transpose(const OpCall& call) {
  require_rank(call, "self", 0, 2);
  return reversed_dims(call);
}

Metas move_dim(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t from = normalise_dim(call.integer("source"), rank(self), call);
  const int64_t to = normalise_dim(call.integer("destination"), rank(self), call);
  if (self.shape.empty()) return {self};
  const int64_t size = self.shape[at(from)];
  self.shape.erase(self.shape.begin() + from);
  self.shape.insert(self.shape.begin() + to, size);
  return {self};
}

Shape expanded(const OpCall& call, const Shape& from, Shape sizes) {
  if (sizes.size() < from.size()) {
    fail(call, "size {} has fewer entries than self of shape {} has dims", to_string(sizes), to_string(from));
  }
  const std::size_t lead = sizes.size() - from.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (i < lead) fail(call, "size {} holds -1 for a new dim, {}", to_string(sizes), i);
      sizes[i] = from[i - lead];
    }
    if (sizes[i] < 0) fail(call, "size {} holds {}; only -1 may be negative", to_string(sizes), sizes[i]);
    if (i >= lead && from[i - lead] != 1 && from[i - lead] != sizes[i]) {
      fail(call, "self has shape {}; it cannot be expanded to {}: dim {} has size {}, which is not 1",
           to_string(from), to_string(sizes), i - lead, from[i - lead]);
    }
  }
  return sizes;
}
Metas expand(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{self.dtype, expanded(call, self.shape, call.integers("size"))}};
}
Metas expand_as(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{self.dtype, expanded(call, self.shape, meta(call, "other").shape)}};
}

Metas unsqueeze(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  self.shape.insert(self.shape.begin() + normalise_dim(call.integer("dim"), rank(self) + 1, call), 1);
  return {self};
}

Metas squeezed(const TensorMeta& self, const std::vector<int64_t>& dims) {
  Shape shape;
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    const bool named = std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) != dims.end();
    if (!named || self.shape[i] != 1) shape.push_back(self.shape[i]);
  }
  return {{self.dtype, shape}};
}
Metas squeeze_all(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return squeezed(self, reduced_dims(call, {}, rank(self)));
}
Metas squeeze_dim(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return squeezed(self, {normalise_dim(call.integer("dim"), rank(self), call)});
}
Metas squeeze_dims(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const std::vector<int64_t> dims = call.integers("dim");
  return dims.empty() ? Metas{self} : squeezed(self, reduced_dims(call, dims, rank(self)));
}

int64_t dim_of(const OpCall& call, const TensorMeta& self, std::string_view name = "dim") {
  if (self.shape.empty()) fail(call, "self is a 0-d tensor; it must have at least 1 dim");
  return normalise_dim(call.integer(name), rank(self), call);
}

Metas select(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t dim = dim_of(call, self);
  const int64_t size = self.shape[at(dim)];
  const int64_t index = call.integer("index");
  if (index < -size || index >= size) {
    fail(call, "index is {}; it must be within [{}, {}], since dim {} of {} has size {}", index, -size,
         size - 1, dim, to_string(self.shape), size);
  }
  self.shape.erase(self.shape.begin() + dim);
  return {self};
}

Metas slice(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t dim = dim_of(call, self);
  self.shape[at(dim)] = slice_size(call, self.shape[at(dim)]);
  return {self};
}

Metas narrow(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t dim = dim_of(call, self);
  const int64_t size = self.shape[at(dim)];
  const int64_t given = call.integer("start");
  const int64_t length = call.integer("length");
  const int64_t start = given < 0 ? given + size : given;
  if (start < 0 || length < 0 || start > size || length > size - start) {
    fail(call, "start {} and length {} reach beyond dim {}, whose size is {}", given, length, dim, size);
  }
  self.shape[at(dim)] = length;
  return {self};
}

Metas view_as(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {
      {self.dtype, inferred_sizes(call, meta(call, "other").shape, element_count(self.shape), self.shape)}};
}

Metas pieces(const TensorMeta& self, int64_t dim, const std::vector<int64_t>& sizes) {
  Metas out;
  for (const int64_t size : sizes) {
    out.push_back(self);
    out.back().shape[at(dim)] = size;
  }
  return out;
}

constexpr int64_t kMaxPieces = 1 << 16;

Metas split_with_sizes(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = dim_of(call, self);
  const std::vector<int64_t> sizes = call.integers("split_sizes");
  require_sizes(call, "split_sizes", sizes);
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (__builtin_add_overflow(sum, size, &sum)) fail(call, "split_sizes {} are too large", to_string(sizes));
  }
  if (sum != self.shape[at(dim)]) {
    fail(call, "split_sizes {} add up to {}; they must add up to {}, the size of dim {}", to_string(sizes),
         sum, self.shape[at(dim)], dim);
  }
  return pieces(self, dim, sizes);
}

// Equal pieces of `step`, the last one smaller; an empty dim gives one empty piece.
Metas equal_pieces(const OpCall& call, const TensorMeta& self, int64_t dim, int64_t step) {
  const int64_t size = self.shape[at(dim)];
  if (step > 0 && size / step >= kMaxPieces) fail(call, "more than {} pieces are asked for", kMaxPieces);
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < size; start += step) sizes.push_back(std::min(step, size - start));
  if (sizes.empty()) sizes.push_back(0);
  return pieces(self, dim, sizes);
}
Metas split(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = dim_of(call, self);
  const int64_t step = call.integer("split_size");
  if (step < 0 || (step == 0 && self.shape[at(dim)] != 0))
    fail(call, "split_size is {}; it must be positive", step);
  return equal_pieces(call, self, dim, std::min(step, std::max<int64_t>(self.shape[at(dim)], 1)));
}
Metas chunk(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = dim_of(call, self);
  const int64_t chunks = call.integer("chunks");
  if (chunks <= 0 || chunks > kMaxPieces) {
    fail(call, "chunks is {}; it must be within [1, {}]", chunks, kMaxPieces);
  }
  const int64_t size = self.shape[at(dim)];
  if (size == 0) return pieces(self, dim, std::vector<int64_t>(at(chunks), 0));
  return equal_pieces(call, self, dim, (size + chunks - 1) / chunks);
}
Metas unbind(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t dim = dim_of(call, self);
  const int64_t count = self.shape[at(dim)];
  if (count > kMaxPieces) fail(call, "more than {} pieces are asked for", kMaxPieces);
  self.shape.erase(self.shape.begin() + dim);
  return Metas(at(count), self);
}

Metas flatten(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t start = normalise_dim(call.integer("start_dim"), rank(self), call);
  const int64_t end = normalise_dim(call.integer("end_dim"), rank(self), call);
  if (start > end) fail(call, "start_dim {} comes after end_dim {}", start, end);
  if (self.shape.empty()) return {{self.dtype, {1}}};
  Shape shape(self.shape.begin(), self.shape.begin() + start);
  shape.push_back(element_count(Shape(self.shape.begin() + start, self.shape.begin() + end + 1)));
  shape.insert(shape.end(), self.shape.begin() + end + 1, self.shape.end());
  return {{self.dtype, shape}};
}

Metas unflatten(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t dim = dim_of(call, self);
  if (call.integers("sizes").empty()) fail(call, "sizes is empty; it must have at least one entry");
  const int64_t size = self.shape[at(dim)];
  const Shape sizes = inferred_sizes(call, call.integers("sizes"), size, {size});
  self.shape.erase(self.shape.begin() + dim);
  self.shape.insert(self.shape.begin() + dim, sizes.begin(), sizes.end());
  return {self};
}

Metas diagonal(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t a = normalise_dim(call.integer("dim1"), rank(self), call);
  const int64_t b = normalise_dim(call.integer("dim2"), rank(self), call);
  if (a == b) fail(call, "dim1 and dim2 are both dim {}; they must differ", a);
  const int64_t offset = call.integer("offset");
  const int64_t rows = self.shape[at(a)];
  const int64_t columns = self.shape[at(b)];
  const int64_t size = offset >= 0 ? std::min(rows, offset > columns ? 0 : columns - offset)
                                   : std::min(offset < -rows ? 0 : rows + offset, columns);
  Shape shape = reduced_shape(self.shape, {std::min(a, b), std::max(a, b)}, false);
  shape.push_back(std::max<int64_t>(size, 0));
  return {{self.dtype, shape}};
}

// The storage is that of the logically contiguous self, so strides may not reach beyond its elements.
Metas as_strided(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const Shape sizes = call.integers("size");
  const Shape strides = call.integers("stride");
  require_sizes(call, "size", sizes);
  require_length(call, "stride", strides.size(), sizes.size());
  const int64_t offset = call.integer_opt("storage_offset").value_or(0);
  if (offset < 0) fail(call, "storage_offset is {}; it cannot be negative", offset);
  const int64_t count = element_count(self.shape);
  int64_t last = offset;
  bool overflow = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] < 0) fail(call, "stride is {}; strides cannot be negative", to_string(strides));
    int64_t reach = 0;
    overflow |= sizes[i] > 0 && (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                                 __builtin_add_overflow(last, reach, &last));
  }
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  if (!empty && (overflow || last >= count)) {
    fail(call, "size {}, stride {} and storage_offset {} reach beyond the {} elements of self",
         to_string(sizes), to_string(strides), offset, count);
  }
  return {{self.dtype, sizes}};
}

Metas unfold(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dimension"), rank(self), call);
  const int64_t size = call.integer("size");
  const int64_t step = call.integer("step");
  if (step <= 0) fail(call, "step is {}; it must be positive", step);
  if (size < 0 || size > size_at(self, dim)) {
    fail(call, "size is {}; it must be within [0, {}], the size of dim {}", size, size_at(self, dim), dim);
  }
  if (!self.shape.empty()) self.shape[at(dim)] = (self.shape[at(dim)] - size) / step + 1;
  self.shape.push_back(size);
  return {self};
}

Metas view_as_real(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  require_kind(call, "self", self.dtype, kComplex);
  self.dtype = part_dtype(self.dtype);
  self.shape.push_back(2);
  return {self};
}
Metas view_as_complex(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  if (self.dtype != DType::f32 && self.dtype != DType::f64) {
    fail(call, "self has dtype {}; it must be f32 or f64", name_of(self.dtype));
  }
  if (self.shape.empty() || self.shape.back() != 2) {
    fail(call, "self has shape {}; its last dim must have size 2 (real and imaginary part)",
         to_string(self.shape));
  }
  self.dtype = complex_of(self.dtype);
  self.shape.pop_back();
  return {self};
}

}  // namespace

void register_views(ShapeTable& table) {
  table.add("aten::view.default", [](const OpCall& call) { return reshaped(call, "size"); });
  table.add("aten::_unsafe_view.default", [](const OpCall& call) { return reshaped(call, "size"); });
  table.add("aten::reshape.default", [](const OpCall& call) { return reshaped(call, "shape"); });
  table.add("aten::permute.default", permute);
  table.add("aten::transpose.int", [](const OpCall& call) { return swapped(call, "dim0", "dim1"); });
  table.add("aten::swapdims.default", [](const OpCall& call) { return swapped(call, "dim0", "dim1"); });
  table.add("aten::swapaxes.default", [](const OpCall& call) { return swapped(call, "axis0", "axis1"); });
  table.add("aten::t.default", matrix_transpose);
  table.add("aten::numpy_T.default", reversed_dims);
  table.add("aten::movedim.int", move_dim);
  table.add("aten::view_as.default", view_as);
  table.add("aten::expand.default", expand);
  table.add("aten::broadcast_to.default", expand);
  table.add("aten::expand_as.default", expand_as);
  table.add("aten::unsqueeze.default", unsqueeze);
  table.add("aten::unsqueeze_.default", unsqueeze);
  table.add("aten::squeeze.default", squeeze_all);
  table.add("aten::squeeze.dim", squeeze_dim);
  table.add("aten::squeeze.dims", squeeze_dims);
  table.add("aten::select.int", select);
  table.add("aten::slice.Tensor", slice);
  table.add("aten::narrow.default", narrow);
  table.add("aten::split_with_sizes.default", split_with_sizes);
  table.add("aten::split.Tensor", split);
  table.add("aten::chunk.default", chunk);
  table.add("aten::unbind.int", unbind);
  table.add("aten::flatten.using_ints", flatten);
  table.add("aten::unflatten.int", unflatten);
  table.add("aten::diagonal.default", diagonal);
  table.add("aten::as_strided.default", as_strided);
  table.add("aten::unfold.default", unfold);
  table.add("aten::view_as_real.default", view_as_real);
  table.add("aten::view_as_complex.default", view_as_complex);
}

}  // namespace assay
