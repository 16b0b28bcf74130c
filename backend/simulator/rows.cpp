#include "backend/simulator/rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backend/simulator/lanes.h"
#include "backend/simulator/turn.h"
#include "backend/simulator/words.h"

namespace assay::backend {
namespace {

template <typename T>
T read(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
template <typename T>
void write(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

// Calls f(T) for each element of a run; the contiguous case is separate so that it becomes vector code.
template <typename T, typename Out, typename F>
void read_run(const std::byte* p, int64_t stride, int64_t n, Out* out, F f) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (stride == kSize) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(read<T>(p + i * kSize));
  } else if (stride == -kSize) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(read<T>(p - i * kSize));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = f(read<T>(p + i * stride));
  }
}
template <typename T, typename In, typename F>
void write_run(std::byte* p, int64_t stride, int64_t n, const In* in, F f) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (stride == kSize) {
    for (int64_t i = 0; i < n; ++i) write<T>(p + i * kSize, f(in[i]));
  } else if (stride == -kSize) {
    for (int64_t i = 0; i < n; ++i) write<T>(p - i * kSize, f(in[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) write<T>(p + i * stride, f(in[i]));
  }
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<uint16_t>(nan ? ((bits >> 16) | 0x40u) : (rounded >> 16));
}

float from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  // Scaling by 2^112 turns the half's exponent bias into the single's, subnormals included.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}
uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (rest >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65536 and more
  if (rest <
      0x38800000u) {  // below 2^-14: adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded to even
    const float shifted = std::bit_cast<float>(rest) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = rest + 0xfffu + ((rest >> 13) & 1u) - 0x38000000u;
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

template <DType dtype>
const std::array<float, 256>& fp8_table() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> t{};
    for (unsigned bits = 0; bits < 256; ++bits) t[bits] = static_cast<float>(decode_float(dtype, bits));
    return t;
  }();
  return table;
}

int64_t truncate(double value, double low, double beyond) {
  if (std::isnan(value)) return 0;
  if (value <= low) return static_cast<int64_t>(low);
  if (value >= beyond) {
    return beyond >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(beyond) - 1;
  }
  return static_cast<int64_t>(value);
}

template <typename T>
T to_integer(float value) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kBeyond =
      std::is_same_v<T, int64_t> ? 0x1p63 : static_cast<double>(std::numeric_limits<T>::max()) + 1;
  return static_cast<T>(truncate(static_cast<double>(value), kLow, kBeyond));
}

double stochastic(const FloatFormat& format, double value, double draw) {
  if (!std::isfinite(value)) return value;
  const Neighbours n = neighbours(format, value);
  if (n.below == n.above || !std::isfinite(n.below) || !std::isfinite(n.above))
    return round_to(format, value);
  return draw < (value - n.below) / (n.above - n.below) ? n.above : n.below;
}

}  // namespace

Row::Row(const AccessPattern& pattern, DType dtype)
    : dtype_(dtype),
      offset_(pattern.offset),
      element_(static_cast<int64_t>(size_of(dtype))),
      inner_stride_(element_),
      count_(pattern.free_elements()) {
  // From the innermost dimension outwards: a dimension that continues the previous one is merged into it.
  std::array<int64_t, kMaxRank> sizes{}, strides{};
  int n = 0;
  for (std::size_t k = pattern.rank; k-- > 0;) {
    const int64_t size = pattern.sizes[k], stride = pattern.strides[k] * element_;
    if (size == 1) continue;
    const auto last = static_cast<std::size_t>(n - 1);
    if (n > 0 && stride == strides[last] * sizes[last]) {
      sizes[last] *= size;
    } else {
      sizes[static_cast<std::size_t>(n)] = size;
      strides[static_cast<std::size_t>(n)] = stride;
      ++n;
    }
  }
  if (n > 0) {
    inner_ = sizes[0];
    inner_stride_ = strides[0];
  }
  rank_ = n > 0 ? n - 1 : 0;
  for (int k = 0; k < rank_; ++k) {
    sizes_[static_cast<std::size_t>(k)] = sizes[static_cast<std::size_t>(n - 1 - k)];
    strides_[static_cast<std::size_t>(k)] = strides[static_cast<std::size_t>(n - 1 - k)];
  }
}

// Calls f(byte offset, first element number) for every run.
template <typename F>
void Row::for_each_run(F f) const {
  if (rank_ == 0) {
    f(offset_, int64_t{0});
    return;
  }
  std::array<int64_t, kMaxRank> index{};
  int64_t at = offset_, number = 0;
  for (;;) {
    f(at, number);
    number += inner_;
    int d = rank_ - 1;
    for (; d >= 0; --d) {
      const auto k = static_cast<std::size_t>(d);
      at += strides_[k];
      if (++index[k] < sizes_[k]) break;
      at -= strides_[k] * sizes_[k];
      index[k] = 0;
    }
    if (d < 0) return;
  }
}

