#include "backend/simulator/lanes.h"

#include <bit>
#include <cmath>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace assay::backend {
namespace {

// A function of the baseline machine is inlined into one for wider vectors, and becomes code for these.
#define ASSAY_LANE inline __attribute__((always_inline))
#if defined(__clang__)
#define ASSAY_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ASSAY_IVDEP _Pragma("GCC ivdep")
#endif

ASSAY_LANE float larger(float a, float b) {
  const float other = std::isnan(b) ? b : (a == b ? (std::signbit(a) ? b : a) : b);
  return std::isnan(a) || a > b ? a : other;
}
ASSAY_LANE float smaller(float a, float b) {
  const float other = std::isnan(b) ? b : (a == b ? (std::signbit(a) ? a : b) : b);
  return std::isnan(a) || a < b ? a : other;
}

// Calls run(f) with the operator as a function; `run` is inlined into one loop an operator.
template <typename Run>
ASSAY_LANE bool with_operator(AluOp op, const Run& run) {
#define ASSAY_OPERATOR(name, expression)                                                    \
  case AluOp::name:                                                                         \
    run([](float a, float b) __attribute__((always_inline))->float { return expression; }); \
    return true
  switch (op) {
    ASSAY_OPERATOR(add, a + b);
    ASSAY_OPERATOR(subtract, a - b);
    ASSAY_OPERATOR(multiply, a * b);
    ASSAY_OPERATOR(divide, a / b);
    ASSAY_OPERATOR(max, larger(a, b));
    ASSAY_OPERATOR(min, smaller(a, b));
    ASSAY_OPERATOR(is_eq, a == b ? 1.0f : 0.0f);
    ASSAY_OPERATOR(is_ne, a != b ? 1.0f : 0.0f);
    ASSAY_OPERATOR(is_gt, a > b ? 1.0f : 0.0f);
    ASSAY_OPERATOR(is_ge, a >= b ? 1.0f : 0.0f);
    ASSAY_OPERATOR(is_lt, a < b ? 1.0f : 0.0f);
    ASSAY_OPERATOR(is_le, a <= b ? 1.0f : 0.0f);
    default:
      return false;
  }
#undef ASSAY_OPERATOR
}

// ivdep: where `out` is an operand, each element is read before it is written, by the same step.
ASSAY_LANE bool pairs_of(AluOp op, const float* x, const float* y, float* out, int64_t n) {
  return with_operator(
      op, [&](auto f) __attribute__((always_inline)) {
        ASSAY_IVDEP
        for (int64_t i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
      });
}

ASSAY_LANE bool number_with(AluOp op, const float* x, float number, bool reverse, float* out, int64_t n) {
  return with_operator(
      op, [&](auto f) __attribute__((always_inline)) {
        if (reverse) {
          ASSAY_IVDEP
          for (int64_t i = 0; i < n; ++i) out[i] = f(number, x[i]);
        } else {
          ASSAY_IVDEP
          for (int64_t i = 0; i < n; ++i) out[i] = f(x[i], number);
        }
      });
}

// Calls run(f) with f one of four operators, or what leaves its first argument as it is.
template <typename Run>
ASSAY_LANE bool with_arithmetic(AluOp op, const Run& run) {
  if (op == AluOp::none) {
    run([](float a, float) __attribute__((always_inline))->float { return a; });
    return true;
  }
  if (op != AluOp::add && op != AluOp::subtract && op != AluOp::multiply && op != AluOp::divide) return false;
  return with_operator(op, run);
}

ASSAY_LANE bool blocks_of(AluOp op, const float* x, const float* y, bool one, float* out,
                          const LaneBlocks& blocks) {
  return with_arithmetic(
      op, [&](auto f) __attribute__((always_inline)) {
        for (int64_t a = 0; a < blocks.count; ++a) {
          const int64_t at = a * blocks.stride;
          const float first = y[at];
          for (int64_t b = 0; b < blocks.width; ++b) out[at + b] = f(x[at + b], one ? first : y[at + b]);
        }
      });
}

ASSAY_LANE void copy_where_of(const uint8_t* choice, const uint32_t* from, uint32_t* to, int64_t n) {
  ASSAY_IVDEP
  for (int64_t i = 0; i < n; ++i) to[i] = choice[i] != 0 ? from[i] : to[i];
}

ASSAY_LANE bool select_affine_of(AluOp op, int32_t first, int32_t step, const float* x, float other,
                                 float* out, int64_t n) {
  const auto run = [&](auto f) __attribute__((always_inline)) {
    ASSAY_IVDEP
    for (int32_t i = 0; i < static_cast<int32_t>(n); ++i) out[i] = f(first + step * i) ? x[i] : other;
    return true;
  };
#define ASSAY_COMPARE(name, expression) \
  case AluOp::name:                     \
    return run([](int32_t v) __attribute__((always_inline))->bool { return expression; })
  switch (op) {
    ASSAY_COMPARE(is_eq, v == 0);
    ASSAY_COMPARE(is_ne, v != 0);
    ASSAY_COMPARE(is_gt, v > 0);
    ASSAY_COMPARE(is_ge, v >= 0);
    ASSAY_COMPARE(is_lt, v < 0);
    ASSAY_COMPARE(is_le, v <= 0);
    default:
      return false;
  }
#undef ASSAY_COMPARE
}

ASSAY_LANE void scale_and_shift_of(const float* x, float scale, float shift, float* out, int64_t n) {
  ASSAY_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const float scaled = x[i] * scale;
    out[i] = scaled + shift;
  }
}

ASSAY_LANE void multiply_and_add_of(const float* x, float factor, const float* y, float* out, int64_t n) {
  ASSAY_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const float product = x[i] * factor;
    out[i] = product + y[i];
  }
}

