#include "backend/compiler/residency.h"

#include <algorithm>
#include <optional>

namespace assay::backend {
namespace {

// Facts kept at a time and instructions looked ahead: more would cost time and find little, since SBUF is
// overwritten in turn.
constexpr std::size_t kMaxFacts = 64;
constexpr std::size_t kMaxWindow = 512;

bool is_row_major(const AccessPattern& a) {
  return a.is_contiguous() && (a.partitions == 1 || a.partition_stride == a.free_elements());
}

struct Move {
  bool load;
  const AccessPattern *hbm, *tile;
};

// A DMA that moves a contiguous range of HBM from or to a whole tile.
std::optional<Move> move_of(const Program& program, const Instruction& i) {
  if (i.opcode != Opcode::dma_copy || i.accumulate || i.operand_count != 2) return std::nullopt;
  const auto operands = program.operands_of(i);
  const bool load = operands[0].space == Space::sbuf && operands[1].space == Space::hbm;
  if (!load && !(operands[0].space == Space::hbm && operands[1].space == Space::sbuf)) return std::nullopt;
  const Move move{load, &operands[load ? 1 : 0], &operands[load ? 0 : 1]};
  if (move.hbm->dtype != move.tile->dtype || !move.tile->is_contiguous() || !is_row_major(*move.hbm)) {
    return std::nullopt;
  }
  return move;
}

AccessRegion region_of_tile(const AccessPattern& tile) {
  const AccessPattern::Extent e = tile.extent();
  return {Space::sbuf,
          -1,
          tile.partition_start,
          tile.partition_start + tile.partitions,
          e.begin,
          e.end,
          false,
          true,
          0,
          0,
          0};
}

bool meet(const AccessRegion& a, const AccessRegion& b) {
  return a.space == b.space && a.tensor == b.tensor && a.begin < b.end && b.begin < a.end &&
         a.partition_begin < b.partition_end && b.partition_begin < a.partition_end;
}

bool holds(const AccessRegion& outer, const AccessRegion& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end &&
         outer.partition_begin <= inner.partition_begin && inner.partition_end <= outer.partition_end;
}

}  // namespace

void Residency::forget(const AccessRegion& written) {
  std::erase_if(facts_, [&](const Fact& fact) {
    if (written.space == Space::hbm) {
      return fact.tensor == written.tensor && fact.begin < written.end && written.begin < fact.end;
    }
    return meet(region_of_tile(fact.tile), written);
  });
}

// Lets what reads the tile `from` after the load read `to` instead, up to where the kernel overwrites `from`
// as a whole. False, and nothing changed, where that is not certain to be the same.
bool Residency::redirect_readers(std::size_t load, const AccessPattern& from, const AccessPattern& to) {
  const AccessRegion old = region_of_tile(from), now = region_of_tile(to);
  std::vector<std::size_t> edits;  // numbers of operands
  const std::size_t n = program_.instructions.size();
  if (n - load > kMaxWindow) return false;
  for (std::size_t index = load + 1; index < n; ++index) {
    const Instruction& i = program_.instructions[index];
    regions_.clear();
    append_regions(program_, i, regions_);
    bool overwritten = false, wholly = false;
    std::size_t r = 0;
    for (std::size_t k = 0; k < i.operand_count; ++k) {
      if (!program_.operands[i.operands + k].defined()) continue;
      const AccessRegion& region = regions_[r++];
      if (region.write) {
        if (meet(region, now)) return false;
        if (!meet(region, old)) continue;
        overwritten = true;
        wholly = wholly || (region.dense && !i.accumulate && holds(region, old));
      } else if (meet(region, old)) {
        if (!holds(old, region)) return false;
        edits.push_back(i.operands + k);
      }
    }
    if (overwritten && !wholly) return false;
    if (overwritten) break;
  }
  for (const std::size_t k : edits) program_.operands[k].offset += to.offset - from.offset;
  return true;
}

void Residency::scan(std::size_t first) {
  dropped_.resize(program_.instructions.size(), false);
  for (std::size_t index = first; index < program_.instructions.size(); ++index) {
    const Instruction& i = program_.instructions[index];
    const std::optional<Move> move = move_of(program_, i);
    Fact fact{};
    if (move) {
      const AccessPattern::Extent e = move->hbm->extent();
      fact = {move->hbm->tensor, e.begin, e.end, *move->tile, i.core};
      if (move->load) {
        const auto same = [&](const Fact& f) {
          return f.core == fact.core && f.tensor == fact.tensor && f.begin == fact.begin &&
                 f.end == fact.end && f.tile.dtype == fact.tile.dtype &&
                 f.tile.partition_start == fact.tile.partition_start &&
                 f.tile.partitions == fact.tile.partitions &&
                 f.tile.free_elements() == fact.tile.free_elements();
        };
        const auto there = std::find_if(facts_.rbegin(), facts_.rend(), same);
        if (there != facts_.rend() && redirect_readers(index, fact.tile, AccessPattern(there->tile))) {
          dropped_[index] = true;
          ++loads_;
          continue;
        }
      }
    }
    regions_.clear();
    append_regions(program_, i, regions_);
    for (const AccessRegion& region : regions_) {
      if (region.space == Space::hbm) {
        Usage& usage = usage_[region.tensor];
        const bool tile_store = move && !move->load && region.write;
        if (tile_store) {
          usage.stores.push_back(index);
        } else {
          usage.kept = true;
        }
      }
      if (region.write) forget(region);
    }
    if (!move) continue;
    if (facts_.size() == kMaxFacts) facts_.erase(facts_.begin());
    facts_.push_back(fact);
  }
}

void Residency::retire(int32_t tensor) {
  std::erase_if(facts_, [&](const Fact& fact) { return fact.tensor == tensor; });
  const auto it = usage_.find(tensor);
  if (it == usage_.end()) return;
  if (!it->second.kept) {
    for (const std::size_t store : it->second.stores) dropped_[store] = true;
    stores_ += static_cast<int64_t>(it->second.stores.size());
  }
  usage_.erase(it);
}

void Residency::remove_dropped() {
  dropped_.resize(program_.instructions.size(), false);
  std::vector<AccessPattern> operands;
  operands.reserve(program_.operands.size());
  std::size_t kept = 0;
  for (std::size_t index = 0; index < program_.instructions.size(); ++index) {
    if (dropped_[index]) continue;
    Instruction i = program_.instructions[index];
    const auto given = program_.operands_of(i);
    i.operands = static_cast<uint32_t>(operands.size());
    operands.insert(operands.end(), given.begin(), given.end());
    program_.instructions[kept++] = i;
  }
  program_.instructions.resize(kept);
  program_.operands = std::move(operands);
  dropped_.assign(kept, false);
}

}  // namespace assay::backend
