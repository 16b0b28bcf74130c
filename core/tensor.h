// A strided tensor on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace assay {

using Shape = std::vector<int64_t>;  // sizes or strides, in elements

// Product of the sizes; 1 for a 0-d tensor. Throws Error on a negative size or when the product passes 2^62.
int64_t element_count(const Shape& shape);
Shape contiguous_strides(const Shape& shape);
std::string to_string(const Shape& shape);  // "[2, 3]"

// Bytes, aligned to 64, shared by all views of them.
class Storage {
 public:
  explicit Storage(std::size_t bytes);  // zeroed; Error beyond 512 GiB or what there is
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* block_ = nullptr;  // what the allocator gave
  std::byte* data_;
  std::size_t size_;
};

// A view of Storage. Copying a Tensor copies the view, not the bytes (as in PyTorch); clone() copies the
// bytes.
class Tensor {
 public:
  Tensor() = default;                // undefined
  Tensor(DType dtype, Shape shape);  // zeroed, contiguous
  // A view; offset and strides count elements of `dtype`, strides may be zero or negative. Throws Error if
  // any element lies outside the storage.
  Tensor(DType dtype, Shape shape, Shape strides, int64_t offset, std::shared_ptr<Storage> storage);

  static Tensor from_bytes(DType dtype, Shape shape, const void* bytes, std::size_t size);
  // Rounds once. Integral dtypes truncate and throw Error for numbers that do not fit; complex ones take re,
  // im, ...
  static Tensor from_doubles(DType dtype, Shape shape, const std::vector<double>& values);
  static Tensor from_ints(DType dtype, Shape shape, const std::vector<int64_t>& values);
  static Tensor scalar(DType dtype, double value);

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t size(int64_t dim) const;  // accepts negative dims
  int64_t count() const { return count_; }
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * size_of(dtype_); }  // logical, packed
  bool is_contiguous() const;

  // First element of a contiguous tensor; throws Error if the tensor is not contiguous.
  const std::byte* data() const;
  std::byte* mutable_data();
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  Tensor clone() const;       // contiguous copy
  Tensor contiguous() const;  // itself if it is contiguous, else clone()
  Tensor reshaped(Shape shape) const;

  // Logical order. Complex tensors give 2 * count() doubles: re, im, re, im. Integral ones are converted (to
  // nearest).
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_ints() const;  // integral dtypes only
  bool bitwise_equal(const Tensor& other) const;

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  Shape strides_;
  int64_t offset_ = 0;
  int64_t count_ = 0;
  std::shared_ptr<Storage> storage_;
};

}  // namespace assay
