// The rounding that every conversion in dtype.h shares, inlined so that array loops vectorise.
// For core/dtype_*.cpp only; everybody else includes core/dtype.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.h"

namespace assay::rounding {

// What the branch-free loops need of a FloatFormat with precision <= 52.
struct Constants {
  double limit;            // 2^(max_exponent + 1): larger magnitudes overflow whatever the rounding
  double max;              // largest finite value
  double smallest_normal;  // 2^min_exponent
  double scale;            // 2^(53 - precision)
  double subnormal_magic;  // 2^(52 + exponent of the smallest subnormal)
  uint64_t bias;           // what the exponent field of a double loses, at the format's own place
  uint64_t infinity;       // bits of +infinity, or of NaN without one
  uint64_t nan;            // bits of the positive quiet NaN
  uint64_t max_bits;       // bits of the largest finite value
  int shift;               // 53 - precision: a double's last significand bits that the format lacks
  int width;               // bits of the whole format
};

constexpr uint64_t sign_bit = uint64_t{1} << 63;
constexpr uint64_t exponent_mask = uint64_t{0x7ff} << 52;

// Nearest multiple of the format's spacing at `magnitude`, ties to even, as if the exponent had no upper end;
// anything that passes `limit` gives at least `limit`. Adding 2^52 spacings makes the hardware's own addition
// round there, once.
inline double round_magnitude(const Constants& c, double magnitude) {
  const double clamped = magnitude < c.limit ? magnitude : c.limit;
  const auto binade = std::bit_cast<double>(std::bit_cast<uint64_t>(clamped) & exponent_mask);
  const double base = binade > c.smallest_normal ? binade : c.smallest_normal;
  const double magic = base * c.scale;
  return (clamped + magic) - magic;
}

// Bits of a finite, representable, non-negative value.
inline uint64_t pack_magnitude(const Constants& c, double magnitude) {
  const uint64_t normal = (std::bit_cast<uint64_t>(magnitude) >> c.shift) - c.bias;
  const uint64_t subnormal =
      std::bit_cast<uint64_t>(magnitude + c.subnormal_magic) - std::bit_cast<uint64_t>(c.subnormal_magic);
  return magnitude < c.smallest_normal ? subnormal : normal;
}

// Rounds and packs. A NaN becomes the quiet NaN of the same sign.
inline uint64_t encode(const Constants& c, double value, uint64_t overflow_bits) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const auto magnitude = std::bit_cast<double>(bits & ~sign_bit);
  const double rounded = round_magnitude(c, magnitude);
  uint64_t packed = pack_magnitude(c, rounded);
  packed = rounded > c.max ? overflow_bits : packed;
  packed = magnitude != magnitude ? c.nan : packed;
  return packed | ((bits >> 63) << (c.width - 1));
}

const Constants& constants(DType dtype);  // 8- and 16-bit formats and f32
Constants constants_of(const FloatFormat& format);

}  // namespace assay::rounding
