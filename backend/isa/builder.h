// Writes Programs. Every call checks its instruction (validate.h) and throws ProgramError; instructions are
// in program order, finish() adds the semaphores that let engines run ahead of it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "backend/isa/error.h"
#include "backend/isa/program.h"

namespace assay::backend {

// A scalar of tensor_scalar, activation, ...: an immediate, or one fp32 (or narrower float) a partition:
// [P,1].
using ScalarOperand = std::variant<float, AccessPattern>;

struct ActivationOptions {
  ScalarOperand scale = 1.0f;
  std::optional<AccessPattern> bias = {};  // [P,1]
  std::optional<AccessPattern> reduce =
      {};               // [P,1] f32: receives the sum of the results along the free dimensions
  float slope = 0;      // prelu
  bool no_nan = false;  // a NaN in src is an error of whoever gave it: execution ends there
};

struct DmaOptions {
  Engine engine = Engine::sync;  // that triggers it
  int queue = -1;           // -1: next in turn of those that the engine feeds (a queue belongs to one engine)
  bool accumulate = false;  // destination += source
};

struct IndirectOptions {
  // Elements of the HBM tensor between index i and i + 1, and the number of legal indices: 0 <= index <
  // bound.
  int64_t index_stride = 0;
  int64_t bound = 0;
  bool skip_out_of_bounds = false;
  DmaOptions dma;
};

class ProgramBuilder {
 public:
  // `cores`: physical cores of the logical one that the Program is for.
  explicit ProgramBuilder(const CoreDescription& core, int cores = 1);

  const CoreDescription& core() const { return core_; }
  const Program& program() const { return program_; }

  // Instructions and tiles that follow are this core's, 0 at first. A DMA may reach tiles of either.
  void set_core(int core) { at_core_ = static_cast<std::size_t>(core); }
  // Instructions that follow belong to this graph node.
  void set_node(std::string_view name);

  // HBM tensors; the result is the tensor's number. Inputs and outputs are bound in order of creation.
  int32_t input(std::string name, DType dtype, int64_t elements);
  int32_t output(std::string name, DType dtype, int64_t elements);
  int32_t scratch(std::string name, DType dtype, int64_t elements);
  int32_t constant(std::string name, DType dtype, std::span<const std::byte> bytes);

  // On-chip allocation of the core at hand, a stack: release(mark()) frees all that was allocated since.
  // Tiles start at partition 0 unless told otherwise and at multiples of 64 bytes. Throws
  // ProgramError{sbuf_overflow or psum_overflow}.
  struct Mark {
    int64_t sbuf_bytes;
    int psum_banks;
  };
  AccessPattern sbuf(DType dtype, int partitions, std::initializer_list<int64_t> sizes,
                     int partition_start = 0) {
    return sbuf(dtype, partitions, Sizes(sizes.begin(), sizes.size()), partition_start);
  }
  AccessPattern sbuf(DType dtype, int partitions, Sizes sizes, int partition_start = 0);
  // Whole banks: as many as the bytes of a partition need.
  AccessPattern psum(DType dtype, int partitions, std::initializer_list<int64_t> sizes) {
    return psum(dtype, partitions, Sizes(sizes.begin(), sizes.size()));
  }
  AccessPattern psum(DType dtype, int partitions, Sizes sizes);
  Mark mark() const { return top_[at_core_]; }
  void release(Mark mark);
  int64_t sbuf_free_bytes() const;  // a partition
  int psum_free_banks() const;

  // Tensor engine.
  void nc_matmul(const AccessPattern& dst, const AccessPattern& stationary, const AccessPattern& moving,
                 bool accumulate);
  void nc_transpose(const AccessPattern& dst, const AccessPattern& src, Engine engine = Engine::tensor);

  // Scalar engine.
  void activation(const AccessPattern& dst, const AccessPattern& src, Activation function,
                  const ActivationOptions& options = {});