ASSAY_LANE void extremes_of(const float* x, int64_t n, int32_t& least, int32_t& greatest) {
  int32_t low = ordered_bits(std::bit_cast<int32_t>(x[0])), high = low;
  for (int64_t i = 1; i < n; ++i) {
    const int32_t order = ordered_bits(std::bit_cast<int32_t>(x[i]));
    low = order < low ? order : low;
    high = order > high ? order : high;
  }
  least = low;
  greatest = high;
}

ASSAY_LANE int32_t greatest_magnitude_of(const float* x, int64_t n) {
  int32_t high = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t magnitude = std::bit_cast<int32_t>(x[i]) & 0x7fffffff;
    high = magnitude > high ? magnitude : high;
  }
  return high;
}

ASSAY_LANE void widen(const std::byte* x, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, x + i * 2, 2);
    out[i] = std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
}

ASSAY_LANE void narrow(const float* x, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(x[i]);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    const auto result = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
    std::memcpy(out + i * 2, &result, 2);
  }
}

bool blocks_portable(AluOp op, const float* x, const float* y, bool one, float* out,
                     const LaneBlocks& blocks) {
  return blocks_of(op, x, y, one, out, blocks);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) bool blocks_avx2(AluOp op, const float* x, const float* y, bool one,
                                                 float* out, const LaneBlocks& blocks) {
  return blocks_of(op, x, y, one, out, blocks);
}

template <AluOp kOp>
ASSAY_AVX512 inline __m512 arithmetic512(__mmask16 mask, __m512 v, __m512 w) {
  if constexpr (kOp == AluOp::none) return v;
  if constexpr (kOp == AluOp::add) return _mm512_add_ps(v, w);
  if constexpr (kOp == AluOp::subtract) return _mm512_sub_ps(v, w);
  if constexpr (kOp == AluOp::multiply) return _mm512_mul_ps(v, w);
  return _mm512_maskz_div_ps(mask, v, w);
}

