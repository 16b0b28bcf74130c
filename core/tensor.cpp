#include "core/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/error.h"

namespace assay {
namespace {

constexpr int64_t max_count = int64_t{1} << 62;
constexpr std::size_t alignment = 64;
// 512 GiB: more than any tensor that runs here, so what asks for it is a hostile or broken size. Refusing it
// ourselves keeps the answer an Error on systems and sanitizers whose allocators abort.
constexpr std::size_t max_bytes = std::size_t{1} << 39;

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

std::size_t byte_count(DType dtype, const Shape& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  const std::size_t size = size_of(dtype);
  if (count > max_bytes / size) {
    fail("a tensor of shape " + to_string(shape) + " and element type " + std::string(name_of(dtype)) +
         " is larger than 512 GiB");
  }
  return count * size;
}

struct Span {
  int64_t first;
  int64_t last;
};

// First and last element that a non-empty view touches; throws when the arithmetic leaves 64 bits.
Span touched(const Shape& shape, const Shape& strides, int64_t offset) {
  __extension__ using Wide = __int128;
  Wide first = offset;
  Wide last = offset;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const Wide reach = static_cast<Wide>(shape[dim] - 1) * strides[dim];
    (reach < 0 ? first : last) += reach;
  }
  constexpr Wide limit = max_count;
  if (first < -limit || last > limit) {
    fail("a view of shape " + to_string(shape) + " with strides " + to_string(strides) + " overflows");
  }
  return {static_cast<int64_t>(first), static_cast<int64_t>(last)};
}

// Copies `count` elements of Size bytes that lie `stride` elements apart.
template <std::size_t Size>
void gather_run(const std::byte* src, int64_t stride, std::byte* dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(dst + static_cast<std::size_t>(i) * Size, src + i * stride * static_cast<int64_t>(Size),
                Size);
  }
}

void gather(const std::byte* src, int64_t stride, std::byte* dst, int64_t count, std::size_t size) {
  if (stride == 1) {
    std::memcpy(dst, src, static_cast<std::size_t>(count) * size);
    return;
  }
  switch (size) {
    case 1:
      return gather_run<1>(src, stride, dst, count);
    case 2:
      return gather_run<2>(src, stride, dst, count);
    case 4:
      return gather_run<4>(src, stride, dst, count);
    case 8:
      return gather_run<8>(src, stride, dst, count);
    default:
      return gather_run<16>(src, stride, dst, count);
  }
}

// Packs a non-empty view into `dst` in logical (row-major) order.
void pack(const Tensor& tensor, std::byte* dst) {
  const std::size_t size = size_of(tensor.dtype());
  const std::byte* base = tensor.storage()->data() + static_cast<std::size_t>(tensor.offset()) * size;
  const Shape& shape = tensor.shape();
  const Shape& strides = tensor.strides();
  const std::size_t outer = shape.empty() ? 0 : shape.size() - 1;
  const int64_t run = shape.empty() ? 1 : shape[outer];
  const int64_t stride = shape.empty() ? 1 : strides[outer];
  Shape index(outer, 0);
  int64_t start = 0;
  for (int64_t done = 0; done < tensor.count(); done += run) {
    gather(base + start * static_cast<int64_t>(size), stride, dst, run, size);
    dst += static_cast<std::size_t>(run) * size;
    for (std::size_t dim = outer; dim-- > 0;) {
      if (index[dim] + 1 < shape[dim]) {
        ++index[dim];
        start += strides[dim];
        break;
      }
      start -= strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
}

}  // namespace

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) fail("shape " + to_string(shape) + " has a negative size");
    if (size == 0) {
      empty = true;  // the rest is still checked, so that the answer does not depend on the order of sizes
    } else if (count > max_count / size) {
      fail("shape " + to_string(shape) + " has more than 2^62 elements");
    } else {
      count *= size;
    }
  }
  return empty ? 0 : count;
}

Shape contiguous_strides(const Shape& shape) {
  static_cast<void>(element_count(shape));
  Shape strides(shape.size(), 1);
  for (std::size_t dim = shape.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * std::max<int64_t>(shape[dim], 1);
  }
  return strides;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (dim > 0) text += ", ";
    text += std::to_string(shape[dim]);
  }
  return text + "]";
}

Storage::Storage(std::size_t bytes) : data_(nullptr), size_(bytes) {
  const auto refuse = [bytes](ErrorCode code) {
    throw Error(code, "no memory for a tensor of " + std::to_string(bytes) +
                          " bytes (the limit is 512 GiB); use smaller shapes");
  };
  if (bytes > max_bytes) refuse(ErrorCode::invalid_argument);
  // calloc maps zero pages lazily, so a large tensor costs what is touched; it aligns to 16, hence the
  // margin.
  const std::size_t padded = bytes + alignment;
  block_ = std::calloc(padded, 1);
  if (block_ == nullptr) refuse(ErrorCode::io);
  void* aligned = block_;
  std::size_t space = padded;
  data_ = static_cast<std::byte*>(std::align(alignment, bytes, aligned, space));
}

Storage::~Storage() { std::free(block_); }

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      strides_(contiguous_strides(shape_)),
      count_(element_count(shape_)),
      storage_(std::make_shared<Storage>(byte_count(dtype, shape_))) {}

