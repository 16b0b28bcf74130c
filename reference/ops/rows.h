// Reductions see their input as rows: one row an output, contiguous.
#pragma once

#include <algorithm>

#include "reference/ops/cast.h"
#include "reference/ops/movement.h"

namespace assay::reference {

struct Rows {
  int64_t count = 1, length = 1;
};

// The dims of an argument that may be absent or empty (then all), sorted, not negative. "": the operator has
// none.
inline std::vector<int64_t> reduced_dims(const OpCall& call, std::string_view name, int64_t rank) {
  std::vector<int64_t> dims;
  const auto given = name.empty() ? std::nullopt : call.integers_opt(name);
  if (given) {
    for (const int64_t dim : *given) dims.push_back(normalise_dim(dim, rank, call));
  }
  if (dims.empty()) {
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  }
  std::sort(dims.begin(), dims.end());
  if (rank == 0) dims.clear();
  return dims;
}

// `array` with the reduced dims moved to the end.
template <class T>
Array<T> gathered_rows(const Array<T>& array, const std::vector<int64_t>& dims, Rows& rows) {
  const Shape strides = contiguous_strides(array.meta.shape);
  Shape sizes, from;
  rows = {};
  for (const bool reduced : {false, true}) {
    for (int64_t d = 0; d < array.rank(); ++d) {
      if (std::binary_search(dims.begin(), dims.end(), d) != reduced) continue;
      sizes.push_back(array.meta.shape[at(d)]);
      from.push_back(strides[at(d)]);
      (reduced ? rows.length : rows.count) *= sizes.back();
    }
  }
  return strided(array, {array.meta.dtype, sizes}, from);
}

// Unit roundoff of a cast between float dtypes that loses precision, else 0.
inline double cast_roundoff(DType from, DType to) {
  if (!is_float(from) || !is_float(to)) return 0;
  const FloatFormat& format = float_format(to);
  return format.precision < float_format(from).precision ? format.unit_roundoff() : 0;
}

// The input as numbers of the output's kind: integers stay integers only where the output is integral. With
// `dtype`, PyTorch casts the input before it reduces: floats become integers (`undefined` marks those that
// none holds), narrower floats may be infinite and have the cast's error.
template <class T>
Array<T> as_kind_of(const Array<T>& input, const TensorMeta& output) {
  if (input.is_integral() && is_integral(output.dtype) && output.dtype == DType::boolean &&
      input.meta.dtype != DType::boolean) {
    Array<T> truths = input;
    truths.meta.dtype = DType::boolean;
    for (int64_t& v : truths.integer) v = v != 0;
    return truths;
  }
  if (const double u = cast_roundoff(input.meta.dtype, output.dtype); u > 0) {
    Array<T> cast = input;
    for (T& x : cast.real) {
      const double v = static_cast<double>(plain(x));
      if (std::isinf(round_to(output.dtype, v))) {
        x = T(std::copysign(HUGE_VAL, v));
      } else if constexpr (std::is_same_v<T, Bounded>) {
        if (std::isfinite(v)) x.bound += u * std::fabs(v);
      }
    }
    return cast;
  }
  if (input.is_integral() == is_integral(output.dtype)) return input;
  Array<T> values;
  values.meta = {output.dtype, input.meta.shape};
  if (input.is_integral()) {
    values.real.resize(input.integer.size());
    map(input.integer, values.real, [](int64_t v) { return constant<T>(static_cast<double>(v)); });
  } else {
    Array<double> numbers;
    numbers.meta = input.meta;
    for (const T& x : input.real) numbers.real.push_back(static_cast<double>(plain(x)));
    Array<double> whole = converted(numbers, {output.dtype, input.meta.shape});
    values.integer = std::move(whole.integer);
    values.undefined = std::move(whole.undefined);
  }
  return values;
}

}  // namespace assay::reference
