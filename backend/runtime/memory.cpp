#include "backend/runtime/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "assay/plugin.hpp"

namespace assay::backend {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kPoison = 0xDB;

[[noreturn]] void out_of_memory(const DeviceMemory& memory, std::size_t bytes) {
  throw plugin::Failure(ASSAY_OUT_OF_MEMORY,
                        "a buffer of " + std::to_string(bytes) +
                            " bytes does not fit: " + std::to_string(memory.in_use()) + " of " +
                            std::to_string(memory.capacity()) + " bytes of device memory are in use",
                        ASSAY_REASON_MEMORY);
}

}  // namespace

bool DeviceMemory::take(uint64_t bytes) {
  if (bytes > capacity_ - in_use_) return false;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return true;
}

void DeviceMemory::touch(uint64_t bytes) { peak_ = std::max(peak_, in_use_ + bytes); }

DeviceBlock::DeviceBlock(std::shared_ptr<DeviceMemory> memory, std::size_t bytes)
    : memory_(std::move(memory)), bytes_(bytes) {
  if (!memory_->take(bytes_)) out_of_memory(*memory_, bytes_);
  const std::size_t rounded = (std::max<std::size_t>(bytes_, 1) + kAlignment - 1) / kAlignment * kAlignment;
  data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (data_ == nullptr) {
    memory_->give(bytes_);
    throw plugin::Failure(ASSAY_OUT_OF_MEMORY,
                          "the host has no " + std::to_string(bytes_) + " bytes for a device buffer",
                          ASSAY_REASON_MEMORY);
  }
  std::memset(data_, kPoison, rounded);
}

DeviceBlock::~DeviceBlock() {
  memory_->give(bytes_);
  std::free(data_);
}

}  // namespace assay::backend