Tensor::Tensor(DType dtype, Shape shape, Shape strides, int64_t offset, std::shared_ptr<Storage> storage)
    : dtype_(dtype),
      shape_(std::move(shape)),
      strides_(std::move(strides)),
      offset_(offset),
      count_(element_count(shape_)),
      storage_(std::move(storage)) {
  if (storage_ == nullptr) fail("a view needs storage");
  if (strides_.size() != shape_.size()) {
    fail("strides " + to_string(strides_) + " do not match shape " + to_string(shape_));
  }
  if (offset_ < 0) fail("a view starts at element " + std::to_string(offset_) + " of its storage");
  if (!is_valid(dtype_)) static_cast<void>(size_of(dtype_));  // throws
  const auto elements = static_cast<int64_t>(storage_->size() / size_of(dtype_));
  const Span span = count_ == 0 ? Span{offset_, offset_ - 1} : touched(shape_, strides_, offset_);
  if (span.first < 0 || span.last >= elements || (count_ == 0 && offset_ > elements)) {
    fail("a view of shape " + to_string(shape_) + " with strides " + to_string(strides_) + " at element " +
         std::to_string(offset_) + " leaves its storage of " + std::to_string(elements) + " elements");
  }
}

Tensor Tensor::from_bytes(DType dtype, Shape shape, const void* bytes, std::size_t size) {
  const std::size_t expected = byte_count(dtype, shape);
  if (size != expected) {
    fail("a tensor of shape " + to_string(shape) + " and element type " + std::string(name_of(dtype)) +
         " has " + std::to_string(expected) + " bytes, but " + std::to_string(size) + " were given");
  }
  Tensor result(dtype, std::move(shape));
  if (size > 0) std::memcpy(result.mutable_data(), bytes, size);
  return result;
}

Tensor Tensor::from_doubles(DType dtype, Shape shape, const std::vector<double>& values) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  const std::size_t expected = is_complex(dtype) ? 2 * count : count;
  if (values.size() != expected) {
    fail("shape " + to_string(shape) + " takes " + std::to_string(expected) + " numbers, but " +
         std::to_string(values.size()) + " were given");
  }
  Tensor result(dtype, std::move(shape));
  encode_floats(dtype, values.data(), result.mutable_data(), count);
  return result;
}

Tensor Tensor::from_ints(DType dtype, Shape shape, const std::vector<int64_t>& values) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (values.size() != count) {
    fail("shape " + to_string(shape) + " takes " + std::to_string(count) + " numbers, but " +
         std::to_string(values.size()) + " were given");
  }
  Tensor result(dtype, std::move(shape));
  encode_ints(dtype, values.data(), result.mutable_data(), count);
  return result;
}

Tensor Tensor::scalar(DType dtype, double value) {
  if (is_complex(dtype)) return from_doubles(dtype, {}, {value, 0.0});
  return from_doubles(dtype, {}, {value});
}

int64_t Tensor::size(int64_t dim) const {
  const int64_t wrapped = dim < 0 ? dim + rank() : dim;
  if (wrapped < 0 || wrapped >= rank()) {
    fail("dimension " + std::to_string(dim) + " of a tensor of shape " + to_string(shape_));
  }
  return shape_[static_cast<std::size_t>(wrapped)];
}

bool Tensor::is_contiguous() const {
  if (count_ == 0) return true;
  int64_t expected = 1;
  for (std::size_t dim = shape_.size(); dim-- > 0;) {
    if (shape_[dim] == 1) continue;
    if (strides_[dim] != expected) return false;
    expected *= shape_[dim];
  }
  return true;
}

const std::byte* Tensor::data() const {
  if (!defined()) fail("an undefined tensor has no data");
  if (!is_contiguous()) {
    fail("a tensor of shape " + to_string(shape_) + " with strides " + to_string(strides_) +
         " is not contiguous");
  }
  return storage_->data() + static_cast<std::size_t>(offset_) * size_of(dtype_);
}

std::byte* Tensor::mutable_data() {
  static_cast<void>(data());  // the checks
  return storage_->data() + static_cast<std::size_t>(offset_) * size_of(dtype_);
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor result(dtype_, shape_);
  if (count_ > 0) pack(*this, result.mutable_data());
  return result;
}

Tensor Tensor::contiguous() const { return defined() && !is_contiguous() ? clone() : *this; }

Tensor Tensor::reshaped(Shape shape) const {
  if (!defined()) fail("an undefined tensor cannot be reshaped");
  if (element_count(shape) != count_) {
    fail("a tensor of shape " + to_string(shape_) + " cannot take the shape " + to_string(shape));
  }
  Shape strides = contiguous_strides(shape);
  const Tensor base = contiguous();
  return Tensor(dtype_, std::move(shape), std::move(strides), base.offset_, base.storage_);
}

std::vector<double> Tensor::to_doubles() const {
  const Tensor packed = contiguous();
  std::vector<double> values(static_cast<std::size_t>(is_complex(dtype_) ? 2 * count_ : count_));
  if (count_ > 0) decode_floats(dtype_, packed.data(), values.data(), static_cast<std::size_t>(count_));
  return values;
}

std::vector<int64_t> Tensor::to_ints() const {
  const Tensor packed = contiguous();
  std::vector<int64_t> values(static_cast<std::size_t>(count_));
  decode_ints(dtype_, count_ > 0 ? packed.data() : nullptr, values.data(), static_cast<std::size_t>(count_));
  return values;
}

bool Tensor::bitwise_equal(const Tensor& other) const {
  if (defined() != other.defined()) return false;
  if (!defined()) return true;
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  if (count_ == 0) return true;
  return std::memcmp(contiguous().data(), other.contiguous().data(), bytes()) == 0;
}

}  // namespace assay
