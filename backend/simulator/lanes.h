// Loops over packed elements in which elementwise instructions spend their time, compiled for several widths
// of vectors and chosen at run time. Bits do not depend on the choice: the same operations, none of them
// fused (where both operands are NaN, which of their payloads the result has is open).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/isa/ops.h"

namespace assay::backend {

// Which instructions are used; the best that the CPU has unless a test asks for less.
enum class VectorWidth { best, avx2, portable };

// Elements (a, b), a < count and b < width, at a * stride + b, the stride being at least the width: 2, 4, 8
// or 16, or more if the width is a multiple of 16.
struct LaneBlocks {
  int64_t count;
  int stride, width;
};

struct Lanes {
  // out[i] = x[i] op y[i]; `out` may be x or y. False, and nothing is written, if the operator is none of
  // add, subtract, multiply, divide, max, min and the comparisons.
  bool (*pairs)(AluOp op, const float* x, const float* y, float* out, int64_t n);
  // out[i] = x[i] op number, or number op x[i]; otherwise as above.
  bool (*number)(AluOp op, const float* x, float number, bool reverse, float* out, int64_t n);
  // out[e] = x[e] op y[e] for all elements e of `blocks`; or, if `one`, op the first y of the block. `out`
  // may be x or y. False, and nothing is written, if the operator is none of add, subtract, multiply and
  // divide.
  bool (*blocks)(AluOp op, const float* x, const float* y, bool one, float* out, const LaneBlocks& blocks);
  // to[i] = from[i] where choice[i] is not 0.
  void (*copy_where)(const uint8_t* choice, const uint32_t* from, uint32_t* to, int64_t n);
  // out[i] = x[i] * scale + shift, rounded twice; `out` may be x.
  void (*scale_and_shift)(const float* x, float scale, float shift, float* out, int64_t n);
  // out[i] = x[i] * factor + y[i], rounded twice; `out` may be x or y.
  void (*multiply_and_add)(const float* x, float factor, const float* y, float* out, int64_t n);
  // out[i] = x[i] where (first + step * i) op 0, else `other`; `out` may be x. The numbers fit into 32 bits.
  // False, and nothing is written, if the operator compares nothing.
  bool (*select_affine)(AluOp op, int32_t first, int32_t step, const float* x, float other, float* out,
                        int64_t n);
  // The least and the greatest of n >= 1 elements as ordered_bits.
  void (*extremes)(const float* x, int64_t n, int32_t& least, int32_t& greatest);
  // The greatest of their bits without the sign: of their magnitudes, NaN beyond infinity.
  int32_t (*greatest_magnitude)(const float* x, int64_t n);
  // Of any alignment.
  void (*from_bf16)(const std::byte* x, float* out, int64_t n);
  void (*to_bf16)(const float* x, std::byte* out, int64_t n);  // to nearest even
};
const Lanes& lanes(VectorWidth width = VectorWidth::best);

// Integers in the order of floats: -0 before +0, NaN beyond the infinities. Its own inverse.
constexpr int32_t ordered_bits(int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

// Whether this process may use the instructions of such vectors.
bool cpu_has_avx512();  // F, DQ, VL and BW
// For functions that use them; GCC would take half of the width.
#if defined(__clang__)
#define ASSAY_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#else
#define ASSAY_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")))
#endif
bool cpu_has_avx2();

float maximum_of(float a, float b);  // NaN if either is; +0 above -0
float minimum_of(float a, float b);

}  // namespace assay::backend
