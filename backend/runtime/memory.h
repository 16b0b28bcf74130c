// Device memory: an account of HBM, and the blocks that stand for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace assay::backend {

class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t capacity) : capacity_(capacity) {}

  uint64_t capacity() const { return capacity_; }
  uint64_t in_use() const { return in_use_; }
  uint64_t peak() const { return peak_; }

  // False, and nothing changed, if the capacity would be exceeded.
  bool take(uint64_t bytes);
  void give(uint64_t bytes) { in_use_ -= bytes; }
  // Counts memory that is used for the time of one execution.
  void touch(uint64_t bytes);

 private:
  uint64_t capacity_, in_use_ = 0, peak_ = 0;
};

// A buffer in device memory: 64-byte aligned, filled with a pattern that is no zero. The memory it was taken
// from is shared, so that the account outlives every block.
class DeviceBlock {
 public:
  // Throws assay::plugin::Failure{ASSAY_OUT_OF_MEMORY}.
  DeviceBlock(std::shared_ptr<DeviceMemory> memory, std::size_t bytes);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace assay::backend
