// Tile kernels for x86: AVX-512 with BF16, and AVX2 with FMA. Compiled for the baseline machine, chosen at
// run time.
#include "backend/simulator/matmul_tile.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

namespace assay::backend {
namespace {

#define ASSAY_AVX512 __attribute__((target("avx512f,avx512bf16,avx512vl,avx512bw,avx512dq")))
#define ASSAY_AVX2 __attribute__((target("avx2,fma")))

constexpr int kQuietNan = 0x7fc00000;

ASSAY_AVX512 inline __m512 canonical(__m512 sum) {
  const __mmask16 nan = _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
  return _mm512_mask_mov_ps(sum, nan, _mm512_castsi512_ps(_mm512_set1_epi32(kQuietNan)));
}

ASSAY_AVX512 inline void store512(float* out, __m512 sum, bool accumulate, __mmask16 mask) {
  if (accumulate) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, out), sum);
  _mm512_mask_storeu_ps(out, mask, canonical(sum));
}

// All of a block; one look for NaN serves two vectors.
ASSAY_AVX512 inline void store_block512(float* out, int64_t stride, __m512 (&sum)[kPanelRows][2],
                                        bool accumulate) {
  if (accumulate) {
    const float* old = out;
#pragma GCC unroll 8
    for (int r = 0; r < kPanelRows; ++r, old += stride) {
      sum[r][0] = _mm512_add_ps(_mm512_loadu_ps(old), sum[r][0]);
      sum[r][1] = _mm512_add_ps(_mm512_loadu_ps(old + 16), sum[r][1]);
    }
  }
  __mmask16 nan = 0;
#pragma GCC unroll 8
  for (int r = 0; r < kPanelRows; ++r)
    nan = _mm512_kor(nan, _mm512_cmp_ps_mask(sum[r][0], sum[r][1], _CMP_UNORD_Q));
  if (nan != 0) {
#pragma GCC unroll 8
    for (int r = 0; r < kPanelRows; ++r) {
      sum[r][0] = canonical(sum[r][0]);
      sum[r][1] = canonical(sum[r][1]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kPanelRows; ++r, out += stride) {
    _mm512_storeu_ps(out, sum[r][0]);
    _mm512_storeu_ps(out + 16, sum[r][1]);
  }
}

template <bool kPairs>
ASSAY_AVX512 inline __m512 step512(__m512 sum, uint32_t a, __m512i b) {
  const __m512i wide = _mm512_set1_epi32(static_cast<int>(a));
  if constexpr (kPairs) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(wide), reinterpret_cast<__m512bh>(b));
  } else {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(wide), _mm512_castsi512_ps(b), sum);
  }
}

ASSAY_AVX512 inline void prefetch_words(const uint32_t* words, int count) {
  for (int i = 0; i < count; i += 16) _mm_prefetch(reinterpret_cast<const char*>(words + i), _MM_HINT_T0);
}

// A panel of 8 rows by a panel of 32 columns: 16 sums stay in registers over all steps.
template <bool kPairs>
ASSAY_AVX512 void tile512(const TileProduct& t) {
  const int64_t stationary_step = t.stationary.step, moving_step = t.moving.step;
  const int steps = t.steps;
  const bool accumulate = t.accumulate;
  for (int n = 0; n < t.columns; n += kPanelColumns) {
    const uint32_t* const moving = t.moving.words + n / kPanelColumns * t.moving.panel;
    const int left = t.columns - n;
    const auto mask0 = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
    const auto mask1 = static_cast<__mmask16>(left >= 32 ? 0xffff : left <= 16 ? 0 : (1u << (left - 16)) - 1);
    // The next panel of the moving operand, in equal shares of its steps for each block of rows; after the
    // last one the first one of the product that follows, with its stationary operand.
    const bool last = left <= kPanelColumns;
    const uint32_t* ahead = last ? t.next_moving.words : moving + t.moving.panel;
    const int64_t ahead_step = last ? t.next_moving.step : moving_step;
    int steps_ahead = ahead != nullptr ? steps : 0;
    const int share = steps_ahead * kPanelRows / (t.row_end - t.row_begin) + 1;
    for (int m = t.row_begin; m < t.row_end; m += kPanelRows) {
      const uint32_t* a = t.stationary.words + m / kPanelRows * t.stationary.panel;
      const uint32_t* b = moving;
      const int rows = t.row_end - m < kPanelRows ? t.row_end - m : kPanelRows;
      float* out = t.out + m * t.out_stride + n;
      // What the end of this block and the next column of blocks will need.
      for (int r = 0; r < rows; ++r) {
        __builtin_prefetch(out + r * t.out_stride, 1);
        __builtin_prefetch(out + r * t.out_stride + 16, 1);
      }
      for (int s = 0; s < share && steps_ahead > 0; ++s, --steps_ahead, ahead += ahead_step)
        prefetch_words(ahead, kPanelColumns);
      if (last && t.next_stationary != nullptr)
        prefetch_words(t.next_stationary + m / kPanelRows * t.stationary.panel, steps * kPanelRows);
      __m512 sum[kPanelRows][2];
#pragma GCC unroll 8
      for (int r = 0; r < kPanelRows; ++r) sum[r][0] = sum[r][1] = _mm512_setzero_ps();
#pragma GCC unroll 4
      for (int s = 0; s < steps; ++s, a += stationary_step, b += moving_step) {
        const __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 16);
#pragma GCC unroll 8
        for (int r = 0; r < kPanelRows; ++r) {
          sum[r][0] = step512<kPairs>(sum[r][0], a[r], b0);
          sum[r][1] = step512<kPairs>(sum[r][1], a[r], b1);
        }
      }
      if (rows == kPanelRows && mask1 == 0xffff) {
        store_block512(out, t.out_stride, sum, accumulate);
        continue;
      }
#pragma GCC unroll 8
      for (int r = 0; r < kPanelRows; ++r) {
        const auto row_mask = static_cast<__mmask16>(r < rows ? 0xffff : 0);
        store512(out + r * t.out_stride, sum[r][0], t.accumulate, mask0 & row_mask);
        store512(out + r * t.out_stride + 16, sum[r][1], t.accumulate, mask1 & row_mask);
      }
    }
  }
}

