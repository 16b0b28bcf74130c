// Rounding against an oracle of its own: every value of a format is built from its fields, and what lies
// between two neighbours is decided by comparing with their midpoint, which is exact in fp64.
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include "core/dtype.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Layout {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint64_t last_finite;  // largest finite positive pattern
};

const std::vector<Layout> small_layouts{{DType::f8e4m3fn, 4, 3, 7, 0x7e},
                                        {DType::f8e5m2, 5, 2, 15, 0x7b},
                                        {DType::f8e4m3, 4, 3, 7, 0x77},
                                        {DType::f16, 5, 10, 15, 0x7bff},
                                        {DType::bf16, 8, 7, 127, 0x7f7f}};

double built(const Layout& layout, uint64_t pattern) {
  const uint64_t mantissa = pattern & ((uint64_t{1} << layout.mantissa_bits) - 1);
  const int exponent = static_cast<int>(pattern >> layout.mantissa_bits);
  const int scale = (exponent == 0 ? 1 : exponent) - layout.bias - layout.mantissa_bits;
  const uint64_t implicit = exponent == 0 ? 0 : uint64_t{1} << layout.mantissa_bits;
  return std::ldexp(static_cast<double>(mantissa + implicit), scale);
}

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

class SmallFormat : public testing::TestWithParam<Layout> {
 protected:
  const Layout layout = GetParam();
  const DType dtype = layout.dtype;
  const FloatFormat& format = float_format(dtype);
  const int width = static_cast<int>(8 * size_of(dtype));
  const uint64_t sign = uint64_t{1} << (width - 1);

  uint64_t array_encode(double value) const {
    uint64_t bits = 0;
    encode_floats(dtype, &value, &bits, 1);
    return bits;
  }

  // Every way of rounding `value` must give the finite pattern `expected`, for both signs.
  void expect_pattern(double value, uint64_t expected) const {
    for (const uint64_t s : {uint64_t{0}, sign}) {
      const double signed_value = s ? -value : value;
      const double result = s ? -built(layout, expected) : built(layout, expected);
      ASSERT_EQ(encode_float(dtype, signed_value), expected | s) << std::hexfloat << signed_value;
      ASSERT_EQ(array_encode(signed_value), expected | s) << std::hexfloat << signed_value;
      ASSERT_EQ(encode_float(dtype, signed_value, Overflow::saturate), expected | s);
      ASSERT_TRUE(same(round_to(dtype, signed_value), result)) << std::hexfloat << signed_value;
    }
  }

  void expect_overflow(double value) const {
    for (const double signed_value : {value, -value}) {
      const uint64_t s = std::signbit(signed_value) ? sign : 0;
      const double expected = format.has_infinity ? std::copysign(inf, signed_value) : nan;
      ASSERT_TRUE(same(round_to(dtype, signed_value), expected)) << std::hexfloat << signed_value;
      ASSERT_EQ(encode_float(dtype, signed_value), (layout.last_finite + 1) | s);
      ASSERT_EQ(array_encode(signed_value), (layout.last_finite + 1) | s);
      ASSERT_EQ(round_to(format, signed_value, Overflow::saturate), std::copysign(format.max, signed_value));
      ASSERT_EQ(encode_float(dtype, signed_value, Overflow::saturate), layout.last_finite | s);
    }
  }
};

TEST_P(SmallFormat, EveryPatternDecodesToItsFieldsAndEncodesBack) {
  const uint64_t patterns = uint64_t{1} << width;
  for (uint64_t pattern = 0; pattern < patterns; ++pattern) {
    const uint64_t magnitude = pattern & (sign - 1);
    const double value = decode_float(dtype, pattern);
    double from_array = 0;
    decode_floats(dtype, &pattern, &from_array, 1);  // little endian
    ASSERT_TRUE(same(value, from_array)) << pattern;
    if (magnitude <= layout.last_finite) {
      ASSERT_TRUE(same(value, pattern & sign ? -built(layout, magnitude) : built(layout, magnitude)))
          << pattern;
    } else if (format.has_infinity && magnitude == layout.last_finite + 1) {
      ASSERT_TRUE(same(value, pattern & sign ? -inf : inf)) << pattern;
    } else {
      ASSERT_TRUE(std::isnan(value)) << pattern;
      ASSERT_TRUE(std::isnan(decode_float(dtype, encode_float(dtype, value)))) << pattern;
      ASSERT_EQ(encode_float(dtype, value) & sign, pattern & sign) << pattern;
      ASSERT_EQ(array_encode(value), encode_float(dtype, value)) << pattern;
      continue;
    }
    ASSERT_EQ(encode_float(dtype, value), pattern);
    ASSERT_EQ(array_encode(value), pattern);
    ASSERT_TRUE(same(round_to(dtype, value), value)) << pattern;
  }
}

