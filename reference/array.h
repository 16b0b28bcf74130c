// One tensor of an evaluation, over a number type.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "core/opset/call.h"
#include "core/tensor.h"

namespace assay::reference {

// `real` for float dtypes (complex: 2 per element, re and im), `integer` for the others; row-major,
// contiguous.
template <class T>
struct Array {
  TensorMeta meta;
  std::vector<T> real;
  std::vector<int64_t> integer;
  // 1 where the operator's result is undefined (x / 0 on integers, NaN to integer): any bits are right there.
  // Empty if it is defined everywhere. Belongs to the node that made it; later nodes ignore it.
  std::vector<uint8_t> undefined;

  bool is_integral() const { return assay::is_integral(meta.dtype); }
  int64_t count() const { return element_count(meta.shape); }
  int64_t rank() const { return static_cast<int64_t>(meta.shape.size()); }
  // Numbers that one element takes in `real`.
  int64_t parts() const { return is_complex(meta.dtype) ? 2 : 1; }

  static Array from(const Tensor& tensor);
  Tensor rounded() const;  // once, RNE, to meta.dtype
};

// The wide form that crosses this library's interface.
using Wide = Array<double>;

template <>
Array<double> Array<double>::from(const Tensor& tensor);
template <>
Tensor Array<double>::rounded() const;

// The inputs of a call, numbered as OpCall numbers them.
template <class T>
using Inputs = std::vector<const Array<T>*>;

// An array of zeros of the given meta.
template <class T>
Array<T> make_array(const TensorMeta& meta) {
  Array<T> array;
  array.meta = meta;
  const auto count = static_cast<std::size_t>(element_count(meta.shape));
  if (array.is_integral()) {
    array.integer.assign(count, 0);
  } else {
    array.real.assign(count * static_cast<std::size_t>(array.parts()), T(0));
  }
  return array;
}

}  // namespace assay::reference
