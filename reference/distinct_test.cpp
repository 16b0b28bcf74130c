#include "reference/distinct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

constexpr std::size_t kElements = 8192, kPiece = 1024;

// Some hundred numbers of the dtype over and over, special ones among them.
Wide repeating(DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values{0.0, -0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 1e-7};
  for (std::size_t i = values.size(); i < kElements; ++i) {
    values.push_back((static_cast<double>(i * i % 509) - 250) / 64);
  }
  const Shape shape{static_cast<int64_t>(kElements)};
  return Wide::from(Tensor::from_doubles(dtype, shape, values));
}

bool same_bits(const std::vector<double>& whole, const std::vector<double>& part, std::size_t first) {
  if (part.empty()) return whole.empty();
  return std::equal(
      part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first),
      [](double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); });
}

TEST(Distinct, LargeTensorsHaveTheBitsOfSmallOnes) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Wide whole = repeating(dtype);
    for (const std::string_view op : functions_of_one_number()) {
      SCOPED_TRACE(std::string(op) + " " + std::string(name_of(dtype)));
      const OpUnderTest large(std::string(op), {{"self", whole}});
      ASSERT_TRUE(distinct_call(large.call(), large.inputs()));
      const Wide value = large.value().at(0);
      const BoundedWide bounded = large.bounded(f32_precision()).at(0);
      EXPECT_EQ(value.meta, large.call().output(0));
      EXPECT_EQ(bounded.value.meta, large.call().output(0));
      for (std::size_t first = 0; first < kElements; first += kPiece) {
        const auto begin = whole.real.begin() + static_cast<std::ptrdiff_t>(first);
        const OpUnderTest piece(
            std::string(op), {{"self", reals(dtype, {kPiece}, std::vector<double>(begin, begin + kPiece))}});
        ASSERT_FALSE(distinct_call(piece.call(), piece.inputs()));
        const BoundedWide part = piece.bounded(f32_precision()).at(0);
        EXPECT_TRUE(same_bits(value.real, piece.value().at(0).real, first));
        EXPECT_TRUE(same_bits(bounded.value.real, part.value.real, first));
        EXPECT_TRUE(same_bits(bounded.bound, part.bound, first));
        EXPECT_TRUE(same_bits(bounded.sigma, part.sigma, first));
        for (std::size_t i = 0; i < kPiece; ++i) {
          const auto special = [](const BoundedWide& of, std::size_t at) {
            return of.special.empty() ? 0 : of.special[at];
          };
          ASSERT_EQ(special(bounded, first + i), special(part, i));
        }
      }
    }
  }
}

TEST(Distinct, OnlyNumbersOfTheDtypeAreLookedUp) {
  Wide x = repeating(DType::bf16);
  x.real[100] += 1e-9;  // as an earlier node left it, unrounded
  const OpUnderTest exp("aten::exp.default", {{"self", x}});
  EXPECT_FALSE(distinct_call(exp.call(), exp.inputs()));
  const OpUnderTest relu("aten::relu.default", {{"self", repeating(DType::bf16)}});
  EXPECT_FALSE(distinct_call(relu.call(), relu.inputs()));
  const OpUnderTest singles("aten::exp.default", {{"self", repeating(DType::f32)}});
  EXPECT_FALSE(distinct_call(singles.call(), singles.inputs()));
}

}  // namespace
}  // namespace assay::reference