TEST_P(SmallFormat, BetweenNeighboursTheNearestWinsAndTiesGoToEven) {
  for (uint64_t pattern = 0; pattern < layout.last_finite; ++pattern) {
    const double low = built(layout, pattern);
    const double high = built(layout, pattern + 1);
    const double middle = low + (high - low) / 2;
    expect_pattern(middle, pattern % 2 == 0 ? pattern : pattern + 1);
    expect_pattern(std::nextafter(middle, 0.0), pattern);
    expect_pattern(std::nextafter(middle, inf), pattern + 1);
    expect_pattern(std::nextafter(low, inf), pattern);
    expect_pattern(std::nextafter(high, 0.0), pattern + 1);
    // Just above a tie by less than fp32 can hold: a cast by way of fp32 rounds twice and picks the even one.
    expect_pattern(middle + (high - low) * 0x1p-40, pattern + 1);
    expect_pattern(middle - (high - low) * 0x1p-40, pattern);
  }
}

TEST_P(SmallFormat, OverflowStartsHalfASpacingAboveTheMaximum) {
  const double max = built(layout, layout.last_finite);
  EXPECT_EQ(max, format.max);
  const double middle = max + (max - built(layout, layout.last_finite - 1)) / 2;
  expect_pattern(std::nextafter(middle, 0.0), layout.last_finite);
  if (layout.last_finite % 2 == 0) {
    expect_pattern(middle, layout.last_finite);
  } else {
    expect_overflow(middle);
  }
  expect_overflow(std::nextafter(middle, inf));
  expect_overflow(2 * max);
  expect_overflow(1e300);
  expect_overflow(std::numeric_limits<double>::max());
  expect_overflow(inf);
  expect_pattern(0.0, 0);
  expect_pattern(std::numeric_limits<double>::denorm_min(), 0);
  expect_pattern(std::numeric_limits<double>::min(), 0);
}

TEST_P(SmallFormat, NeighboursEncloseEveryValue) {
  const auto expect = [&](double value, double below, double above) {
    const Neighbours up = neighbours(format, value);
    ASSERT_TRUE(up.below == below && up.above == above)
        << std::hexfloat << value << " " << up.below << " " << up.above;
    const Neighbours down = neighbours(format, -value);
    ASSERT_TRUE(down.below == -above && down.above == -below) << std::hexfloat << -value;
  };
  for (uint64_t pattern = 0; pattern < layout.last_finite; ++pattern) {
    const double low = built(layout, pattern);
    const double high = built(layout, pattern + 1);
    expect(low, low, low);
    expect(low + (high - low) / 2, low, high);
    expect(std::nextafter(low, inf), low, high);
    expect(std::nextafter(high, 0.0), low, high);
  }
  expect(format.max, format.max, format.max);
  expect(std::nextafter(format.max, inf), format.max, inf);
  expect(1e300, format.max, inf);
  expect(inf, format.has_infinity ? inf : format.max, inf);
  EXPECT_TRUE(std::isnan(neighbours(format, nan).below));
}

INSTANTIATE_TEST_SUITE_P(DType, SmallFormat, testing::ValuesIn(small_layouts),
                         [](const auto& p) { return std::string(name_of(p.param.dtype)); });

// Doubles of every exponent that f32 can meet, with long, short and tie-like significands.
std::vector<double> assorted(std::size_t count) {
  std::mt19937_64 random(20240229);
  std::vector<double> values{0.0,           -0.0, inf, -inf, nan, 0x1p-150, -0x1.000001p-150, 0x1.fffffefp127,
                             0x1.ffffffp127};
  while (values.size() < count) {
    const uint64_t sign_and_mantissa = random() & 0x800fffffffffffff;
    const uint64_t exponent = 1023 - 160 + random() % 300;
    uint64_t bits = sign_and_mantissa | exponent << 52;
    if (random() % 2) bits &= ~uint64_t{0} << 28;  // ties of f32
    if (random() % 4 == 0) bits ^= 1;              // and just beside them
    values.push_back(std::bit_cast<double>(bits));
  }
  return values;
}