// Sixteen lanes hold some blocks and the gaps behind them, which are written back as they were; at both ends
// they are masked. Lanes begin where `out` has a cache line, unless blocks would lie in two of them.
template <AluOp kOp>
ASSAY_AVX512 void blocks_by_16(const float* x, const float* y, bool one, float* out,
                               const LaneBlocks& blocks) {
  const int stride = blocks.stride;
  int ahead = static_cast<int>(reinterpret_cast<uintptr_t>(out) / sizeof(float) % 16);  // lanes before out[0]
  if (ahead % stride + blocks.width > stride) ahead = 0;
  uint32_t lanes = 0, lanes_of_y = 0;
  alignas(64) int32_t places[16];
  for (int i = 0; i < 16; ++i) {
    const int in_block = (i - ahead) & (stride - 1);
    lanes |= static_cast<uint32_t>(in_block < blocks.width) << i;
    lanes_of_y |= static_cast<uint32_t>(in_block == 0) << i;
    places[i] = one && in_block <= i ? i - in_block : i;
  }
  if (!one) lanes_of_y = lanes;
  const __m512i from = _mm512_load_si512(places);
  const auto mask = static_cast<__mmask16>(lanes), mask_of_y = static_cast<__mmask16>(lanes_of_y);
  const int64_t end = (blocks.count - 1) * stride + blocks.width;
  const auto masked = [&](int64_t at) __attribute__((always_inline)) ASSAY_AVX512 {
    uint32_t inside = at < 0 ? 0xffffu << -at : 0xffffu;
    if (end - at < 16) inside &= (1u << (end - at)) - 1;
    const auto used = static_cast<__mmask16>(lanes & inside);
    const __m512 v = _mm512_maskz_loadu_ps(used, x + at);
    __m512 w = _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes_of_y & inside), y + at);
    if (one) w = _mm512_permutexvar_ps(from, w);
    _mm512_mask_storeu_ps(out + at, used, arithmetic512<kOp>(used, v, w));
  };
  int64_t at = -ahead;
  if (at < 0) {
    masked(at);
    at += 16;
  }
  // The last lanes may lie behind the operands.
  for (; at + 16 < end; at += 16) {
    const __m512 v = _mm512_loadu_ps(x + at);
    __m512 w = one ? _mm512_maskz_loadu_ps(mask_of_y, y + at) : _mm512_loadu_ps(y + at);
    if (one) w = _mm512_permutexvar_ps(from, w);
    const __m512 old = _mm512_loadu_ps(out + at);
    _mm512_storeu_ps(out + at, _mm512_mask_mov_ps(old, mask, arithmetic512<kOp>(mask, v, w)));
  }
  if (at < end) masked(at);
}

// Blocks of whole vectors.
template <AluOp kOp>
ASSAY_AVX512 void blocks_of_16(const float* x, const float* y, bool one, float* out,
                               const LaneBlocks& blocks) {
  for (int64_t a = 0; a < blocks.count; ++a, x += blocks.stride, y += blocks.stride, out += blocks.stride) {
    const __m512 first = _mm512_set1_ps(*y);
    for (int64_t b = 0; b < blocks.width; b += 16) {
      const __m512 v = _mm512_loadu_ps(x + b), w = one ? first : _mm512_loadu_ps(y + b);
      _mm512_storeu_ps(out + b, arithmetic512<kOp>(0xffff, v, w));
    }
  }
}

template <AluOp kOp>
ASSAY_AVX512 bool blocks_512(const float* x, const float* y, bool one, float* out, const LaneBlocks& blocks) {
  if (blocks.width % 16 == 0) {
    blocks_of_16<kOp>(x, y, one, out, blocks);
  } else {
    blocks_by_16<kOp>(x, y, one, out, blocks);
  }
  return true;
}

