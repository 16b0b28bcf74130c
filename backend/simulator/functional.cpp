#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "backend/isa/rules.h"
#include "backend/isa/validate.h"
#include "backend/simulator/executor.h"
#include "backend/simulator/prepared.h"
#include "backend/simulator/schedule.h"
#include "backend/simulator/simulator.h"
#include "core/error.h"

namespace assay::backend {
namespace {

int choose_threads(int wanted) {
  if (wanted > 0) return std::min(wanted, 64);
  const unsigned cores = std::thread::hardware_concurrency();
  return std::clamp(static_cast<int>(cores), 1, 16);
}

void count(const Program& program, const Instruction& i, ExecutionCounts& counts) {
  ++counts.instructions;
  ++counts.by_engine[static_cast<std::size_t>(i.engine)];
  if (i.opcode == Opcode::nc_matmul) {
    counts.macs +=
        static_cast<uint64_t>(operand(program, i, 1).partitions * operand(program, i, 0).elements());
  } else if (is_dma(i.opcode)) {
    const auto bytes = [](const AccessPattern& a) {
      return static_cast<uint64_t>(a.elements()) * static_cast<uint64_t>(size_of(a.dtype));
    };
    const AccessPattern &to = operand(program, i, 0), &from = operand(program, i, 1);
    if (from.space == Space::hbm) counts.dma_bytes_read += bytes(from);
    if (to.space == Space::hbm) counts.dma_bytes_written += bytes(to);
  }
}

void add(ExecutionCounts& to, const ExecutionCounts& counts) {
  to.instructions += counts.instructions;
  for (std::size_t k = 0; k < kEngines; ++k) to.by_engine[k] += counts.by_engine[k];
  to.macs += counts.macs;
  to.dma_bytes_read += counts.dma_bytes_read;
  to.dma_bytes_written += counts.dma_bytes_written;
}

}  // namespace

std::string_view name_of(TrapKind kind) {
  switch (kind) {
    case TrapKind::uninitialized_sbuf:
      return "uninitialized_sbuf";
    case TrapKind::uninitialized_psum:
      return "uninitialized_psum";
    case TrapKind::psum_accumulate:
      return "psum_accumulate";
    case TrapKind::index_out_of_bounds:
      return "index_out_of_bounds";
    case TrapKind::nan_operand:
      return "nan_operand";
    case TrapKind::deadlock:
      return "deadlock";
  }
  return "invalid";
}

// Chips that workers of this process may have of their own: tens of MiB each, and a process may simulate many
// ranks. Devices that come later execute their Programs undivided.
class ChipsApart {
 public:
  ChipsApart() = default;
  ChipsApart(const ChipsApart&) = delete;
  ChipsApart& operator=(const ChipsApart&) = delete;
  ~ChipsApart() { taken() -= own_; }
  // False if there are not so many.
  bool take(int chips) {
    int before = taken().load();
    do {
      if (before + chips > kMost) return false;
    } while (!taken().compare_exchange_weak(before, before + chips));
    own_ += chips;
    return true;
  }

 private:
  static constexpr int kMost = 16;
  static std::atomic<int>& taken() {
    static std::atomic<int> count{0};
    return count;
  }
  int own_ = 0;
};

class FunctionalSimulator::Impl {
 public:
  Impl(const CoreDescription& core, const SimulatorOptions& options)
      : together_(core, options, choose_threads(options.threads)) {}

  ExecutionCounts run(const Program& program, std::span<const HbmBinding> inputs,
                      std::span<const HbmBinding> outputs, const Prepared* prepared);
  Prepared prepare(const Program& program);
  std::string_view matmul_kernel() const { return together_.matmul_kernel(); }

 private:
  ExecutionCounts run_together(const Program& program, const PatternNumbers& numbers,
                               std::span<const HbmBinding> inputs, std::span<const HbmBinding> outputs);
  std::optional<ExecutionCounts> run_divided(const Program& program, const Prepared& prepared,
                                             std::span<const HbmBinding> inputs,
                                             std::span<const HbmBinding> outputs);
  bool divides() const {
    const SimulatorOptions& o = together_.options();
    return o.traps && !o.shuffle && !o.quirks.uninitialized_sbuf;
  }

