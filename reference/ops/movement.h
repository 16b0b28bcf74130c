// Copies with other strides: what views, slices, flips and concatenations have in common.
#pragma once

#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

// Copies a box of `shape` elements between two arrays of equal dtype, from strides `from` at `from_offset` to
// strides `to` at `to_offset` (in elements; complex elements move as pairs).
template <class T>
void copy_box(const Array<T>& src, Array<T>& dst, const Shape& shape, const Shape& from, int64_t from_offset,
              const Shape& to, int64_t to_offset) {
  const auto move = [&](const auto* source, auto* target, int64_t parts) {
    for_each_row<2>(shape, {from, to}, [&](int64_t, const auto& at, const auto& step, int64_t length) {
      const auto* s = source + (at[0] + from_offset) * parts;
      auto* t = target + (at[1] + to_offset) * parts;
      for (int64_t j = 0; j < length; ++j) {
        for (int64_t p = 0; p < parts; ++p) t[j * step[1] * parts + p] = s[j * step[0] * parts + p];
      }
    });
  };
  if (src.is_integral()) {
    move(src.integer.data(), dst.integer.data(), 1);
  } else {
    move(src.real.data(), dst.real.data(), src.parts());
  }
}

// A contiguous array of `meta` read from `src` with the given strides.
template <class T>
Array<T> strided(const Array<T>& src, const TensorMeta& meta, const Shape& strides, int64_t offset = 0) {
  auto out = make_array<T>(meta);
  copy_box(src, out, meta.shape, strides, offset, contiguous_strides(meta.shape), 0);
  return out;
}

// The same elements under another shape.
template <class T>
std::vector<Array<T>> reshaped(const OpCall& call, const Inputs<T>& in) {
  Array<T> out = *in[0];
  out.meta = call.output(0);
  out.undefined.clear();
  if (out.count() != in[0]->count()) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": a view of " + to_string(in[0]->meta.shape) +
                                                 " as " + to_string(out.meta.shape) +
                                                 " changes the number of elements");
  }
  return one(std::move(out));
}

// Row-major index arithmetic along one dim: [outer, size, inner].
struct Axis {
  int64_t outer = 1, size = 1, inner = 1;
  int64_t at(int64_t o, int64_t i, int64_t n) const { return (o * size + i) * inner + n; }
};
inline Axis axis_of(const Shape& shape, int64_t dim) {
  Axis axis;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto i = static_cast<int64_t>(d);
    (i < dim ? axis.outer : i == dim ? axis.size : axis.inner) *= shape[d];
  }
  return axis;
}

inline std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace assay::reference
