// Writes by index along a dim, by position and by mask; selections whose size depends on data; segments.
#include "core/opset/checks.h"
#include "core/opset/number_checks.h"

namespace assay {
namespace {

using namespace rules;

// self, with slices along dim named by a list of indices.
int64_t check_slices(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  require_rank(call, "index", 0, 1);
  require_index(call, "index");
  return dim;
}

// One slice of source for each index.
Metas write_slices(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = check_slices(call);
  require_same_dtype(call, "source", "self");
  const TensorMeta& source = meta(call, "source");
  const int64_t count = element_count(meta(call, "index").shape);
  Shape expected = self.shape;
  if (!expected.empty()) expected[at(dim)] = count;
  if (self.shape.empty() || source.shape.empty()) {
    if (element_count(source.shape) != count || element_count(expected) != count) {
      fail(call, "source has shape {} and index {} elements; self has shape {}", to_string(source.shape),
           count, to_string(self.shape));
    }
    return {self};
  }
  require_shape(call, "source", expected);
  return {self};
}
Metas index_add(const OpCall& call) {
  call.scalar("alpha");
  if (meta(call, "self").dtype == DType::boolean && call.scalar("alpha").kind != Scalar::Kind::boolean &&
      call.scalar("alpha").as_double() != 1) {
    fail(call, "alpha is {}; for bool it must be 1", call.scalar("alpha").as_double());
  }
  return write_slices(call);
}
// An index of i64 alone.
Metas index_copy(const OpCall& call) {
  check_slices(call);
  require_index(call, "index", false);
  return write_slices(call);
}
// Extrema need an order, means a division.
void require_reducible(const OpCall& call) {
  const std::string reduce = call.string("reduce");
  const unsigned kinds = reduce == "mean" ? kNoBool : reduce.starts_with("am") ? kNoComplex : kAny;
  require_kind(call, "self", meta(call, "self").dtype, kinds);
}
Metas index_reduce(const OpCall& call) {
  require_word(call, "reduce", call.string("reduce"), {"prod", "mean", "amax", "amin"});
  require_reducible(call);
  return write_slices(call);
}

Metas index_fill(const OpCall& call) {
  check_slices(call);
  require_index(call, "index", false);
  if (call.schema().overload == "int_Tensor") {
    require_rank(call, "value", 0);
    if (is_complex(meta(call, "value").dtype) && !is_complex(meta(call, "self").dtype))
      fail(call, "value is complex and self has dtype {}", name_of(meta(call, "self").dtype));
  } else {
    require_number(call, "value", meta(call, "self").dtype);
  }
  return {meta(call, "self")};
}

Metas put(const OpCall& call) {
  require_index(call, "index", false);
  require_same_dtype(call, "source", "self");
  const int64_t count = element_count(meta(call, "index").shape);
  if (element_count(meta(call, "source").shape) != count) {
    fail(call, "source has {} elements; it must have as many as index, {}",
         element_count(meta(call, "source").shape), count);
  }
  if (element_count(meta(call, "self").shape) == 0 && count != 0) {
    fail(call, "self has no elements, so no index is within it");
  }
  return {meta(call, "self")};
}

Metas take(const OpCall& call) {
  require_index(call, "index", false);
  if (element_count(meta(call, "self").shape) == 0 && element_count(meta(call, "index").shape) != 0) {
    fail(call, "self has no elements, so no index is within it");
  }
  return {{meta(call, "self").dtype, meta(call, "index").shape}};
}

// As scatter.src, with one of two reductions. "add" and "multiply" are scatter's own words.
Metas scatter_reduced(const OpCall& call) {
  require_word(call, "reduce", call.string("reduce"), {"add", "multiply"});
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  require_index(call, "index");
  const bool from_tensor = call.schema().find("src") != nullptr;
  if (from_tensor) require_same_dtype(call, "src", "self");
  const TensorMeta& index = meta(call, "index");
  if (element_count(index.shape) == 0) return {self};
  for (const std::string_view limit : {std::string_view("self"), std::string_view("src")}) {
    if (limit == "src" && !from_tensor) continue;
    const TensorMeta& other = meta(call, limit);
    const int64_t ranks = std::max<int64_t>(rank(index), 1);
    if (ranks != std::max<int64_t>(rank(other), 1)) {
      fail(call, "index has shape {}; it must have as many dims as {} of shape {}", to_string(index.shape),
           limit, to_string(other.shape));
    }
    for (int64_t d = 0; d < ranks; ++d) {
      if ((limit == "src" || d != dim) && size_at(index, d) > size_at(other, d)) {
        fail(call, "index has shape {}; its dim {} must not be larger than that of {}, {}",
             to_string(index.shape), d, limit, to_string(other.shape));
      }
    }
  }
  return {self};
}

Metas masked_select(const OpCall& call) {
  const TensorMeta& mask = meta(call, "mask");
  if (mask.dtype != DType::boolean) fail(call, "mask has dtype {}; it must be bool", name_of(mask.dtype));
  broadcast(meta(call, "self").shape, mask.shape, call);
  return {{meta(call, "self").dtype, {-1}}};
}

// Coordinates of at most `size` elements that are not zero; the rest is filled.
Metas nonzero_static(const OpCall& call) {
  const int64_t size = call.integer("size");
  if (size < 0) fail(call, "size is {}; it cannot be negative", size);
  return {{DType::i64, {size, rank(meta(call, "self"))}}};
}

// Position i, repeats[i] times.
Metas repeats(const OpCall& call) {
  require_rank(call, "repeats", 1);
  require_index(call, "repeats");
  const auto size = call.integer_opt("output_size");
  if (size && *size < 0) fail(call, "output_size is {}; it cannot be negative", *size);
  const bool none = meta(call, "repeats").shape[0] == 0;
  return {{meta(call, "repeats").dtype, {none ? 0 : size.value_or(-1)}}};
}
Metas repeat_interleave(const OpCall& call) {
  TensorMeta out = meta(call, "self");
  require_rank(call, "repeats", 0, 1);
  require_index(call, "repeats");
  const auto given = call.integer_opt("dim");
  if (!given) out.shape = {element_count(out.shape)};
  if (out.shape.empty()) out.shape = {1};
  const int64_t dim = given ? normalise_dim(*given, rank(out), call) : 0;
  const int64_t count = element_count(meta(call, "repeats").shape), size = out.shape[at(dim)];
  if (count != 1 && count != size) {
    fail(call, "repeats has {} entries; it must have 1, or {} as dim {} of self", count, size, dim);
  }
  const auto result = call.integer_opt("output_size");
  if (result && *result < 0) fail(call, "output_size is {}; it cannot be negative", *result);
  out.shape[at(dim)] = size == 0 ? 0 : result.value_or(-1);
  return {out};
}

// Reductions of consecutive segments of `axis`, by their lengths or their offsets [..., segments + 1].
Metas segment_reduce(const OpCall& call) {
  TensorMeta out = meta(call, "data");
  require_kind(call, "data", out.dtype, kFloat);
  require_word(call, "reduce", call.string("reduce"), {"max", "mean", "min", "sum", "prod"});
  if (!call.is_none("indices")) fail(call, "indices are given; segments are named by lengths or offsets");
  if (out.shape.empty()) fail(call, "data is a 0-d tensor; it must have at least 1 dim");
  const int64_t axis = normalise_dim(call.integer("axis"), rank(out), call);
  const bool by_length = !call.is_none("lengths");
  if (!by_length && call.is_none("offsets")) fail(call, "neither lengths nor offsets are given");
  const char* name = by_length ? "lengths" : "offsets";
  require_index(call, name);
  const TensorMeta& segments = meta(call, name);
  if (axis != rank(segments) - 1) {
    fail(call, "axis is {}; it must be the last dim of {}, of shape {}", axis, name,
         to_string(segments.shape));
  }
  for (int64_t d = 0; d < axis; ++d) {
    if (segments.shape[at(d)] != out.shape[at(d)]) {
      fail(call, "{} has shape {}; its dims before axis must be those of data, of shape {}", name,
           to_string(segments.shape), to_string(out.shape));
    }
  }
  const int64_t count = segments.shape[at(axis)] - (by_length ? 0 : 1);
  if (count < 0) fail(call, "offsets is empty; it must have one entry more than there are segments");
  out.shape[at(axis)] = count;
  return {out};
}

}  // namespace

void register_index_writes(ShapeTable& table) {
  table.add("aten::index_add.default", index_add);
  table.add("aten::index_copy.default", index_copy);
  table.add("aten::index_reduce.default", index_reduce);
  table.add("aten::index_fill.int_Scalar", index_fill);
  table.add("aten::index_fill.int_Tensor", index_fill);
  table.add("aten::put.default", put);
  table.add("aten::take.default", take);
  table.add("aten::scatter.reduce", scatter_reduced);
  table.add("aten::scatter.value_reduce", scatter_reduced);
  table.add("aten::masked_select.default", masked_select);
  table.add("aten::nonzero_static.default", nonzero_static);
  table.add("aten::repeat_interleave.Tensor", repeats);
  table.add("aten::repeat_interleave.self_Tensor", repeat_interleave);
  table.add("aten::segment_reduce.default", segment_reduce);
}

}  // namespace assay