  Executor together_;                             // all workers at the same instructions
  std::vector<std::unique_ptr<Executor>> apart_;  // each worker's own
  ChipsApart chips_;                              // of apart_
  std::vector<ExecutionCounts> counts_;           // of groups
  PatternNumbers numbers_;                        // of a Program that is not prepared
};

ExecutionCounts FunctionalSimulator::Impl::run_together(const Program& program, const PatternNumbers& numbers,
                                                        std::span<const HbmBinding> inputs,
                                                        std::span<const HbmBinding> outputs) {
  together_.begin(program, numbers, inputs, outputs);
  ExecutionCounts counts;
  const std::size_t n = program.instructions.size();
  const auto step = [&](std::size_t index) {
    together_.step(program, index);
    count(program, program.instructions[index], counts);
  };
  try {
    if (together_.options().shuffle) {
      const std::vector<std::size_t> order = shuffled_order(program, together_.options().shuffle_seed);
      for (std::size_t index : order) step(index);
      if (order.size() != n) {
        throw Trap(TrapKind::deadlock, order.size(), "",
                   "deadlock: " + std::to_string(n - order.size()) + " of " + std::to_string(n) +
                       " instructions wait for semaphores that nothing will signal");
      }
    } else {
      for (std::size_t index = 0; index < n; ++index) step(index);
    }
    together_.finish();
  } catch (...) {
    together_.discard();
    throw;
  }
  return counts;
}

// Nothing if an instruction trapped, or memory ran out at one: what is reported is what comes first in
// program order. Nothing, too, if the process has no chips left.
std::optional<ExecutionCounts> FunctionalSimulator::Impl::run_divided(const Program& program,
                                                                      const Prepared& prepared,
                                                                      std::span<const HbmBinding> inputs,
                                                                      std::span<const HbmBinding> outputs) {
  const Division& division = prepared.division;
  WorkerPool& pool = together_.pool();
  if (apart_.empty()) {
    if (!chips_.take(pool.size())) return std::nullopt;
    SimulatorOptions alone = together_.options();
    alone.threads = 1;
    for (int worker = 0; worker < pool.size(); ++worker)
      apart_.push_back(std::make_unique<Executor>(together_.core(), alone, 1));
  }
  counts_.assign(division.groups.size(), {});
  std::atomic<bool> failed{false};
  pool.run(static_cast<int>(division.groups.size()), [&](int number, int worker) {
    Executor& executor = *apart_[static_cast<std::size_t>(worker)];
    ExecutionCounts& counts = counts_[static_cast<std::size_t>(number)];
    try {
      executor.begin(program, prepared.numbers, inputs, outputs);
      for (const Division::Step step : division.groups[static_cast<std::size_t>(number)]) {
        executor.step(program, step.instruction);
        if (!step.again) count(program, program.instructions[step.instruction], counts);
      }
      executor.finish();
    } catch (...) {
      executor.discard();
      failed.store(true, std::memory_order_relaxed);
    }
  });
  if (failed.load(std::memory_order_relaxed)) return std::nullopt;
  ExecutionCounts all;
  for (const ExecutionCounts& counts : counts_) add(all, counts);
  return all;
}

ExecutionCounts FunctionalSimulator::Impl::run(const Program& program, std::span<const HbmBinding> inputs,
                                               std::span<const HbmBinding> outputs,
                                               const Prepared* prepared) {
  if (program.cores > together_.options().cores) {
    throw Error(ErrorCode::invalid_argument, "the Program is for " + std::to_string(program.cores) +
                                                 " physical cores, the device has " +
                                                 std::to_string(together_.options().cores) + "; set lnc=2");
  }
  if (together_.options().validate) validate(program, together_.core());
  if (prepared != nullptr && !prepared->division.groups.empty() && divides()) {
    if (const auto counts = run_divided(program, *prepared, inputs, outputs)) return *counts;
  }
  if (prepared == nullptr) numbers_.assign(program);
  return run_together(program, prepared != nullptr ? prepared->numbers : numbers_, inputs, outputs);
}

Prepared FunctionalSimulator::Impl::prepare(const Program& program) {
  Prepared out;
  out.numbers.assign(program);
  if (divides()) out.division = divide(program, together_.pool().size());
  return out;
}

FunctionalSimulator::FunctionalSimulator(const CoreDescription& core, const SimulatorOptions& options)
    : impl_(std::make_unique<Impl>(core, options)) {}
FunctionalSimulator::~FunctionalSimulator() = default;

ExecutionCounts FunctionalSimulator::run(const Program& program, std::span<const HbmBinding> inputs,
                                         std::span<const HbmBinding> outputs, const Prepared* prepared) {
  return impl_->run(program, inputs, outputs, prepared);
}

Prepared FunctionalSimulator::prepare(const Program& program) const { return impl_->prepare(program); }

std::string_view FunctionalSimulator::matmul_kernel() const { return impl_->matmul_kernel(); }

}  // namespace assay::backend
