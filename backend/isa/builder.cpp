#include "backend/isa/builder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "backend/isa/synchronize.h"
#include "backend/isa/validate.h"

namespace assay::backend {
namespace {

constexpr int64_t kTileAlignment = 64;
const AccessPattern kNone{};

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

int64_t tile_bytes(DType dtype, Sizes sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes) elements *= size;
  return elements * static_cast<int64_t>(size_of(dtype));
}

// The pattern of a scalar operand, or none for an immediate, which goes to `immediate`.
const AccessPattern* scalar_pattern(const ScalarOperand& operand, float* immediate) {
  if (const auto* pattern = std::get_if<AccessPattern>(&operand)) return pattern;
  *immediate = std::get<float>(operand);
  return &kNone;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const CoreDescription& core, int cores) : core_(core) {
  program_.target = core.generation;
  program_.cores = cores;
}

void ProgramBuilder::set_node(std::string_view name) {
  if (program_.nodes.empty() || program_.nodes.back() != name) program_.nodes.emplace_back(name);
}

int32_t ProgramBuilder::add_tensor(std::string name, HbmKind kind, DType dtype, int64_t elements) {
  if (elements < 0) {
    throw ProgramError(
        ProgramErrorClass::argument,
        "HBM tensor " + name + " has a negative number of elements: " + std::to_string(elements));
  }
  program_.tensors.push_back({std::move(name), kind, dtype, elements, -1});
  return static_cast<int32_t>(program_.tensors.size() - 1);
}

int32_t ProgramBuilder::input(std::string name, DType dtype, int64_t elements) {
  return add_tensor(std::move(name), HbmKind::input, dtype, elements);
}
int32_t ProgramBuilder::output(std::string name, DType dtype, int64_t elements) {
  return add_tensor(std::move(name), HbmKind::output, dtype, elements);
}
int32_t ProgramBuilder::scratch(std::string name, DType dtype, int64_t elements) {
  return add_tensor(std::move(name), HbmKind::scratch, dtype, elements);
}
int32_t ProgramBuilder::constant(std::string name, DType dtype, std::span<const std::byte> bytes) {
  const auto element = static_cast<int64_t>(size_of(dtype));
  const auto size = static_cast<int64_t>(bytes.size());
  if (size % element != 0) {
    throw ProgramError(ProgramErrorClass::argument, "constant " + name + " has " + std::to_string(size) +
                                                        " bytes, not a multiple of " +
                                                        std::to_string(element));
  }
  const int32_t tensor = add_tensor(std::move(name), HbmKind::constant, dtype, size / element);
  const int64_t offset = round_up(static_cast<int64_t>(program_.constant_bytes.size()), kTileAlignment);
  program_.constant_bytes.resize(static_cast<std::size_t>(offset));
  program_.constant_bytes.insert(program_.constant_bytes.end(), bytes.begin(), bytes.end());
  program_.tensors.back().constant_offset = offset;
  return tensor;
}

AccessPattern ProgramBuilder::sbuf(DType dtype, int partitions, Sizes sizes, int partition_start) {
  const int64_t bytes = round_up(tile_bytes(dtype, sizes), kTileAlignment);
  if (bytes > sbuf_free_bytes()) {
    throw ProgramError(ProgramErrorClass::sbuf_overflow,
                       "a tile of " + std::to_string(bytes) +
                           " bytes a partition does not fit into SBUF: " + std::to_string(sbuf_free_bytes()) +
                           " of " + std::to_string(core_.sbuf_usable_bytes_per_partition.value) +
                           " usable bytes are free");
  }
  const AccessPattern tile = sbuf_tile(
      dtype, partition_start, partitions,
      first_byte(core_, Space::sbuf, static_cast<int>(at_core_)) + top_[at_core_].sbuf_bytes, sizes);
  top_[at_core_].sbuf_bytes += bytes;
  program_.peak_sbuf_bytes = std::max(program_.peak_sbuf_bytes, top_[at_core_].sbuf_bytes);
  return tile;
}

AccessPattern ProgramBuilder::psum(DType dtype, int partitions, Sizes sizes) {
  const int64_t bank_bytes = core_.psum_bank_bytes;
  const auto banks = static_cast<int>((tile_bytes(dtype, sizes) + bank_bytes - 1) / bank_bytes);
  if (banks > psum_free_banks()) {
    throw ProgramError(ProgramErrorClass::psum_overflow,
                       "a tile of " + std::to_string(banks) +
                           " PSUM banks does not fit: " + std::to_string(psum_free_banks()) + " of " +
                           std::to_string(core_.psum_banks.value) + " are free");
  }
  int& top = top_[at_core_].psum_banks;
  const AccessPattern tile =
      psum_tile(dtype, 0, partitions, static_cast<int>(at_core_) * core_.psum_banks + top, sizes);
  top += banks;
  program_.peak_psum_banks = std::max<int64_t>(program_.peak_psum_banks, top);
  return tile;
}

void ProgramBuilder::release(Mark mark) {
  Mark& top = top_[at_core_];
  top.sbuf_bytes = std::min(top.sbuf_bytes, mark.sbuf_bytes);
  top.psum_banks = std::min(top.psum_banks, mark.psum_banks);
}

int64_t ProgramBuilder::sbuf_free_bytes() const {
  return core_.sbuf_usable_bytes_per_partition - top_[at_core_].sbuf_bytes;
}
int ProgramBuilder::psum_free_banks() const { return core_.psum_banks - top_[at_core_].psum_banks; }

Instruction& ProgramBuilder::emit(Opcode opcode, Engine engine,
                                  std::initializer_list<const AccessPattern*> operands) {
  if (static_cast<int64_t>(program_.instructions.size()) >= program_.cores * core_.max_instructions) {
    throw ProgramError(ProgramErrorClass::instruction_limit,
                       "the Program has more than " + std::to_string(core_.max_instructions.value) +
                           " instructions a core; use smaller shapes or split the graph");
  }
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.engine = engine;
  instruction.core = static_cast<uint8_t>(at_core_);
  instruction.node = static_cast<int32_t>(program_.nodes.size()) - 1;
  instruction.operands = static_cast<uint32_t>(program_.operands.size());
  // Trailing absent operands are not stored.
  std::size_t count = operands.size();
  while (count > 0 && !operands.begin()[count - 1]->defined()) --count;
  instruction.operand_count = static_cast<uint8_t>(count);
  for (std::size_t k = 0; k < count; ++k) program_.operands.push_back(*operands.begin()[k]);
  program_.instructions.push_back(instruction);
  return program_.instructions.back();
}

void ProgramBuilder::set_integers(Instruction& instruction, std::initializer_list<int64_t> first,
                                  std::span<const int64_t> rest) {
  instruction.integers = static_cast<uint32_t>(program_.integers.size());
  instruction.integer_count = static_cast<uint8_t>(first.size() + rest.size());
  program_.integers.insert(program_.integers.end(), first.begin(), first.end());
  program_.integers.insert(program_.integers.end(), rest.begin(), rest.end());
}

void ProgramBuilder::check_last() {
  try {
    validate_instruction(program_, program_.instructions.size() - 1, core_);
  } catch (...) {  // the builder stays usable without the bad instruction
    const Instruction& bad = program_.instructions.back();
    program_.operands.resize(bad.operands);
    if (bad.integer_count != 0) program_.integers.resize(bad.integers);
    program_.instructions.pop_back();
    throw;
  }
}

void ProgramBuilder::nc_matmul(const AccessPattern& dst, const AccessPattern& stationary,
                               const AccessPattern& moving, bool accumulate) {
  emit(Opcode::nc_matmul, Engine::tensor, {&dst, &stationary, &moving}).accumulate = accumulate;
  check_last();
}

void ProgramBuilder::nc_transpose(const AccessPattern& dst, const AccessPattern& src, Engine engine) {
  emit(Opcode::nc_transpose, engine, {&dst, &src});
  check_last();
}

void ProgramBuilder::activation(const AccessPattern& dst, const AccessPattern& src, Activation function,
                                const ActivationOptions& options) {
  float scale = 1.0f;
  const AccessPattern* scale_pattern = scalar_pattern(options.scale, &scale);
  Instruction& i = emit(Opcode::activation, Engine::scalar,
                        {&dst, &src, options.bias ? &*options.bias : &kNone, scale_pattern,
                         options.reduce ? &*options.reduce : &kNone});
  i.function = function;
  i.immediate[0] = scale;
  i.immediate[2] = options.slope;
  i.no_nan = options.no_nan;
  check_last();
}

void ProgramBuilder::tensor_tensor(const AccessPattern& dst, const AccessPattern& a, const AccessPattern& b,
                                   AluOp op, Engine engine) {
  emit(Opcode::tensor_tensor, engine, {&dst, &a, &b}).op0 = op;
  check_last();
}

void ProgramBuilder::tensor_scalar(const AccessPattern& dst, const AccessPattern& src, AluOp op0,
                                   const ScalarOperand& operand0, bool reverse0, AluOp op1,
                                   const ScalarOperand& operand1, bool reverse1, Engine engine) {
  float immediate0 = 0, immediate1 = 0;
  const AccessPattern* p0 = scalar_pattern(operand0, &immediate0);
  const AccessPattern* p1 = scalar_pattern(operand1, &immediate1);
  Instruction& i = emit(Opcode::tensor_scalar, engine, {&dst, &src, p0, p1});
  i.op0 = op0;
  i.op1 = op1;
  i.reverse0 = reverse0;
  i.reverse1 = reverse1;
  i.immediate[0] = immediate0;
  i.immediate[1] = immediate1;
  check_last();
}

void ProgramBuilder::tensor_scalar_int(const AccessPattern& dst, const AccessPattern& src, AluOp op0,
                                       int64_t operand0, bool reverse0, AluOp op1, int64_t operand1,
                                       bool reverse1, Engine engine) {
  Instruction& i = emit(Opcode::tensor_scalar, engine, {&dst, &src});
  i.op0 = op0;
  i.op1 = op1;
  i.reverse0 = reverse0;
  i.reverse1 = reverse1;
  set_integers(i, {operand0, operand1});
  check_last();
}

void ProgramBuilder::scalar_tensor_tensor(const AccessPattern& dst, const AccessPattern& src, AluOp op0,
                                          const ScalarOperand& operand0, AluOp op1,
                                          const AccessPattern& tensor, bool reverse0, bool reverse1) {
  float immediate0 = 0;
  const AccessPattern* p0 = scalar_pattern(operand0, &immediate0);
  Instruction& i = emit(Opcode::scalar_tensor_tensor, Engine::vector, {&dst, &src, p0, &tensor});
  i.op0 = op0;
  i.op1 = op1;
  i.reverse0 = reverse0;
  i.reverse1 = reverse1;
  i.immediate[0] = immediate0;
  check_last();
}

void ProgramBuilder::tensor_reduce(const AccessPattern& dst, const AccessPattern& src, AluOp op, int dims,
                                   bool negate, Engine engine) {
  Instruction& i = emit(Opcode::tensor_reduce, engine, {&dst, &src});
  i.op0 = op;
  i.count = static_cast<uint8_t>(std::clamp(dims, 0, 255));
  i.negate = negate;
  check_last();
}

void ProgramBuilder::tensor_tensor_scan(const AccessPattern& dst, const AccessPattern& a,
                                        const AccessPattern& b, const ScalarOperand& initial, AluOp op0,
                                        AluOp op1) {
  float immediate = 0;
  const AccessPattern* p = scalar_pattern(initial, &immediate);
  Instruction& i = emit(Opcode::tensor_tensor_scan, Engine::vector, {&dst, &a, &b, p});
  i.op0 = op0;
  i.op1 = op1;
  i.immediate[0] = immediate;
  check_last();
}

void ProgramBuilder::bn_stats(const AccessPattern& dst, const AccessPattern& src) {
  emit(Opcode::bn_stats, Engine::vector, {&dst, &src});
  check_last();
}
void ProgramBuilder::bn_aggr(const AccessPattern& dst, const AccessPattern& src) {
  emit(Opcode::bn_aggr, Engine::vector, {&dst, &src});
  check_last();
}

void ProgramBuilder::select(const AccessPattern& dst, const AccessPattern& predicate,
                            const AccessPattern& on_true, const AccessPattern& on_false, Engine engine) {
  emit(Opcode::select, engine, {&dst, &predicate, &on_true, &on_false});
  check_last();
}
void ProgramBuilder::select(const AccessPattern& dst, const AccessPattern& predicate,
                            const AccessPattern& on_true, float on_false, Engine engine) {
  emit(Opcode::select, engine, {&dst, &predicate, &on_true}).immediate[0] = on_false;
  check_last();
}
void ProgramBuilder::copy_predicated(const AccessPattern& dst, const AccessPattern& src,
                                     const AccessPattern& predicate, Engine engine) {
  emit(Opcode::copy_predicated, engine, {&dst, &src, &predicate});
  check_last();
}

void ProgramBuilder::memset(const AccessPattern& dst, float value, Engine engine) {
  emit(Opcode::memset, engine, {&dst}).immediate[0] = value;
  check_last();
}
void ProgramBuilder::memset_int(const AccessPattern& dst, int64_t value, Engine engine) {
  set_integers(emit(Opcode::memset, engine, {&dst}), {value});
  check_last();
}
void ProgramBuilder::tensor_copy(const AccessPattern& dst, const AccessPattern& src, Engine engine) {
  emit(Opcode::tensor_copy, engine, {&dst, &src});
  check_last();
}
void ProgramBuilder::max8(const AccessPattern& dst, const AccessPattern& src) {
  emit(Opcode::max8, Engine::vector, {&dst, &src});
  check_last();
}
void ProgramBuilder::find_index8(const AccessPattern& dst, const AccessPattern& src,
                                 const AccessPattern& values) {
  emit(Opcode::find_index8, Engine::vector, {&dst, &src, &values});
  check_last();
}
void ProgramBuilder::match_replace8(const AccessPattern& dst, const AccessPattern& src,
                                    const AccessPattern& values, float replacement) {
  emit(Opcode::match_replace8, Engine::vector, {&dst, &src, &values}).immediate[0] = replacement;
  check_last();
}

void ProgramBuilder::iota(const AccessPattern& dst, int64_t base, int64_t partition_multiplier,
                          std::span<const int64_t> pattern) {
  set_integers(emit(Opcode::iota, Engine::gpsimd, {&dst}), {base, partition_multiplier}, pattern);
  check_last();
}
void ProgramBuilder::affine_select(const AccessPattern& dst, const AccessPattern& src, AluOp compare,
                                   int64_t base, int64_t partition_multiplier,
                                   std::span<const int64_t> pattern, float fill) {
  Instruction& i = emit(Opcode::affine_select, Engine::gpsimd, {&dst, &src});
  i.op0 = compare;
  i.immediate[0] = fill;
  set_integers(i, {base, partition_multiplier}, pattern);
  check_last();
}

void ProgramBuilder::cast(const AccessPattern& dst, const AccessPattern& src) {
  emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &src}).routine = GpSimdRoutine::cast;
  check_last();
}
void ProgramBuilder::scan(const AccessPattern& dst, const AccessPattern& src, AluOp op) {
  Instruction& i = emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &src});
  i.routine = GpSimdRoutine::scan;
  i.op0 = op;
  check_last();
}
void ProgramBuilder::local_gather(const AccessPattern& dst, const AccessPattern& src,
                                  const AccessPattern& index) {
  emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &src, &index}).routine = GpSimdRoutine::local_gather;
  check_last();
}
void ProgramBuilder::local_scatter(const AccessPattern& dst, const AccessPattern& src,
                                   const AccessPattern& index) {
  emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &src, &index}).routine = GpSimdRoutine::local_scatter;
  check_last();
}
void ProgramBuilder::sort(const AccessPattern& dst, const std::optional<AccessPattern>& index,
                          const AccessPattern& src, bool descending) {
  Instruction& i = emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &src, index ? &*index : &kNone});
  i.routine = GpSimdRoutine::sort;
  i.descending = descending;
  check_last();
}
void ProgramBuilder::arg_max(const AccessPattern& dst, const AccessPattern& src) {
  emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &src}).routine = GpSimdRoutine::arg_max;
  check_last();
}
void ProgramBuilder::arg_min(const AccessPattern& dst, const AccessPattern& src) {
  emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &src}).routine = GpSimdRoutine::arg_min;
  check_last();
}
void ProgramBuilder::math(const AccessPattern& dst, const AccessPattern& src, MathFunction function) {
  Instruction& i = emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &src});
  i.routine = GpSimdRoutine::math;
  i.math = function;
  check_last();
}
void ProgramBuilder::math(const AccessPattern& dst, const AccessPattern& a, const AccessPattern& b,
                          MathFunction function) {
  Instruction& i = emit(Opcode::gpsimd, Engine::gpsimd, {&dst, &a, &b});
  i.routine = GpSimdRoutine::math;
  i.math = function;
  check_last();
}
void ProgramBuilder::philox(const AccessPattern& dst, uint64_t key, uint64_t seed, int64_t first_word) {
  Instruction& i = emit(Opcode::gpsimd, Engine::gpsimd, {&dst});
  i.routine = GpSimdRoutine::philox;
  set_integers(i, {std::bit_cast<int64_t>(key), std::bit_cast<int64_t>(seed), first_word});
  check_last();
}

