#include "backend/isa/rules.h"

#include <algorithm>
#include <string>

#include "backend/isa/checker.h"

namespace assay::backend {
namespace {

constexpr unsigned bit(Engine engine) { return 1u << static_cast<unsigned>(engine); }
constexpr unsigned kVector = bit(Engine::vector), kScalar = bit(Engine::scalar),
                   kGpSimd = bit(Engine::gpsimd), kTensor = bit(Engine::tensor), kAny = (1u << kEngines) - 1;

struct OpcodeRule {
  unsigned engines;
  int min_operands, max_operands;
};

OpcodeRule rule_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::nc_matmul:
      return {kTensor, 3, 3};
    case Opcode::nc_transpose:
      return {kTensor | kVector, 2, 2};
    case Opcode::activation:
      return {kScalar, 2, 5};
    case Opcode::tensor_tensor:
      return {kVector | kGpSimd, 3, 3};
    case Opcode::tensor_scalar:
      return {kVector | kScalar | kGpSimd, 2, 4};
    case Opcode::scalar_tensor_tensor:
      return {kVector, 4, 4};
    case Opcode::tensor_reduce:
      return {kVector | kGpSimd, 2, 2};
    case Opcode::tensor_tensor_scan:
      return {kVector, 3, 4};
    case Opcode::bn_stats:
    case Opcode::bn_aggr:
      return {kVector, 2, 2};
    case Opcode::select:
      return {kVector | kGpSimd, 3, 4};
    case Opcode::copy_predicated:
      return {kVector | kGpSimd, 3, 3};
    case Opcode::memset:
      return {kVector | kGpSimd, 1, 1};
    case Opcode::tensor_copy:
      return {kVector | kScalar | kGpSimd, 2, 2};
    case Opcode::iota:
      return {kGpSimd, 1, 1};
    case Opcode::affine_select:
      return {kGpSimd, 2, 2};
    case Opcode::max8:
      return {kVector, 2, 2};
    case Opcode::find_index8:
    case Opcode::match_replace8:
      return {kVector, 3, 3};
    case Opcode::dma_copy:
      return {kAny, 2, 2};
    case Opcode::dma_gather:
    case Opcode::dma_scatter:
      return {kAny, 3, 3};
    case Opcode::gpsimd:
      return {kGpSimd, 1, 3};
    case Opcode::semaphore_wait:
      return {kAny, 0, 0};
  }
  return {0, 0, 0};
}

}  // namespace

void Checker::check_matmul() const {
  const AccessPattern &dst = op(0), &stationary = op(1), &moving = op(2);
  require(dst.space == Space::psum, Class::engine, "the destination of the Tensor engine is PSUM");
  require(stationary.space == Space::sbuf && moving.space == Space::sbuf, Class::engine,
          "the Tensor engine reads SBUF only");
  const int64_t m = stationary.free_elements(), n = moving.free_elements();
  if (stationary.partitions != moving.partitions) {
    fail(Class::shape, named(1) + " and " + named(2) + " must have the same partitions (the contraction)");
  }
  if (stationary.partitions > core_.max_contraction)
    fail(Class::shape, "contraction over more than 128 partitions");
  if (m > core_.max_stationary_free) {
    fail(Class::shape, "stationary free size " + std::to_string(m) + " is above " +
                           std::to_string(core_.max_stationary_free.value));
  }
  const bool bf16_dst = dst.dtype == DType::bf16 && core_.psum_bf16;
  if (dst.dtype != DType::f32 && !bf16_dst) {
    fail(Class::dtype, named(0) + ": PSUM accumulates " + (core_.psum_bf16 ? "f32 or bf16" : "f32"));
  }
  const int64_t limit = bf16_dst ? core_.max_moving_free_bf16.value : core_.max_moving_free.value;
  if (n > limit) {
    fail(Class::shape, "moving free size " + std::to_string(n) + " is above " + std::to_string(limit));
  }
  if (dst.partitions != m || dst.free_elements() != n) {
    fail(Class::shape, named(0) + " must be [" + std::to_string(m) + ", " + std::to_string(n) + "]");
  }
  floating(1);
  floating(2);
  const DType a = stationary.dtype, b = moving.dtype;
  if ((a == DType::f32) != (b == DType::f32)) fail(Class::dtype, "f32 multiplies f32 only");
  const auto mixes = [](DType x, DType y) { return x == DType::f8e4m3 && y == DType::f8e4m3fn; };
  if (mixes(a, b) || mixes(b, a)) fail(Class::dtype, "f8_e4m3 and f8_e4m3fn cannot be mixed");
  const AccessPattern::Extent e = dst.extent();
  const int64_t bank = core_.psum_bank_bytes;
  if (core_.max_moving_free * 4 <= bank && e.begin / bank != (e.end - 1) / bank) {
    fail(Class::psum_overflow, named(0) + " crosses a PSUM bank");
  }
}

