// Elementwise arithmetic of the Vector, Scalar and GpSimd engines over packed rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/isa/ops.h"

namespace assay::backend {

// out[i] = x[i] op y[i] in fp32, one rounding. `out` may be x or y. Bitwise operators are not for floats.
void alu(AluOp op, const float* x, const float* y, float* out, int64_t n);
// The same with one number, which comes first if `reverse`. `buffer` holds n elements and is neither x nor
// out.
void alu(AluOp op, const float* x, float number, bool reverse, float* out, float* buffer, int64_t n);
// Exact modulo 2^64; division and remainder by zero give 0; shifts by less than 0 or more than 63 give 0
// (arithmetic: the sign).
void alu(AluOp op, const int64_t* x, const int64_t* y, int64_t* out, int64_t n);
// The same on integers that fp32 carries: operands and result are rounded to 24 bits
// (Quirks::integers_through_fp32).
void alu_through_fp32(AluOp op, const int64_t* x, const int64_t* y, int64_t* out, int64_t n);

// sums[k] = rows[k][0] + ... + rows[k][n - 1], ascending. Several rows take little longer than one, since
// each waits for its own additions only.
inline constexpr std::size_t kSumsAtOnce = 8;
void sum_each(std::span<const float* const> rows, int64_t n, float* sums);

// The value that leaves another unchanged: 0 for add, 1 for multiply, -inf for max, ...
float identity(AluOp op);
int64_t integer_identity(AluOp op);

// out[i] = function(x[i]), computed in double and rounded to fp32 once. `restricted`: arguments outside of
// valid_range(function) give what the device's tables give there, something wrong (Quirks::activation_range).
void activation(Activation function, const float* x, float slope, bool restricted, float* out, int64_t n);

// GpSimdRoutine::math. `y` only for functions of two arguments.
void math(MathFunction function, const float* x, const float* y, float* out, int64_t n);

}  // namespace assay::backend
