#include "backend/runtime/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "assay/plugin.hpp"

namespace assay::backend {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kPoison = 0xDB;

// Large blocks that nobody uses are kept: the system would clear them, page by page, when they are taken
// again.
class IdleBlocks {
 public:
  IdleBlocks() = default;
  IdleBlocks(const IdleBlocks&) = delete;
  IdleBlocks& operator=(const IdleBlocks&) = delete;
  ~IdleBlocks() {
    for (const Block& block : blocks_) std::free(block.data);
  }

  static std::size_t rounded(std::size_t bytes) {
    const std::size_t unit = bytes < kLarge ? kAlignment : bytes < 2 * kHugePage ? kLarge : kHugePage;
    return (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
  }
  // Of rounded(...) bytes; nullptr if the host has none.
  std::byte* take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto it = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                   [&](const Block& block) { return block.bytes == bytes; });
      if (it != blocks_.rend()) {
        std::byte* data = it->data;
        bytes_ -= bytes;
        blocks_.erase(std::next(it).base());
        return data;
      }
    }
    if (bytes % kHugePage != 0) return static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
    auto* data = static_cast<std::byte*>(std::aligned_alloc(kHugePage, bytes));
#if defined(__linux__)
    // Only a hint: rows of a tile are often a page and more apart.
    if (data != nullptr) madvise(data, bytes, MADV_HUGEPAGE);
#endif
    return data;
  }
  void give(std::byte* data, std::size_t bytes) {
    if (bytes < kLarge || bytes > kMostBytes) return std::free(data);
    const std::lock_guard lock(mutex_);
    blocks_.push_back({data, bytes});
    bytes_ += bytes;
    while (bytes_ > kMostBytes) {  // the one that has been idle longest
      bytes_ -= blocks_.front().bytes;
      std::free(blocks_.front().data);
      blocks_.pop_front();
    }
  }

 private:
  struct Block {
    std::byte* data;
    std::size_t bytes;
  };
  static constexpr std::size_t kLarge = std::size_t{1} << 16, kHugePage = std::size_t{1} << 21;
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kMostBytes = 0;  // blocks that are used after their time must be found
#else
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;
#endif
  std::mutex mutex_;
  std::deque<Block> blocks_;  // idle longest first
  std::size_t bytes_ = 0;
};

IdleBlocks& idle_blocks() {
  static IdleBlocks blocks;
  return blocks;
}

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
  const std::size_t rounded = IdleBlocks::rounded(bytes_);
  data_ = idle_blocks().take(rounded);
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
  idle_blocks().give(data_, IdleBlocks::rounded(bytes_));
}

}  // namespace assay::backend
