#include "backend/isa/last_writers.h"

namespace assay::backend {

void LastWriters::write(const AccessPattern& a, uint32_t writer) {
  const Box box = box_of(a);
  for_each_block(a, [&](std::size_t b, int64_t begin, int64_t end) {
    if (b >= blocks_.size()) blocks_.resize(std::max(b + 1, 2 * blocks_.size()));
    Block& block = blocks_[b];
    const bool whole = end - begin == kBlockBytes;
    if (whole && block.cells != kNone && covers_all(block, box)) unite(block);
    if (whole && block.cells == kNone) return write_list(block.list, box, writer);
    if (block.cells == kNone) divide(block);
    for_each_cell(begin, end, [&](std::size_t cell, unsigned bytes) {
      write_list(cells_[block.cells + cell], {box.first, box.end, static_cast<uint8_t>(bytes)}, writer);
    });
  });
}

// Whether nothing of the block's entries is left when the box is written.
bool LastWriters::covers_all(const Block& block, const Box& box) const {
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    for (uint32_t at = cells_[block.cells + cell]; at != kNone; at = entries_[at].next) {
      if (entries_[at].box.first < box.first || entries_[at].box.end > box.end) return false;
    }
  }
  return true;
}

// Takes the new box out of the earlier ones: what is left of each is up to three.
void LastWriters::write_list(uint32_t& list, const Box& box, uint32_t writer) {
  uint32_t kept = kNone;
  for (uint32_t at = list; at != kNone;) {
    const Entry old = entries_[at];
    if (!meet(old.box, box) || (old.box.bytes & box.bytes) == 0) {
      entries_[at].next = kept;
      kept = at;
      at = old.next;
      continue;
    }
    entries_[at].next = unused_;
    unused_ = at;
    at = old.next;
    const auto keep = [&](uint8_t first, uint8_t end, unsigned bytes) {
      if (first < end && bytes != 0) {
        kept = add({{first, end, static_cast<uint8_t>(bytes)}, old.writer, kept});
      }
    };
    keep(old.box.first, std::min(old.box.end, box.first), old.box.bytes);
    keep(std::max(old.box.first, box.end), old.box.end, old.box.bytes);
    keep(std::max(old.box.first, box.first), std::min(old.box.end, box.end),
         old.box.bytes & ~static_cast<unsigned>(box.bytes));
  }
  list = add({box, writer, kept});
}

void LastWriters::divide(Block& block) {
  if (unused_cells_.empty()) {
    unused_cells_.push_back(static_cast<uint32_t>(cells_.size()));
    cells_.resize(cells_.size() + kCells);
  }
  block.cells = unused_cells_.back();
  unused_cells_.pop_back();
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    uint32_t copy = kNone;
    for (uint32_t at = block.list; at != kNone; at = entries_[at].next)
      copy = add({entries_[at].box, entries_[at].writer, copy});
    cells_[block.cells + cell] = copy;
  }
  drop(block.list);
  block.list = kNone;
}

// Forgets who wrote it.
void LastWriters::unite(Block& block) {
  for (std::size_t cell = 0; cell < kCells; ++cell) drop(cells_[block.cells + cell]);
  unused_cells_.push_back(block.cells);
  block = {};
}

uint32_t LastWriters::add(const Entry& entry) {
  if (unused_ == kNone) {
    entries_.push_back(entry);
    return static_cast<uint32_t>(entries_.size() - 1);
  }
  const uint32_t at = unused_;
  unused_ = entries_[at].next;
  entries_[at] = entry;
  return at;
}

void LastWriters::drop(uint32_t list) {
  for (uint32_t at = list; at != kNone;) {
    const uint32_t next = entries_[at].next;
    entries_[at].next = unused_;
    unused_ = at;
    at = next;
  }
}

}  // namespace assay::backend