void Row::load(const std::byte* base, float* out) const {
  const auto each = [&]<typename T>(T, auto convert) {
    for_each_run([&](int64_t at, int64_t number) {
      read_run<T>(base + at, inner_stride_, inner_, out + number, convert);
    });
  };
  const auto cast = [](auto v) { return static_cast<float>(v); };
  switch (dtype_) {
    case DType::boolean:
      each(uint8_t{}, [](uint8_t v) { return v != 0 ? 1.0f : 0.0f; });
      break;
    case DType::u8:
      each(uint8_t{}, cast);
      break;
    case DType::i8:
      each(int8_t{}, cast);
      break;
    case DType::i16:
      each(int16_t{}, cast);
      break;
    case DType::i32:
      each(int32_t{}, cast);
      break;
    case DType::i64:
      each(int64_t{}, cast);
      break;
    case DType::f8e4m3fn:
      each(uint8_t{}, [&t = fp8_table<DType::f8e4m3fn>()](uint8_t v) { return t[v]; });
      break;
    case DType::f8e5m2:
      each(uint8_t{}, [&t = fp8_table<DType::f8e5m2>()](uint8_t v) { return t[v]; });
      break;
    case DType::f8e4m3:
      each(uint8_t{}, [&t = fp8_table<DType::f8e4m3>()](uint8_t v) { return t[v]; });
      break;
    case DType::f16:
      each(uint16_t{}, [](uint16_t v) { return from_f16(v); });
      break;
    case DType::bf16:
      if (inner_stride_ == 2) {
        for_each_run([&](int64_t at, int64_t number) { lanes().from_bf16(base + at, out + number, inner_); });
        break;
      }
      each(uint16_t{}, [](uint16_t v) { return from_bf16(v); });
      break;
    default:
      each(float{}, [](float v) { return v; });
      break;
  }
}

void Row::load(const std::byte* base, int64_t* out) const {
  const auto each = [&]<typename T>(T, auto convert) {
    for_each_run([&](int64_t at, int64_t number) {
      read_run<T>(base + at, inner_stride_, inner_, out + number, convert);
    });
  };
  const auto cast = [](auto v) { return static_cast<int64_t>(v); };
  switch (dtype_) {
    case DType::boolean:
      each(uint8_t{}, [](uint8_t v) { return static_cast<int64_t>(v != 0); });
      break;
    case DType::u8:
      each(uint8_t{}, cast);
      break;
    case DType::i8:
      each(int8_t{}, cast);
      break;
    case DType::i16:
      each(int16_t{}, cast);
      break;
    case DType::i32:
      each(int32_t{}, cast);
      break;
    case DType::i64:
      each(int64_t{}, cast);
      break;
    case DType::f8e4m3fn:
      each(uint8_t{}, [&t = fp8_table<DType::f8e4m3fn>()](uint8_t v) { return to_integer<int64_t>(t[v]); });
      break;
    case DType::f8e5m2:
      each(uint8_t{}, [&t = fp8_table<DType::f8e5m2>()](uint8_t v) { return to_integer<int64_t>(t[v]); });
      break;
    case DType::f8e4m3:
      each(uint8_t{}, [&t = fp8_table<DType::f8e4m3>()](uint8_t v) { return to_integer<int64_t>(t[v]); });
      break;
    case DType::f16:
      each(uint16_t{}, [](uint16_t v) { return to_integer<int64_t>(from_f16(v)); });
      break;
    case DType::bf16:
      each(uint16_t{}, [](uint16_t v) { return to_integer<int64_t>(from_bf16(v)); });
      break;
    default:
      each(float{}, [](float v) { return to_integer<int64_t>(v); });
      break;
  }
}

void Row::store(std::byte* base, const float* in, const StochasticRounding* rounding) const {
  const auto each = [&]<typename T>(T, auto convert) {
    for_each_run([&](int64_t at, int64_t number) {
      write_run<T>(base + at, inner_stride_, inner_, in + number, convert);
    });
  };
  if (rounding != nullptr && is_float(dtype_) && dtype_ != DType::f32) {
    const FloatFormat& format = float_format(dtype_);
    uint64_t element = rounding->first;
    const auto round = [&](float v) {
      const double draw = draw_word(rounding->key, rounding->stream, element++) * 0x1p-32;
      return encode_float(dtype_, stochastic(format, static_cast<double>(v), draw));
    };
    if (element_ == 1) {
      each(uint8_t{}, [&](float v) { return static_cast<uint8_t>(round(v)); });
    } else {
      each(uint16_t{}, [&](float v) { return static_cast<uint16_t>(round(v)); });
    }
    return;
  }
  switch (dtype_) {
    case DType::boolean:
      each(uint8_t{}, [](float v) { return static_cast<uint8_t>(v != 0.0f); });
      break;
    case DType::u8:
      each(uint8_t{}, to_integer<uint8_t>);
      break;
    case DType::i8:
      each(int8_t{}, to_integer<int8_t>);
      break;
    case DType::i16:
      each(int16_t{}, to_integer<int16_t>);
      break;
    case DType::i32:
      each(int32_t{}, to_integer<int32_t>);
      break;
    case DType::i64:
      each(int64_t{}, to_integer<int64_t>);
      break;
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e4m3:
      each(uint8_t{},
           [this](float v) { return static_cast<uint8_t>(encode_float(dtype_, static_cast<double>(v))); });
      break;
    case DType::f16:
      each(uint16_t{}, [](float v) { return to_f16(v); });
      break;
    case DType::bf16:
      if (inner_stride_ == 2) {
        for_each_run([&](int64_t at, int64_t number) { lanes().to_bf16(in + number, base + at, inner_); });
        break;
      }
      each(uint16_t{}, [](float v) { return to_bf16(v); });
      break;
    default:
      each(float{}, [](float v) { return v; });
      break;
  }
}