void Checker::check_transpose() const {
  const AccessPattern &dst = op(0), &src = op(1);
  const int64_t rows = src.partitions, columns = src.free_elements();
  if (dst.partitions != columns || dst.free_elements() != rows) {
    fail(Class::shape, named(0) + " must be [" + std::to_string(columns) + ", " + std::to_string(rows) + "]");
  }
  if (i_.engine == Engine::vector) {
    require(rows <= 32 && columns <= 32, Class::shape, "the Vector engine transposes up to 32 x 32");
    if (dst.dtype != src.dtype) fail(Class::dtype, "a transpose keeps the dtype");
    return;
  }
  require(dst.space == Space::psum && src.space == Space::sbuf, Class::engine,
          "the Tensor engine transposes from SBUF to PSUM");
  require(columns <= core_.max_stationary_free, Class::shape, "the Tensor engine transposes up to 128 x 128");
  if (core_.exact_transpose) {
    if (dst.dtype != src.dtype) fail(Class::dtype, "a transpose keeps the dtype");
    require(size_of(src.dtype) == 2 || size_of(src.dtype) == 4, Class::dtype,
            "a transpose needs 2 or 4 bytes");
  } else {
    floating(1);
    require(dst.dtype == DType::f32, Class::dtype, "a transpose by identity product writes f32");
  }
  const AccessPattern::Extent e = dst.extent();
  if (e.begin / core_.psum_bank_bytes != (e.end - 1) / core_.psum_bank_bytes) {
    fail(Class::psum_overflow, named(0) + " crosses a PSUM bank");
  }
}

void Checker::check_reduce() const {
  const AccessPattern& src = op(1);
  same_partitions(1);
  if (i_.count < 1 || i_.count > src.rank) {
    fail(Class::argument, "cannot reduce " + std::to_string(i_.count) + " of " + std::to_string(src.rank) +
                              " free dimensions");
  }
  int64_t kept = 1;
  for (std::size_t d = 0; d + i_.count < src.rank; ++d) kept *= src.sizes[d];
  free_count(0, kept);
  switch (i_.op0) {
    case AluOp::add:
    case AluOp::multiply:
    case AluOp::max:
    case AluOp::min:
    case AluOp::abs_max:
    case AluOp::logical_and:
    case AluOp::logical_or:
    case AluOp::logical_xor:
    case AluOp::bitwise_and:
    case AluOp::bitwise_or:
    case AluOp::bitwise_xor:
      break;
    default:
      fail(Class::argument, std::string(name_of(i_.op0)) + " is no reduction");
  }
  check_alu(i_.op0, {1}, false);
}

void Checker::check_affine() const {
  if (i_.integer_count != 2 + op(0).rank) {
    fail(Class::argument, "the pattern needs one step for each of the destination's dimensions");
  }
  if (i_.opcode == Opcode::affine_select) {
    same_count(1);
    require(i_.op0 >= AluOp::is_eq && i_.op0 <= AluOp::is_le, Class::argument, "a comparison is needed");
  }
}

