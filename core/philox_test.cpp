#include "core/philox.h"

#include <vector>

#include <gtest/gtest.h>
#include "core/error.h"

namespace assay {
namespace {

// Random123's kat_vectors, philox4x32 with 10 rounds.
TEST(Philox, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32_10({f, f, f, f}, {f, f}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The rest holds the two sides of sweeps/export/weights.md, "Vectors", together.
TEST(Philox, HashesNamesWithFnv1a) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(fnv1a64("\xc3\xa9"), 0x0ac21707b7181e01u);  // e with acute accent: two bytes above 127
  EXPECT_EQ(key_of_name("model.norm.weight"), (PhiloxKey{0xd11604e4, 0xd6d6e5af}));
  EXPECT_EQ(key_of_name("input:input_ids"), (PhiloxKey{0xa214bb7c, 0xa3f55163}));
}

TEST(Philox, DrawsTheWordsOfTheSpecification) {
  const PhiloxKey key = key_of_name("model.norm.weight");
  const std::vector<uint32_t> words{0x338cad38, 0xb4fc391f, 0x84283f0a, 0x0e4f9581, 0x24dc05a5,
                                    0x6a4d6712, 0xc102e705, 0xc9649b39, 0x6476dcc4};
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(draw_word(key, 0, i), words[i]) << i;
  const std::vector<uint32_t> seeded{0x8d917dad, 0xfd408656, 0x3f013009, 0xd69e6781};
  for (std::size_t i = 0; i < seeded.size(); ++i)
    EXPECT_EQ(draw_word(key, (uint64_t{1} << 32) + 7, i), seeded[i]) << i;
  // Beyond 2^34 elements the second counter word counts on.
  EXPECT_EQ(draw_word(key, 0, (uint64_t{1} << 34) + 2), philox4x32_10({0, 1, 0, 0}, key)[2]);
}

TEST(Philox, DrawsUniformNumbers) {
  const PhiloxKey key = key_of_name("w");
  const std::vector<float> drawn{-0x1.81973ep-3f, 0x1.844312p-4f, -0x1.43351cp-3f, -0x1.9e35e0p-4f,
                                 -0x1.211b9cp-4f};
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_EQ(static_cast<float>(0.21649169921875 * draw_symmetric(key, 0, i)), drawn[i]) << i;
  }
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const double x = draw_symmetric(key, 3, i);
    EXPECT_GE(x, -1.0);
    EXPECT_LT(x, 1.0);
    sum += x;
  }
  EXPECT_LT(sum * sum, 25 * 10000.0 / 3);  // five standard deviations; the draw is fixed
}

TEST(Philox, DrawsIntegers) {
  const PhiloxKey key = key_of_name("input:input_ids");
  const std::vector<int64_t> seed0{94, 158, 15, 1, 78, 47, 211, 254};
  const std::vector<int64_t> seed1{28, 149, 74, 137, 218, 172, 211, 110};
  const std::vector<int64_t> negative{0, 3, -3, -3, 0, -2, 5, 6};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(draw_integer(key, 0, i, 0, 256), seed0[i]) << i;
    EXPECT_EQ(draw_integer(key, 1, i, 0, 256), seed1[i]) << i;
    EXPECT_EQ(draw_integer(key, 0, i, -3, 7), negative[i]) << i;
  }
  EXPECT_EQ(draw_integer(key, 0, 1, 5, 6), 5);
  const int64_t wide = int64_t{1} << 32;
  EXPECT_EQ(draw_integer(key, 0, 1, 0, wide), draw_word(key, 0, 1));
  EXPECT_EQ(draw_integer(key, 0, 1, INT64_MAX - wide, INT64_MAX), INT64_MAX - wide + draw_word(key, 0, 1));
  EXPECT_THROW(draw_integer(key, 0, 0, 0, 0), Error);
  EXPECT_THROW(draw_integer(key, 0, 0, 1, 0), Error);
  EXPECT_THROW(draw_integer(key, 0, 0, 0, wide + 1), Error);
  EXPECT_THROW(draw_integer(key, 0, 0, INT64_MIN, INT64_MAX), Error);
}

TEST(Philox, BlocksDrawnAtOnceAreThoseDrawnAlone) {
  const uint64_t first = (uint64_t{1} << 32) - 5;  // the counter's words carry
  std::array<uint32_t, 4 * kPhiloxBlocks> words{};
  philox_blocks(0x0123456789abcdef, first, 7, 9, words.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const uint64_t counter = first + i / 4;
    const PhiloxBlock block =
        philox4x32_10({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 7, 9},
                      {0x89abcdef, 0x01234567});
    ASSERT_EQ(words[i], block[i % 4]) << i;
  }
}

}  // namespace
}  // namespace assay
