// The plain loops sweep rows of b, so that the inner loop runs over independent outputs. With AVX-512, chosen
// at run time, panels of 16 columns of b are packed and the sums of 4 rows by 16 columns stay in registers;
// no product is fused with its sum, and each sum adds its terms in the same order.
#include "reference/number/matmul_rows.h"

#include <algorithm>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ASSAY_AVX512F __attribute__((target("avx512f")))
#endif

namespace assay::reference {

void matmul_rows_plainly(const MatmulRows& x) {
  for (int64_t i = 0; i < x.m; ++i) {
    double* const sum = x.c + i * x.n;
    double* const squares = x.squares != nullptr ? x.squares + i * x.n : nullptr;
    if (x.start != nullptr) {
      std::copy_n(x.start + i * x.n, x.n, sum);
    } else {
      std::fill_n(sum, x.n, 0.0);
    }
    if (squares != nullptr) std::fill_n(squares, x.n, 0.0);
    for (int64_t p = 0; p < x.k; ++p) {
      const double s = x.a[i * x.k + p];
      const double* other = x.b + p * x.n;
      if (squares == nullptr) {
        for (int64_t j = 0; j < x.n; ++j) sum[j] += s * other[j];
        continue;
      }
      for (int64_t j = 0; j < x.n; ++j) {
        const double product = s * other[j];
        sum[j] += product;
        squares[j] += x.products_round ? sum[j] * sum[j] + product * product : sum[j] * sum[j];
      }
    }
  }
}

#ifdef ASSAY_AVX512F
namespace {

constexpr int64_t kColumns = 16, kRows = 4;

enum class Squares { none, sums, sums_and_products };

// Rows i .. i + R - 1 by the columns of a packed panel that starts at column j.
template <int R, Squares kSquares>
ASSAY_AVX512F void tile(const MatmulRows& x, const double* panel, int64_t i, int64_t j) {
  const int64_t left = std::min(kColumns, x.n - j);
  const __mmask8 masks[2] = {static_cast<__mmask8>(left >= 8 ? 0xff : (1 << left) - 1),
                             static_cast<__mmask8>(left <= 8 ? 0 : (1 << (left - 8)) - 1)};
  __m512d sum[R][2], squares[R][2];
  for (int r = 0; r < R; ++r) {
    for (int h = 0; h < 2; ++h) {
      sum[r][h] = x.start != nullptr ? _mm512_maskz_loadu_pd(masks[h], x.start + (i + r) * x.n + j + 8 * h)
                                     : _mm512_setzero_pd();
      squares[r][h] = _mm512_setzero_pd();
    }
  }
  for (int64_t p = 0; p < x.k; ++p) {
    const __m512d b[2] = {_mm512_loadu_pd(panel + p * kColumns), _mm512_loadu_pd(panel + p * kColumns + 8)};
    for (int r = 0; r < R; ++r) {
      const __m512d a = _mm512_set1_pd(x.a[(i + r) * x.k + p]);
      for (int h = 0; h < 2; ++h) {
        const __m512d product = _mm512_mul_pd(a, b[h]);
        sum[r][h] = _mm512_add_pd(sum[r][h], product);
        if constexpr (kSquares == Squares::none) continue;
        __m512d added = _mm512_mul_pd(sum[r][h], sum[r][h]);
        if constexpr (kSquares == Squares::sums_and_products)
          added = _mm512_add_pd(added, _mm512_mul_pd(product, product));
        squares[r][h] = _mm512_add_pd(squares[r][h], added);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int h = 0; h < 2; ++h) {
      const int64_t at = (i + r) * x.n + j + 8 * h;
      _mm512_mask_storeu_pd(x.c + at, masks[h], sum[r][h]);
      if constexpr (kSquares != Squares::none) _mm512_mask_storeu_pd(x.squares + at, masks[h], squares[r][h]);
    }
  }
}

template <Squares kSquares>
void tiled(const MatmulRows& x) {
  std::vector<double> panel(static_cast<std::size_t>(x.k * kColumns));
  for (int64_t j = 0; j < x.n; j += kColumns) {
    const int64_t width = std::min(kColumns, x.n - j);
    for (int64_t p = 0; p < x.k; ++p) {
      std::copy_n(x.b + p * x.n + j, width, panel.data() + p * kColumns);
    }
    int64_t i = 0;
    for (; i + kRows <= x.m; i += kRows) tile<kRows, kSquares>(x, panel.data(), i, j);
    for (; i < x.m; ++i) tile<1, kSquares>(x, panel.data(), i, j);
  }
}

}  // namespace
#endif

void matmul_rows(const MatmulRows& x) {
#ifdef ASSAY_AVX512F
  static const bool wide = __builtin_cpu_supports("avx512f") != 0;
  if (wide && x.m >= kRows) {
    if (x.squares == nullptr) return tiled<Squares::none>(x);
    return x.products_round ? tiled<Squares::sums_and_products>(x) : tiled<Squares::sums>(x);
  }
#endif
  matmul_rows_plainly(x);
}

}  // namespace assay::reference
