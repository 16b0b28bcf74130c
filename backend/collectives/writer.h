// Helps the algorithms write a schedule.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "backend/collectives/schedule.h"

namespace assay::backend {

// The ranks of a group by chip. Chips are in ascending number, ranks of a chip by core.
struct ChipGrid {
  std::vector<std::vector<int>> members;  // ranks
  std::vector<int> numbers;               // of the chips, in the topology
  std::vector<int> chip_of;               // by rank: index into members
  bool regular = false;                   // all chips have the same number of members

  explicit ChipGrid(const Group& group);
  int chips() const { return static_cast<int>(members.size()); }
  int per_chip() const { return static_cast<int>(members[0].size()); }  // if regular
  const std::vector<int>& of(int rank) const {
    return members[static_cast<std::size_t>(chip_of[static_cast<std::size_t>(rank)])];
  }
};

// A row of elements that all ranks share, cut into one part a rank, and where its pieces lie.
struct SplitRow {
  std::vector<int64_t> offsets, counts;          // of the parts
  BufferKind contributions = BufferKind::input;  // what is reduced: the whole row, on every rank
  // Where a rank's part lies before all ranks gather the parts: at its place in the row of its output, or
  // alone at the start of its input.
  bool gathers_in_place = false;
  // Where a rank's reduced part goes: to its place in an output row, or alone to the start of an output; on
  // the rank itself or on one for all.
  bool scatters_in_place = false;
  int scatters_to = -1;  // -1: each rank keeps its own
  int divisor = 1;

  int64_t offset(int rank) const { return offsets[static_cast<std::size_t>(rank)]; }
  int64_t count(int rank) const { return counts[static_cast<std::size_t>(rank)]; }
  // `at` counts from the start of the part.
  Place gathered(int holder, int part, int64_t at = 0) const {
    return {holder, BufferKind::output, offset(part) + at};
  }
  Place own(int rank, int64_t at = 0) const {
    if (gathers_in_place) return gathered(rank, rank, at);
    return {rank, BufferKind::input, at};
  }
  Place contribution(int holder, int part, int64_t at = 0) const {
    return {holder, contributions, offset(part) + at};
  }
  Place partial(int holder, int part, int64_t at = 0) const {
    return {holder, BufferKind::scratch, offset(part) + at};
  }
  Place result(int rank, int64_t at = 0) const {
    return {scatters_to < 0 ? rank : scatters_to, BufferKind::output,
            (scatters_in_place ? offset(rank) : 0) + at};
  }
  // Slice number `k` of `of` almost equal ones of every part.
  struct Slice {
    int64_t at, count;
  };
  Slice slice(int part, int k, int of) const;
};
// Almost equal parts of n elements: the first ones are longer by one.
SplitRow even_row(int ranks, int64_t n);
// Parts of these counts, one after another.
SplitRow row_of(const std::vector<int64_t>& counts);

class ScheduleWriter {
 public:
  ScheduleWriter(const Collective& collective, const Group& group, Algorithm algorithm);

  const Collective& collective() const { return schedule_.collective; }
  const Group& group() const { return group_; }
  int ranks() const { return schedule_.collective.ranks; }
  void set_variant(std::string text) { schedule_.variant = std::move(text); }

  // Writes nothing for 0 elements, unless `signal`.
  void transfer(int step, int mover, std::span<const Place> sources, std::span<const Place> targets,
                int64_t count, int divisor = 1, bool signal = false);
  void copy(int step, int mover, const Place& source, const Place& target, int64_t count) {
    transfer(step, mover, {&source, 1}, {&target, 1}, count);
  }
  // Transfers by step; the number of steps and the scratch follow from them.
  Schedule finish();

 private:
  Schedule schedule_;
  Group group_;
};

// Both take the first step to use and return the next free one.
int mesh_scatter(ScheduleWriter& out, const SplitRow& row, int step);
int mesh_gather(ScheduleWriter& out, const SplitRow& row, int step);
int recursive_scatter(ScheduleWriter& out, const SplitRow& row, int step);
int recursive_gather(ScheduleWriter& out, const SplitRow& row, int step);
// Ranks of the chips, or ranks, beyond the largest power of two, which are folded onto the others.
std::vector<int> folded_ranks(const Group& group);
int ring_scatter(ScheduleWriter& out, const SplitRow& row, int step);
int ring_gather(ScheduleWriter& out, const SplitRow& row, int step);

void mesh_single_step(ScheduleWriter& out);
void mesh_broadcast(ScheduleWriter& out);
void mesh_reduce(ScheduleWriter& out);
void tree_broadcast(ScheduleWriter& out);
void tree_reduce(ScheduleWriter& out);
void direct(ScheduleWriter& out, bool pairwise);  // gather, scatter, all_to_all, permute
void dissemination(ScheduleWriter& out);          // barrier

}  // namespace assay::backend
