// Checks that hold for operands of every opcode.
#include <string>

#include "backend/isa/checker.h"
#include "backend/isa/validate.h"

namespace assay::backend {

void Checker::check_pattern(std::size_t k, bool written) const {
  const AccessPattern& a = op(k);
  const bool dma = is_dma(i_.opcode);
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
  if (on_chip(a)) {
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
    const int owner = p_.cores > 1 && extent.begin >= first_byte(core_, a.space, 1) ? 1 : 0;
    const int64_t begin = first_byte(core_, a.space, owner);
    if (extent.begin < begin || extent.end - begin > limit) {
      fail(psum ? Class::psum_overflow : Class::sbuf_overflow,
           named(k) + " touches bytes [" + std::to_string(extent.begin) + ", " + std::to_string(extent.end) +
               ") of a partition; usable are " + std::to_string(limit) +
               (begin == 0 ? "" : " from byte " + std::to_string(begin) + " on"));
    }
    if (!dma && owner != i_.core) {
      fail(Class::engine, named(k) + " lies in core " + std::to_string(owner) + "; engines of core " +
                              std::to_string(i_.core) + " reach their own memory only, DMA both");
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

}  // namespace assay::backend
