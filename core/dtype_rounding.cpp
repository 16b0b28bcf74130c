#include <array>
#include <cstring>

#include "core/error.h"
#include "core/rounding.h"

namespace assay {

using rounding::Constants;

namespace rounding {

Constants constants_of(const FloatFormat& format) {
  Constants c{};
  c.limit = std::ldexp(1.0, format.max_exponent + 1);
  c.max = format.max;
  c.smallest_normal = format.smallest_normal();
  c.scale = std::ldexp(1.0, 53 - format.precision);
  c.subnormal_magic = std::ldexp(format.smallest_subnormal(), 52);
  c.shift = 53 - format.precision;
  c.bias = static_cast<int64_t>(1023 + format.min_exponent - 1) << (format.precision - 1);
  c.max_bits = pack_magnitude(c, c.max);
  // Past the largest finite pattern comes infinity, or NaN in a format without one.
  c.infinity = c.max_bits + 1;
  c.nan = format.has_infinity ? c.infinity | (int64_t{1} << (format.precision - 2)) : c.infinity;
  c.width = static_cast<int>(std::bit_width(static_cast<uint64_t>(c.nan))) + 1;
  return c;
}

const Constants& constants(DType dtype) {
  static const std::array<Constants, 6> table{
      constants_of(float_format(DType::f8e4m3fn)), constants_of(float_format(DType::f8e5m2)),
      constants_of(float_format(DType::f8e4m3)),   constants_of(float_format(DType::f16)),
      constants_of(float_format(DType::bf16)),     constants_of(float_format(DType::f32))};
  return table[static_cast<std::size_t>(dtype) - static_cast<std::size_t>(DType::f8e4m3fn)];
}

}  // namespace rounding

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int f64_precision = std::numeric_limits<double>::digits;

double round_positive(const FloatFormat& format, double magnitude) {
  return rounding::round_magnitude(rounding::power_of_two(format.max_exponent + 1),
                                   rounding::power_of_two(format.min_exponent),
                                   rounding::power_of_two(f64_precision - format.precision), magnitude);
}

double overflowed(const FloatFormat& format, Overflow overflow) {
  if (overflow == Overflow::saturate) return format.max;
  return format.has_infinity ? infinity : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double round_to(const FloatFormat& format, double value, Overflow overflow) {
  if (std::isnan(value)) return value;
  const double magnitude = std::fabs(value);
  if (format.precision >= f64_precision) {
    return std::isinf(value) ? std::copysign(overflowed(format, overflow), value) : value;
  }
  const double rounded = round_positive(format, magnitude);
  return std::copysign(rounded > format.max ? overflowed(format, overflow) : rounded, value);
}

Neighbours neighbours(const FloatFormat& format, double value) {
  if (std::isnan(value) || format.precision >= f64_precision) return {value, value};
  const double magnitude = std::fabs(value);
  double low;
  double high;
  if (magnitude > format.max) {
    low = std::isinf(value) && format.has_infinity ? infinity : format.max;
    high = infinity;
  } else {
    const double binade = magnitude < format.smallest_normal() ? format.smallest_normal()
                                                               : std::ldexp(1.0, std::ilogb(magnitude));
    const double spacing = std::ldexp(binade, 1 - format.precision);
    const double rounded = round_positive(format, magnitude);
    low = rounded > magnitude ? rounded - spacing : rounded;
    high = low == magnitude ? low : low + spacing;
    if (high > format.max) high = infinity;
  }
  if (std::signbit(value)) return {-high, -low};
  return {low, high};
}

uint64_t encode_float(DType dtype, double value, Overflow overflow) {
  const FloatFormat& format = float_format(dtype);
  if (is_complex(dtype)) {
    throw Error(ErrorCode::invalid_argument,
                "encode_float takes a real element type, not " + std::string(name_of(dtype)));
  }
  if (dtype == DType::f64) return std::bit_cast<uint64_t>(round_to(format, value, overflow));
  const Constants& c = rounding::constants(dtype);
  return static_cast<uint64_t>(
      rounding::encode(c, value, overflow == Overflow::saturate ? c.max_bits : c.infinity));
}

double decode_float(DType dtype, uint64_t bits) {
  if (is_complex(dtype)) {
    throw Error(ErrorCode::invalid_argument,
                "decode_float takes a real element type, not " + std::string(name_of(dtype)));
  }
  const FloatFormat& format = float_format(dtype);
  if (dtype == DType::f64) return std::bit_cast<double>(bits);
  if (dtype == DType::f32) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const Constants& c = rounding::constants(dtype);
  const auto magnitude = static_cast<int64_t>(bits & ((uint64_t{1} << (c.width - 1)) - 1));
  double value;
  if (magnitude > c.max_bits) {
    value =
        format.has_infinity && magnitude == c.infinity ? infinity : std::numeric_limits<double>::quiet_NaN();
  } else if (magnitude < (int64_t{1} << (format.precision - 1))) {
    value = static_cast<double>(magnitude) * format.smallest_subnormal();
  } else {
    value = std::bit_cast<double>((magnitude + c.bias) << c.shift);
  }
  return (bits >> (c.width - 1)) & 1 ? -value : value;
}

}  // namespace assay
