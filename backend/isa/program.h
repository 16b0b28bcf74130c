// Instructions and the Program that holds them: plain data, straight-line, for one core or for the two
// physical cores of a logical one (LNC 2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device/device.h"
#include "backend/isa/access_pattern.h"
#include "backend/isa/ops.h"

namespace assay::backend {

// Engines issue their own instructions in order; sync only triggers DMA and waits.
enum class Engine : uint8_t { tensor, vector, scalar, gpsimd, sync };
inline constexpr int kEngines = 5;
inline constexpr int kDmaQueues = 16;
inline constexpr int kMaxCores = 2;  // physical cores of a logical one

// What completes in order: the engines of a core, then its DMA queues. Streams of core c start at c *
// kStreams.
inline constexpr int kStreams = kEngines + kDmaQueues;

// DMA queues that an engine feeds: sync, which triggers most transfers, half of them, the others two each.
struct EngineQueues {
  int first, count;
};
constexpr EngineQueues queues_of(Engine engine) {
  constexpr int kSync = 8, kOther = 2;
  static_assert(kSync + (kEngines - 1) * kOther == kDmaQueues);
  if (engine == Engine::sync) return {0, kSync};
  return {kSync + static_cast<int>(engine) * kOther, kOther};
}

// Operands are listed in this order in Program::operands; [x] may be absent (its Space is none).
enum class Opcode : uint8_t {
  nc_matmul,      // dst PSUM [M,N], stationary [K,M], moving [K,N]: dst (+)= stationary^T moving   tensor
  nc_transpose,   // dst [F,P], src [P,F]     tensor (dst in PSUM) or vector (both <= 32)
  activation,     // dst, src, [bias], [scale], [reduce]: dst = func(src * scale + bias), reduce = sum  scalar
  tensor_tensor,  // dst, a, b: a op0 b       vector, gpsimd
  tensor_scalar,  // dst, src, [operand0], [operand1]: (src op0 operand0) op1 operand1  vector, scalar, gpsimd
  scalar_tensor_tensor,  // dst, src, [operand0], tensor: (src op0 operand0) op1 tensor  vector
  tensor_reduce,         // dst, src: op0 over the trailing `count` free dimensions        vector, gpsimd
  tensor_tensor_scan,    // dst, a, b, [initial]: r_i = (a_i op0 r_(i-1)) op1 b_i     vector
  bn_stats,              // dst [P,6] f32, src [P,N<=512]                                  vector
  bn_aggr,               // dst [P,2] f32 (mean, variance), src [P,3n]                     vector
  select,                // dst, predicate, on_true, [on_false]: else immediate[0]         vector, gpsimd
  copy_predicated,       // dst, src, predicate: dst = src where predicate is not 0      vector, gpsimd
  memset,                // dst = immediate[0] (floats) or integer[0] (integers)           vector, gpsimd
  tensor_copy,     // dst = cast(src)                                                vector, scalar, gpsimd
  iota,            // dst = integer[0] + integer[1] * p + sum(pattern[k] * i_k)      gpsimd
  affine_select,   // dst, src: (iota cmp(op0) 0) ? src : immediate[0]               gpsimd
  max8,            // dst [P,8] descending, src [P,8..16384]                         vector
  find_index8,     // dst [P,8] u/int32, src [P,N], values [P,8]                     vector
  match_replace8,  // dst, src, values [P,8]: first occurrences become immediate[0] vector
  dma_copy,        // dst, src: equal element counts, row-major order, cast through fp32  any engine
  dma_gather,      // dst, src HBM, index: src address + index * index_stride        any engine
  dma_scatter,     // dst HBM, src, index: dst address + index * index_stride        any engine
  gpsimd,          // dst, src, [third], [fourth]: `routine`                         gpsimd
  semaphore_wait,  // nothing but its waits                                          any engine
};
inline constexpr int kOpcodes = 24;
inline constexpr int kMaxOperands = 5;
std::string_view name_of(Opcode opcode);
std::string_view name_of(Engine engine);
bool is_dma(Opcode opcode);

// Semaphores are counters, 0 when a Program starts, that only grow.
struct SemaphoreWait {
  int32_t semaphore;
  int32_t at_least;
};

// Fields that an opcode does not name are unused and zero.
struct Instruction {
  Opcode opcode = Opcode::semaphore_wait;
  Engine engine = Engine::sync;  // that issues it
  uint8_t queue = 0;  // DMA: 0 .. kDmaQueues-1; copies of one queue complete in order; one engine feeds it
  uint8_t core = 0;   // whose engine and queue: 0 .. Program::cores-1
  uint8_t operand_count = 0;
  AluOp op0 = AluOp::none;
  AluOp op1 = AluOp::none;
  Activation function = Activation::copy;
  GpSimdRoutine routine = GpSimdRoutine::cast;
  MathFunction math = MathFunction::floor;
  bool reverse0 = false;  // operand0 op0 src
  bool reverse1 = false;
  bool accumulate =
      false;  // nc_matmul: add to PSUM; dma_copy, dma_scatter: dst = dst + src in fp32 (ints exactly)
  bool negate = false;              // tensor_reduce: of the result
  bool descending = false;          // sort
  bool skip_out_of_bounds = false;  // dma_gather, dma_scatter: leave such elements alone instead of trapping
  bool no_nan = false;  // activation: src holds no NaN (the runtime's status 1003, "completed with NaN")
  uint8_t count = 0;    // tensor_reduce: trailing dimensions that are reduced
  uint16_t wait_count = 0;
  uint32_t operands = 0;           // first in Program::operands
  uint32_t waits = 0;              // first in Program::waits
  int32_t signal = -1;             // semaphore incremented by 1 on completion; -1: none
  int32_t node = -1;               // graph node, index into Program::nodes
  float immediate[3] = {0, 0, 0};  // operand0, operand1 (or scale, bias, slope), see the opcode
  uint32_t integers = 0;           // first in Program::integers
  uint8_t integer_count = 0;
};

// Numbers over both cores: of the engine that issues an instruction, of a DMA's queue, of the stream in which
// an instruction completes.
inline std::size_t lane_of(const Instruction& i) {
  return std::size_t{i.core} * kEngines + static_cast<std::size_t>(i.engine);
}
inline std::size_t ring_of(const Instruction& i) { return std::size_t{i.core} * kDmaQueues + i.queue; }
inline std::size_t stream_of(const Instruction& i) {
  const std::size_t in_core =
      is_dma(i.opcode) ? std::size_t{kEngines} + i.queue : static_cast<std::size_t>(i.engine);
  return std::size_t{i.core} * kStreams + in_core;
}

// Each core has an SBUF and a PSUM of its own; the byte of a partition where that of core `core` begins. One
// address space for both: engines reach their own core's only, DMA that of either.
inline int64_t first_byte(const CoreDescription& description, Space space, int core) {
  return core * (space == Space::sbuf ? description.sbuf_bytes_per_partition.value
                                      : description.psum_banks * description.psum_bank_bytes);
}

enum class HbmKind : uint8_t { input, output, scratch, constant };
struct HbmTensor {
  std::string name;
  HbmKind kind = HbmKind::scratch;
  DType dtype = DType::f32;
  int64_t elements = 0;
  int64_t constant_offset = -1;  // constants: first byte in Program::constant_bytes, 64-byte aligned
  int64_t bytes() const { return elements * static_cast<int64_t>(size_of(dtype)); }
};

struct Program {
  Generation target = Generation::trn2;
  int32_t cores = 1;                      // that work together, on one HBM
  std::vector<Instruction> instructions;  // program order; executing in it is always right
  std::vector<AccessPattern> operands;
  std::vector<SemaphoreWait> waits;
  std::vector<int64_t> integers;  // 64-bit immediates
  int32_t semaphores = 0;         // numbers used: 0 .. semaphores-1
  std::vector<HbmTensor> tensors;
  std::vector<std::byte> constant_bytes;
  std::vector<std::string> nodes;  // graph nodes by name, for messages and profiles
  int64_t peak_sbuf_bytes = 0;     // a partition of one core
  int64_t peak_psum_banks = 0;

  std::span<const AccessPattern> operands_of(const Instruction& i) const {
    return {operands.data() + i.operands, i.operand_count};
  }
  std::span<const SemaphoreWait> waits_of(const Instruction& i) const {
    return {waits.data() + i.waits, i.wait_count};
  }
  std::span<const int64_t> integers_of(const Instruction& i) const {
    return {integers.data() + i.integers, i.integer_count};
  }
  // Bytes of scratch and constants in HBM.
  int64_t scratch_bytes() const;
  // "nc_matmul #17 (node mm_3)": for messages.
  std::string describe(std::size_t instruction) const;
};

// Whether the instruction writes operand k.
bool is_written(const Instruction& i, std::size_t k);
// Leaves some elements of its destination as they were, according to data.
bool writes_partly(const Instruction& i);

// What a core's instruction limit counts.
int64_t instructions_of_busiest_core(const Program& program);

}  // namespace assay::backend
