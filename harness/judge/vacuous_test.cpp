#include "harness/judge/vacuous.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace assay {
namespace {

reference::Wide wide(const std::vector<double>& values) {
  reference::Wide w;
  w.meta = {DType::f32, {static_cast<int64_t>(values.size())}};
  w.real = values;
  return w;
}

Tensor filled(DType dtype, int64_t count, unsigned char byte) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * size_of(dtype), byte);
  return Tensor::from_bytes(dtype, {count}, bytes.data(), bytes.size());
}

TEST(Stale, OneByteValueAllOver) {
  EXPECT_TRUE(is_filled_with_one_byte(filled(DType::f32, 4, 0xff)));
  EXPECT_TRUE(is_filled_with_one_byte(filled(DType::bf16, 8, 0xc7)));
  EXPECT_FALSE(is_filled_with_one_byte(filled(DType::f32, 4, 0)));
  EXPECT_FALSE(is_filled_with_one_byte(filled(DType::u8, 3, 0xff))) << "three bytes may be equal by chance";
  EXPECT_TRUE(is_filled_with_one_byte(filled(DType::boolean, 1, 0xff))) << "no value of a bool";
  EXPECT_FALSE(is_filled_with_one_byte(filled(DType::boolean, 64, 1)));
  EXPECT_FALSE(is_filled_with_one_byte(Tensor(DType::f32, {0})));
}

TEST(Stale, NanOfAllOnesIsRightWhereNanIsWanted) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor ones = filled(DType::f32, 4, 0xff);
  EXPECT_FALSE(is_unwritten(ones, wide({nan, nan, nan, nan})));
  EXPECT_TRUE(is_unwritten(ones, wide({nan, nan, 1, nan})));
  EXPECT_TRUE(is_unwritten(filled(DType::f32, 4, 0xc7), wide({nan, nan, nan, nan}))) << "a number, not NaN";
}

TEST(Stale, CountsElementsOfAPartialResult) {
  std::vector<double> values(8, 1.5);
  Tensor tensor = Tensor::from_doubles(DType::f32, {8}, values);
  std::memset(tensor.mutable_data() + 5 * 4, 0xff, 3 * 4);
  EXPECT_EQ(count_filled_elements(tensor), 3);
}

TEST(AllZero, IsAFailureUnlessTheValuesAreWithinTheirBoundOfZero) {
  const Tensor zeros(DType::f32, {4});
  EXPECT_TRUE(is_all_zero_unlike(zeros, wide({1, 0, 0, 0}), {0.1, 0, 0, 0}));
  EXPECT_FALSE(is_all_zero_unlike(zeros, wide({0, 0, 0, 0}), {0, 0, 0, 0}));
  EXPECT_FALSE(is_all_zero_unlike(zeros, wide({1e-9, 0, 0, 0}), {1e-8, 0, 0, 0}));
  EXPECT_FALSE(is_all_zero_unlike(zeros, wide({1e-60, 0, 0, 0}), {0, 0, 0, 0})) << "rounds to zero";
  const Tensor many(DType::f32, {64});
  EXPECT_TRUE(is_all_zero_unlike(many, wide(std::vector<double>(64, 5e-9)), std::vector<double>(64, 1e-8)));
  EXPECT_FALSE(is_all_zero_unlike(many, wide(std::vector<double>(64, 1e-17)), std::vector<double>(64, 1e-8)))
      << "noise of the reference around a true 0";
  EXPECT_FALSE(is_all_zero_unlike(Tensor::from_doubles(DType::f32, {2}, {0, 1}), wide({1, 1}), {0, 0}));
}

TEST(Undefined, SaysNothing) {
  reference::BoundedWide output;
  output.value = wide({1, 2, 3, 4});
  EXPECT_FALSE(is_undefined(output));
  output.special = {1, 1, 1, 0};
  EXPECT_FALSE(is_undefined(output));
  const Tensor zeros(DType::f32, {4});
  EXPECT_TRUE(is_all_zero_unlike(zeros, output.value, {}, output.special)) << "the last element is defined";
  output.special[3] = reference::special_undefined;
  EXPECT_TRUE(is_undefined(output));
  EXPECT_FALSE(is_all_zero_unlike(zeros, output.value, {}, output.special));
  reference::Wide counts;
  counts.meta = {DType::i64, {2}};
  counts.integer = {2, 3};
  const Tensor none(DType::i64, {2});
  EXPECT_TRUE(is_all_zero_unlike(none, counts, {}, {0, 1}));
  EXPECT_FALSE(is_all_zero_unlike(none, counts, {}, {1, 1}));
}

TEST(ReferenceNan, NothingToCompare) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const reference::Wide all = wide({nan, nan}), some = wide({nan, 1});
  EXPECT_TRUE(is_reference_nan({&all}, {Tensor(DType::f32, {2})}));
  EXPECT_FALSE(is_reference_nan({&all, &some}, {Tensor(DType::f32, {2})}));
  EXPECT_FALSE(is_reference_nan({&all}, {Tensor::from_doubles(DType::f32, {2}, {nan, 0})})) << "NaN went in";
  EXPECT_FALSE(is_reference_nan({}, {}));
}

}  // namespace
}  // namespace assay
