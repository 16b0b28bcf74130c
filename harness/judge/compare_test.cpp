#include "harness/judge/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor f32(const std::vector<double>& values) {
  return Tensor::from_doubles(DType::f32, {static_cast<int64_t>(values.size())}, values);
}

reference::Wide wide(DType dtype, const std::vector<double>& values) {
  reference::Wide w;
  w.meta = {dtype, {static_cast<int64_t>(values.size())}};
  w.real = values;
  return w;
}

CompareRule rule() {
  CompareRule r;
  r.output = "0";
  return r;
}

TEST(CompareExact, EqualBitsAndNanAreEqual) {
  const Tensor t = f32({1, -0.0, kNan, kInf, -kInf});
  const Comparison c = compare_exact(t, t.clone(), rule());
  EXPECT_TRUE(c.ok());
  EXPECT_EQ(c.compared, 5);
  EXPECT_EQ(c.margin, 0);
}

TEST(CompareExact, AnyErrorHasAnInfiniteMargin) {
  const Comparison c = compare_exact(f32({1, 2}), f32({1, std::nextafter(2.0F, 3.0F)}), rule());
  EXPECT_EQ(c.beyond, 1);
  EXPECT_EQ(c.margin, kInf);
  EXPECT_EQ(c.worst->index, (std::vector<int64_t>{1}));
  EXPECT_NEAR(*c.worst->ulp, 1, 1e-6);
  EXPECT_EQ(finding_of(c).reason, "element_bound");
}

TEST(CompareExact, SignOfZeroCountsUnlessTheRuleSaysOtherwise) {
  CompareRule r = rule();
  EXPECT_EQ(finding_of(compare_exact(f32({0.0}), f32({-0.0}), r)).reason, "special_value");
  r.zero_sign = false;
  EXPECT_TRUE(compare_exact(f32({0.0}), f32({-0.0}), r).ok());
}

TEST(CompareExact, FlushingOnlyWhereAllowed) {
  CompareRule r = rule();
  EXPECT_FALSE(compare_exact(f32({0.0}), f32({1e-40}), r).ok());
  r.flush = true;
  EXPECT_TRUE(compare_exact(f32({0.0}), f32({1e-40}), r).ok());
  EXPECT_FALSE(compare_exact(f32({0.0}), f32({1e-37}), r).ok());
}

TEST(CompareExact, UndefinedElementsAcceptAnyBits) {
  const std::vector<uint8_t> special{reference::special_undefined, 0};
  CompareRule r = rule();
  r.special = &special;
  const Tensor want = Tensor::from_ints(DType::i32, {2}, {7, 7});
  EXPECT_TRUE(compare_exact(Tensor::from_ints(DType::i32, {2}, {-1, 7}), want, r).ok());
  EXPECT_FALSE(compare_exact(Tensor::from_ints(DType::i32, {2}, {7, -1}), want, r).ok());
}

TEST(CompareExact, BoolsAreBytesOfZeroOrOne) {
  const std::vector<uint8_t> bytes{0, 1, 255}, right{0, 1, 1};
  const Tensor want = Tensor::from_bytes(DType::boolean, {3}, right.data(), right.size());
  EXPECT_TRUE(compare_exact(want.clone(), want, rule()).ok());
  const Comparison c = compare_exact(Tensor::from_bytes(DType::boolean, {3}, bytes.data(), 3), want, rule());
  EXPECT_EQ(c.beyond, 1);
  ASSERT_TRUE(c.worst.has_value());
  EXPECT_EQ(c.worst->got, 255);
  EXPECT_TRUE(holds_values(want) && holds_values(f32({kNan})) && holds_values(Tensor()));
  EXPECT_FALSE(holds_values(Tensor::from_bytes(DType::boolean, {3}, bytes.data(), 3)));
}

TEST(CompareBounded, MarginIsErrorOverBound) {
  const Comparison c = compare_bounded(f32({1.5, 2}), wide(DType::f32, {1, 2}), {2, 0}, rule());
  EXPECT_TRUE(c.ok());
  EXPECT_DOUBLE_EQ(c.margin, 0.25);
  EXPECT_EQ(c.worst->index, (std::vector<int64_t>{0}));
}

TEST(CompareBounded, ABoundOfZeroAllowsNoError) {
  EXPECT_TRUE(compare_bounded(f32({1}), wide(DType::f32, {1}), {0}, rule()).ok());
  const Comparison c = compare_bounded(f32({1}), wide(DType::f32, {1 + 1e-12}), {0}, rule());
  EXPECT_EQ(c.margin, kInf);
  EXPECT_EQ(c.beyond, 1);
}

TEST(CompareBounded, NanMustMatchNan) {
  EXPECT_EQ(finding_of(compare_bounded(f32({kNan}), wide(DType::f32, {1}), {1e30}, rule())).status,
            Status::nan_mismatch);
  EXPECT_EQ(finding_of(compare_bounded(f32({1}), wide(DType::f32, {kNan}), {1}, rule())).status,
            Status::nan_mismatch);
  EXPECT_TRUE(compare_bounded(f32({kNan}), wide(DType::f32, {kNan}), {0}, rule()).ok());
}

