#include "backend/isa/rules.h"

#include <algorithm>
#include <string>

#include "backend/isa/error.h"
#include "backend/isa/validate.h"

namespace assay::backend {
namespace {

using Class = ProgramErrorClass;

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
      return {kVector, 2, 2};
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
      return {kVector, 3, 3};
    case Opcode::match_replace8:
      return {kVector, 3, 3};
    case Opcode::dma_copy:
      return {kAny, 2, 2};
    case Opcode::dma_gather:
      return {kAny, 3, 3};
    case Opcode::dma_scatter:
      return {kAny, 3, 3};
    case Opcode::gpsimd:
      return {kGpSimd, 1, 3};
    case Opcode::semaphore_wait:
      return {kAny, 0, 0};
  }
  return {0, 0, 0};
}

// Checks of one instruction; every failure names it.
class Checker {
 public:
  Checker(const Program& program, std::size_t index, const CoreDescription& core)
      : p_(program), index_(index), i_(program.instructions[index]), core_(core) {}

  void run();

 private:
  [[noreturn]] void fail(Class error_class, const std::string& what) const {
    const std::string_view code = code_of(error_class);
    throw ProgramError(error_class, p_.describe(index_) + ": " + what +
                                        (code.empty() ? "" : " [" + std::string(code) + "]"));
  }
  void require(bool ok, Class error_class, const char* what) const {
    if (!ok) fail(error_class, what);
  }
  const AccessPattern& op(std::size_t k) const { return operand(p_, i_, k); }
  std::string named(std::size_t k) const { return "operand " + std::to_string(k) + " " + to_string(op(k)); }

  void check_pattern(std::size_t k, bool written) const;
  void check_writable(std::size_t k) const;  // HBM
  void check_overlap(std::size_t dst) const;
  void same_partitions(std::size_t k) const {
    if (op(k).partitions != op(0).partitions) {
      fail(Class::shape, named(k) + " must have as many partitions as the destination " + to_string(op(0)));
    }
  }
  void same_count(std::size_t k) const {
    same_partitions(k);
    if (op(k).free_elements() != op(0).free_elements()) {
      fail(Class::shape, named(k) + " must have as many elements as the destination " + to_string(op(0)));
    }
  }
  void free_count(std::size_t k, int64_t count) const {
    if (op(k).free_elements() != count) {
      fail(Class::shape, named(k) + " must have " + std::to_string(count) + " elements a partition");
    }
  }
  void scalar_operand(std::size_t k) const {
    if (!op(k).defined()) return;
    same_partitions(k);
    free_count(k, 1);
    if (!is_float(op(k).dtype)) fail(Class::dtype, named(k) + " must be floating point");
  }
  void integral(std::size_t k) const {
    if (!is_integral(op(k).dtype)) fail(Class::dtype, named(k) + " must be an integer");
  }
  void floating(std::size_t k) const {
    if (!is_float(op(k).dtype)) fail(Class::dtype, named(k) + " must be floating point");
  }
  // ALU operator over the given sources.
  void check_alu(AluOp alu, std::initializer_list<std::size_t> sources, bool integer_scalars) const;

  void check_matmul() const;
  void check_transpose() const;
  void check_reduce() const;
  void check_affine() const;
  void check_gpsimd() const;
  void check_dma() const;

  const Program& p_;
  std::size_t index_;
  const Instruction& i_;
  const CoreDescription& core_;
};

