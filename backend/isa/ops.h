// The closed lists of what the engines can compute. Sources: NKI ISA documentation, facts on ALU operators
// (Vector), activation functions (Scalar) and software routines (GpSimd, gpsimd.md).
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::backend {

// Vector engine's ALU. Arithmetic and comparisons are done in fp32 whatever the operands' dtypes are
// (integers above 2^24 are rounded); comparisons and logical operators give 1 or 0. Bitwise operators and
// shifts work on raw bits and need integral operands of one width. GpSimd does the same list exactly on
// integers (gpsimd.md).
enum class AluOp : uint8_t {
  none,  // (x, y) -> x
  // arithmetic, two operands
  add,
  subtract,
  multiply,
  divide,  // IEEE fp32; invented: nl.divide exists, whether as one DVE operation is not public
  max,     // a NaN operand gives NaN
  min,
  pow,
  abs_max,
  abs_min,
  mod,  // sign of the divisor, as Python's %
  // comparisons
  is_eq,
  is_ne,
  is_gt,
  is_ge,
  is_lt,
  is_le,
  // logical: zero is false
  logical_and,
  logical_or,
  logical_xor,
  // one operand; the second is ignored
  abs,
  square,
  relu,
  rsqrt,
  reciprocal,
  logical_not,
  // bitwise, raw bits
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  bitwise_not,
  shift_left,
  shift_right,  // logical
  // GpSimd only, integers
  divide_trunc,
  divide_floor,
  mod_trunc,  // sign of the dividend, as C's %
  shift_right_arithmetic,
};
inline constexpr int kAluOps = 36;

bool is_bitwise(AluOp op);
bool is_comparison(AluOp op);  // and logical: the result is 0 or 1
bool is_unary(AluOp op);
bool is_gpsimd_only(AluOp op);
std::string_view name_of(AluOp op);

// Scalar engine: func(in * scale + bias), fp32. The device's tables are piece-wise polynomials and not
// public; Assay's are the functions rounded from double (invented). Outside `valid_range` the real device's
// result is invalid; ours is right unless Quirks::activation_range is set.
enum class Activation : uint8_t {
  copy,
  square,
  sigmoid,
  relu,
  prelu,  // slope for negative arguments: Instruction::immediate[2]
  gelu,   // 0.5 x (1 + erf(x / sqrt 2))
  gelu_dx,
  gelu_apprx_tanh,
  gelu_apprx_tanh_dx,
  gelu_apprx_sigmoid,  // x sigmoid(1.702 x)
  gelu_apprx_sigmoid_dx,
  silu,
  silu_dx,
  tanh,
  tanh_dx,
  softplus,
  mish,
  erf,
  erf_dx,
  exp,
  log,
  sin,
  arctan,
  sqrt,
  rsqrt,
  reciprocal,
  sign,
  abs,
};
inline constexpr int kActivations = 28;

std::string_view name_of(Activation function);
struct ValidRange {
  double lo, hi;  // |x| within [lo, hi] if `magnitude`, else x
  bool magnitude;
};
// -inf..inf where none is documented.
ValidRange valid_range(Activation function);

// Software routines of the GpSimd engine beyond what it shares with Vector; gpsimd.md is their specification.
enum class GpSimdRoutine : uint8_t {
  cast,  // any dtype to any, exact 64-bit integers; float to integer truncates and saturates
  scan,  // dst[p,i] = op(dst[p,i-1], src[p,i]) along the last free dimension; integers exact, floats fp32
  local_gather,   // dst[p,i] = src[p,index[p,i]]
  local_scatter,  // dst[p,index[p,i]] = src[p,i], ascending i, the last one stays
  sort,           // rows sorted along the last free dimension, stable; NaN counts as the largest
  arg_max,        // first index of the largest (NaN counts as the largest) in each row
  arg_min,        // first index of the smallest (NaN counts as the smallest) in each row
  math,           // elementwise function, MathFunction
  philox,         // raw words of Philox 4x32-10
};
inline constexpr int kGpSimdRoutines = 9;
std::string_view name_of(GpSimdRoutine routine);

// Functions of GpSimdRoutine::math: fp32 in, computed in double, rounded once on write.
enum class MathFunction : uint8_t {
  floor,
  ceil,
  trunc,
  round,  // half to even
  cos,
  tan,
  asin,
  acos,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  exp2,
  expm1,
  log2,
  log10,
  log1p,
  erfc,
  erfinv,
  lgamma,
  digamma,
  is_nan,
  is_inf,
  // two operands
  atan2,
  pow,
  fmod,       // sign of the dividend
  remainder,  // sign of the divisor, as Python's %
  hypot,
  copysign,
};
inline constexpr int kMathFunctions = 30;
std::string_view name_of(MathFunction function);
bool is_binary(MathFunction function);

}  // namespace assay::backend
