#include <array>
#include <cstring>

#include "core/error.h"
#include "core/rounding.h"

// The loops below are written once and compiled twice: for the baseline instruction set and for AVX2, chosen
// at run time. Both give the same bits, since every step is exact or an IEEE 754 operation.
#if defined(__x86_64__) && defined(__GNUC__)
#define ASSAY_AVX2 __attribute__((target("avx2")))
#define ASSAY_HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define ASSAY_AVX2
#define ASSAY_HAS_AVX2 false
#endif
// GCC's -O2 leaves loops of unknown length unvectorised; the cost model is set for these functions alone.
#if defined(__GNUC__) && !defined(__clang__)
#define ASSAY_VECTORISE __attribute__((optimize("O3")))
#else
#define ASSAY_VECTORISE
#endif
#define ASSAY_INLINE inline __attribute__((always_inline))

namespace assay {
namespace {

using rounding::Constants;

constexpr std::size_t block = 1024;  // elements a pass; staging buffers stay in the first-level cache

template <class T>
const std::byte* at(const void* base, std::size_t index) {
  return static_cast<const std::byte*>(base) + index * sizeof(T);
}
template <class T>
std::byte* at(void* base, std::size_t index) {
  return static_cast<std::byte*>(base) + index * sizeof(T);
}

// Runs f(elements, first index, number) on aligned copies of `src`, block by block.
template <class T, class F>
void for_blocks(const void* src, std::size_t count, const F& f) {
  alignas(64) std::array<T, block> staged;
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t n = count - first < block ? count - first : block;
    std::memcpy(staged.data(), at<T>(src, first), n * sizeof(T));
    f(staged.data(), first, n);
  }
}

// Lets f(elements, first index, number) fill blocks and copies them to `dst`.
template <class T, class F>
void fill_blocks(void* dst, std::size_t count, const F& f) {
  alignas(64) std::array<T, block> staged;
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t n = count - first < block ? count - first : block;
    f(staged.data(), first, n);
    std::memcpy(at<T>(dst, first), staged.data(), n * sizeof(T));
  }
}

template <class T>
ASSAY_INLINE void encode_loop(const Constants& constants, const double* src, T* dst, std::size_t n) {
  const Constants c = constants;
  for (std::size_t i = 0; i < n; ++i) dst[i] = static_cast<T>(rounding::encode(c, src[i], c.infinity));
}

ASSAY_INLINE void decode_loop(const Constants& constants, int64_t nan, const uint16_t* src, double* dst,
                              std::size_t n) {
  const Constants c = constants;
  const int64_t first_normal = int64_t{1} << (52 - c.shift);
  const int64_t magic = rounding::ordered(c.subnormal_magic);
  for (std::size_t i = 0; i < n; ++i) {
    const int64_t bits = src[i];
    const int64_t magnitude = bits & 0x7fff;
    const int64_t normal = (magnitude + c.bias) << c.shift;
    const int64_t subnormal = rounding::ordered(std::bit_cast<double>(magic | magnitude) - c.subnormal_magic);
    int64_t value = rounding::choose(magnitude < first_normal, subnormal, normal);
    value = rounding::choose(magnitude == c.infinity, static_cast<int64_t>(rounding::exponent_mask), value);
    value = rounding::choose(magnitude > c.infinity, nan, value);
    dst[i] =
        std::bit_cast<double>(static_cast<uint64_t>(value) | (static_cast<uint64_t>(bits & 0x8000) << 48));
  }
}

ASSAY_INLINE void widen_loop(const uint16_t* src, double* dst, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    dst[i] = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(src[i]) << 16));
  }
}