void Checker::check_pattern(std::size_t k, bool written) const {
  const AccessPattern& a = op(k);
  const bool dma = is_dma(i_.opcode);
  const bool on_chip = a.space == Space::sbuf || a.space == Space::psum;
  require(static_cast<int>(a.space) <= static_cast<int>(Space::hbm), Class::argument,
          "an operand in no memory");
  if (!is_valid(a.dtype)) fail(Class::dtype, "operand " + std::to_string(k) + " has no valid dtype");
  if (a.dtype == DType::f64 || is_complex(a.dtype)) {
    fail(Class::dtype, named(k) + ": f64 and complex numbers do not exist on the device (EVRF004)");
  }
  if (a.dtype == DType::f8e4m3fn && !core_.f8e4m3fn) {
    fail(Class::dtype, named(k) + ": f8_e4m3fn does not exist on " + core_.name + " (EVRF051)");
  }
  if (a.dtype == DType::i64 && !dma && i_.engine != Engine::gpsimd) {
    fail(Class::dtype, named(k) + ": 64-bit integers are for DMA and GpSimd only");
  }
  if (a.space == Space::hbm && !dma) fail(Class::engine, named(k) + ": engines reach HBM by DMA only");
  if (a.space == Space::psum && i_.engine == Engine::gpsimd && !dma && !core_.gpsimd_reads_psum) {
    fail(Class::engine, named(k) + ": GpSimd cannot access PSUM");
  }
  if (a.rank > kMaxRank || (!dma && a.rank > core_.max_free_dims)) {
    fail(Class::access_pattern,
         "operand " + std::to_string(k) + " has " + std::to_string(a.rank) + " free dimensions; at most " +
             std::to_string(dma ? kMaxRank : core_.max_free_dims.value) + " are possible");
  }
  require(a.partitions > 0, Class::shape, "an operand without partitions");
  int64_t count = 1;
  for (std::size_t d = 0; d < a.rank; ++d) {
    if (a.sizes[d] <= 0) fail(Class::shape, named(k) + " is empty");
    if (written && a.sizes[d] > 1 && a.strides[d] == 0) {
      fail(Class::access_pattern, named(k) + " is written with a stride of 0");
    }
    // [stride, size] are int16 and uint16 in engine instructions; DMA descriptors are not bound by that.
    if (!dma && (a.sizes[d] > 65535 || a.strides[d] > 32767 || a.strides[d] < -32768)) {
      fail(Class::access_pattern, named(k) + ": a size over 65535 or a stride outside of int16");
    }
    if (a.strides[d] > (int64_t{1} << 40) || a.strides[d] < -(int64_t{1} << 40)) {
      fail(Class::access_pattern, named(k) + ": a stride beyond 2^40");
    }
    count *= a.sizes[d];
    if (count > (int64_t{1} << 40)) fail(Class::access_pattern, named(k) + " has too many elements");
  }
  const auto element = static_cast<int64_t>(size_of(a.dtype));
  if (a.offset % element != 0) fail(Class::access_pattern, named(k) + " is not aligned to its element");
  const AccessPattern::Extent extent = a.extent();
  if (on_chip) {
    if (a.partition_start < 0 || a.partitions > core_.partitions ||
        a.partition_start > core_.partitions - a.partitions) {
      fail(Class::partition_rule,
           named(k) + " lies outside of the " + std::to_string(core_.partitions.value) + " partitions");
    }
    if (!dma && !legal_start_partition(a.partition_start, a.partitions)) {
      fail(Class::partition_rule, named(k) + ": " + std::to_string(a.partitions) +
                                      " partitions cannot start at partition " +
                                      std::to_string(a.partition_start));
    }
    const bool psum = a.space == Space::psum;
    const int64_t limit =
        psum ? core_.psum_banks * core_.psum_bank_bytes : core_.sbuf_usable_bytes_per_partition.value;
    if (extent.begin < 0 || extent.end > limit) {
      fail(psum ? Class::psum_overflow : Class::sbuf_overflow,
           named(k) + " touches bytes [" + std::to_string(extent.begin) + ", " + std::to_string(extent.end) +
               ") of a partition; usable are " + std::to_string(limit));
    }
    const int64_t tile_limit = psum ? core_.max_psum_tile_free.value : core_.max_sbuf_tile_free.value;
    if (!dma && count > tile_limit) {
      fail(Class::access_pattern, named(k) + " has " + std::to_string(count) +
                                      " elements a partition; at most " + std::to_string(tile_limit));
    }
  } else {
    if (a.tensor < 0 || static_cast<std::size_t>(a.tensor) >= p_.tensors.size()) {
      fail(Class::argument, named(k) + ": there is no such HBM tensor");
    }
    const HbmTensor& tensor = p_.tensors[static_cast<std::size_t>(a.tensor)];
    if (a.partition_stride > (int64_t{1} << 40) || a.partition_stride < -(int64_t{1} << 40)) {
      fail(Class::access_pattern, named(k) + ": a stride beyond 2^40");
    }
    if (written && a.partitions > 1 && a.partition_stride == 0) {
      fail(Class::access_pattern, named(k) + " is written with a stride of 0");
    }
    if (extent.begin < 0 || extent.end > tensor.bytes()) {
      fail(Class::access_pattern, named(k) + " touches bytes [" + std::to_string(extent.begin) + ", " +
                                      std::to_string(extent.end) + ") of " + tensor.name + ", which has " +
                                      std::to_string(tensor.bytes()));
    }
  }
}

