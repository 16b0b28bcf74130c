#include "backend/simulator/matmul_tile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace assay::backend {
namespace {

constexpr uint32_t kQuietNan = 0x7fc00000u;

float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

void store(float sum, bool accumulate, float* out) {
  const float result = accumulate ? *out + sum : sum;
  *out = std::isnan(result) ? std::bit_cast<float>(kQuietNan) : result;
}

// One panel of rows times one panel of columns; `Step` adds one step to one sum.
template <typename Step>
void portable(const TileProduct& t, Step step) {
  for (int m = t.row_begin; m < t.row_end; ++m) {
    const uint32_t* a = t.stationary.words + m / kPanelRows * t.stationary.panel + m % kPanelRows;
    float* out = t.out + m * t.out_stride;
    for (int n0 = 0; n0 < t.columns; n0 += kPanelColumns) {
      const uint32_t* b = t.moving.words + n0 / kPanelColumns * t.moving.panel;
      float sums[kPanelColumns] = {};
      for (int s = 0; s < t.steps; ++s) {
        for (int n = 0; n < kPanelColumns; ++n) {
          sums[n] = step(a[s * t.stationary.step], b[s * t.moving.step + n], sums[n]);
        }
      }
      const int columns = std::min(kPanelColumns, t.columns - n0);
      for (int n = 0; n < columns; ++n) store(sums[n], t.accumulate, out + n0 + n);
    }
  }
}

void portable_pairs(const TileProduct& t) {
  portable(t, [](uint32_t a, uint32_t b, float sum) {
    const auto high = [](uint32_t w) { return flush(std::bit_cast<float>(w & 0xffff0000u)); };
    const auto low = [](uint32_t w) { return flush(std::bit_cast<float>(w << 16)); };
    sum = flush(std::fma(high(a), high(b), flush(sum)));
    return flush(std::fma(low(a), low(b), sum));
  });
}

void portable_singles(const TileProduct& t) {
  portable(t, [](uint32_t a, uint32_t b, float sum) {
    return std::fma(std::bit_cast<float>(a), std::bit_cast<float>(b), sum);
  });
}

// Weaves eight elements of two rows into words.
inline void weave(const uint16_t* even, const uint16_t* odd, uint32_t* out) {
  using Halves = uint16_t __attribute__((vector_size(16)));
  Halves low, high;
  std::memcpy(&low, even, sizeof(Halves));
  std::memcpy(&high, odd, sizeof(Halves));
  const Halves first = __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11),
               second = __builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15);
  std::memcpy(out, &first, sizeof(Halves));
  std::memcpy(out + 4, &second, sizeof(Halves));
}

// One panel at a time; kWidth is a constant so that the inner loops become vector code.
template <int kWidth>
void pack_pairs_panel(const uint16_t* rows, int64_t stride, int depth, int columns, uint32_t* out) {
  // Each row is on a page of its own, where the CPU does not foresee the next one: so many rows are asked for
  // early, those of the next panel after the last.
  constexpr int kAhead = 24;
  for (int k = 0; k < depth; k += 2, out += kWidth) {
    const uint16_t* even = rows + k * stride;
    const uint16_t* odd = even + stride;
    const uint16_t* ahead =
        k + kAhead < depth ? even + kAhead * stride : even + kWidth - (depth - kAhead) * stride;
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + stride);
    if (columns == kWidth && k + 1 < depth) {
      for (int c = 0; c < kWidth; c += 8) weave(even + c, odd + c, out + c);
      continue;
    }
    for (int c = 0; c < kWidth; ++c) {
      const uint32_t low = c < columns ? even[c] : 0;
      const uint32_t high = c < columns && k + 1 < depth ? odd[c] : 0;
      out[c] = low | high << 16;
    }
  }
}

template <int kWidth>
void pack_singles_panel(const float* rows, int64_t stride, int depth, int columns, uint32_t* out) {
  for (int k = 0; k < depth; ++k, out += kWidth) {
    const float* row = rows + k * stride;
    if (columns == kWidth) {
      std::memcpy(out, row, sizeof(float) * kWidth);
      continue;
    }
    std::memset(out, 0, sizeof(uint32_t) * kWidth);
    std::memcpy(out, row, sizeof(float) * static_cast<std::size_t>(columns));
  }
}