void Checker::check_gpsimd() const {
  const GpSimdRoutine r = i_.routine;
  const int wanted_min = r == GpSimdRoutine::philox ? 1
                         : r == GpSimdRoutine::local_gather || r == GpSimdRoutine::local_scatter ||
                                 (r == GpSimdRoutine::math && is_binary(i_.math))
                             ? 3
                             : 2;
  const int wanted_max = r == GpSimdRoutine::sort ? 3 : wanted_min;
  if (i_.operand_count < wanted_min || i_.operand_count > wanted_max) {
    fail(Class::argument, "the routine takes " + std::to_string(wanted_min) + " to " +
                              std::to_string(wanted_max) + " operands, not " +
                              std::to_string(i_.operand_count));
  }
  switch (r) {
    case GpSimdRoutine::cast:
      same_count(1);
      break;
    case GpSimdRoutine::scan:
      same_count(1);
      require(op(1).rank > 0, Class::shape, "a scan needs a free dimension");
      if (op(0).rank != op(1).rank || op(0).sizes != op(1).sizes)
        fail(Class::shape, "a scan keeps the sizes");
      require(
          i_.op0 == AluOp::add || i_.op0 == AluOp::multiply || i_.op0 == AluOp::max || i_.op0 == AluOp::min,
          Class::argument, "a scan adds, multiplies or takes the maximum or minimum");
      break;
    case GpSimdRoutine::local_gather:
      same_partitions(1);
      same_count(2);
      integral(2);
      if (op(0).dtype != op(1).dtype) fail(Class::dtype, "a gather keeps the dtype");
      break;
    case GpSimdRoutine::local_scatter:
      same_partitions(1);
      same_partitions(2);
      integral(2);
      free_count(2, op(1).free_elements());
      if (op(0).dtype != op(1).dtype) fail(Class::dtype, "a scatter keeps the dtype");
      break;
    case GpSimdRoutine::sort:
      same_count(1);
      require(op(1).rank > 0, Class::shape, "a sort needs a free dimension");
      if (op(0).dtype != op(1).dtype) fail(Class::dtype, "a sort keeps the dtype");
      if (op(0).rank != op(1).rank || op(0).sizes != op(1).sizes)
        fail(Class::shape, "a sort keeps the sizes");
      if (op(2).defined()) {
        same_count(2);
        integral(2);
      }
      break;
    case GpSimdRoutine::arg_max:
    case GpSimdRoutine::arg_min:
      same_partitions(1);
      integral(0);
      require(op(1).rank > 0, Class::shape, "a row needs a free dimension");
      free_count(0, op(1).free_elements() / op(1).sizes[static_cast<std::size_t>(op(1).rank - 1)]);
      break;
    case GpSimdRoutine::math:
      same_count(1);
      floating(1);
      if (is_binary(i_.math)) {
        same_count(2);
        floating(2);
      }
      break;
    case GpSimdRoutine::philox:
      require(op(0).dtype == DType::i32, Class::dtype, "philox writes i32");
      require(i_.integer_count == 3, Class::argument, "philox needs key, seed and first word");
      break;
  }
}

