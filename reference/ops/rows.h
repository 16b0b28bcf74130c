// Reductions see their input as rows: one row an output, contiguous.
#pragma once

#include <algorithm>

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

// The input as numbers of the output's kind: integers stay integers only where the output is integral.
template <class T>
Array<T> as_kind_of(const Array<T>& input, const TensorMeta& output) {
  if (input.is_integral() == is_integral(output.dtype)) return input;
  Array<T> converted;
  converted.meta = {output.dtype, input.meta.shape};
  if (input.is_integral()) {
    converted.real.resize(input.integer.size());
    map(input.integer, converted.real, [](int64_t v) { return constant<T>(static_cast<double>(v)); });
  } else {
    throw Error(ErrorCode::unsupported, "a float tensor reduced into an integer dtype");
  }
  return converted;
}

}  // namespace assay::reference