uint8_t ProgramBuilder::queue_for(const DmaOptions& options) {
  if (options.queue >= 0) return static_cast<uint8_t>(std::min(options.queue, 255));
  const EngineQueues queues = queues_of(options.engine);
  const int turn = next_queue_[at_core_][static_cast<std::size_t>(options.engine)]++;
  return static_cast<uint8_t>(queues.first + turn % queues.count);
}

void ProgramBuilder::dma_copy(const AccessPattern& dst, const AccessPattern& src, const DmaOptions& options) {
  Instruction& i = emit(Opcode::dma_copy, options.engine, {&dst, &src});
  i.queue = queue_for(options);
  i.accumulate = options.accumulate;
  check_last();
}
void ProgramBuilder::dma_gather(const AccessPattern& dst, const AccessPattern& src,
                                const AccessPattern& index, const IndirectOptions& options) {
  Instruction& i = emit(Opcode::dma_gather, options.dma.engine, {&dst, &src, &index});
  i.queue = queue_for(options.dma);
  i.accumulate = options.dma.accumulate;
  i.skip_out_of_bounds = options.skip_out_of_bounds;
  set_integers(i, {options.index_stride, options.bound});
  check_last();
}
void ProgramBuilder::dma_scatter(const AccessPattern& dst, const AccessPattern& src,
                                 const AccessPattern& index, const IndirectOptions& options) {
  Instruction& i = emit(Opcode::dma_scatter, options.dma.engine, {&dst, &src, &index});
  i.queue = queue_for(options.dma);
  i.accumulate = options.dma.accumulate;
  i.skip_out_of_bounds = options.skip_out_of_bounds;
  set_integers(i, {options.index_stride, options.bound});
  check_last();
}

Program ProgramBuilder::finish() {
  synchronize(program_);
  validate(program_, core_);
  Program out = std::move(program_);
  program_ = Program{};
  program_.target = core_.generation;
  program_.cores = out.cores;
  at_core_ = 0;
  top_ = {};
  next_queue_ = {};
  return out;
}

}  // namespace assay::backend
