// Casts against ml_dtypes: digests of what it makes of 3.1 million f32 numbers and of every pattern of the
// narrow floats (core/testdata/cast_digests.py), for core's conversion and for the operator.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

uint64_t fnv1a(const std::vector<std::byte>& data) {
  uint64_t value = 0xcbf29ce484222325;
  for (const std::byte byte : data) value = (value ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  return value;
}

// Every NaN is all ones: its sign and payload are nobody's promise.
uint64_t digest(DType dtype, std::vector<std::byte> bits) {
  const std::size_t size = size_of(dtype);
  std::vector<double> values(bits.size() / size);
  decode_floats(dtype, bits.data(), values.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) std::fill_n(bits.data() + i * size, size, std::byte{0xff});
  }
  return fnv1a(bits);
}

std::vector<std::byte> encoded(DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bits(values.size() * size_of(dtype));
  encode_floats(dtype, values.data(), bits.data(), values.size());
  return bits;
}

// The f32 numbers of a group, as cast_digests.py lists them.
std::vector<double> singles_of(uint32_t group) {
  std::set<uint32_t> lows;
  for (uint32_t k = 0; k < 8; ++k) {
    for (const uint32_t d : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0xffffU})
      lows.insert((k * 0x2000 + d) & 0xffff);
  }
  std::vector<double> values;
  for (uint32_t high = 256 * group; high < 256 * group + 256; ++high) {
    for (const uint32_t low : lows) values.push_back(std::bit_cast<float>(high << 16 | low));
  }
  return values;
}

std::vector<double> patterns_of(DType dtype, uint32_t group) {
  std::vector<double> values;
  for (uint32_t bits = 256 * group; bits < 256 * group + 256; ++bits)
    values.push_back(decode_float(dtype, bits));
  return values;
}

std::vector<double> cast_by_operator(DType from, DType to, const std::vector<double>& values) {
  const OpUnderTest cast("aten::_to_copy.default",
                         {{"self", reals(from, {static_cast<int64_t>(values.size())}, values)}},
                         {{"dtype", DTypeArg{to}}});
  return cast.value().at(0).rounded().to_doubles();
}

TEST(Casts, AgreeWithMlDtypes) {
  std::ifstream file(ASSAY_SOURCE_DIR "/core/testdata/cast_digests.txt");
  std::size_t read = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string way, name;
    uint32_t group = 0;
    uint64_t expected = 0;
    fields >> way >> name >> group >> std::hex >> expected;
    ASSERT_FALSE(fields.fail()) << line;
    const DType narrow = parse_dtype(name).value();
    const bool widens = way == "wide";
    const DType from = widens ? narrow : DType::f32, to = widens ? DType::f32 : narrow;
    const std::vector<double> values = widens ? patterns_of(narrow, group) : singles_of(group);
    ASSERT_EQ(digest(to, encoded(to, values)), expected) << line;
    ASSERT_EQ(digest(to, encoded(to, cast_by_operator(from, to, values))), expected) << line;
    ++read;
  }
  EXPECT_EQ(read, 5 * 256 + 2 * 256 + 3);
}

}  // namespace
}  // namespace assay::reference
