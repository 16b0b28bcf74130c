// The state of one simulated core, or of the two of a logical core, shared by the executors of the engines.
// Internal to simulator/.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/device/device.h"
#include "backend/isa/program.h"
#include "backend/isa/rules.h"
#include "backend/simulator/rows.h"
#include "backend/simulator/simulator.h"
#include "backend/simulator/tile_memory.h"
#include "backend/simulator/worker_pool.h"

namespace assay::backend {

// Buffers of one worker that keep their size, so that running a Program again allocates nothing.
class Scratch {
 public:
  float* floats(std::size_t slot, int64_t n) { return grown(floats_[slot], n); }
  int64_t* ints(std::size_t slot, int64_t n) { return grown(ints_[slot], n); }
  std::byte* bytes(std::size_t slot, int64_t n) { return grown(bytes_[slot], n); }

 private:
  template <typename T>
  static T* grown(std::vector<T>& v, int64_t n) {
    if (v.size() < static_cast<std::size_t>(n)) v.resize(static_cast<std::size_t>(n));
    return v.data();
  }
  static constexpr std::size_t kSlots = 6;
  std::array<std::vector<float>, kSlots> floats_;
  std::array<std::vector<int64_t>, kSlots> ints_;
  std::array<std::vector<std::byte>, kSlots> bytes_;
};

// The first NaN, in program order, that an instruction found where it takes none.
struct RefusedNan {
  uint32_t instruction = 0xffffffff;  // none
  uint16_t row = 0, element = 0;
  auto operator<=>(const RefusedNan&) const = default;
};

struct Machine {
  Machine(const CoreDescription& description, const SimulatorOptions& simulator_options, int threads)
      : pool(threads),
        core(description),
        options(simulator_options),
        sbuf(description.partitions, sbuf_bytes(), false),
        psum(description.partitions, psum_bytes(), true),
        scratch(static_cast<std::size_t>(threads)) {
    if (options.traps) return;
    for (int p = 0; p < description.partitions; ++p) {  // NaN in every float format
      std::fill_n(sbuf.row(p), sbuf_bytes(), std::byte{0xff});
      std::fill_n(psum.row(p), psum_bytes(), std::byte{0xff});
    }
  }

  // Of a partition, all cores together (program.h, first_byte).
  int64_t sbuf_bytes() const {
    return first_byte(core, Space::sbuf, options.cores - 1) + core.sbuf_usable_bytes_per_partition;
  }
  int64_t psum_bytes() const { return first_byte(core, Space::psum, options.cores); }

  WorkerPool pool;
  const CoreDescription& core;
  SimulatorOptions options;
  TileMemory sbuf, psum;
  std::vector<std::byte*> hbm;   // of the running Program's tensors
  std::vector<Scratch> scratch;  // of each worker
  std::atomic<RefusedNan> refused_nan{RefusedNan{}};

  // Row `p` of a pattern: what a Row's load and store take.
  std::byte* row(const AccessPattern& a, int p) {
    if (a.space == Space::sbuf) return sbuf.row(a.partition_start + p);
    if (a.space == Space::psum) return psum.row(a.partition_start + p);
    return hbm[static_cast<std::size_t>(a.tensor)] +
           p * a.partition_stride * static_cast<int64_t>(size_of(a.dtype));
  }
  // With the dtype that the device really uses.
  Row make_row(const AccessPattern& a) const {
    const bool non_ocp = options.quirks.non_ocp_fp8 && a.dtype == DType::f8e4m3fn;
    return Row(a, non_ocp ? DType::f8e4m3 : a.dtype);
  }
  // Whether a product should have overwritten PSUM, but its kernel clears it first and accumulates.
  bool clears_psum_first(const Instruction& i) const {
    return options.quirks.psum_accumulate && i.opcode == Opcode::nc_matmul && !i.accumulate &&
           !core.accumulate_on_any_write;
  }
  // Of so many partitions; `most` unless tasks would be too many.
  int partitions_per_task(int partitions, int most) const {
    return std::max(std::clamp(partitions / (pool.size() * 4), 1, most),
                    partitions / WorkerPool::kMostTasks + 1);
  }
  // Elementary operations from which on several workers are worth it.
  static constexpr int64_t kWorthwhile = 32768;
  // Calls f(p, scratch) for every partition, on several workers if `work` (in elementary operations) is worth
  // it.
  template <typename F>
  void for_rows(int partitions, int64_t work, const F& f) {
    const int rows_per_task = partitions_per_task(partitions, 8);
    if (work < kWorthwhile || pool.size() == 1) {
      for (int p = 0; p < partitions; ++p) f(p, scratch[0]);
      return;
    }
    pool.run((partitions + rows_per_task - 1) / rows_per_task, [&](int task, int worker) {
      const int end = std::min(partitions, (task + 1) * rows_per_task);
      for (int p = task * rows_per_task; p < end; ++p) f(p, scratch[static_cast<std::size_t>(worker)]);
    });
  }
};

// An instruction with what its executor needs to know.
struct Execution {
  Machine& machine;
  const Program& program;
  std::size_t index;
  const Instruction& instruction;
  // Of instructions that are executed row by row (row_batch.h): those rows that are executed now, each
  // operand's Row, and the worker's buffers.
  int first = 0, end = 0;
  const Row* rows = nullptr;
  Scratch* scratch = nullptr;

  const AccessPattern& op(std::size_t k) const { return operand(program, instruction, k); }
  const Row& row(std::size_t k) const { return rows[k]; }
  std::span<const int64_t> integers() const { return program.integers_of(instruction); }
  [[noreturn]] void trap(TrapKind kind, const std::string& what) const;

  // Calls f(p, scratch) for every row p that is executed now.
  template <typename F>
  void for_rows(const F& f) const {
    for (int p = first; p < end; ++p) f(p, *scratch);
  }

  // Writes row `p` of operand `k`; rounds stochastically where that is on.
  void store(const Row& to, std::size_t k, int p, const float* values) const {
    if (!machine.options.stochastic_rounding) return to.store(machine.row(op(k), p), values);
    const auto seed = machine.options.seed;
    const StochasticRounding rounding{{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
                                      index * kMaxOperands + k,
                                      static_cast<uint64_t>(p * to.count())};
    to.store(machine.row(op(k), p), values, &rounding);
  }
};

// Executors of rows, by file: vector_engine.cpp, reductions.cpp, gpsimd_engine.cpp, dma.cpp.
void execute_elementwise(
    const Execution& e);  // activation, tensor_tensor, tensor_scalar, scalar_tensor_tensor,
                          // select, copy_predicated, memset, tensor_copy
void execute_reduction(const Execution& e);  // tensor_reduce, scans, bn_*, max8, find_index8, match_replace8
void execute_gpsimd(const Execution& e);     // iota, affine_select and the routines
void execute_dma_rows(const Execution& e);   // what dma_by_rows

// Of routines that move by indices: traps if one lies outside of its row.
constexpr bool is_indexed(GpSimdRoutine routine) {
  return routine == GpSimdRoutine::local_gather || routine == GpSimdRoutine::local_scatter;
}
void check_indices(const Execution& e);
// Whether a DMA brings each row to a row of its own, as other instructions do.
bool dma_by_rows(const Execution& e);
// Any other DMA, all of it.
void execute_dma(const Execution& e);

}  // namespace assay::backend
