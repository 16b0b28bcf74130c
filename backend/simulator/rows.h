// Elements of one partition of an access pattern, gathered to and scattered from packed arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/isa/access_pattern.h"
#include "core/philox.h"

namespace assay::backend {

// How a row is rounded when it is written. Null means: to nearest, ties to even.
struct StochasticRounding {
  PhiloxKey key;    // of the run
  uint64_t stream;  // of the instruction
  uint64_t first;   // number of the row's first element
};

// A pattern with neighbouring dimensions merged; reads and writes rows at any base address. Conversions: to
// fp32 exactly (integers: rounded to nearest); from fp32 to floats rounded to nearest even, overflow to
// infinity; to integers truncated towards zero and saturated, NaN to 0; to boolean: not equal to zero.
class Row {
 public:
  Row() = default;
  // Reads and writes the pattern as `dtype`, which has the size of the pattern's.
  Row(const AccessPattern& pattern, DType dtype);
  explicit Row(const AccessPattern& pattern) : Row(pattern, pattern.dtype) {}

  int64_t count() const { return count_; }
  DType dtype() const { return dtype_; }
  // One run of adjacent elements.
  bool contiguous() const { return rank_ == 0 && (inner_stride_ == element_ || inner_ == 1); }

  // `base` is the address of the partition (or HBM row) itself; the pattern's offset is added here.
  void load(const std::byte* base, float* out) const;
  void load(const std::byte* base, int64_t* out) const;  // floats are truncated and saturated
  void store(std::byte* base, const float* in, const StochasticRounding* rounding = nullptr) const;
  void store(std::byte* base, const int64_t* in) const;  // wraps; floats through fp32
  // Raw elements, packed.
  void load_raw(const std::byte* base, std::byte* out) const;
  void store_raw(std::byte* base, const std::byte* in) const;
  // Asks for the row's cache lines, to be read or `written` soon. Runs of elements that are far apart are
  // left out.
  void prefetch(const std::byte* base, bool written) const;
  // The row itself if it is packed fp32, else loaded into `buffer`.
  const float* view(const std::byte* base, float* buffer) const {
    if (dtype_ == DType::f32 && contiguous() && (offset_ & 3) == 0) {
      return reinterpret_cast<const float*>(base + offset_);
    }
    load(base, buffer);
    return buffer;
  }

 private:
  template <typename F>
  void for_each_run(F f) const;

  DType dtype_ = DType::f32;
  int rank_ = 0;  // outer dimensions
  int64_t offset_ = 0;
  int64_t element_ = 4;
  int64_t inner_ = 1;         // elements of a run
  int64_t inner_stride_ = 4;  // bytes
  int64_t count_ = 1;
  std::array<int64_t, kMaxRank> sizes_{};
  std::array<int64_t, kMaxRank> strides_{};  // bytes
};

}  // namespace assay::backend