void Row::store(std::byte* base, const int64_t* in) const {
  const auto each = [&]<typename T>(T, auto convert) {
    for_each_run([&](int64_t at, int64_t number) {
      write_run<T>(base + at, inner_stride_, inner_, in + number, convert);
    });
  };
  switch (dtype_) {
    case DType::boolean:
      each(uint8_t{}, [](int64_t v) { return static_cast<uint8_t>(v != 0); });
      break;
    case DType::u8:
      each(uint8_t{}, [](int64_t v) { return static_cast<uint8_t>(v); });
      break;
    case DType::i8:
      each(int8_t{}, [](int64_t v) { return static_cast<int8_t>(v); });
      break;
    case DType::i16:
      each(int16_t{}, [](int64_t v) { return static_cast<int16_t>(v); });
      break;
    case DType::i32:
      each(int32_t{}, [](int64_t v) { return static_cast<int32_t>(v); });
      break;
    case DType::i64:
      each(int64_t{}, [](int64_t v) { return v; });
      break;
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e4m3:
      each(uint8_t{}, [this](int64_t v) {
        return static_cast<uint8_t>(encode_float(dtype_, static_cast<double>(static_cast<float>(v))));
      });
      break;
    case DType::f16:
      each(uint16_t{}, [](int64_t v) { return to_f16(static_cast<float>(v)); });
      break;
    case DType::bf16:
      each(uint16_t{}, [](int64_t v) { return to_bf16(static_cast<float>(v)); });
      break;
    default:
      each(float{}, [](int64_t v) { return static_cast<float>(v); });
      break;
  }
}

void Row::prefetch(const std::byte* base, bool written) const {
  constexpr int64_t kLine = 64, kMost = 4096;  // what is longer the CPU notices itself
  if (inner_stride_ != element_ && inner_ > 1) return;
  const int64_t bytes = std::min(inner_ * element_, kMost);
  for_each_run([&](int64_t at, int64_t) {
    for (int64_t i = 0; i < bytes + kLine - 1; i += kLine) {
      const std::byte* line = base + at + std::min(i, bytes - 1);
      written ? __builtin_prefetch(line, 1) : __builtin_prefetch(line, 0);
    }
  });
}

// Runs of at least this many bytes are worth a call of memcpy.
constexpr int64_t kLongRun = 64;

void Row::load_raw(const std::byte* base, std::byte* out) const {
  if (contiguous() || (inner_stride_ == element_ && inner_ * element_ >= kLongRun)) {
    const auto bytes = static_cast<std::size_t>(inner_ * element_);
    return for_each_run(
        [&](int64_t at, int64_t number) { std::memcpy(out + number * element_, base + at, bytes); });
  }
  // Runs that begin at neighbouring elements are columns of a matrix.
  if (rank_ == 1 && strides_[0] == element_ && inner_stride_ != element_)
    return turn(base + offset_, inner_stride_, out, inner_ * element_, inner_, sizes_[0], element_);
  with_words(element_, [&]<typename T>(T) {
    for_each_run([&](int64_t at, int64_t number) {
      read_run<T>(base + at, inner_stride_, inner_, reinterpret_cast<T*>(out) + number,
                  [](T v) { return v; });
    });
  });
}

void Row::store_raw(std::byte* base, const std::byte* in) const {
  if (contiguous() || (inner_stride_ == element_ && inner_ * element_ >= kLongRun)) {
    const auto bytes = static_cast<std::size_t>(inner_ * element_);
    return for_each_run(
        [&](int64_t at, int64_t number) { std::memcpy(base + at, in + number * element_, bytes); });
  }
  with_words(element_, [&]<typename T>(T) {
    for_each_run([&](int64_t at, int64_t number) {
      write_run<T>(base + at, inner_stride_, inner_, reinterpret_cast<const T*>(in) + number,
                   [](T v) { return v; });
    });
  });
}

}  // namespace assay::backend
