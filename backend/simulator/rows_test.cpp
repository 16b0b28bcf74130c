#include "backend/simulator/rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace assay::backend {
namespace {

constexpr DType kFloats[] = {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3, DType::f16, DType::bf16};

TEST(RowsTest, LoadsEveryBitPatternAsCoreDoes) {
  for (DType dtype : kFloats) {
    const int n = size_of(dtype) == 1 ? 256 : 65536;
    std::vector<std::byte> bytes(static_cast<std::size_t>(n) * size_of(dtype));
    for (int i = 0; i < n; ++i)
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size_of(dtype), &i, size_of(dtype));
    std::vector<float> got(static_cast<std::size_t>(n));
    Row(sbuf_tile(dtype, 0, 1, 0, {n})).load(bytes.data(), got.data());
    for (int i = 0; i < n; ++i) {
      const double want = decode_float(dtype, static_cast<uint64_t>(i));
      const auto value = static_cast<double>(got[static_cast<std::size_t>(i)]);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(value)
                                   : value == want && std::signbit(value) == std::signbit(want))
          << name_of(dtype) << " bits " << i;
    }
  }
}

// Random fp32 values, and those around every boundary of the format.
TEST(RowsTest, StoresRoundAsCoreDoes) {
  std::mt19937_64 random(5);
  for (DType dtype : kFloats) {
    std::vector<float> values;
    for (int i = 0; i < 40000; ++i) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    for (int i = 0; i < 65536; ++i) {
      const auto value = static_cast<float>(
          decode_float(dtype, static_cast<uint64_t>(i) % (size_of(dtype) == 1 ? 256 : 65536)));
      const auto bits = std::bit_cast<uint32_t>(value);
      const uint32_t half = dtype == DType::bf16 ? 1u << 15 : dtype == DType::f16 ? 1u << 12 : 1u << 19;
      for (uint32_t d : {half - 1, half, half + 1}) values.push_back(std::bit_cast<float>(bits + d));
    }
    const auto n = static_cast<int64_t>(values.size());
    std::vector<std::byte> got(values.size() * size_of(dtype));
    Row(sbuf_tile(dtype, 0, 1, 0, {n})).store(got.data(), values.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, got.data() + i * size_of(dtype), size_of(dtype));
      const uint64_t want = encode_float(dtype, static_cast<double>(values[i]));
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(decode_float(dtype, bits)));
      } else {
        ASSERT_EQ(bits, want) << name_of(dtype) << " " << values[i];
      }
    }
  }
}

TEST(RowsTest, IntegersTruncateSaturateAndWrap) {
  const float in[] = {1.9f, -1.9f, 300.0f, -300.0f, NAN, INFINITY};
  int8_t out[6];
  Row(sbuf_tile(DType::i8, 0, 1, 0, {6})).store(reinterpret_cast<std::byte*>(out), in);
  EXPECT_EQ(std::vector<int>(out, out + 6), (std::vector<int>{1, -1, 127, -128, 0, 127}));
  int64_t wide[2];
  const float large[] = {1e30f, -1e30f};
  Row(sbuf_tile(DType::i64, 0, 1, 0, {2})).store(reinterpret_cast<std::byte*>(wide), large);
  EXPECT_EQ(wide[0], INT64_MAX);
  EXPECT_EQ(wide[1], INT64_MIN);
  const int64_t integers[] = {257, -1};
  uint8_t narrow[2];
  Row(sbuf_tile(DType::u8, 0, 1, 0, {2})).store(reinterpret_cast<std::byte*>(narrow), integers);
  EXPECT_EQ(narrow[0], 1);
  EXPECT_EQ(narrow[1], 255);
}

TEST(RowsTest, StridedPatternsVisitElementsInRowMajorOrder) {
  std::vector<float> memory(60);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const AccessPattern tile = sbuf_tile(DType::f32, 0, 1, 0, {3, 4, 5});
  const auto read = [&](const AccessPattern& a) {
    std::vector<float> out(static_cast<std::size_t>(a.free_elements()));
    Row(a).load(reinterpret_cast<const std::byte*>(memory.data()), out.data());
    return out;
  };
  std::vector<float> want;
  for (int k = 0; k < 5; ++k) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 3; j >= 0; --j) want.push_back(static_cast<float>(i * 20 + j * 5 + k));
    }
  }
  EXPECT_EQ(read(tile.permuted({2, 0, 1}).slice(2, 3, 4, -1)), want);
  const std::vector<float> twice{7, 7, 12, 12};
  EXPECT_EQ(read(tile.select(0, 0).slice(0, 1, 2).slice(1, 2, 1).broadcast(1, 2)), twice);
}

TEST(RowsTest, StochasticRoundingIsUnbiasedAndRepeatable) {
  constexpr int kCount = 20000;
  const std::vector<float> values(kCount, 1.0f + 0x1p-9f);  // a quarter of the way from 1 to the next bf16
  std::vector<uint16_t> once(kCount), again(kCount);
  const StochasticRounding rounding{{1, 2}, 3, 0};
  const Row row(sbuf_tile(DType::bf16, 0, 1, 0, {kCount}));
  row.store(reinterpret_cast<std::byte*>(once.data()), values.data(), &rounding);
  row.store(reinterpret_cast<std::byte*>(again.data()), values.data(), &rounding);
  EXPECT_EQ(once, again);
  int up = 0;
  for (uint16_t bits : once) {
    ASSERT_TRUE(bits == 0x3f80 || bits == 0x3f81);
    up += bits == 0x3f81;
  }
  EXPECT_NEAR(up / static_cast<double>(kCount), 0.25, 5 * std::sqrt(0.25 * 0.75 / kCount));
}

}  // namespace
}  // namespace assay::backend
