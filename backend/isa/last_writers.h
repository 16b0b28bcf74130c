// Who wrote the bytes of SBUF or PSUM last, byte by byte. Internal to isa/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/isa/access_pattern.h"

namespace assay::backend {

// Of one memory. Patterns given to it lie in it.
class LastWriters {
 public:
  // Calls found(writer) for those who last wrote bytes that the pattern touches; once or more often.
  template <typename F>
  void find(const AccessPattern& a, F found) const {
    const Box wanted = box_of(a);
    uint32_t last = kNone;
    const auto visit = [&](uint32_t list, unsigned bytes) {
      for (uint32_t at = list; at != kNone; at = entries_[at].next) {
        const Entry& entry = entries_[at];
        if (entry.writer == last || (entry.box.bytes & bytes) == 0 || !meet(entry.box, wanted)) continue;
        found(entry.writer);
        last = entry.writer;
      }
    };
    for_each_block(a, [&](std::size_t b, int64_t begin, int64_t end) {
      if (b >= blocks_.size()) return;
      const Block& block = blocks_[b];
      if (block.cells == kNone) return visit(block.list, kAllBytes);
      for_each_cell(begin, end,
                    [&](std::size_t cell, unsigned bytes) { visit(cells_[block.cells + cell], bytes); });
    });
  }
  void write(const AccessPattern& a, uint32_t writer);

 private:
  static constexpr int64_t kCellBytes = 4, kCells = 16, kBlockBytes = kCellBytes * kCells;
  static constexpr unsigned kAllBytes = (1u << kCellBytes) - 1;
  static constexpr uint32_t kNone = 0xffffffff;

  // Some bytes of a cell (a bit each), or of all cells of a block, in some partitions.
  struct Box {
    uint8_t first, end;  // partitions
    uint8_t bytes;
  };
  struct Entry {
    Box box;
    uint32_t writer, next;
  };
  // One list of entries for all of its cells, or one for each.
  struct Block {
    uint32_t list = kNone, cells = kNone;
  };

  static_assert(kPartitions < 256);
  static Box box_of(const AccessPattern& a) {
    return {static_cast<uint8_t>(a.partition_start), static_cast<uint8_t>(a.partition_start + a.partitions),
            kAllBytes};
  }
  static bool meet(const Box& a, const Box& b) { return a.first < b.end && b.first < a.end; }
  // Calls f(block, begin, end) with bytes within the block.
  template <typename F>
  static void for_each_block(const AccessPattern& a, F f) {
    for_each_run(a, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin / kBlockBytes; b * kBlockBytes < end; ++b) {
        f(static_cast<std::size_t>(b), std::max<int64_t>(begin - b * kBlockBytes, 0),
          std::min(end - b * kBlockBytes, kBlockBytes));
      }
    });
  }
  // Calls f(cell, bytes).
  template <typename F>
  static void for_each_cell(int64_t begin, int64_t end, F f) {
    for (int64_t cell = begin / kCellBytes; cell * kCellBytes < end; ++cell) {
      unsigned bytes = kAllBytes;
      if (begin > cell * kCellBytes) bytes &= kAllBytes << (begin - cell * kCellBytes);
      if (end < (cell + 1) * kCellBytes) bytes &= kAllBytes >> ((cell + 1) * kCellBytes - end);
      f(static_cast<std::size_t>(cell), bytes);
    }
  }
  bool covers_all(const Block& block, const Box& box) const;
  void write_list(uint32_t& list, const Box& box, uint32_t writer);
  void divide(Block& block);
  void unite(Block& block);
  uint32_t add(const Entry& entry);
  void drop(uint32_t list);

  std::vector<Block> blocks_;
  std::vector<uint32_t> cells_;  // lists, kCells together
  std::vector<Entry> entries_;
  std::vector<uint32_t> unused_cells_;
  uint32_t unused_ = kNone;  // first of a list
};

}  // namespace assay::backend
