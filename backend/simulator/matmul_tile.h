// Tile products of nc_matmul: out[m][n] = sum over k of stationary[k][m] * moving[k][n], from zero, in fp32;
// with `accumulate` that sum is then added to `out` by one fp32 addition, as PSUM's near-memory adder does.
//
// The arithmetic is defined, bit for bit, and every kernel keeps to it:
//   pairs (bf16, and fp8 widened to it exactly): for ascending pairs of k, sum = fma(odd, odd, sum), then
//     sum = fma(even, even, sum); round to nearest even; subnormal operands, sums and results count as
//     (signed) zero. That is AVX-512 BF16's vdpbf16ps, and what oneDNN's kernels capped at AVX512_CORE_BF16
//     compute.
//   singles (f32, and f16 widened to it exactly): for ascending k, sum = fma(stationary, moving, sum), with
//   subnormals.
// An odd last k is completed with zeros. Every NaN result is the quiet NaN 0x7fc00000.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay::backend {

enum class TileFormat : uint8_t {
  pairs,    // words of two bf16, k even in the low half
  singles,  // words of one f32
};

// Packed operands: panels of kPanelRows stationary columns (rows of the result) or kPanelColumns moving
// columns; in a panel, word [step][column], a step being a pair of k or one k; missing columns and the
// missing last k are zero.
inline constexpr int kPanelRows = 8;
inline constexpr int kPanelColumns = 32;

constexpr int steps_of(TileFormat format, int depth) {
  return format == TileFormat::pairs ? (depth + 1) / 2 : depth;
}
constexpr int64_t panels(int columns, int panel) { return (columns + panel - 1) / panel; }

// Packs `depth` rows of `columns` elements; row k starts at rows + k * row_stride elements. The 16-bit form
// packs pairs, the float form singles. `packed` holds panels(columns, panel) * steps * panel words.
void pack_pairs(const uint16_t* rows, int64_t row_stride, int depth, int columns, int panel,
                uint32_t* packed);
void pack_singles(const float* rows, int64_t row_stride, int depth, int columns, int panel, uint32_t* packed);

// Where the words of an operand lie: [panel][step][column].
struct TileOperand {
  const uint32_t* words;
  int64_t panel, step;  // words from panel to panel and from step to step
};
inline TileOperand packed_operand(const uint32_t* words, int steps, int panel) {
  return {words, int64_t{steps} * panel, panel};
}
// Rows of singles are words of steps as they are; row k starts at rows + k * row_stride. The number of
// columns is a multiple of `panel`.
inline TileOperand unpacked_operand(const float* rows, int64_t row_stride, int panel) {
  return {reinterpret_cast<const uint32_t*>(rows), panel, row_stride};
}

struct TileProduct {
  TileFormat format;
  int steps;
  TileOperand stationary;  // panels of kPanelRows
  TileOperand moving;      // panels of kPanelColumns
  int rows, columns;       // of the result
  int row_begin, row_end;  // computed; row_begin is a multiple of kPanelRows
  float* out;              // row 0
  int64_t out_stride;      // floats from row to row
  bool accumulate;
  // Of the product that follows, for prefetching: its operands from the first computed column on, if they are
  // like these in steps and panels. May be null.
  const uint32_t* next_stationary;
  TileOperand next_moving;
};
// All rows of a result whose operands are packed.
inline TileProduct packed_product(TileFormat format, int steps, const uint32_t* stationary,
                                  const uint32_t* moving, int rows, int columns, float* out,
                                  int64_t out_stride, bool accumulate) {
  return {format,
          steps,
          packed_operand(stationary, steps, kPanelRows),
          packed_operand(moving, steps, kPanelColumns),
          rows,
          columns,
          0,
          rows,
          out,
          out_stride,
          accumulate,
          nullptr,
          {}};
}
using TileFunction = void (*)(const TileProduct&);

struct TileKernel {
  std::string_view name;  // "avx512_bf16", "avx2_fma", "portable"
  TileFunction pairs;
  TileFunction singles;
  TileFunction of(TileFormat format) const { return format == TileFormat::pairs ? pairs : singles; }
};

const TileKernel& portable_tile_kernel();
// nullptr where this CPU (or the compiler's target) lacks the instructions.
const TileKernel* avx2_tile_kernel();
const TileKernel* avx512_tile_kernel();
// The fastest kernel whose results on a fixed probe (subnormals, infinities, cancellation) equal the portable
// one's here and now; checked once a process.
const TileKernel& best_tile_kernel();

}  // namespace assay::backend
