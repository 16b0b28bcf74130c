#include "backend/simulator/timing/instruction_cost.h"

#include <algorithm>
#include <cmath>

#include "backend/isa/rules.h"

namespace assay::backend {
namespace {

constexpr double kFewColumns = 64;        // the formulas' lower bounds for operands, not for intervals
constexpr double kReduceCycles = 64;      // of an activation's sum
constexpr double kGpSimdFixed = 150;      // of a GpSimd routine (NKI ISA: iota, affine_select, local_gather)
constexpr int64_t kFastStrideBytes = 16;  // larger innermost strides run at half bandwidth

bool narrow(const AccessPattern& a) { return size_of(a.dtype) <= 2 && is_float(a.dtype); }

bool strided(const AccessPattern& a) {
  if (!on_chip(a)) return false;
  for (std::size_t k = a.rank; k-- > 0;) {
    if (a.sizes[k] == 1) continue;
    return std::abs(a.strides[k]) * static_cast<int64_t>(size_of(a.dtype)) > kFastStrideBytes;
  }
  return false;
}

class Cost {
 public:
  Cost(const Program& program, const Instruction& instruction, const CoreDescription& core)
      : p_(program), i_(instruction), core_(core) {}

  double cycles() const {
    switch (i_.opcode) {
      case Opcode::dma_copy:
      case Opcode::dma_gather:
      case Opcode::dma_scatter:
      case Opcode::semaphore_wait:
        return 0;
      case Opcode::nc_matmul:
        return matmul();
      case Opcode::nc_transpose:
        return transpose();
      default:
        break;
    }
    const double work = i_.engine == Engine::gpsimd ? gpsimd() : rate() * elements(0) * port();
    return std::max<double>(core_.min_initiation_cycles, work) + extra();
  }

 private:
  const AccessPattern& op(std::size_t k) const { return operand(p_, i_, k); }
  double elements(std::size_t k) const { return static_cast<double>(op(k).free_elements()); }
  bool all_narrow() const {
    for (std::size_t k = 0; k < i_.operand_count; ++k) {
      if (op(k).defined() && op(k).free_elements() > 1 && !narrow(op(k))) return false;
    }
    return true;
  }
  bool all_contiguous() const {
    for (std::size_t k = 0; k < i_.operand_count; ++k) {
      if (op(k).defined() && !op(k).is_contiguous()) return false;
    }
    return true;
  }
  bool any_in_psum() const {
    for (std::size_t k = 0; k < i_.operand_count; ++k) {
      if (op(k).space == Space::psum) return true;
    }
    return false;
  }
  double port() const {
    for (std::size_t k = 0; k < i_.operand_count; ++k) {
      if (strided(op(k))) return 2;
    }
    return 1;
  }
  double extra() const { return i_.opcode == Opcode::activation && op(4).defined() ? kReduceCycles : 0; }

  double matmul() const {
    const AccessPattern &stationary = op(1), &moving = op(2);
    const double passes = moving.dtype == DType::f32 ? core_.fp32_matmul_slowdown.value : 1.0;
    const auto columns = static_cast<double>(stationary.free_elements());
    const double work = std::max(std::min(kFewColumns, columns), static_cast<double>(moving.free_elements()));
    return std::max<double>(core_.min_initiation_cycles, passes * work);
  }

  double transpose() const {
    const AccessPattern& src = op(1);
    const auto free = static_cast<double>(src.free_elements());
    if (i_.engine == Engine::vector) return std::max<double>(core_.min_initiation_cycles, free);
    double passes = 1;
    if (src.dtype == DType::f32) {
      passes = core_.fp32_matmul_slowdown / (core_.exact_transpose ? 2 : 1);
    }
    const double work = std::max(static_cast<double>(src.partitions), std::min(kFewColumns, free));
    return std::max<double>(core_.min_initiation_cycles, passes * work);
  }

