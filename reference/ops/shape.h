// Operators that only move elements.
#pragma once

#include <algorithm>

#include "reference/ops/cast.h"
#include "reference/ops/create.h"
#include "reference/ops/movement.h"

namespace assay::reference {

template <class T>
std::vector<Array<T>> nothing(const OpCall&, const Inputs<T>&) {
  return {};
}

template <class T>
std::vector<Array<T>> permute(const OpCall& call, const Inputs<T>& in) {
  const Shape from = contiguous_strides(in[0]->meta.shape);
  Shape strides;
  for (const int64_t dim : call.integers("dims")) {
    strides.push_back(from[at(normalise_dim(dim, in[0]->rank(), call))]);
  }
  return one(strided(*in[0], call.output(0), strides));
}
template <class T>
std::vector<Array<T>> transpose(const OpCall& call, const Inputs<T>& in) {
  Shape strides = contiguous_strides(in[0]->meta.shape);
  if (!strides.empty()) {
    std::swap(strides[at(normalise_dim(call.integer("dim0"), in[0]->rank(), call))],
              strides[at(normalise_dim(call.integer("dim1"), in[0]->rank(), call))]);
  }
  return one(strided(*in[0], call.output(0), strides));
}
template <class T>
std::vector<Array<T>> t(const OpCall& call, const Inputs<T>& in) {
  Shape strides = contiguous_strides(in[0]->meta.shape);
  std::reverse(strides.begin(), strides.end());
  return one(strided(*in[0], call.output(0), strides));
}

template <class T>
std::vector<Array<T>> expand(const OpCall& call, const Inputs<T>& in) {
  return one(strided(*in[0], call.output(0), broadcast_strides(in[0]->meta.shape, call.output(0).shape)));
}

// Python's slice bounds: negative counts from the end, then clamped.
inline int64_t slice_start(std::optional<int64_t> start, int64_t size) {
  const int64_t s = start.value_or(0);
  return std::clamp<int64_t>(s < 0 ? s + size : s, 0, size);
}

template <class T>
std::vector<Array<T>> slice(const OpCall& call, const Inputs<T>& in) {
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  Shape strides = contiguous_strides(in[0]->meta.shape);
  const int64_t offset =
      slice_start(call.integer_opt("start"), in[0]->meta.shape[at(dim)]) * strides[at(dim)];
  strides[at(dim)] *= call.integer("step");
  return one(strided(*in[0], call.output(0), strides, offset));
}
// `self` with the slice replaced by `src`.
template <class T>
std::vector<Array<T>> slice_scatter(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& src = *in[at(call.tensor("src"))];
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  Array<T> out = *in[0];
  Shape strides = contiguous_strides(out.meta.shape);
  const int64_t offset = slice_start(call.integer_opt("start"), out.meta.shape[at(dim)]) * strides[at(dim)];
  strides[at(dim)] *= call.integer("step");
  const Array<T> values = converted(src, {out.meta.dtype, src.meta.shape});
  copy_box(values, out, src.meta.shape, contiguous_strides(src.meta.shape), 0, strides, offset);
  return one(std::move(out));
}

inline int64_t select_index(const OpCall& call, int64_t size) {
  const int64_t index = call.integer("index");
  if (index < -size || index >= size) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": index " + std::to_string(index) +
                                                 " is out of range for a dim of size " +
                                                 std::to_string(size));
  }
  return index < 0 ? index + size : index;
}
template <class T>
std::vector<Array<T>> select(const OpCall& call, const Inputs<T>& in) {
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  Shape strides = contiguous_strides(in[0]->meta.shape);
  const int64_t offset = select_index(call, in[0]->meta.shape[at(dim)]) * strides[at(dim)];
  strides.erase(strides.begin() + dim);
  return one(strided(*in[0], call.output(0), strides, offset));
}
template <class T>
std::vector<Array<T>> select_scatter(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& src = *in[at(call.tensor("src"))];
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  Array<T> out = *in[0];
  Shape strides = contiguous_strides(out.meta.shape);
  const int64_t offset = select_index(call, out.meta.shape[at(dim)]) * strides[at(dim)];
  strides.erase(strides.begin() + dim);
  const Array<T> values = converted(src, {out.meta.dtype, src.meta.shape});
  copy_box(values, out, src.meta.shape, contiguous_strides(src.meta.shape), 0, strides, offset);
  return one(std::move(out));
}