  // Vector engine unless told otherwise. Integer arithmetic on GpSimd is exact (gpsimd.md).
  void tensor_tensor(const AccessPattern& dst, const AccessPattern& a, const AccessPattern& b, AluOp op,
                     Engine engine = Engine::vector);
  // (src op0 operand0) op1 operand1. On GpSimd with integer operands the scalars are `integer0`, `integer1`
  // of tensor_scalar_int instead.
  void tensor_scalar(const AccessPattern& dst, const AccessPattern& src, AluOp op0,
                     const ScalarOperand& operand0, bool reverse0 = false, AluOp op1 = AluOp::none,
                     const ScalarOperand& operand1 = 0.0f, bool reverse1 = false,
                     Engine engine = Engine::vector);
  // Exact integers: on GpSimd any operator; on Vector bitwise operators only.
  void tensor_scalar_int(const AccessPattern& dst, const AccessPattern& src, AluOp op0, int64_t operand0,
                         bool reverse0 = false, AluOp op1 = AluOp::none, int64_t operand1 = 0,
                         bool reverse1 = false, Engine engine = Engine::gpsimd);
  void scalar_tensor_tensor(const AccessPattern& dst, const AccessPattern& src, AluOp op0,
                            const ScalarOperand& operand0, AluOp op1, const AccessPattern& tensor,
                            bool reverse0 = false, bool reverse1 = false);
  // Reduces the last `dims` free dimensions of src; dst has the others. add, multiply, max, min, abs_max,
  // logical and bitwise operators; ascending order, fp32 (GpSimd on integers: exact).
  void tensor_reduce(const AccessPattern& dst, const AccessPattern& src, AluOp op, int dims = 1,
                     bool negate = false, Engine engine = Engine::vector);
  void tensor_tensor_scan(const AccessPattern& dst, const AccessPattern& a, const AccessPattern& b,
                          const ScalarOperand& initial, AluOp op0, AluOp op1);
  void bn_stats(const AccessPattern& dst, const AccessPattern& src);
  void bn_aggr(const AccessPattern& dst, const AccessPattern& src);
  void select(const AccessPattern& dst, const AccessPattern& predicate, const AccessPattern& on_true,
              const AccessPattern& on_false, Engine engine = Engine::vector);
  void select(const AccessPattern& dst, const AccessPattern& predicate, const AccessPattern& on_true,
              float on_false, Engine engine = Engine::vector);
  void copy_predicated(const AccessPattern& dst, const AccessPattern& src, const AccessPattern& predicate,
                       Engine engine = Engine::vector);
  void memset(const AccessPattern& dst, float value, Engine engine = Engine::vector);
  void memset_int(const AccessPattern& dst, int64_t value, Engine engine = Engine::vector);
  void tensor_copy(const AccessPattern& dst, const AccessPattern& src, Engine engine = Engine::vector);
  void max8(const AccessPattern& dst, const AccessPattern& src);
  void find_index8(const AccessPattern& dst, const AccessPattern& src, const AccessPattern& values);
  void match_replace8(const AccessPattern& dst, const AccessPattern& src, const AccessPattern& values,
                      float replacement);

  // GpSimd engine.
  void iota(const AccessPattern& dst, int64_t base, int64_t partition_multiplier,
            std::span<const int64_t> pattern);
  void affine_select(const AccessPattern& dst, const AccessPattern& src, AluOp compare, int64_t base,
                     int64_t partition_multiplier, std::span<const int64_t> pattern, float fill);
  void cast(const AccessPattern& dst, const AccessPattern& src);
  void scan(const AccessPattern& dst, const AccessPattern& src, AluOp op);
  void local_gather(const AccessPattern& dst, const AccessPattern& src, const AccessPattern& index);
  void local_scatter(const AccessPattern& dst, const AccessPattern& src, const AccessPattern& index);
  // `index` (integers) may be absent.
  void sort(const AccessPattern& dst, const std::optional<AccessPattern>& index, const AccessPattern& src,
            bool descending);
  void arg_max(const AccessPattern& dst, const AccessPattern& src);
  void arg_min(const AccessPattern& dst, const AccessPattern& src);
  void math(const AccessPattern& dst, const AccessPattern& src, MathFunction function);
  void math(const AccessPattern& dst, const AccessPattern& a, const AccessPattern& b, MathFunction function);
  // dst (i32): words first_word + element number of the stream `key` with `seed` (core/philox.h, draw_word).
  void philox(const AccessPattern& dst, uint64_t key, uint64_t seed, int64_t first_word);

  // DMA. Patterns of equal element count, matched in row-major order; SBUF, PSUM and HBM in any combination.
  void dma_copy(const AccessPattern& dst, const AccessPattern& src, const DmaOptions& options = {});
  // dst element (p, i...) = src element (p, i...) shifted by index * index_stride elements. `index` is an
  // SBUF tile of i32 or i64 with the leading dimensions of dst (all of them, or [P,1] for one index a
  // partition).
  void dma_gather(const AccessPattern& dst, const AccessPattern& src, const AccessPattern& index,
                  const IndirectOptions& options);
  // dst element (p, i...) shifted by index * index_stride = src element (p, i...); ascending order where
  // indices repeat.
  void dma_scatter(const AccessPattern& dst, const AccessPattern& src, const AccessPattern& index,
                   const IndirectOptions& options);

  // Adds semaphores (synchronize.h), checks the whole (validate.h) and gives the Program away; the builder is
  // empty afterwards.
  Program finish();

 private:
  Instruction& emit(Opcode opcode, Engine engine, std::initializer_list<const AccessPattern*> operands);
  void set_integers(Instruction& instruction, std::initializer_list<int64_t> first,
                    std::span<const int64_t> rest = {});
  void check_last();
  uint8_t queue_for(const DmaOptions& options);
  int32_t add_tensor(std::string name, HbmKind kind, DType dtype, int64_t elements);

  const CoreDescription& core_;
  Program program_;
  std::size_t at_core_ = 0;
  std::array<Mark, kMaxCores> top_{};
  std::array<std::array<int, kEngines>, kMaxCores> next_queue_{};
};

}  // namespace assay::backend
