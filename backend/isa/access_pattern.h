// Operands of instructions: strided tiles in SBUF, PSUM or HBM.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/dtype.h"

namespace assay::backend {

// Partitions of SBUF and PSUM.
inline constexpr int64_t kPartitions = 128;

enum class Space : uint8_t { none, sbuf, psum, hbm };

inline constexpr int kMaxRank =
    5;  // free dimensions; engines take up to CoreDescription::max_free_dims, DMA all
inline constexpr int64_t kPsumBankBytes = 2048;

// Element (p, i0, i1, ...) lies
//   in SBUF and PSUM: in partition `partition_start + p`, at byte offset + size_of(dtype) * sum(i_k *
//   strides[k]); in HBM: in tensor `tensor`, at byte offset + size_of(dtype) * (p * partition_stride +
//   sum(i_k * strides[k])).
// Strides are in elements and may be 0 (broadcast, sources only) or negative. PSUM offsets are bank * 2048 +
// byte. Elements are numbered in row-major order of (p, i0, i1, ...). rank 0 is one element a partition.
struct AccessPattern {
  Space space = Space::none;
  uint8_t rank = 0;
  DType dtype = DType::f32;
  int32_t partition_start = 0;
  int32_t partitions = 0;  // also the leading dimension of HBM patterns
  int32_t tensor = -1;
  int64_t partition_stride = 0;  // HBM only
  int64_t offset = 0;            // bytes
  std::array<int32_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};

  bool defined() const { return space != Space::none; }
  int64_t free_elements() const;                                     // a partition
  int64_t elements() const { return partitions * free_elements(); }  // in all
  bool is_contiguous() const;                                        // free dimensions only
  // Smallest and one past the largest byte touched in a partition (HBM: in the tensor), relative to its
  // start.
  struct Extent {
    int64_t begin, end;
  };
  Extent extent() const;
  // Every byte of extent() is touched.
  bool is_dense() const;

  // Views. Each throws std::out_of_range if the view does not fit this pattern.
  AccessPattern partition_slice(int start, int count) const;
  AccessPattern slice(int dim, int64_t start, int64_t size, int64_t step = 1) const;
  AccessPattern select(int dim, int64_t index) const;  // drops the dimension
  AccessPattern permuted(std::initializer_list<int> order) const;
  AccessPattern broadcast(int dim, int64_t size) const;          // the dimension has size 1
  AccessPattern unsqueezed(int dim, int64_t size = 1) const;     // new dimension with stride 0
  AccessPattern reshaped(std::span<const int64_t> sizes) const;  // free dimensions, contiguous only
  AccessPattern reshaped(std::initializer_list<int64_t> sizes) const {
    return reshaped(std::span<const int64_t>(sizes.begin(), sizes.size()));
  }
  // The same bytes under another dtype; the last dimension must be contiguous and its bytes divisible.
  AccessPattern reinterpreted(DType dtype) const;

  bool operator==(const AccessPattern&) const = default;
};

inline bool on_chip(const AccessPattern& a) { return a.space == Space::sbuf || a.space == Space::psum; }

// Calls f(begin, end) for runs of bytes that make up what the pattern touches of a partition (in HBM: of row
// 0), as long as trailing dimensions are packed; elements that it touches repeatedly, once or more often.
template <typename F>
void for_each_run(const AccessPattern& a, F f) {
  const auto element = static_cast<int64_t>(size_of(a.dtype));
  int64_t run = element;
  int outer = a.rank;
  while (outer > 0) {
    const auto k = static_cast<std::size_t>(outer - 1);
    if (a.sizes[k] != 1 && a.strides[k] != 0 && a.strides[k] * element != run) break;
    if (a.sizes[k] == 0) return;
    if (a.strides[k] != 0) run *= a.sizes[k];
    --outer;
  }
  std::array<int64_t, kMaxRank> index{};
  for (int k = 0; k < outer; ++k) {
    if (a.sizes[static_cast<std::size_t>(k)] == 0) return;
  }
  for (int64_t at = a.offset;;) {
    f(at, at + run);
    int d = outer - 1;
    for (; d >= 0; --d) {
      const auto k = static_cast<std::size_t>(d);
      if (a.strides[k] == 0) continue;
      at += a.strides[k] * element;
      if (++index[k] < a.sizes[k]) break;
      at -= a.strides[k] * element * a.sizes[k];
      index[k] = 0;
    }
    if (d < 0) return;
  }
}

using Sizes = std::span<const int64_t>;

// Row-major tiles. `offset` is in bytes within the partition.
AccessPattern sbuf_tile(DType dtype, int partition_start, int partitions, int64_t offset, Sizes sizes);
AccessPattern psum_tile(DType dtype, int partition_start, int partitions, int bank, Sizes sizes,
                        int64_t offset_in_bank = 0);
// HBM: `offset` in elements; strides in elements.
AccessPattern hbm_tile(DType dtype, int32_t tensor, int64_t offset, int partitions, int64_t partition_stride,
                       Sizes sizes, std::span<const int64_t> strides);
inline AccessPattern sbuf_tile(DType dtype, int partition_start, int partitions, int64_t offset,
                               std::initializer_list<int64_t> sizes) {
  return sbuf_tile(dtype, partition_start, partitions, offset, Sizes(sizes.begin(), sizes.size()));
}
inline AccessPattern psum_tile(DType dtype, int partition_start, int partitions, int bank,
                               std::initializer_list<int64_t> sizes, int64_t offset_in_bank = 0) {
  return psum_tile(dtype, partition_start, partitions, bank, Sizes(sizes.begin(), sizes.size()),
                   offset_in_bank);
}
inline AccessPattern hbm_tile(DType dtype, int32_t tensor, int64_t offset, int partitions,
                              int64_t partition_stride, std::initializer_list<int64_t> sizes,
                              std::initializer_list<int64_t> strides) {
  return hbm_tile(dtype, tensor, offset, partitions, partition_stride, Sizes(sizes.begin(), sizes.size()),
                  std::span<const int64_t>(strides.begin(), strides.size()));
}

// "sbuf[0:128, 1024] bf16 [512:1]": for messages.
std::string to_string(const AccessPattern& pattern);

}  // namespace assay::backend
