#include "backend/isa/ops.h"

#include <cmath>
#include <limits>

#include "backend/isa/error.h"
#include "backend/isa/program.h"

namespace assay::backend {
namespace {

constexpr std::string_view kAluNames[] = {
    "none",       "add",         "subtract",     "multiply",     "divide",      "max",
    "min",        "pow",         "abs_max",      "abs_min",      "mod",         "is_eq",
    "is_ne",      "is_gt",       "is_ge",        "is_lt",        "is_le",       "logical_and",
    "logical_or", "logical_xor", "abs",          "square",       "relu",        "rsqrt",
    "reciprocal", "logical_not", "bitwise_and",  "bitwise_or",   "bitwise_xor", "bitwise_not",
    "shift_left", "shift_right", "divide_trunc", "divide_floor", "mod_trunc",   "shift_right_arithmetic",
};
static_assert(std::size(kAluNames) == kAluOps &&
              static_cast<int>(AluOp::shift_right_arithmetic) == kAluOps - 1);

constexpr std::string_view kActivationNames[] = {
    "copy",
    "square",
    "sigmoid",
    "relu",
    "prelu",
    "gelu",
    "gelu_dx",
    "gelu_apprx_tanh",
    "gelu_apprx_tanh_dx",
    "gelu_apprx_sigmoid",
    "gelu_apprx_sigmoid_dx",
    "silu",
    "silu_dx",
    "tanh",
    "tanh_dx",
    "softplus",
    "mish",
    "erf",
    "erf_dx",
    "exp",
    "log",
    "sin",
    "arctan",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sign",
    "abs",
};
static_assert(std::size(kActivationNames) == kActivations &&
              static_cast<int>(Activation::abs) == kActivations - 1);

constexpr std::string_view kRoutineNames[] = {
    "cast", "scan", "local_gather", "local_scatter", "sort", "arg_max", "arg_min", "math", "philox",
};
static_assert(std::size(kRoutineNames) == kGpSimdRoutines &&
              static_cast<int>(GpSimdRoutine::philox) == kGpSimdRoutines - 1);

constexpr std::string_view kMathNames[] = {
    "floor",  "ceil",    "trunc",  "round",  "cos",   "tan",  "asin",  "acos",      "sinh",  "cosh",
    "asinh",  "acosh",   "atanh",  "exp2",   "expm1", "log2", "log10", "log1p",     "erfc",  "erfinv",
    "lgamma", "digamma", "is_nan", "is_inf", "atan2", "pow",  "fmod",  "remainder", "hypot", "copysign",
};
static_assert(std::size(kMathNames) == kMathFunctions &&
              static_cast<int>(MathFunction::copysign) == kMathFunctions - 1);

constexpr std::string_view kOpcodeNames[] = {
    "nc_matmul",      "nc_transpose",
    "activation",     "tensor_tensor",
    "tensor_scalar",  "scalar_tensor_tensor",
    "tensor_reduce",  "tensor_tensor_scan",
    "bn_stats",       "bn_aggr",
    "select",         "copy_predicated",
    "memset",         "tensor_copy",
    "iota",           "affine_select",
    "max8",           "find_index8",
    "match_replace8", "dma_copy",
    "dma_gather",     "dma_scatter",
    "gpsimd",         "semaphore_wait",
};
static_assert(std::size(kOpcodeNames) == kOpcodes &&
              static_cast<int>(Opcode::semaphore_wait) == kOpcodes - 1);

constexpr std::string_view kEngineNames[] = {"tensor", "vector", "scalar", "gpsimd", "sync"};
static_assert(std::size(kEngineNames) == kEngines);

constexpr std::string_view kErrorNames[] = {
    "sbuf_overflow", "psum_overflow",  "hbm_out_of_memory", "instruction_limit",
    "dtype",         "partition_rule", "access_pattern",    "shape",
    "engine",        "argument",       "semaphore",
};

// A Program may come from a file, so a number may be none of the enumeration's.
template <std::size_t N, typename E>
std::string_view lookup(const std::string_view (&names)[N], E value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : "invalid";
}

}  // namespace

std::string_view name_of(AluOp op) { return lookup(kAluNames, op); }
std::string_view name_of(Activation function) { return lookup(kActivationNames, function); }
std::string_view name_of(GpSimdRoutine routine) { return lookup(kRoutineNames, routine); }
std::string_view name_of(MathFunction function) { return lookup(kMathNames, function); }
std::string_view name_of(Opcode opcode) { return lookup(kOpcodeNames, opcode); }
std::string_view name_of(Engine engine) { return lookup(kEngineNames, engine); }
std::string_view name_of(ProgramErrorClass error_class) { return lookup(kErrorNames, error_class); }

std::string_view code_of(ProgramErrorClass error_class) {
  switch (error_class) {
    case ProgramErrorClass::hbm_out_of_memory:
      return "EVRF009";
    case ProgramErrorClass::instruction_limit:
      return "EVRF007";
    default:
      return "";
  }
}

bool is_bitwise(AluOp op) { return op >= AluOp::bitwise_and && op <= AluOp::shift_right; }
bool is_comparison(AluOp op) {
  return (op >= AluOp::is_eq && op <= AluOp::logical_xor) || op == AluOp::logical_not;
}
bool is_unary(AluOp op) { return (op >= AluOp::abs && op <= AluOp::logical_not) || op == AluOp::bitwise_not; }
bool is_gpsimd_only(AluOp op) { return op >= AluOp::divide_trunc; }
bool is_binary(MathFunction function) { return function >= MathFunction::atan2; }
bool is_dma(Opcode opcode) {
  return opcode == Opcode::dma_copy || opcode == Opcode::dma_gather || opcode == Opcode::dma_scatter;
}

ValidRange valid_range(Activation function) {
  constexpr double kPi = 3.14159265358979323846;
  switch (function) {
    case Activation::log:
      return {0x1p-64, 0x1p64, false};
    case Activation::sin:
      return {-kPi, kPi, false};
    case Activation::arctan:
      return {-kPi / 2, kPi / 2, false};
    case Activation::sqrt:
      return {0x1p-116, 0x1p118, false};
    case Activation::rsqrt:
      return {0x1p-87, 0x1p97, false};
    case Activation::reciprocal:
      return {0x1p-42, 0x1p42, true};
    default:
      break;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {-kInfinity, kInfinity, false};
}

}  // namespace assay::backend