// Consecutive pieces along `dim`, as long as the declared outputs.
template <class T>
std::vector<Array<T>> split(const OpCall& call, const Inputs<T>& in) {
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  const Shape strides = contiguous_strides(in[0]->meta.shape);
  const auto sizes = call.schema().find("split_sizes") != nullptr ? call.integers("split_sizes") : Shape{};
  std::vector<Array<T>> out;
  int64_t start = 0;
  for (std::size_t i = 0; i < call.outputs().size(); ++i) {
    TensorMeta meta = call.outputs()[i];
    if (!sizes.empty()) {
      meta = in[0]->meta;  // an unused piece has no meta of its own
      meta.shape[at(dim)] = sizes[i];
    } else if (!call.output_used(static_cast<int>(i))) {
      meta = in[0]->meta;
      meta.shape[at(dim)] = std::min(call.integer("split_size"), in[0]->meta.shape[at(dim)] - start);
    }
    out.push_back(strided(*in[0], meta, strides, start * strides[at(dim)]));
    start += meta.shape[at(dim)];
  }
  return out;
}

// The declared dtype is the promoted one. Legacy empty tensors of shape [0] are skipped.
template <class T>
std::vector<Array<T>> cat(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const int64_t dim = normalise_dim(call.integer("dim"), out.rank(), call);
  const Shape strides = contiguous_strides(out.meta.shape);
  int64_t start = 0;
  for (const Array<T>* piece : in) {
    if (piece->rank() == 1 && piece->count() == 0) continue;
    const Shape& shape = piece->meta.shape;
    const bool same = piece->meta.dtype == out.meta.dtype;
    const Array<T>& values = same ? *piece : converted(*piece, {out.meta.dtype, shape});
    copy_box(values, out, shape, contiguous_strides(shape), 0, strides, start * strides[at(dim)]);
    start += shape[at(dim)];
  }
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> stack(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const int64_t dim = normalise_dim(call.integer("dim"), out.rank(), call);
  Shape strides = contiguous_strides(out.meta.shape);
  const int64_t step = strides[at(dim)];
  strides.erase(strides.begin() + dim);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Shape& shape = in[i]->meta.shape;
    const Array<T> values = converted(*in[i], {out.meta.dtype, shape});
    copy_box(values, out, shape, contiguous_strides(shape), 0, strides, static_cast<int64_t>(i) * step);
  }
  return one(std::move(out));
}

// Tiles: dims are added in front, then each is repeated.
template <class T>
std::vector<Array<T>> repeat(const OpCall& call, const Inputs<T>& in) {
  const auto repeats = call.integers("repeats");
  const std::size_t added = repeats.size() - at(in[0]->rank());
  Shape sizes, strides;
  const Shape from = contiguous_strides(in[0]->meta.shape);
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    sizes.push_back(repeats[d]);
    strides.push_back(0);
    sizes.push_back(d < added ? 1 : in[0]->meta.shape[d - added]);
    strides.push_back(d < added ? 0 : from[d - added]);
  }
  Array<T> out = strided(*in[0], {call.output(0).dtype, sizes}, strides);
  out.meta = call.output(0);
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> flip(const OpCall& call, const Inputs<T>& in) {
  const Shape& shape = in[0]->meta.shape;
  Shape strides = contiguous_strides(shape);
  int64_t offset = 0;
  for (const int64_t given : call.integers("dims")) {
    const int64_t dim = normalise_dim(given, in[0]->rank(), call);
    if (shape.empty() || shape[at(dim)] == 0) continue;
    offset += (shape[at(dim)] - 1) * strides[at(dim)];
    strides[at(dim)] = -strides[at(dim)];
  }
  return one(strided(*in[0], call.output(0), strides, offset));
}

// Padding from the last dim backwards; negative padding crops.
template <class T>
std::vector<Array<T>> constant_pad(const OpCall& call, const Inputs<T>& in) {
  const auto pad = call.integers("pad");
  auto out = filled<T>(call.output(0), call.scalar("value"));
  const Shape from = contiguous_strides(in[0]->meta.shape), to = contiguous_strides(out.meta.shape);
  Shape box = in[0]->meta.shape;
  int64_t from_offset = 0, to_offset = 0;
  for (std::size_t i = 0; 2 * i + 1 < pad.size(); ++i) {
    const std::size_t d = box.size() - 1 - i;
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    box[d] += std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    if (box[d] <= 0) return one(std::move(out));
    from_offset += std::max<int64_t>(-before, 0) * from[d];
    to_offset += std::max<int64_t>(before, 0) * to[d];
  }
  copy_box(*in[0], out, box, from, from_offset, to, to_offset);
  return one(std::move(out));
}

// Windows of `size` along `dim`, a new last dim.
template <class T>
std::vector<Array<T>> unfold(const OpCall& call, const Inputs<T>& in) {
  const int64_t dim = normalise_dim(call.integer("dimension"), in[0]->rank(), call);
  Shape strides = contiguous_strides(in[0]->meta.shape);
  const int64_t step = strides.empty() ? 1 : strides[at(dim)];
  if (!strides.empty()) strides[at(dim)] *= call.integer("step");
  strides.push_back(step);
  return one(strided(*in[0], call.output(0), strides));
}

