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
  int64_t bias;            // what the exponent field of a double loses, at the format's own place
  int64_t infinity;        // bits of +infinity, or of NaN without one
  int64_t nan;             // bits of the positive quiet NaN
  int64_t max_bits;        // bits of the largest finite value
  int shift;               // 53 - precision: a double's last significand bits that the format lacks
  int width;               // bits of the whole format
};

constexpr uint64_t sign_bit = uint64_t{1} << 63;
constexpr uint64_t exponent_mask = uint64_t{0x7ff} << 52;

// 2^exponent for -1022 <= exponent <= 1023; infinity for 1024.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Non-negative doubles are ordered as their bits are, so that all comparisons can be made between integers.
inline int64_t ordered(double magnitude) { return std::bit_cast<int64_t>(magnitude); }

// Selection by a mask: compilers turn conditional expressions into branches here, and a branch stops a loop
// from being vectorised.
inline int64_t choose(bool condition, int64_t yes, int64_t no) {
  return no ^ ((yes ^ no) & -static_cast<int64_t>(condition));
}

// Nearest multiple of the format's spacing at `magnitude` (not NaN), ties to even, as if the exponent had no
// upper end; anything from `limit` on gives `limit`. Adding 2^52 spacings makes the hardware's own addition
// round there, once.
inline double round_magnitude(double limit, double smallest_normal, double scale, double magnitude) {
  const int64_t clamped = choose(ordered(magnitude) < ordered(limit), ordered(magnitude), ordered(limit));
  const int64_t binade = clamped & static_cast<int64_t>(exponent_mask);
  const int64_t base = choose(binade > ordered(smallest_normal), binade, ordered(smallest_normal));
  const double magic = std::bit_cast<double>(base) * scale;
  return (std::bit_cast<double>(clamped) + magic) - magic;
}

// Bits of a finite, representable, non-negative value.
inline int64_t pack_magnitude(const Constants& c, double magnitude) {
  const auto normal =
      static_cast<int64_t>((std::bit_cast<uint64_t>(magnitude) >> c.shift) - static_cast<uint64_t>(c.bias));
  const int64_t subnormal = ordered(magnitude + c.subnormal_magic) - ordered(c.subnormal_magic);
  return choose(ordered(magnitude) < ordered(c.smallest_normal), subnormal, normal);
}

// Rounds and packs. A NaN becomes the quiet NaN of the same sign.
inline int64_t encode(const Constants& c, double value, int64_t overflow_bits) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const auto magnitude = static_cast<int64_t>(bits & ~sign_bit);
  const double rounded =
      round_magnitude(c.limit, c.smallest_normal, c.scale, std::bit_cast<double>(magnitude));
  int64_t packed = pack_magnitude(c, rounded);
  packed = choose(ordered(rounded) > ordered(c.max), overflow_bits, packed);
  packed = choose(magnitude > static_cast<int64_t>(exponent_mask), c.nan, packed);
  return packed | static_cast<int64_t>((bits >> 63) << (c.width - 1));
}

const Constants& constants(DType dtype);  // 8- and 16-bit formats and f32
Constants constants_of(const FloatFormat& format);

}  // namespace assay::rounding