ASSAY_VECTORISE void encode_u16(const Constants& c, const double* s, uint16_t* d, std::size_t n) {
  encode_loop(c, s, d, n);
}
ASSAY_AVX2 ASSAY_VECTORISE void encode_u16_avx2(const Constants& c, const double* s, uint16_t* d,
                                                std::size_t n) {
  encode_loop(c, s, d, n);
}
ASSAY_VECTORISE void encode_u8(const Constants& c, const double* s, uint8_t* d, std::size_t n) {
  encode_loop(c, s, d, n);
}
ASSAY_AVX2 ASSAY_VECTORISE void encode_u8_avx2(const Constants& c, const double* s, uint8_t* d,
                                               std::size_t n) {
  encode_loop(c, s, d, n);
}
ASSAY_VECTORISE void decode_f16(const Constants& c, int64_t nan, const uint16_t* s, double* d,
                                std::size_t n) {
  decode_loop(c, nan, s, d, n);
}
ASSAY_AVX2 ASSAY_VECTORISE void decode_f16_avx2(const Constants& c, int64_t nan, const uint16_t* s, double* d,
                                                std::size_t n) {
  decode_loop(c, nan, s, d, n);
}
ASSAY_VECTORISE void decode_bf16(const uint16_t* s, double* d, std::size_t n) { widen_loop(s, d, n); }
ASSAY_AVX2 ASSAY_VECTORISE void decode_bf16_avx2(const uint16_t* s, double* d, std::size_t n) {
  widen_loop(s, d, n);
}

bool has_avx2() {
  static const bool value = ASSAY_HAS_AVX2;
  return value;
}

std::array<double, 256> make_table(DType dtype) {
  std::array<double, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = decode_float(dtype, i);
  return table;
}

const std::array<double, 256>& table_of(DType dtype) {
  static const std::array<double, 256> e4m3fn = make_table(DType::f8e4m3fn);
  static const std::array<double, 256> e5m2 = make_table(DType::f8e5m2);
  static const std::array<double, 256> e4m3 = make_table(DType::f8e4m3);
  return dtype == DType::f8e4m3fn ? e4m3fn : dtype == DType::f8e5m2 ? e5m2 : e4m3;
}

void decode_half(DType dtype, const void* src, double* dst, std::size_t count) {
  const int64_t nan = rounding::ordered(std::numeric_limits<double>::quiet_NaN());
  const Constants& c = rounding::constants(dtype);
  const bool avx2 = has_avx2();
  for_blocks<uint16_t>(src, count, [&](const uint16_t* staged, std::size_t first, std::size_t n) {
    if (dtype == DType::bf16) {
      (avx2 ? decode_bf16_avx2 : decode_bf16)(staged, dst + first, n);
    } else {
      (avx2 ? decode_f16_avx2 : decode_f16)(c, nan, staged, dst + first, n);
    }
  });
}

// Integral elements as doubles; beyond 2^53 rounded to nearest.
template <class T>
void widen_ints(const void* src, double* dst, std::size_t count) {
  for_blocks<T>(src, count, [&](const T* staged, std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dst[first + i] = static_cast<double>(staged[i]);
  });
}

int64_t truncated(DType dtype, double value) {
  if (dtype == DType::boolean) return value != 0;
  const double whole = std::trunc(value);
  // Both limits plus or minus one are exact doubles but for i64, where the comparison below is exact as well.
  if (!(whole >= static_cast<double>(int_min(dtype)) && whole < static_cast<double>(int_max(dtype)) + 1.0)) {
    throw Error(ErrorCode::invalid_argument,
                std::to_string(value) + " does not fit the element type " + std::string(name_of(dtype)));
  }
  return static_cast<int64_t>(whole);
}

template <class T>
void read_ints(const void* src, int64_t* dst, std::size_t count) {
  for_blocks<T>(src, count, [&](const T* staged, std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dst[first + i] = static_cast<int64_t>(staged[i]);
  });
}

template <class T>
void write_ints(const int64_t* src, void* dst, std::size_t count) {
  fill_blocks<T>(dst, count, [&](T* staged, std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) staged[i] = static_cast<T>(static_cast<uint64_t>(src[first + i]));
  });
}

}  // namespace