TEST(CompareBounded, InfinitiesMustMatch) {
  EXPECT_TRUE(compare_bounded(f32({kInf}), wide(DType::f32, {kInf}), {0}, rule()).ok());
  EXPECT_EQ(finding_of(compare_bounded(f32({-kInf}), wide(DType::f32, {kInf}), {0}, rule())).reason,
            "special_value");
  EXPECT_EQ(finding_of(compare_bounded(f32({kInf}), wide(DType::f32, {1}), {0.5}, rule())).reason,
            "special_value");
  EXPECT_EQ(finding_of(compare_bounded(f32({3e38}), wide(DType::f32, {kInf}), {0}, rule())).reason,
            "special_value");
}

TEST(CompareBounded, AValueWhoseBoundReachesPastTheMaximumMayOverflow) {
  const double below = 3.4028234e38;
  EXPECT_TRUE(compare_bounded(f32({kInf}), wide(DType::f32, {below}), {1e36}, rule()).ok());
  // The maximum itself, exactly computed, rounds to itself: its Bound holds no more than the last rounding.
  const double max = std::numeric_limits<float>::max();
  EXPECT_FALSE(compare_bounded(f32({kInf}), wide(DType::f32, {max}), {max * 0x1p-24}, rule()).ok());
}

TEST(CompareBounded, OverflowMarkedByTheModel) {
  const std::vector<uint8_t> special{reference::special_overflow};
  CompareRule r = rule();
  r.special = &special;
  EXPECT_TRUE(compare_bounded(f32({3.4e38}), wide(DType::f32, {kInf}), {0}, r).ok());
  EXPECT_FALSE(compare_bounded(f32({1}), wide(DType::f32, {kInf}), {0}, r).ok());
  EXPECT_FALSE(compare_bounded(f32({-3.4e38}), wide(DType::f32, {kInf}), {0}, r).ok());
}

TEST(CompareBounded, EarlyOverflowAdmitsInfinityAndNanButNoOtherError) {
  const std::vector<uint8_t> special{reference::special_early_overflow};
  CompareRule r = rule();
  EXPECT_FALSE(compare_bounded(f32({kInf}), wide(DType::f32, {1e38}), {1e30}, r).ok());
  r.special = &special;
  for (const double got : {kInf, -kInf, kNan, 1e38}) {
    EXPECT_TRUE(compare_bounded(f32({got}), wide(DType::f32, {1e38}), {1e32}, r).ok()) << got;
  }
  EXPECT_FALSE(compare_bounded(f32({2e38}), wide(DType::f32, {1e38}), {1e32}, r).ok());
  EXPECT_FALSE(compare_bounded(f32({0}), wide(DType::f32, {1e38}), {1e32}, r).ok());
}

TEST(CompareBounded, ANanBoundIsNoModel) {
  const Comparison c = compare_bounded(f32({5}), wide(DType::f32, {1}), {kNan}, rule());
  EXPECT_EQ(c.unmodelled, 1);
  EXPECT_TRUE(c.ok());
}

TEST(CompareBounded, WorstNamesWhatTheFindingNames) {
  const Comparison c = compare_bounded(f32({9, kNan, 1}), wide(DType::f32, {1, 1, 1}), {0, 1, 1}, rule());
  EXPECT_EQ(finding_of(c).status, Status::nan_mismatch);
  EXPECT_EQ(c.worst->index, (std::vector<int64_t>{1}));
  EXPECT_EQ(c.margin, kInf);
}

TEST(CompareMeta, NamesWhatDiffers) {
  EXPECT_EQ(compare_meta(Tensor(), DType::f32, {2}, "0")->reason, "missing_output");
  EXPECT_EQ(compare_meta(Tensor(DType::f64, {2}), DType::f32, {2}, "0")->reason, "dtype_mismatch");
  EXPECT_EQ(compare_meta(Tensor(DType::f32, {2, 1}), DType::f32, {2}, "0")->reason, "shape_mismatch");
  EXPECT_FALSE(compare_meta(Tensor(DType::f32, {0, 3}), DType::f32, {0, 3}, "0").has_value());
}

TEST(Compare, UlpsOfSubnormalsAreOfTheSmallestNormal) {
  EXPECT_DOUBLE_EQ(*ulp_distance(DType::f32, 0, std::ldexp(1.0, -149)), 1);
  EXPECT_DOUBLE_EQ(*ulp_distance(DType::bf16, 1.0078125, 1), 1);
  EXPECT_FALSE(ulp_distance(DType::i32, 1, 2).has_value());
  EXPECT_FALSE(ulp_distance(DType::f32, kInf, 2).has_value());
}

TEST(Compare, IndicesOfComplexNumbersNameThePart) {
  EXPECT_EQ(index_of({2, 3}, 5, false), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(index_of({2, 3}, 11, true), (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(index_of({}, 0, false), (std::vector<int64_t>{}));
}

TEST(Compare, MergeKeepsTheWorseTensor) {
  Comparison a = compare_bounded(f32({1.5}), wide(DType::f32, {1}), {1}, rule());
  CompareRule other = rule();
  other.output = "1";
  merge(a, compare_bounded(f32({3}), wide(DType::f32, {1}), {1}, other));
  EXPECT_EQ(a.worst->output, "1");
  EXPECT_DOUBLE_EQ(a.margin, 2);
  EXPECT_EQ(a.compared, 2);
}

}  // namespace
}  // namespace assay
