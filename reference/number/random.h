// A stream of random words for one node of one replay: a pure function of its key, whatever thread runs it.
#pragma once

#include <array>
#include <cstdint>

namespace assay::reference {

class RandomStream {
 public:
  RandomStream() = default;
  // Philox 4x32-10 with the seed as key and (block, 0, node, replay) as counter. Elements of a node draw in
  // the order in which its kernel computes them, which is fixed.
  RandomStream(uint64_t seed, uint32_t replay, uint32_t node) : seed_(seed), replay_(replay), node_(node) {}

  uint32_t word() {
    if (next_ == words_.size()) refill();
    return words_[next_++];
  }
  uint64_t word64() {
    const uint64_t high = word();
    return high << 32 | word();
  }
  // Uniform on (0, 1), never 0 or 1.
  double uniform() { return (static_cast<double>(word()) + 0.5) * 0x1p-32; }
  // Uniform on (-1, 1).
  double symmetric() { return 2 * uniform() - 1; }
  // Standard normal (Box-Muller, both values used).
  double normal();

 private:
  void refill();
  static constexpr std::size_t kBatch = 64;
  uint64_t seed_ = 0;
  uint32_t replay_ = 0, node_ = 0;
  uint64_t block_ = 0;
  std::array<uint32_t, kBatch> words_{};
  std::size_t next_ = kBatch;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace assay::reference
