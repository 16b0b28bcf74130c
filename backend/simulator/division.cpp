#include "backend/simulator/division.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "backend/isa/rules.h"
#include "backend/isa/sources.h"

namespace assay::backend {
namespace {

// What an instruction takes on one core of the host, in nanoseconds, roughly (measured on a server of 2024).
double nanoseconds(const Program& program, const Instruction& i) {
  constexpr double kInstruction = 300;
  if (i.operand_count == 0) return kInstruction;
  const AccessPattern& to = operand(program, i, 0);
  const auto elements = static_cast<double>(to.elements());
  switch (i.opcode) {
    case Opcode::nc_matmul: {
      const AccessPattern& stationary = operand(program, i, 1);
      const double macs = elements * stationary.partitions;
      return kInstruction + macs / (size_of(stationary.dtype) > 2 ? 110 : 220);
    }
    case Opcode::nc_transpose:
      return kInstruction + 0.3 * elements;
    case Opcode::activation:
    case Opcode::gpsimd:
      return kInstruction + 0.25 * elements;
    case Opcode::tensor_reduce:
      return kInstruction + 0.1 * static_cast<double>(operand(program, i, 1).elements());
    case Opcode::dma_copy: {
      const AccessPattern& from = operand(program, i, 1);
      const bool packed = from.space != Space::hbm || from.is_contiguous();
      return kInstruction + elements * (packed ? 0.1 : 0.4);
    }
    default:
      return kInstruction + 0.1 * elements;
  }
}

bool touches_written_hbm(const Program& program, const Instruction& i) {
  for (const AccessPattern& a : program.operands_of(i)) {
    if (a.space != Space::hbm) continue;
    const HbmKind kind = program.tensors[static_cast<std::size_t>(a.tensor)].kind;
    if (kind == HbmKind::output || kind == HbmKind::scratch) return true;
  }
  return false;
}

int64_t scratch_of(const Program& program) {
  int64_t bytes = 0;
  for (const HbmTensor& tensor : program.tensors)
    bytes += tensor.kind == HbmKind::scratch ? tensor.bytes() : 0;
  return bytes;
}

class Divider {
 public:
  Divider(const Program& program, std::vector<double> costs, double total)
      : program_(program),
        costs_(std::move(costs)),
        total_(total),
        scratch_(kNanosecondsOfByte * static_cast<double>(scratch_of(program))),
        sources_(sources_of(program)) {
    find_shared();
    find_parts();
  }

  Division divide(int workers, double most_of_share) {
    Division best;
    if (parts_.size() < 2) return best;
    // A worker that is done takes over groups of others; but each group loads what it shares with others.
    constexpr int kMostGroups = 4;
    double least = most_of_share * total_ / workers;
    for (int groups = kMostGroups; groups >= 1; groups /= 2) {
      if (groups > 1 && total_ < kWorthStealing * groups) continue;
      Division division = of_groups(static_cast<std::size_t>(groups) * static_cast<std::size_t>(workers));
      const double busiest = busiest_worker(division, workers);
      if (busiest >= 0.98 * least) continue;
      least = busiest;
      best = std::move(division);
    }
    return best;
  }

 private:
  static constexpr double kWorthStealing = 1e6;
  static constexpr double kNanosecondsOfByte = 0.1;  // that is made poison
  // What a shared instruction and all that it comes from may cost of the whole.
  static constexpr double kMostShared = 0.1;

  uint32_t root(uint32_t k) {
    while (up_[k] != k) k = up_[k] = up_[up_[k]];
    return k;
  }
  void unite(uint32_t a, uint32_t b) {
    a = root(a);
    b = root(b);
    up_[std::max(a, b)] = std::min(a, b);  // a part's root is its first instruction
  }

  // Whoever needs these executes them: they come from inputs and constants, and cost little.
  void find_shared() {
    const std::size_t n = sources_.size();
    std::vector<double> with_sources(n);
    shared_.resize(n);
    for (std::size_t k = 0; k < n; ++k) {
      with_sources[k] = costs_[k];
      bool shared = !touches_written_hbm(program_, program_.instructions[k]);
      for (const uint32_t s : sources_[k]) {
        with_sources[k] += with_sources[s];
        shared &= shared_[s];
      }
      shared_[k] = shared && with_sources[k] <= kMostShared * total_;
    }
  }