template <class T>
std::vector<Array<T>> diagonal(const OpCall& call, const Inputs<T>& in) {
  const int64_t a = normalise_dim(call.integer("dim1"), in[0]->rank(), call);
  const int64_t b = normalise_dim(call.integer("dim2"), in[0]->rank(), call);
  const int64_t shift = call.integer("offset");
  const Shape from = contiguous_strides(in[0]->meta.shape);
  Shape strides;
  for (int64_t d = 0; d < in[0]->rank(); ++d) {
    if (d != a && d != b) strides.push_back(from[at(d)]);
  }
  strides.push_back(from[at(a)] + from[at(b)]);
  return one(
      strided(*in[0], call.output(0), strides, shift >= 0 ? shift * from[at(b)] : -shift * from[at(a)]));
}

// Strides into the contiguous storage of `self`. Throws Error if an element lies outside it.
template <class T>
std::vector<Array<T>> as_strided(const OpCall& call, const Inputs<T>& in) {
  const auto sizes = call.integers("size");
  const auto strides = call.integers("stride");
  const int64_t offset = call.integer_opt("storage_offset").value_or(0);
  int64_t last = offset, first = offset;
  bool empty = false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    empty = empty || sizes[d] == 0;
    (strides[d] < 0 ? first : last) += (sizes[d] - 1) * strides[d];
  }
  if (!empty && (first < 0 || last >= in[0]->count())) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": size " + to_string(sizes) + " and stride " +
                                                 to_string(strides) + " reach outside the " +
                                                 std::to_string(in[0]->count()) + " elements of self");
  }
  return one(strided(*in[0], call.output(0), strides, offset));
}

// Lower (Lower = true) or upper triangle of the last two dims; zero elsewhere.
template <class T, bool Lower>
std::vector<Array<T>> triangle(const OpCall& call, const Inputs<T>& in) {
  Array<T> out = *in[0];
  const int64_t diagonal = call.integer("diagonal");
  const int64_t rows = out.meta.shape[at(out.rank() - 2)], columns = out.meta.shape[at(out.rank() - 1)];
  const int64_t parts = out.parts();
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t column = i % columns, row = i / columns % rows;
    if (Lower ? column - row <= diagonal : column - row >= diagonal) continue;
    if (out.is_integral()) {
      out.integer[at(i)] = 0;
    } else {
      std::fill_n(out.real.begin() + i * parts, parts, T(0));
    }
  }
  return one(std::move(out));
}

// Complex numbers and their parts are stored alike: only the meta changes.
template <class T>
std::vector<Array<T>> view_as(const OpCall& call, const Inputs<T>& in) {
  Array<T> out = *in[0];
  out.meta = call.output(0);
  return one(std::move(out));
}

template <class T>
void register_shape(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits moves = movement_traits();
  for (const char* name :
       {"view", "reshape", "_unsafe_view", "alias", "detach", "clone", "contiguous", "unsqueeze"}) {
    table.add_exact(std::string("aten::") + name + ".default", moves, reshaped<E>);
  }
  for (const char* name :
       {"aten::squeeze.dims", "aten::squeeze.dim", "aten::flatten.using_ints", "aten::unflatten.int"}) {
    table.add_exact(name, moves, reshaped<E>);
  }
  table.add_exact("aten::_assert_tensor_metadata.default", moves, nothing<E>);
  table.add_exact("aten::permute.default", moves, permute<E>);
  table.add_exact("aten::transpose.int", moves, transpose<E>);
  table.add_exact("aten::t.default", moves, t<E>);
  table.add_exact("aten::expand.default", moves, expand<E>);
  table.add_exact("aten::slice.Tensor", moves, slice<E>);
  table.add_exact("aten::slice_scatter.default", moves, slice_scatter<E>);
  table.add_exact("aten::select.int", moves, select<E>);
  table.add_exact("aten::select_scatter.default", moves, select_scatter<E>);
  table.add_exact("aten::split_with_sizes.default", moves, split<E>);
  table.add_exact("aten::split.Tensor", moves, split<E>);
  table.add_exact("aten::cat.default", moves, cat<E>);
  table.add_exact("aten::stack.default", moves, stack<E>);
  table.add_exact("aten::repeat.default", moves, repeat<E>);
  table.add_exact("aten::flip.default", moves, flip<E>);
  table.add_exact("aten::constant_pad_nd.default", moves, constant_pad<E>);
  table.add_exact("aten::unfold.default", moves, unfold<E>);
  table.add_exact("aten::diagonal.default", moves, diagonal<E>);
  table.add_exact("aten::as_strided.default", moves, as_strided<E>);
  table.add_exact("aten::tril.default", moves, triangle<E, true>);
  table.add_exact("aten::triu.default", moves, triangle<E, false>);
  table.add_exact("aten::view_as_real.default", moves, view_as<E>);
  table.add_exact("aten::view_as_complex.default", moves, view_as<E>);
}

}  // namespace assay::reference