void Checker::check_dma() const {
  if (i_.opcode == Opcode::dma_copy) {
    if (op(0).elements() != op(1).elements()) {
      fail(Class::shape, named(1) + " and the destination " + to_string(op(0)) + " differ in elements");
    }
    if (i_.accumulate && op(0).partitions != op(1).partitions) {
      fail(Class::shape, "an accumulating DMA needs rows of equal length");
    }
    return;
  }
  const bool gather = i_.opcode == Opcode::dma_gather;
  const AccessPattern &table = op(gather ? 1 : 0), &tile = op(gather ? 0 : 1), &index = op(2);
  require(table.space == Space::hbm, Class::engine, "indices address HBM");
  require(index.space == Space::sbuf, Class::engine, "indices lie in SBUF");
  if (index.dtype != DType::i32 && index.dtype != DType::i64) fail(Class::dtype, "indices are i32 or i64");
  if (table.partitions != tile.partitions || table.rank != tile.rank || table.sizes != tile.sizes) {
    fail(Class::shape, named(0) + " and " + named(1) + " must have the same sizes");
  }
  bool fits = index.partitions == tile.partitions && index.rank <= tile.rank;
  const bool one_each = index.free_elements() == 1;
  for (std::size_t d = 0; fits && !one_each && d < index.rank; ++d) fits = index.sizes[d] == tile.sizes[d];
  if (!fits) {
    fail(Class::shape,
         named(2) + " must have the leading sizes of " + to_string(tile) + ", or one index a partition");
  }
  if (op(0).dtype != op(1).dtype) fail(Class::dtype, "an indirect DMA keeps the dtype");
  require(i_.integer_count == 2, Class::argument, "an indirect DMA needs index_stride and bound");
  const int64_t stride = p_.integers_of(i_)[0], bound = p_.integers_of(i_)[1];
  constexpr int64_t kLimit = int64_t{1} << 31;
  require(bound > 0 && bound <= kLimit && stride > -kLimit && stride < kLimit, Class::argument,
          "index_stride and bound must lie within 2^31");
  const AccessPattern::Extent e = table.extent();
  const int64_t reach = (bound - 1) * stride * static_cast<int64_t>(size_of(table.dtype));
  const int64_t bytes = p_.tensors[static_cast<std::size_t>(table.tensor)].bytes();
  if (e.begin + std::min<int64_t>(reach, 0) < 0 || e.end + std::max<int64_t>(reach, 0) > bytes) {
    fail(Class::access_pattern, "an index of " + std::to_string(bound - 1) +
                                    " would leave the HBM tensor of " + std::to_string(bytes) + " bytes");
  }
}