  // Everything else that depends on each other. What is in scratch HBM or on the chip is in the way of others
  // only where they read it.
  void find_parts() {
    const auto n = static_cast<uint32_t>(sources_.size());
    up_.resize(n);
    std::iota(up_.begin(), up_.end(), 0);
    const std::vector<std::vector<uint32_t>> earlier = earlier_in_outputs(program_);
    for (uint32_t k = 0; k < n; ++k) {
      if (shared_[k]) continue;
      for (const uint32_t s : sources_[k]) {
        if (!shared_[s]) unite(s, k);
      }
      for (const uint32_t s : earlier[k]) unite(s, k);
    }
    part_of_.resize(n);
    for (uint32_t k = 0; k < n; ++k) {
      if (shared_[k]) continue;
      const uint32_t first = root(k);
      if (first == k) {
        part_of_[k] = static_cast<uint32_t>(parts_.size());
        parts_.push_back(0);
      }
      part_of_[k] = part_of_[first];
      parts_[part_of_[k]] += costs_[k];
    }
  }

  // Neighbouring parts together, in shares as equal as they come.
  Division of_groups(std::size_t groups) {
    groups = std::min(groups, parts_.size());
    const double all = std::accumulate(parts_.begin(), parts_.end(), 0.0);
    std::vector<std::size_t> group_of(parts_.size());
    double before = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const double middle = before + parts_[p] / 2;
      group_of[p] =
          std::min(static_cast<std::size_t>(middle / all * static_cast<double>(groups)), groups - 1);
      before += parts_[p];
    }
    Division out;
    out.groups.resize(groups);
    // Backwards, so that what needs an instruction comes before it: groups that have it.
    const std::size_t n = sources_.size();
    std::vector<std::vector<bool>> needed(groups, std::vector<bool>(n));
    for (std::size_t k = n; k-- > 0;) {
      if (!shared_[k]) needed[group_of[part_of_[k]]][k] = true;
      bool any = false;
      for (std::size_t g = 0; g < groups; ++g) {
        if (!needed[g][k]) continue;
        any = true;
        for (const uint32_t s : sources_[k]) needed[g][s] = true;
      }
      if (any) continue;
      needed[0][k] = true;  // nobody reads it; it may trap nevertheless
      for (const uint32_t s : sources_[k]) needed[0][s] = true;
    }
    for (std::size_t k = 0; k < n; ++k) {
      bool again = false;
      for (std::size_t g = 0; g < groups; ++g) {
        if (!needed[g][k]) continue;
        out.groups[g].push_back({static_cast<uint32_t>(k), again});
        again = true;
      }
    }
    return out;
  }

  // Workers begin with equal numbers of neighbouring groups (WorkerPool).
  double busiest_worker(const Division& division, int workers) const {
    const std::size_t groups = division.groups.size(), all = static_cast<std::size_t>(workers);
    double busiest = 0;
    for (std::size_t w = 0; w < all; ++w) {
      double load = 0;
      for (std::size_t g = groups * w / all; g < groups * (w + 1) / all; ++g) {
        load += scratch_;
        for (const Division::Step step : division.groups[g]) load += costs_[step.instruction];
      }
      busiest = std::max(busiest, load);
    }
    return busiest;
  }

  const Program& program_;
  std::vector<double> costs_;
  double total_, scratch_;
  std::vector<std::vector<uint32_t>> sources_;
  std::vector<bool> shared_;
  std::vector<uint32_t> up_, part_of_;
  std::vector<double> parts_;  // costs, by first instruction
};

}  // namespace

Division divide(const Program& program, int workers, const DivisionLimits& limits) {
  constexpr int64_t kMostScratch = int64_t{256} << 20;  // each worker has its own
  const std::size_t n = program.instructions.size();
  if (workers < 2 || n > std::numeric_limits<uint32_t>::max()) return {};
  std::vector<double> costs(n);
  for (std::size_t k = 0; k < n; ++k) costs[k] = nanoseconds(program, program.instructions[k]);
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
  if (total < limits.least_ns || scratch_of(program) > kMostScratch) return {};
  return Divider(program, std::move(costs), total).divide(workers, limits.most_of_share);
}

}  // namespace assay::backend
