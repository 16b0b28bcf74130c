#include <gtest/gtest.h>

#include "core/error.h"
#include "core/io/model.h"

namespace assay {
namespace {

std::vector<int64_t> integers(const char* stream, uint64_t seed, int64_t low, int64_t high, int64_t count) {
  return materialise({DType::i64, {count}, IntegerDraw{low, high}}, stream, seed).to_ints();
}

// The vectors of sweeps/export/weights.md.
TEST(Materialise, DrawsTheSpecifiedUniforms) {
  const std::vector<double> norm{0x1.85abf8p-1, 0x1.2a640ap+0, 0x1.035372p+0,
                                 0x1.4a1616p-1, 0x1.6e2a8ep-1, 0x1.dd481ap-1};
  EXPECT_EQ(
      materialise({DType::f32, {2, 3}, UniformDraw{1, 0.4000244140625}}, "model.norm.weight", 0).to_doubles(),
      norm);
  const std::vector<double> w{-0x1.81973ep-3, 0x1.844312p-4, -0x1.43351cp-3, -0x1.9e35e0p-4, -0x1.211b9cp-4};
  EXPECT_EQ(materialise({DType::f32, {5}, UniformDraw{0, 0.21649169921875}}, "w", 0).to_doubles(), w);
}

TEST(Materialise, DrawsTheSpecifiedIntegers) {
  EXPECT_EQ(integers("input:input_ids", 0, 0, 256, 8),
            (std::vector<int64_t>{94, 158, 15, 1, 78, 47, 211, 254}));
  EXPECT_EQ(integers("input:input_ids", 1, 0, 256, 8),
            (std::vector<int64_t>{28, 149, 74, 137, 218, 172, 211, 110}));
  EXPECT_EQ(integers("input:input_ids", 0, -3, 7, 8), (std::vector<int64_t>{0, 3, -3, -3, 0, -2, 5, 6}));
}

TEST(Materialise, DoesNotDependOnLength) {
  const auto all = integers("x", 3, 0, int64_t{1} << 32, 10'001);
  for (const int64_t count : {1, 3, 4, 5, 4096, 4097, 10'000}) {
    const auto head = integers("x", 3, 0, int64_t{1} << 32, count);
    EXPECT_TRUE(std::equal(head.begin(), head.end(), all.begin())) << count;
  }
  const std::vector<double> f64 = materialise({DType::f64, {5000}, UniformDraw{0.5, 2}}, "x", 0).to_doubles();
  const std::vector<double> bf16 =
      materialise({DType::bf16, {5000}, UniformDraw{0.5, 2}}, "x", 0).to_doubles();
  for (std::size_t i = 0; i < f64.size(); ++i) EXPECT_EQ(bf16[i], round_to(DType::bf16, f64[i])) << i;
}

TEST(Materialise, DrawsOtherDtypes) {
  const Tensor mask = materialise({DType::boolean, {100}, IntegerDraw{0, 2}}, "m", 0);
  int64_t sum = 0;
  for (const int64_t bit : mask.to_ints()) sum += bit;
  EXPECT_GT(sum, 20);
  EXPECT_LT(sum, 80);
  EXPECT_EQ(materialise({DType::c64, {3}, UniformDraw{0, 1}}, "c", 0).to_doubles(),
            materialise({DType::f32, {6}, UniformDraw{0, 1}}, "c", 0).to_doubles());
  EXPECT_EQ(materialise({DType::f32, {8}, IntegerDraw{-3, 7}}, "input:input_ids", 0).to_doubles()[6], 5);
  EXPECT_EQ(materialise({DType::f32, {0, 4}, UniformDraw{0, 1}}, "c", 0).count(), 0);
}

TEST(Materialise, RefusesImpossibleDraws) {
  EXPECT_THROW(materialise({DType::i64, {3}, UniformDraw{0, 1}}, "x", 0), Error);
  EXPECT_THROW(materialise({DType::i64, {3}, IntegerDraw{3, 3}}, "x", 0), Error);
  EXPECT_THROW(materialise({DType::i64, {3}, IntegerDraw{0, (int64_t{1} << 32) + 1}}, "x", 0), Error);
  EXPECT_THROW(materialise({DType::c64, {3}, IntegerDraw{0, 2}}, "x", 0), Error);
}

}  // namespace
}  // namespace assay
