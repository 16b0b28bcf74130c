#include "backend/simulator/tile_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace assay::backend {
namespace {

constexpr int64_t kBlock = 512;
constexpr std::size_t kHugePage = std::size_t{1} << 21;

void set_bits(std::vector<uint64_t>& words, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end;) {
    const int64_t in_word = i % 64, count = std::min(64 - in_word, end - i);
    const uint64_t ones = count == 64 ? ~uint64_t{0} : ((uint64_t{1} << count) - 1) << in_word;
    words[static_cast<std::size_t>(i / 64)] |= ones;
    i += count;
  }
}

}  // namespace

void ByteMask::assign(const AccessPattern& pattern) {
  const AccessPattern::Extent extent = pattern.extent();
  first_word_ = static_cast<std::size_t>(extent.begin / 64);
  const int64_t base = extent.begin / 64 * 64;
  words_.assign(static_cast<std::size_t>((extent.end - base + 63) / 64), 0);
  if (pattern.is_dense()) {  // the usual case
    set_bits(words_, extent.begin - base, extent.end - base);
    return;
  }
  for_each_run(pattern, [&](int64_t begin, int64_t end) { set_bits(words_, begin - base, end - base); });
}

void TileMemory::Free::operator()(std::byte* p) const { std::free(p); }

TileMemory::TileMemory(int partitions, int64_t bytes, bool track_matmul)
    : partitions_(partitions),
      // An odd number of cache lines, so that the rows of a tile do not fall into one cache set.
      pitch_(((bytes + 63) / 64 | 1) * 64),
      words_(static_cast<std::size_t>((bytes + 63) / 64)),
      written_(static_cast<std::size_t>(partitions) * words_, 0),
      matmul_(track_matmul ? written_.size() : 0, 0),
      block_serial_(static_cast<std::size_t>(bytes / kBlock + 1), 0) {
  const std::size_t size =
      (static_cast<std::size_t>(pitch_ * partitions) + kHugePage - 1) / kHugePage * kHugePage;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kHugePage, size));
  if (data == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  madvise(data, size, MADV_HUGEPAGE);  // only a hint: a tile touches 128 rows, each on a page of its own
#endif
  data_.reset(data);
}

void TileMemory::reset() {
  const std::size_t used = high_word_ * static_cast<std::size_t>(partitions_);
  std::fill_n(written_.begin(), used, 0);
  if (!matmul_.empty()) std::fill_n(matmul_.begin(), used, 0);
  high_word_ = 0;
}

int TileMemory::first_uninitialized(const AccessPattern& pattern, const ByteMask& mask,
                                    bool by_matmul) const {
  const std::vector<uint64_t>& all = bits(by_matmul);
  const auto partitions = static_cast<std::size_t>(pattern.partitions);
  uint64_t missing = 0;
  for (std::size_t w = 0; w < mask.words().size(); ++w) {
    const uint64_t want = mask.words()[w];
    const uint64_t* have = all.data() + place(pattern, mask, w);
    for (std::size_t p = 0; p < partitions; ++p) missing |= want & ~have[p];
  }
  if (missing == 0) return -1;
  for (int p = pattern.partition_start; p < pattern.partition_start + pattern.partitions; ++p) {
    if (first_uninitialized_byte(p, mask, by_matmul) >= 0) return p;
  }
  return -1;
}

int64_t TileMemory::first_uninitialized_byte(int partition, const ByteMask& mask, bool by_matmul) const {
  const std::vector<uint64_t>& all = bits(by_matmul);
  for (std::size_t w = 0; w < mask.words().size(); ++w) {
    const std::size_t at = (mask.first_word() + w) * static_cast<std::size_t>(partitions_);
    const uint64_t missing = mask.words()[w] & ~all[at + static_cast<std::size_t>(partition)];
    if (missing != 0) return static_cast<int64_t>(mask.first_word() + w) * 64 + std::countr_zero(missing);
  }
  return -1;
}

void TileMemory::mark(const AccessPattern& pattern, const ByteMask& mask, bool by_matmul) {
  const auto partitions = static_cast<std::size_t>(pattern.partitions);
  for (std::size_t w = 0; w < mask.words().size(); ++w) {
    const uint64_t touched = mask.words()[w];
    uint64_t* have = written_.data() + place(pattern, mask, w);
    for (std::size_t p = 0; p < partitions; ++p) have[p] |= touched;
    if (matmul_.empty()) continue;
    uint64_t* product = matmul_.data() + place(pattern, mask, w);
    if (by_matmul) {
      for (std::size_t p = 0; p < partitions; ++p) product[p] |= touched;
    } else {
      for (std::size_t p = 0; p < partitions; ++p) product[p] &= ~touched;
    }
  }
  high_word_ = std::max(high_word_, mask.first_word() + mask.words().size());
  touch(pattern);
}

void TileMemory::touch(const AccessPattern& pattern) {
  const AccessPattern::Extent extent = pattern.extent();
  ++serial_;
  for (int64_t b = extent.begin / kBlock; b * kBlock < extent.end; ++b) {
    block_serial_[static_cast<std::size_t>(b)] = serial_;
  }
}

uint64_t TileMemory::last_write(const AccessPattern& pattern) const {
  const AccessPattern::Extent extent = pattern.extent();
  uint64_t last = 0;
  for (int64_t b = extent.begin / kBlock; b * kBlock < extent.end; ++b) {
    last = std::max(last, block_serial_[static_cast<std::size_t>(b)]);
  }
  return last;
}

}  // namespace assay::backend
