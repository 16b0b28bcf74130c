// The functional reading of a Program: every instruction is executed on its tiles, in the device's numerics,
// with traps on. (The timing reading of the same Program will stand beside it.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "backend/isa/program.h"

namespace assay::backend {

enum class TrapKind : uint8_t {
  uninitialized_sbuf,
  uninitialized_psum,
  psum_accumulate,      // accumulating onto what no matmul has written
  index_out_of_bounds,  // indirect access
  nan_operand,          // NaN where a kernel takes none (Instruction::no_nan)
  deadlock,             // no instruction can proceed
};
std::string_view name_of(TrapKind kind);

// what() names instruction, operand, place and graph node.
class Trap : public std::runtime_error {
 public:
  Trap(TrapKind kind, std::size_t instruction, std::string node, const std::string& message)
      : std::runtime_error(message), kind_(kind), instruction_(instruction), node_(std::move(node)) {}
  TrapKind kind() const noexcept { return kind_; }
  std::size_t instruction() const noexcept { return instruction_; }
  const std::string& node() const noexcept { return node_; }  // "" if it belongs to none

 private:
  TrapKind kind_;
  std::size_t instruction_;
  std::string node_;
};

// Behaviour that real devices are known for, and what kernels that overlook it compute; a conformance suite
// has to find it. All off by default (docs/quirks.md).
struct Quirks {
  bool integers_through_fp32 = false;  // GpSimd's and DMA's integer arithmetic rounds to 24 bits
  bool activation_range = false;       // activations outside of their valid range give invalid results
  bool non_ocp_fp8 = false;            // f8e4m3fn is read and written as the non-OCP e4m3
  bool matmul_truncates = false;       // a deliberate defect: tile sums lose their 16 low bits before PSUM
  // Kernels forget to initialise: a memset of SBUF does nothing.
  bool uninitialized_sbuf = false;
  // Kernels clear PSUM with another engine and let the first product accumulate, too. That is defined on v4
  // alone; elsewhere the accumulator does not see the other engine's zeros and adds to what it held
  // (invented).
  bool psum_accumulate = false;
  // The Tensor engine transposes by a product with the identity, as v2's does: a NaN or infinity spreads.
  bool transpose_spreads_nan = false;
};

// What multiplies tiles; all give the same bits. One that this CPU lacks is an Error{unsupported}.
enum class MatmulKernel : uint8_t { automatic, portable, avx2, avx512 };

struct SimulatorOptions {
  int cores = 1;    // physical ones of the device: Programs may have as many
  int threads = 0;  // 0: as many as the machine has cores; results do not depend on it
  // Unset: program order. Set: a random order among those that engines, DMA queues and semaphores allow.
  bool shuffle = false;
  uint64_t shuffle_seed = 0;
  // Writes of f16, bf16 and fp8 round stochastically, drawn from Philox keyed by (seed, instruction,
  // element).
  bool stochastic_rounding = false;
  uint64_t seed = 0;
  // Validate every Program before running it. Off only where the caller just did: a bad Program is undefined
  // then.
  bool validate = true;
  // Off: as on the device, what was never written reads as whatever is there (of an earlier Program, else
  // NaN), and any PSUM may be accumulated to. Indices are always checked.
  bool traps = true;
  Quirks quirks;
  MatmulKernel matmul = MatmulKernel::automatic;
};

struct ExecutionCounts {
  uint64_t instructions = 0;  // executed; equals the Program's count
  std::array<uint64_t, kEngines> by_engine{};
  uint64_t macs = 0;               // multiply-accumulates of nc_matmul
  uint64_t dma_bytes_read = 0;     // from HBM
  uint64_t dma_bytes_written = 0;  // to HBM
};

struct Prepared;

// The memory of one bound input or output.
struct HbmBinding {
  std::byte* data;
  std::size_t bytes;
};

class FunctionalSimulator {
 public:
  explicit FunctionalSimulator(const CoreDescription& core, const SimulatorOptions& options = {});
  ~FunctionalSimulator();
  FunctionalSimulator(const FunctionalSimulator&) = delete;
  FunctionalSimulator& operator=(const FunctionalSimulator&) = delete;

  // Runs a Program once; it is validated first unless SimulatorOptions::validate is off. `inputs` and
  // `outputs` follow the order of those kinds in Program::tensors, with exactly their bytes; inputs are not
  // written. SBUF and PSUM count as uninitialised at the start, scratch HBM as poison. Throws Trap; throws
  // ProgramError if it is not valid for this core; throws Error{invalid_argument} if bindings do not fit, the
  // Program is for another target or has more cores than the device. Running equal Programs again allocates
  // nothing. `prepared` is what prepare() found of the Program: the same bits, the same traps.
  ExecutionCounts run(const Program& program, std::span<const HbmBinding> inputs,
                      std::span<const HbmBinding> outputs, const Prepared* prepared = nullptr);

  // What makes repeated runs of the Program faster (prepared.h). Takes less time than a run.
  Prepared prepare(const Program& program) const;

  // Which kernel nc_matmul uses: "avx512_bf16", "avx2_fma" or "portable".
  std::string_view matmul_kernel() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::backend