void decode_floats(DType dtype, const void* src, double* dst, std::size_t count) {
  switch (dtype) {
    case DType::f64:
    case DType::c128:
      if (count > 0) std::memcpy(dst, src, count * size_of(dtype));
      return;
    case DType::f32:
    case DType::c64:
      for_blocks<float>(src, is_complex(dtype) ? 2 * count : count,
                        [&](const float* staged, std::size_t first, std::size_t n) {
                          for (std::size_t i = 0; i < n; ++i) dst[first + i] = static_cast<double>(staged[i]);
                        });
      return;
    case DType::f16:
    case DType::bf16:
      return decode_half(dtype, src, dst, count);
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e4m3: {
      const std::array<double, 256>& table = table_of(dtype);
      const auto* bytes = static_cast<const unsigned char*>(src);
      for (std::size_t i = 0; i < count; ++i) dst[i] = table[bytes[i]];
      return;
    }
    case DType::boolean: {
      const auto* bytes = static_cast<const unsigned char*>(src);
      for (std::size_t i = 0; i < count; ++i) dst[i] = bytes[i] != 0 ? 1.0 : 0.0;
      return;
    }
    case DType::u8:
      return widen_ints<uint8_t>(src, dst, count);
    case DType::i8:
      return widen_ints<int8_t>(src, dst, count);
    case DType::i16:
      return widen_ints<int16_t>(src, dst, count);
    case DType::i32:
      return widen_ints<int32_t>(src, dst, count);
    case DType::i64:
      return widen_ints<int64_t>(src, dst, count);
  }
  static_cast<void>(size_of(dtype));  // throws: no such element type
}

void encode_floats(DType dtype, const double* src, void* dst, std::size_t count) {
  if (is_integral(dtype)) {
    for (std::size_t i = 0; i < count; ++i) {
      const int64_t value = truncated(dtype, src[i]);
      encode_ints(dtype, &value, static_cast<std::byte*>(dst) + i * size_of(dtype), 1);
    }
    return;
  }
  switch (dtype) {
    case DType::f64:
    case DType::c128:
      if (count > 0) std::memcpy(dst, src, count * size_of(dtype));
      return;
    case DType::f32:
    case DType::c64:
      return fill_blocks<float>(dst, is_complex(dtype) ? 2 * count : count,
                                [&](float* staged, std::size_t first, std::size_t n) {
                                  for (std::size_t i = 0; i < n; ++i)
                                    staged[i] = static_cast<float>(src[first + i]);
                                });
    case DType::f16:
    case DType::bf16: {
      const Constants& c = rounding::constants(dtype);
      const auto encode = has_avx2() ? encode_u16_avx2 : encode_u16;
      return fill_blocks<uint16_t>(dst, count, [&](uint16_t* staged, std::size_t first, std::size_t n) {
        encode(c, src + first, staged, n);
      });
    }
    default: {
      const Constants& c = rounding::constants(dtype);
      const auto encode = has_avx2() ? encode_u8_avx2 : encode_u8;
      return fill_blocks<uint8_t>(dst, count, [&](uint8_t* staged, std::size_t first, std::size_t n) {
        encode(c, src + first, staged, n);
      });
    }
  }
}

void decode_ints(DType dtype, const void* src, int64_t* dst, std::size_t count) {
  switch (dtype) {
    case DType::boolean: {
      const auto* bytes = static_cast<const unsigned char*>(src);
      for (std::size_t i = 0; i < count; ++i) dst[i] = bytes[i] != 0;
      return;
    }
    case DType::u8:
      return read_ints<uint8_t>(src, dst, count);
    case DType::i8:
      return read_ints<int8_t>(src, dst, count);
    case DType::i16:
      return read_ints<int16_t>(src, dst, count);
    case DType::i32:
      return read_ints<int32_t>(src, dst, count);
    case DType::i64:
      return read_ints<int64_t>(src, dst, count);
    default:
      throw Error(ErrorCode::invalid_argument,
                  std::string(name_of(dtype)) + " elements cannot be read as integers");
  }
}

void encode_ints(DType dtype, const int64_t* src, void* dst, std::size_t count) {
  switch (dtype) {
    case DType::boolean: {
      auto* bytes = static_cast<unsigned char*>(dst);
      for (std::size_t i = 0; i < count; ++i) bytes[i] = src[i] != 0 ? 1 : 0;
      return;
    }
    case DType::u8:
      return write_ints<uint8_t>(src, dst, count);
    case DType::i8:
      return write_ints<int8_t>(src, dst, count);
    case DType::i16:
      return write_ints<int16_t>(src, dst, count);
    case DType::i32:
      return write_ints<int32_t>(src, dst, count);
    case DType::i64:
      return write_ints<int64_t>(src, dst, count);
    default:
      throw Error(ErrorCode::invalid_argument,
                  "integers cannot be stored as " + std::string(name_of(dtype)) + " elements");
  }
}

}  // namespace assay