// A deterministic product with everything that could tell kernels apart.
std::vector<float> probe(const TileKernel& kernel, TileFormat format) {
  constexpr int kDepth = 37, kRows = 19, kColumns = 45;
  uint64_t state = 0x9e3779b97f4a7c15u;
  const auto draw = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>(state >> 32);
  };
  const auto value = [&](int k) -> uint32_t {
    const uint32_t w = draw();
    if (w % 97 == 0) return 0x7f800000u;                                  // infinity
    if (w % 13 == 0) return (w & 0x807fffffu) | (uint32_t(k % 3) << 23);  // subnormal or barely normal
    return (w & 0x807fffffu) | ((w % 5 == 0 ? 64u : 120u + w % 12) << 23);
  };
  std::vector<uint16_t> a16, b16;
  std::vector<float> a32, b32;
  for (int i = 0; i < kDepth * kRows; ++i) {
    const uint32_t bits = value(i);
    a16.push_back(static_cast<uint16_t>(bits >> 16));
    a32.push_back(std::bit_cast<float>(bits));
  }
  for (int i = 0; i < kDepth * kColumns; ++i) {
    const uint32_t bits = value(i);
    b16.push_back(static_cast<uint16_t>(bits >> 16));
    b32.push_back(std::bit_cast<float>(bits));
  }
  const int steps = steps_of(format, kDepth);
  std::vector<uint32_t> a(static_cast<std::size_t>(panels(kRows, kPanelRows) * steps * kPanelRows));
  std::vector<uint32_t> b(static_cast<std::size_t>(panels(kColumns, kPanelColumns) * steps * kPanelColumns));
  if (format == TileFormat::pairs) {
    pack_pairs(a16.data(), kRows, kDepth, kRows, kPanelRows, a.data());
    pack_pairs(b16.data(), kColumns, kDepth, kColumns, kPanelColumns, b.data());
  } else {
    pack_singles(a32.data(), kRows, kDepth, kRows, kPanelRows, a.data());
    pack_singles(b32.data(), kColumns, kDepth, kColumns, kPanelColumns, b.data());
  }
  std::vector<float> out(kRows * kColumns, 0.25f);
  kernel.of(format)(
      packed_product(format, steps, a.data(), b.data(), kRows, kColumns, out.data(), kColumns, true));
  return out;
}

bool agrees(const TileKernel& kernel) {
  for (TileFormat format : {TileFormat::pairs, TileFormat::singles}) {
    const std::vector<float> got = probe(kernel, format), want = probe(portable_tile_kernel(), format);
    if (std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace

void pack_pairs(const uint16_t* rows, int64_t row_stride, int depth, int columns, int panel,
                uint32_t* packed) {
  const int64_t words = int64_t{steps_of(TileFormat::pairs, depth)} * panel;
  for (int c = 0; c < columns; c += panel, packed += words) {
    const int width = std::min(panel, columns - c);
    if (panel == kPanelRows) {
      pack_pairs_panel<kPanelRows>(rows + c, row_stride, depth, width, packed);
    } else {
      pack_pairs_panel<kPanelColumns>(rows + c, row_stride, depth, width, packed);
    }
  }
}

void pack_singles(const float* rows, int64_t row_stride, int depth, int columns, int panel,
                  uint32_t* packed) {
  const int64_t words = int64_t{depth} * panel;
  for (int c = 0; c < columns; c += panel, packed += words) {
    const int width = std::min(panel, columns - c);
    if (panel == kPanelRows) {
      pack_singles_panel<kPanelRows>(rows + c, row_stride, depth, width, packed);
    } else {
      pack_singles_panel<kPanelColumns>(rows + c, row_stride, depth, width, packed);
    }
  }
}

const TileKernel& portable_tile_kernel() {
  static constexpr TileKernel kernel{"portable", portable_pairs, portable_singles};
  return kernel;
}

const TileKernel& best_tile_kernel() {
  static const TileKernel& best = []() -> const TileKernel& {
    for (const TileKernel* kernel : {avx512_tile_kernel(), avx2_tile_kernel()}) {
      if (kernel != nullptr && agrees(*kernel)) return *kernel;
    }
    return portable_tile_kernel();
  }();
  return best;
}

}  // namespace assay::backend