void Checker::check_writable(std::size_t k) const {
  const HbmTensor& tensor = p_.tensors[static_cast<std::size_t>(op(k).tensor)];
  if (tensor.kind == HbmKind::input || tensor.kind == HbmKind::constant) {
    fail(Class::argument, named(k) + " writes " + tensor.name + ", an input or constant");
  }
}

// Within a partition all sources are read before anything is written, so equal partitions are safe; shifted
// ones would depend on timing.
void Checker::check_overlap(std::size_t dst) const {
  const AccessPattern& d = op(dst);
  if (d.space == Space::hbm) return;
  const AccessPattern::Extent e = d.extent();
  for (std::size_t k = 0; k < i_.operand_count; ++k) {
    const AccessPattern& s = op(k);
    if (k == dst || s.space != d.space) continue;
    const AccessPattern::Extent f = s.extent();
    const bool partitions = s.partition_start < d.partition_start + d.partitions &&
                            d.partition_start < s.partition_start + s.partitions;
    if (!partitions || f.end <= e.begin || e.end <= f.begin) continue;
    if (is_dma(i_.opcode) || i_.opcode == Opcode::nc_transpose || s.partition_start != d.partition_start) {
      fail(Class::access_pattern,
           named(k) + " overlaps the destination " + to_string(d) + " in other partitions");
    }
  }
}

void Checker::check_alu(AluOp alu, std::initializer_list<std::size_t> sources, bool integer_scalars) const {
  bool all_integral = true, any_integral = false;
  for (std::size_t k : sources) {
    all_integral &= is_integral(op(k).dtype);
    any_integral |= is_integral(op(k).dtype);
  }
  const bool gpsimd = i_.engine == Engine::gpsimd;
  if (is_bitwise(alu)) {
    if (i_.engine == Engine::scalar)
      fail(Class::engine, "bitwise operators need the Vector or GpSimd engine");
    for (std::size_t k = 0; k < i_.operand_count; ++k) {
      if (!op(k).defined()) continue;
      integral(k);
      if (!gpsimd && size_of(op(k).dtype) != size_of(op(0).dtype)) {
        fail(Class::dtype, named(k) + ": bitwise operands must be integers of one width");
      }
    }
    if (gpsimd && !all_integral) fail(Class::dtype, "bitwise operators need integers");
  } else if (is_gpsimd_only(alu)) {
    if (!gpsimd) fail(Class::engine, std::string(name_of(alu)) + " exists on GpSimd only");
    if (!all_integral) fail(Class::dtype, std::string(name_of(alu)) + " needs integers");
  } else if (integer_scalars && !gpsimd) {
    fail(Class::argument, "integer immediates are for bitwise operators and for GpSimd");
  }
  if (integer_scalars && gpsimd && any_integral != all_integral)
    fail(Class::dtype, "mixed integers and floats");
  if (integer_scalars && !all_integral) fail(Class::dtype, "integer immediates need integer operands");
  if (gpsimd && all_integral && (alu == AluOp::divide || alu == AluOp::rsqrt || alu == AluOp::reciprocal)) {
    fail(Class::argument,
         std::string(name_of(alu)) + " does not exist for integers; use divide_trunc or divide_floor");
  }
}

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

}  // namespace

const AccessPattern& operand(const Program& program, const Instruction& instruction, std::size_t k) {
  static const AccessPattern none{};
  return k < instruction.operand_count ? program.operands[instruction.operands + k] : none;
}

void check_rules(const Program& program, std::size_t instruction, const CoreDescription& core) {
  Checker(program, instruction, core).run();
}

}  // namespace assay::backend
