// Executes instructions one after another. Internal to simulator/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/simulator/machine.h"
#include "backend/simulator/pattern_numbers.h"
#include "backend/simulator/row_batch.h"
#include "backend/simulator/simulator.h"
#include "backend/simulator/tensor_engine.h"

namespace assay::backend {

// A machine with what its instructions have been seen to write, and the units that collect instructions.
class Executor {
 public:
  // `threads` work at one instruction, or at several that go together.
  Executor(const CoreDescription& core, const SimulatorOptions& options, int threads);

  // Everything on the chip counts as uninitialised again, scratch HBM as poison. `numbers` are the Program's
  // and outlive its execution. Throws Error{invalid_argument} if bindings do not fit.
  void begin(const Program& program, const PatternNumbers& numbers, std::span<const HbmBinding> inputs,
             std::span<const HbmBinding> outputs);
  // Executes an instruction, or puts it with others that it may be executed with. Throws Trap.
  void step(const Program& program, std::size_t index) {
    step({machine_, program, index, program.instructions[index]});
  }
  // Executes what waits.
  void finish();
  // Forgets what waits (after a trap).
  void discard();

  const SimulatorOptions& options() const { return machine_.options; }
  const CoreDescription& core() const { return machine_.core; }
  WorkerPool& pool() { return machine_.pool; }
  std::string_view matmul_kernel() const { return tensor_engine_.kernel().name; }

 private:
  void step(const Execution& e);
  void execute(const Execution& e);
  void check_reads(const Execution& e);
  void check_read(const Execution& e, std::size_t k);
  void mark_writes(const Execution& e);
  void mark_cleared(const AccessPattern& psum, uint32_t number);
  // A bank of PSUM; an epoch of it ends when the next write is not of the same kind: a matmul's, or another
  // engine's.
  struct Bank {
    uint32_t epoch = 0;
    bool by_matmul = false;
  };
  std::span<Bank> banks_of(const AccessPattern& psum);
  uint32_t epoch_of(const AccessPattern& psum);
  bool is_product(const AccessPattern& psum, uint32_t number);  // known to be written by matmuls alone
  void begin_write(const AccessPattern& psum, bool by_matmul);

  Machine machine_;
  TensorEngine tensor_engine_;
  RowBatch rows_;
  std::vector<std::byte> scratch_hbm_;
  ByteMask mask_;
  // Of each pattern (by number) the run in which it was known to be wholly written: bytes do not become
  // uninitialised again before the next run, so neither their flags need to be looked at again, nor set
  // again. Of PSUM also the epoch of its banks, by whose kind of write.
  struct InEpoch {
    uint32_t run = 0, epoch = 0;
    bool operator==(const InEpoch&) const = default;
  };
  const PatternNumbers* numbers_ = nullptr;
  uint32_t run_ = 0;
  std::vector<uint32_t> written_;
  std::vector<InEpoch> written_in_epoch_;
  std::vector<Bank> banks_;
};

}  // namespace assay::backend
