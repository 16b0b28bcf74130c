#include "backend/compiler/core_split.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "backend/isa/sources.h"
#include "backend/isa/synchronize.h"
#include "backend/simulator/timing/clock.h"
#include "backend/simulator/timing/instruction_cost.h"
#include "backend/simulator/timing/transfer.h"

namespace assay::backend {
namespace {

// Nanoseconds of each engine, of each engine's descriptor generator, and of the DMA engines together. A core
// takes at least as long as the busiest of them.
constexpr std::size_t kResources = 2 * kEngines + 1;
using Load = std::array<double, kResources>;

double busiest(const Load& load) { return *std::max_element(load.begin(), load.end()); }

void add(Load& to, const Load& what) {
  for (std::size_t r = 0; r < kResources; ++r) to[r] += what[r];
}

Load load_of(const Program& program, const Instruction& i, const CoreDescription& core) {
  Load out{};
  const auto engine = static_cast<std::size_t>(i.engine);
  if (!is_dma(i.opcode)) {
    out[engine] = instruction_cycles(program, i, core) / engine_ghz(core, i.engine);
    return out;
  }
  const Transfer t = transfer_of(program, i, core);
  out[kEngines + engine] = t.issue_ns;
  if (t.engines > 0) {
    out[2 * kEngines] = (t.bytes * t.share / (core.dma_bytes_per_ns_per_engine * t.rate) + t.extra_ns) *
                        t.engines / kDmaEngines;
  }
  return out;
}

bool writes_hbm(const Program& program, const Instruction& i) {
  return i.operand_count > 0 && program.operands[i.operands].space == Space::hbm;
}

class Splitter {
 public:
  Splitter(const Program& program, const CoreDescription& core) : core_(core), sources_(sources_of(program)) {
    const std::size_t n = program.instructions.size();
    stage_.assign(n, 0);
    owners_.assign(n, 0);
    root_.resize(n);
    loads_.resize(n);
    for (std::size_t index = 0; index < n; ++index) {
      const Instruction& i = program.instructions[index];
      root_[index] = writes_hbm(program, i);
      loads_[index] = load_of(program, i, core);
      for (const uint32_t s : sources_[index]) {
        stage_[index] = std::max(stage_[index], stage_[s] + (root_[s] ? 1u : 0u));
      }
      if (!root_[index]) continue;
      if (stages_.size() <= stage_[index]) stages_.resize(stage_[index] + 1);
      stages_[stage_[index]].push_back(static_cast<uint32_t>(index));
    }
  }

  // By instruction: bit c for core c. Empty if a second core is not worth it.
  std::vector<uint8_t> owners() {
    if (root_.empty()) return {};
    for (const auto& roots : stages_) cut(roots);
    Load whole{};
    std::array<Load, kMaxCores> parts{};
    for (std::size_t index = root_.size(); index-- > 0;) {
      if (owners_[index] == 0) owners_[index] = kFirst;  // nobody needs it
      for (const uint32_t s : sources_[index]) {
        if (!root_[s]) owners_[s] |= owners_[index];
      }
      add(whole, loads_[index]);
      for (std::size_t c = 0; c < kMaxCores; ++c) {
        if (owners_[index] & 1u << c) add(parts[c], loads_[index]);
      }
    }
    const double before = busiest(whole), after = std::max(busiest(parts[0]), busiest(parts[1]));
    if (before - after < core_.core_semaphore_ns) return {};
    return std::move(owners_);
  }

 private:
  static constexpr uint8_t kFirst = 1, kSecond = 2;

  // Calls f(instruction) for the root and what it needs on chip, as far as that is not marked.
  template <typename F>
  void visit(uint32_t root, std::vector<bool>& marked, F f) {
    open_.assign(1, root);
    marked[root] = true;
    while (!open_.empty()) {
      const uint32_t index = open_.back();
      open_.pop_back();
      f(index);
      for (const uint32_t s : sources_[index]) {
        if (root_[s] || marked[s]) continue;
        marked[s] = true;
        open_.push_back(s);
      }
    }
  }

