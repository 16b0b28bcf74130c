#include "backend/simulator/pattern_numbers.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace assay::backend {
namespace {

constexpr uint32_t kFree = 0xffffffff;

std::size_t hash_of(const AccessPattern& a) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  uint64_t h = static_cast<uint64_t>(a.space) | uint64_t{a.rank} << 8 | static_cast<uint64_t>(a.dtype) << 16 |
               static_cast<uint64_t>(static_cast<uint32_t>(a.partition_start)) << 24;
  const auto mix = [&](int64_t v) { h = (h ^ static_cast<uint64_t>(v) ^ h >> 29) * kOdd; };
  mix(a.offset);
  mix(a.partitions);
  for (std::size_t k = 0; k < a.rank; ++k) mix(int64_t{a.sizes[k]} + a.strides[k] * (int64_t{1} << 24));
  return static_cast<std::size_t>(h ^ h >> 32);
}

}  // namespace

void PatternNumbers::assign(const Program& program) {
  const std::size_t n = program.operands.size();
  numbers_.resize(n);
  // No more places than this Program needs are cleared, however large one before it was.
  const std::size_t places = std::bit_ceil(2 * n + 1), mask = places - 1;
  if (first_.size() < places) first_.resize(places);
  std::fill_n(first_.begin(), places, kFree);
  count_ = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const AccessPattern& a = program.operands[k];
    if (!on_chip(a)) continue;
    std::size_t at = hash_of(a) & mask;
    while (first_[at] != kFree && !(program.operands[first_[at]] == a)) at = (at + 1) & mask;
    if (first_[at] == kFree) {
      first_[at] = static_cast<uint32_t>(k);
      numbers_[k] = count_++;
    } else {
      numbers_[k] = numbers_[first_[at]];
    }
  }
}

}  // namespace assay::backend
