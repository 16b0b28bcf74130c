#include "reference/array.h"

namespace assay::reference {

template <>
Array<double> Array<double>::from(const Tensor& tensor) {
  Array<double> array;
  array.meta = {tensor.dtype(), tensor.shape()};
  if (array.is_integral()) {
    array.integer = tensor.to_ints();
  } else {
    array.real = tensor.to_doubles();
  }
  return array;
}

template <>
Tensor Array<double>::rounded() const {
  Tensor tensor(meta.dtype, meta.shape);
  if (is_integral()) {
    encode_ints(meta.dtype, integer.data(), tensor.mutable_data(), integer.size());
  } else {
    encode_floats(real_part(meta.dtype), real.data(), tensor.mutable_data(), real.size());
  }
  return tensor;
}

}  // namespace assay::reference