TEST(DTypeRounding, F32EqualsTheHardwareCast) {
  for (const double value : assorted(1000000)) {
    const float cast = static_cast<float>(value);
    ASSERT_TRUE(same(round_to(DType::f32, value), static_cast<double>(cast))) << std::hexfloat << value;
    if (!std::isnan(value)) {
      ASSERT_EQ(encode_float(DType::f32, value), std::bit_cast<uint32_t>(cast)) << value;
    }
    ASSERT_TRUE(same(decode_float(DType::f32, std::bit_cast<uint32_t>(cast)), static_cast<double>(cast)));
  }
}

TEST(DTypeRounding, F32NeighboursAreAdjacentFloats) {
  const FloatFormat& format = float_format(DType::f32);
  for (const double value : assorted(200000)) {
    if (std::isnan(value) || std::isinf(value)) continue;
    const Neighbours n = neighbours(format, value);
    ASSERT_LE(n.below, value);
    ASSERT_GE(n.above, value);
    ASSERT_EQ(static_cast<double>(static_cast<float>(n.below)), n.below);
    ASSERT_EQ(static_cast<double>(static_cast<float>(n.above)), n.above);
    if (n.below == value) {
      ASSERT_EQ(n.above, value);
    } else {
      ASSERT_EQ(std::nextafterf(static_cast<float>(n.below), std::numeric_limits<float>::infinity()),
                static_cast<float>(n.above))
          << std::hexfloat << value;
    }
  }
}

// The vector loops have tails and two instruction sets; the scalar path is held against the oracle above.
TEST(DTypeRounding, ArraysEqualScalarsAtEveryLengthAndAlignment) {
  const std::vector<double> values = assorted(4100);
  for (const DType dtype :
       {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const std::size_t size = size_of(dtype);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{17},
                                    std::size_t{1023}, std::size_t{1024}, std::size_t{1025}, values.size()}) {
      std::vector<std::byte> raw(count * size + 2, std::byte{0x5a});
      encode_floats(dtype, values.data(), raw.data() + 1, count);
      std::vector<double> back(count);
      decode_floats(dtype, raw.data() + 1, back.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(same(back[i], round_to(dtype, values[i])))
            << name_of(dtype) << " " << std::hexfloat << values[i];
      }
      ASSERT_EQ(raw.front(), std::byte{0x5a});
      ASSERT_EQ(raw.back(), std::byte{0x5a});
    }
  }
}

TEST(DTypeRounding, ComplexElementsAreTwoDoubles) {
  const std::vector<double> values{1.0 + 0x1p-40, -2.5, 1e300, -0.0};
  std::vector<float> raw(4);
  encode_floats(DType::c64, values.data(), raw.data(), 2);
  EXPECT_EQ(raw[0], 1.0f);
  EXPECT_EQ(raw[1], -2.5f);
  EXPECT_TRUE(std::isinf(raw[2]));
  EXPECT_TRUE(std::signbit(raw[3]));
  std::vector<double> back(4);
  decode_floats(DType::c64, raw.data(), back.data(), 2);
  EXPECT_EQ(back[1], -2.5);
  EXPECT_THROW(encode_float(DType::c64, 1.0), Error);
  EXPECT_THROW(decode_float(DType::i32, 1), Error);
}

TEST(DTypeRounding, F64IsKeptAndSaturatesOnlyOnRequest) {
  const FloatFormat& format = float_format(DType::f64);
  EXPECT_TRUE(same(round_to(DType::f64, 0x1.123456789abcdp-1074), 0x1p-1074));
  EXPECT_TRUE(same(round_to(DType::f64, -inf), -inf));
  EXPECT_EQ(round_to(format, -inf, Overflow::saturate), -std::numeric_limits<double>::max());
  EXPECT_EQ(encode_float(DType::f64, 1.5), std::bit_cast<uint64_t>(1.5));
}

// tf32 is an accumulator's or operand's format, never a tensor's.
TEST(DTypeRounding, RoundsToFormatsThatCallersMakeUp) {
  const FloatFormat tf32{11, 127, -126, true, 0x1.ffcp127};
  EXPECT_EQ(round_to(tf32, 1.0 + 0x1p-11), 1.0);
  EXPECT_EQ(round_to(tf32, 1.0 + 0x1p-11 + 0x1p-50), 1.0 + 0x1p-10);
  EXPECT_EQ(round_to(tf32, 0x1p-137), 0.0);
  EXPECT_EQ(round_to(tf32, 0x1.8p-137), 0x1p-136);
  EXPECT_EQ(neighbours(tf32, 1.0001).above, 1.0 + 0x1p-10);
}

}  // namespace
}  // namespace assay