void Checker::run() {
  const OpcodeRule rule = rule_of(i_.opcode);
  if (!(rule.engines & bit(i_.engine))) {
    fail(Class::engine, "the " + std::string(name_of(i_.engine)) + " engine does not execute it");
  }
  if (i_.operand_count < rule.min_operands || i_.operand_count > rule.max_operands) {
    fail(Class::argument, "it takes " + std::to_string(rule.min_operands) + " to " +
                              std::to_string(rule.max_operands) + " operands, not " +
                              std::to_string(i_.operand_count));
  }
  for (std::size_t k = 0; k < i_.operand_count; ++k) {
    const bool optional = (i_.opcode == Opcode::activation && k >= 2) ||
                          (i_.opcode == Opcode::tensor_scalar && k >= 2) ||
                          (i_.opcode == Opcode::scalar_tensor_tensor && k == 2);
    if (!op(k).defined()) {
      if (!optional) fail(Class::argument, "operand " + std::to_string(k) + " is missing");
      continue;
    }
    const bool written = k == 0 || (i_.opcode == Opcode::activation && k == 4) ||
                         (i_.opcode == Opcode::gpsimd && i_.routine == GpSimdRoutine::sort && k == 2);
    // A scatter's rows are told apart by their indices.
    check_pattern(k, written && i_.opcode != Opcode::dma_scatter);
    if (written && op(k).space == Space::hbm) check_writable(k);
  }
  switch (i_.opcode) {
    case Opcode::nc_matmul:
      check_matmul();
      break;
    case Opcode::nc_transpose:
      check_transpose();
      break;
    case Opcode::activation:
      require(!i_.no_nan || is_float(op(1).dtype), Class::argument, "integers hold no NaN to refuse");
      same_count(1);
      scalar_operand(2);
      scalar_operand(3);
      scalar_operand(4);
      break;
    case Opcode::tensor_tensor:
      same_count(1);
      same_count(2);
      check_alu(i_.op0, {1, 2}, false);
      break;
    case Opcode::tensor_scalar:
      same_count(1);
      scalar_operand(2);
      scalar_operand(3);
      require(i_.integer_count == 0 || i_.integer_count == 2, Class::argument,
              "it takes two integer immediates");
      require(i_.integer_count == 0 || i_.operand_count == 2, Class::argument,
              "integer immediates exclude other scalars");
      check_alu(i_.op0, {1}, i_.integer_count != 0);
      if (i_.op1 != AluOp::none) check_alu(i_.op1, {1}, i_.integer_count != 0);
      if (i_.integer_count == 0 && i_.engine != Engine::gpsimd &&
          (is_bitwise(i_.op0) || is_bitwise(i_.op1))) {
        fail(Class::argument, "bitwise operators take integer immediates");
      }
      if (i_.engine != Engine::gpsimd && i_.op1 != AluOp::none && is_bitwise(i_.op0) != is_bitwise(i_.op1)) {
        fail(Class::argument, "both operators must be bitwise, or none");
      }
      break;
    case Opcode::scalar_tensor_tensor:
      same_count(1);
      same_count(3);
      scalar_operand(2);
      require(!is_bitwise(i_.op0) && !is_bitwise(i_.op1), Class::argument, "arithmetic operators only");
      check_alu(i_.op0, {1}, false);
      check_alu(i_.op1, {1, 3}, false);
      break;
    case Opcode::tensor_reduce:
      check_reduce();
      break;
    case Opcode::tensor_tensor_scan:
      same_count(1);
      same_count(2);
      scalar_operand(3);
      require(!is_bitwise(i_.op0) && !is_bitwise(i_.op1), Class::argument, "arithmetic operators only");
      check_alu(i_.op0, {1, 2}, false);
      check_alu(i_.op1, {1, 2}, false);
      break;
    case Opcode::bn_stats:
      same_partitions(1);
      free_count(0, 6);
      require(op(0).dtype == DType::f32, Class::dtype, "statistics are f32");
      require(op(1).free_elements() <= 512, Class::shape, "bn_stats takes up to 512 elements a partition");
      break;
    case Opcode::bn_aggr:
      same_partitions(1);
      free_count(0, 2);
      require(op(0).dtype == DType::f32 && op(1).dtype == DType::f32, Class::dtype, "statistics are f32");
      require(op(1).free_elements() % 3 == 0, Class::shape, "statistics come in triples");
      break;
    case Opcode::select:
      same_count(1);
      same_count(2);
      if (op(3).defined()) same_count(3);
      break;
    case Opcode::copy_predicated:
      same_count(1);
      same_count(2);
      break;
    case Opcode::memset:
      require(i_.integer_count <= 1, Class::argument, "one value");
      if (i_.integer_count == 1) integral(0);
      break;
    case Opcode::tensor_copy:
      same_count(1);
      break;
    case Opcode::iota:
    case Opcode::affine_select:
      check_affine();
      break;
    case Opcode::max8:
      same_partitions(1);
      free_count(0, 8);
      require(op(1).free_elements() >= 8 && op(1).free_elements() <= 16384, Class::shape,
              "max8 takes 8 to 16384");
      break;
    case Opcode::find_index8:
      same_partitions(1);
      same_partitions(2);
      free_count(0, 8);
      free_count(2, 8);
      integral(0);
      break;
    case Opcode::match_replace8:
      same_count(1);
      same_partitions(2);
      free_count(2, 8);
      break;
    case Opcode::dma_copy:
    case Opcode::dma_gather:
    case Opcode::dma_scatter:
      check_dma();
      break;
    case Opcode::gpsimd:
      check_gpsimd();
      break;
    case Opcode::semaphore_wait:
      break;
  }
  if (i_.operand_count != 0) check_overlap(0);
}

void check_rules(const Program& program, std::size_t instruction, const CoreDescription& core) {
  Checker(program, instruction, core).run();
}

}  // namespace assay::backend
