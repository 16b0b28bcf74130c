// A collective as an explicit list of DMA transfers, in steps: what every rank reads, in which order it adds,
// and where it writes. The simulated device executes it (execute.h) and times it (cost.h); the order in which
// every element is reduced follows from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/collectives/collective.h"
#include "backend/collectives/topology.h"

namespace assay::backend {

enum class Algorithm : uint8_t {
  mesh_single_step,  // all_reduce: every rank writes its row to all others and reduces all rows itself
  mesh,  // directly to all others; all_gather, reduce_scatter, all_reduce: chip to chip, then on the chip
  recursive,  // recursive doubling and halving between chips, exchange on the chip; barrier: dissemination
  ring,       // cycles of ranks; of pairs of ranks of one chip (KangaRing) where all chips have them
  tree,       // binomial, for broadcast and reduce
  pairwise,   // all_to_all: in ranks - 1 steps
};
inline constexpr int kAlgorithms = 6;
std::string_view name_of(Algorithm algorithm);
// Throws Error{invalid_argument} that lists the names.
Algorithm parse_algorithm(std::string_view name);

// Ranks that take part, in rank order, as logical cores of an instance. A sub-group of a larger world gives
// the cores of its members. The topology is kept by reference.
struct Group {
  const Topology* topology;
  std::vector<int> cores;
  int size() const { return static_cast<int>(cores.size()); }
  // Throws Error{invalid_argument} if it is empty, a core is outside the instance or taken twice.
  void validate() const;
};
// Cores 0 .. ranks - 1. Throws Error{invalid_argument} if there are not so many.
Group first_cores(const Topology& topology, int ranks);

enum class BufferKind : uint8_t { input, output, scratch };
struct Place {
  int rank;
  BufferKind buffer;
  int64_t offset;  // elements
};

// One DMA: reads `count` elements at each source, combines them in fp32 (integers exactly) from the first to
// the last, divides by `divisor` if that is not 1, rounds once to the dtype and writes the same to all
// targets. With one source the bits are copied. All transfers of a step read what was there before the step.
struct ScheduledTransfer {
  int step;
  int mover;        // the rank whose DMA rings do it
  uint32_t places;  // first of Schedule::places: sources, then targets
  uint16_t sources, targets;
  int divisor;
  int64_t count;
};

struct Schedule {
  Collective collective;
  Algorithm algorithm = Algorithm::mesh;
  std::string variant;  // "kangaring, 4 cycles", "hypercube of 16 chips"; "" if there is nothing to say
  int steps = 0;
  std::vector<int64_t> scratch;              // elements of each rank's scratch
  std::vector<ScheduledTransfer> transfers;  // by step
  std::vector<Place> places;

  std::span<const Place> sources(const ScheduledTransfer& t) const { return {&places[t.places], t.sources}; }
  std::span<const Place> targets(const ScheduledTransfer& t) const {
    return {&places[t.places] + t.sources, t.targets};
  }
};

// Algorithms that an operation has, the one for the smallest sizes first.
std::span<const Algorithm> algorithms_of(CollectiveOp op);
// By size_bytes() and the limits of the group's NeuronLinkDescription:
//   all_reduce                  mesh_single_step up to single_step_limit, mesh below mesh_limit, recursive up
//   to
//                               recursive_limit, ring beyond
//   all_gather, reduce_scatter  mesh below mesh_limit, recursive up to recursive_limit, ring beyond
//   broadcast, reduce           mesh below mesh_limit, ring beyond
//   all_to_all, gather, scatter, permute  mesh; barrier recursive
// Trees and pairwise exchange are there on request; over this topology the others are faster at every size.
Algorithm choose_algorithm(const Collective& collective, const Group& group);

// Throws Error{invalid_argument} for a bad collective or group, sizes that do not match, or an algorithm that
// the operation has not.
Schedule make_schedule(const Collective& collective, const Group& group, Algorithm algorithm);

// The order in which an element of a rank's output came about, as "((r2 + r3)' + r0 + r1)'": operands in the
// order of addition, ' where the result was rounded to the dtype. Empty if nothing writes it.
std::string reduction_order(const Schedule& schedule, int rank, int64_t element);
// The largest number of roundings to the dtype, and of operands, on the way of any element: what an error
// bound needs. 0 and 1 where nothing is reduced.
struct ReductionDepth {
  int roundings = 0;
  int operands = 1;
};
ReductionDepth reduction_depth(const Schedule& schedule);

// A defect of a schedule: a transfer that reads what another of its step writes, writes that overlap, places
// outside their buffers, an element of an output that nothing writes. "" if there is none; for tests.
std::string defect(const Schedule& schedule);

// An operation as the device's PyTorch backend emulates it: broadcast and reduce as all_reduce (inputs of the
// other ranks zeroed), gather as all_gather, scatter as reduce_scatter. The others are native always.
Collective emulated(const Collective& collective);
// An operation, native or emulated, with its algorithm.
struct Plan {
  Collective asked;
  bool is_emulated = false;
  Schedule schedule;
};
struct PlanOptions {
  bool emulate = false;
  std::optional<Algorithm> algorithm =
      std::nullopt;  // of the operation that is carried out; chosen by size if not given
};
Plan make_plan(const Collective& collective, const Group& group, const PlanOptions& options = {});

}  // namespace assay::backend