  // Cycles an element of the destination, on Vector and Scalar.
  double rate() const {
    const bool vector = i_.engine == Engine::vector;
    switch (i_.opcode) {
      case Opcode::activation:
        return scalar_rate();
      case Opcode::tensor_scalar:
      case Opcode::tensor_copy:
        return vector ? slow_alu() * copy_rate() : scalar_rate();
      case Opcode::tensor_tensor: {
        const bool simple = i_.op0 == AluOp::add || i_.op0 == AluOp::subtract || i_.op0 == AluOp::multiply;
        const bool fast = any_in_psum() || (simple && all_narrow() && all_contiguous());
        return slow_alu() * (fast ? 1 : 2);
      }
      case Opcode::select:
      case Opcode::copy_predicated:
        return any_in_psum() ? 1 : 2;
      case Opcode::scalar_tensor_tensor:
        return slow_alu() * (all_narrow() ? 1 : 2);
      case Opcode::tensor_tensor_scan:
        return 2;
      case Opcode::tensor_reduce: {
        const bool half = narrow(op(1)) && (i_.op0 == AluOp::add || i_.op0 == AluOp::max);
        return (half ? 0.5 : 1) * elements(1) / std::max(1.0, elements(0));
      }
      case Opcode::memset:
        return narrow(op(0)) && i_.immediate[0] == 0 && i_.integer_count == 0 ? 0.5 : 1;
      case Opcode::bn_aggr:
        return 13.0 / 3 * elements(1) / std::max(1.0, elements(0));
      case Opcode::bn_stats:
      case Opcode::max8:
      case Opcode::find_index8:
        return elements(1) / std::max(1.0, elements(0));
      default:
        return 1;
    }
  }
  double slow_alu() const {
    const auto slow = [](AluOp a) { return a == AluOp::divide || a == AluOp::reciprocal; };
    return slow(i_.op0) || slow(i_.op1) ? 8 : 1;
  }
  double scalar_rate() const { return core_.scalar_elements_per_cycle > 128 && all_narrow() ? 0.5 : 1; }
  // Vector's performance modes for one-operand instructions, v3 on.
  double copy_rate() const {
    if (core_.generation == Generation::trn1 || !all_narrow()) return 1;
    if (any_in_psum()) return 0.5;
    return all_contiguous() ? 0.25 : 0.5;
  }

  // gpsimd.md; fixed cycles included.
  double gpsimd() const {
    const double n = elements(0);
    const double words =
        op(0).dtype == DType::i64 || (i_.operand_count > 1 && op(1).dtype == DType::i64) ? 2 : 1;
    const bool integers = is_integral(op(0).dtype);
    switch (i_.opcode) {
      case Opcode::tensor_tensor:
      case Opcode::tensor_scalar:
        return kGpSimdFixed + (integers ? integer_alu() * words : 1) * n;
      case Opcode::tensor_reduce:
        return kGpSimdFixed + words * elements(1);
      case Opcode::iota:
      case Opcode::affine_select:
        return kGpSimdFixed + n;
      case Opcode::gpsimd:
        return kGpSimdFixed + routine(n, words);
      default:
        return kGpSimdFixed + words * n;
    }
  }
  double integer_alu() const {
    const auto factor = [](AluOp a) -> double {
      switch (a) {
        case AluOp::multiply:
          return 3;
        case AluOp::divide:
        case AluOp::divide_trunc:
        case AluOp::divide_floor:
        case AluOp::mod:
        case AluOp::mod_trunc:
          return 20;
        default:
          return 1;
      }
    };
    return std::max(factor(i_.op0), factor(i_.op1));
  }
  double routine(double n, double words) const {
    switch (i_.routine) {
      case GpSimdRoutine::cast:
      case GpSimdRoutine::local_gather:
      case GpSimdRoutine::local_scatter:
        return words * n;
      case GpSimdRoutine::scan:
        return 4 * words * n;
      case GpSimdRoutine::sort:
        return 4 * words * n * std::log2(std::max(2.0, n));
      case GpSimdRoutine::arg_max:
      case GpSimdRoutine::arg_min:
        return 2 * words * elements(1);
      case GpSimdRoutine::math:
        return function() * n;
      case GpSimdRoutine::philox:
        return 12 * n;
    }
    return n;
  }
  double function() const {
    switch (i_.math) {
      case MathFunction::floor:
      case MathFunction::ceil:
      case MathFunction::trunc:
      case MathFunction::round:
      case MathFunction::is_nan:
      case MathFunction::is_inf:
      case MathFunction::copysign:
        return 2;
      case MathFunction::cos:
      case MathFunction::tan:
      case MathFunction::exp2:
      case MathFunction::expm1:
      case MathFunction::log2:
      case MathFunction::log10:
      case MathFunction::log1p:
      case MathFunction::hypot:
        return 20;
      case MathFunction::pow:
      case MathFunction::erfinv:
      case MathFunction::lgamma:
      case MathFunction::digamma:
        return 60;
      default:
        return 30;
    }
  }

  const Program& p_;
  const Instruction& i_;
  const CoreDescription& core_;
};

}  // namespace

double engine_ghz(const CoreDescription& core, Engine engine) {
  switch (engine) {
    case Engine::tensor:
      return core.tensor_ghz;
    case Engine::vector:
      return core.vector_ghz;
    case Engine::scalar:
      return core.scalar_ghz;
    case Engine::gpsimd:
      return core.gpsimd_ghz;
    case Engine::sync:
      return core.sync_ghz;
  }
  return core.base_ghz;
}

double instruction_cycles(const Program& program, const Instruction& instruction,
                          const CoreDescription& core) {
  return Cost(program, instruction, core).cycles();
}

}  // namespace assay::backend