bool blocks_avx512(AluOp op, const float* x, const float* y, bool one, float* out, const LaneBlocks& blocks) {
  switch (op) {
    case AluOp::none:
      return blocks_512<AluOp::none>(x, y, one, out, blocks);
    case AluOp::add:
      return blocks_512<AluOp::add>(x, y, one, out, blocks);
    case AluOp::subtract:
      return blocks_512<AluOp::subtract>(x, y, one, out, blocks);
    case AluOp::multiply:
      return blocks_512<AluOp::multiply>(x, y, one, out, blocks);
    case AluOp::divide:
      return blocks_512<AluOp::divide>(x, y, one, out, blocks);
    default:
      return false;
  }
}
#endif

// NOLINTBEGIN(bugprone-macro-parentheses): attributes stand for themselves
#define ASSAY_LANES(suffix, attributes)                                                                    \
  attributes bool pairs_##suffix(AluOp op, const float* x, const float* y, float* out, int64_t n) {        \
    return pairs_of(op, x, y, out, n);                                                                     \
  }                                                                                                        \
  attributes bool number_##suffix(AluOp op, const float* x, float number, bool reverse, float* out,        \
                                  int64_t n) {                                                             \
    return number_with(op, x, number, reverse, out, n);                                                    \
  }                                                                                                        \
  attributes bool affine_##suffix(AluOp op, int32_t first, int32_t step, const float* x, float other,      \
                                  float* out, int64_t n) {                                                 \
    return select_affine_of(op, first, step, x, other, out, n);                                            \
  }                                                                                                        \
  attributes void where_##suffix(const uint8_t* choice, const uint32_t* from, uint32_t* to, int64_t n) {   \
    copy_where_of(choice, from, to, n);                                                                    \
  }                                                                                                        \
  attributes void scale_##suffix(const float* x, float scale, float shift, float* out, int64_t n) {        \
    scale_and_shift_of(x, scale, shift, out, n);                                                           \
  }                                                                                                        \
  attributes void add_product_##suffix(const float* x, float factor, const float* y, float* out,           \
                                       int64_t n) {                                                        \
    multiply_and_add_of(x, factor, y, out, n);                                                             \
  }                                                                                                        \
  attributes void extremes_##suffix(const float* x, int64_t n, int32_t& least, int32_t& greatest) {        \
    extremes_of(x, n, least, greatest);                                                                    \
  }                                                                                                        \
  attributes int32_t magnitude_##suffix(const float* x, int64_t n) { return greatest_magnitude_of(x, n); } \
  attributes void widen_##suffix(const std::byte* x, float* out, int64_t n) { widen(x, out, n); }          \
  attributes void narrow_##suffix(const float* x, std::byte* out, int64_t n) { narrow(x, out, n); }        \
  constexpr Lanes kLanes_##suffix{pairs_##suffix,  number_##suffix,   blocks_##suffix,                     \
                                  where_##suffix,  scale_##suffix,    add_product_##suffix,                \
                                  affine_##suffix, extremes_##suffix, magnitude_##suffix,                  \
                                  widen_##suffix,  narrow_##suffix};
// NOLINTEND(bugprone-macro-parentheses)

ASSAY_LANES(portable, )
#if defined(__x86_64__) && defined(__GNUC__)
ASSAY_LANES(avx2, __attribute__((target("avx2"))))
ASSAY_LANES(avx512, ASSAY_AVX512)
#endif

}  // namespace

#if defined(__x86_64__) && defined(__GNUC__)
bool cpu_has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  return has;
}
bool cpu_has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
const Lanes& lanes(VectorWidth width) {
  if (width == VectorWidth::best && cpu_has_avx512()) return kLanes_avx512;
  return width != VectorWidth::portable && cpu_has_avx2() ? kLanes_avx2 : kLanes_portable;
}
#else
bool cpu_has_avx512() { return false; }
bool cpu_has_avx2() { return false; }
const Lanes& lanes(VectorWidth) { return kLanes_portable; }
#endif

float maximum_of(float a, float b) { return larger(a, b); }
float minimum_of(float a, float b) { return smaller(a, b); }

}  // namespace assay::backend