  // The busiest resource of a core that has the first 1, 2, ... of the roots.
  std::vector<double> growing(const std::vector<uint32_t>& roots) {
    std::vector<bool> marked(root_.size(), false);
    std::vector<double> out;
    Load load{};
    for (const uint32_t root : roots) {
      visit(root, marked, [&](uint32_t index) { add(load, loads_[index]); });
      out.push_back(busiest(load));
    }
    return out;
  }

  void cut(const std::vector<uint32_t>& roots) {
    const std::vector<uint32_t> backwards(roots.rbegin(), roots.rend());
    const std::vector<double> first = growing(roots), last = growing(backwards);
    const std::size_t n = roots.size();
    std::size_t best = n;  // roots of the first core
    double least = first.back();
    for (std::size_t k = 1; k < n; ++k) {
      const double slower = std::max(first[k - 1], last[n - k - 1]);
      if (slower < least) {
        least = slower;
        best = k;
      }
    }
    for (std::size_t k = 0; k < n; ++k) owners_[roots[k]] = k < best ? kFirst : kSecond;
  }

  const CoreDescription& core_;
  std::vector<std::vector<uint32_t>> sources_;
  std::vector<uint32_t> stage_;  // by instruction
  std::vector<uint8_t> owners_;
  std::vector<bool> root_;  // writes HBM
  std::vector<Load> loads_;
  std::vector<std::vector<uint32_t>> stages_;  // roots
  std::vector<uint32_t> open_;
};

}  // namespace

Program split_over_cores(Program program, const CoreDescription& core) {
  program.cores = kMaxCores;
  program.waits.clear();
  program.semaphores = 0;
  for (Instruction& i : program.instructions) {
    i.waits = 0;
    i.wait_count = 0;
    i.signal = -1;
  }
  const std::vector<uint8_t> owners = Splitter(program, core).owners();
  if (owners.empty()) return program;
  std::vector<Instruction> instructions;
  instructions.reserve(program.instructions.size());
  std::vector<AccessPattern> operands;
  operands.reserve(program.operands.size());
  for (std::size_t index = 0; index < program.instructions.size(); ++index) {
    for (uint8_t c = 0; c < kMaxCores; ++c) {
      if (!(owners[index] & 1u << c)) continue;
      Instruction i = program.instructions[index];
      const auto given = program.operands_of(i);
      i.core = c;
      i.operands = static_cast<uint32_t>(operands.size());
      for (AccessPattern a : given) {
        if (on_chip(a)) a.offset += first_byte(core, a.space, c);
        operands.push_back(a);
      }
      instructions.push_back(i);
    }
  }
  program.instructions = std::move(instructions);
  program.operands = std::move(operands);
  return program;
}

Program fastest_on_two_cores(const Program& whole, const Program& halves, const CoreDescription& core) {
  std::vector<Program> divided;
  for (const Program* program : {&whole, &halves}) {
    if (program == &halves && halves.operands == whole.operands) continue;
    Program split = split_over_cores(*program, core);
    const auto second = [](const Instruction& i) { return i.core == 1; };
    const bool fits = instructions_of_busiest_core(split) <= core.max_instructions;
    if (fits && std::any_of(split.instructions.begin(), split.instructions.end(), second))
      divided.push_back(std::move(split));
  }
  Program best = whole;
  best.cores = kMaxCores;
  synchronize(best);
  if (divided.empty()) return best;
  Clock clock(core);
  double least = clock.time(best).seconds;
  for (Program& candidate : divided) {
    synchronize(candidate);
    const double seconds = clock.time(candidate).seconds;
    if (seconds >= least) continue;
    least = seconds;
    best = std::move(candidate);
  }
  return best;
}

}  // namespace assay::backend