// vdpbf16ps treats subnormals as zero whatever MXCSR says; here MXCSR is set so that FMA does the same.
class FlushSubnormals {
 public:
  explicit FlushSubnormals(bool enable) : saved_(_mm_getcsr()) {
    if (enable) _mm_setcsr(saved_ | 0x8040u);
  }
  ~FlushSubnormals() { _mm_setcsr(saved_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned saved_;
};

template <bool kPairs>
ASSAY_AVX2 inline __m256 step256(__m256 sum, uint32_t a, __m256i b) {
  const __m256i wide = _mm256_set1_epi32(static_cast<int>(a));
  if constexpr (kPairs) {
    const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    sum = _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_and_si256(wide, high)),
                          _mm256_castsi256_ps(_mm256_and_si256(b, high)), sum);
    return _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)),
                           _mm256_castsi256_ps(_mm256_slli_epi32(b, 16)), sum);
  } else {
    return _mm256_fmadd_ps(_mm256_castsi256_ps(wide), _mm256_castsi256_ps(b), sum);
  }
}

// Two rows by 32 columns: 8 sums in registers.
template <bool kPairs>
ASSAY_AVX2 void sums256(const TileProduct& t, const uint32_t* a, const uint32_t* b,
                        float (*out)[kPanelColumns]) {
  const FlushSubnormals flush(kPairs);
  for (int r = 0; r < kPanelRows; r += 2) {
    __m256 sum[2][4];
    for (auto& row : sum) row[0] = row[1] = row[2] = row[3] = _mm256_setzero_ps();
    for (int s = 0; s < t.steps; ++s) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const auto* at = reinterpret_cast<const __m256i*>(b + s * t.moving.step + v * 8);
        const __m256i bv = _mm256_loadu_si256(at);
        sum[0][v] = step256<kPairs>(sum[0][v], a[s * t.stationary.step + r], bv);
        sum[1][v] = step256<kPairs>(sum[1][v], a[s * t.stationary.step + r + 1], bv);
      }
    }
    for (int i = 0; i < 2; ++i) {
      for (int v = 0; v < 4; ++v) _mm256_storeu_ps(out[r + i] + v * 8, sum[i][v]);
    }
  }
}

template <bool kPairs>
void tile256(const TileProduct& t) {
  for (int n = 0; n < t.columns; n += kPanelColumns) {
    const int columns = t.columns - n < kPanelColumns ? t.columns - n : kPanelColumns;
    for (int m = t.row_begin; m < t.row_end; m += kPanelRows) {
      float sums[kPanelRows][kPanelColumns];
      sums256<kPairs>(t, t.stationary.words + m / kPanelRows * t.stationary.panel,
                      t.moving.words + n / kPanelColumns * t.moving.panel, sums);
      const int rows = t.row_end - m < kPanelRows ? t.row_end - m : kPanelRows;
      for (int r = 0; r < rows; ++r) {
        float* out = t.out + (m + r) * t.out_stride + n;
        for (int c = 0; c < columns; ++c) {
          const float result = t.accumulate ? out[c] + sums[r][c] : sums[r][c];
          out[c] = result == result ? result : __builtin_nanf("");
        }
      }
    }
  }
}

}  // namespace

const TileKernel* avx512_tile_kernel() {
  static constexpr TileKernel kernel{"avx512_bf16", tile512<true>, tile512<false>};
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
             ? &kernel
             : nullptr;
}

const TileKernel* avx2_tile_kernel() {
  static constexpr TileKernel kernel{"avx2_fma", tile256<true>, tile256<false>};
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kernel : nullptr;
}

}  // namespace assay::backend

#else

namespace assay::backend {
const TileKernel* avx512_tile_kernel() { return nullptr; }
const TileKernel* avx2_tile_kernel() { return nullptr; }
}  // namespace assay::backend

#endif
