// SBUF or PSUM: bytes by partition, which of them have been written, and by whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/isa/access_pattern.h"

namespace assay::backend {

// The bytes that an access pattern touches in each of its partitions, as bits.
class ByteMask {
 public:
  void assign(const AccessPattern& pattern);
  std::size_t first_word() const { return first_word_; }
  const std::vector<uint64_t>& words() const { return words_; }

 private:
  std::size_t first_word_ = 0;
  std::vector<uint64_t> words_;
};

class TileMemory {
 public:
  TileMemory(int partitions, int64_t bytes, bool track_matmul);

  std::byte* row(int partition) { return data_.get() + partition * pitch_; }
  const std::byte* row(int partition) const { return data_.get() + partition * pitch_; }
  int64_t pitch() const { return pitch_; }  // bytes from partition to partition

  // All bytes count as uninitialised again.
  void reset();

  // The first partition of the pattern in which a byte was not written (by a matmul, if asked), or -1.
  int first_uninitialized(const AccessPattern& pattern, const ByteMask& mask, bool by_matmul) const;
  // The first such byte of a partition, relative to its start; for messages.
  int64_t first_uninitialized_byte(int partition, const ByteMask& mask, bool by_matmul) const;
  // Records a write.
  void mark(const AccessPattern& pattern, const ByteMask& mask, bool by_matmul);
  // Records a write of bytes whose flags are set already.
  void touch(const AccessPattern& pattern);
  // The number of the last write that may have touched the pattern's bytes; grows, never reset.
  uint64_t last_write(const AccessPattern& pattern) const;

 private:
  // Of the pattern's partitions: word `w` of the mask.
  std::size_t place(const AccessPattern& pattern, const ByteMask& mask, std::size_t w) const {
    return (mask.first_word() + w) * static_cast<std::size_t>(partitions_) +
           static_cast<std::size_t>(pattern.partition_start);
  }
  const std::vector<uint64_t>& bits(bool by_matmul) const { return by_matmul ? matmul_ : written_; }

  struct Free {
    void operator()(std::byte* p) const;
  };
  int partitions_;
  int64_t pitch_;
  std::size_t words_;  // of 64 bytes each, a partition
  std::unique_ptr<std::byte, Free> data_;
  // Bits of bytes, [word][partition]: a tile's words are neighbours.
  std::vector<uint64_t> written_;
  std::vector<uint64_t> matmul_;  // empty unless tracked
  std::size_t high_word_ = 0;     // one past the last word written since the last reset
  uint64_t serial_ = 0;
  std::vector<uint64_t> block_serial_;  // of kBlock bytes, all partitions together
};

}  // namespace assay::backend
