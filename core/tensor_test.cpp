#include "core/tensor.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>
#include "core/error.h"

namespace assay {
namespace {

Tensor counting(DType dtype, Shape shape) {
  std::vector<int64_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i);
  if (is_integral(dtype)) return Tensor::from_ints(dtype, std::move(shape), values);
  return Tensor::from_doubles(dtype, std::move(shape), std::vector<double>(values.begin(), values.end()));
}

TEST(Tensor, CountsElementsWithoutOverflow) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({5, 0, 7}), 0);
  EXPECT_EQ(element_count({int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
  EXPECT_THROW(element_count({int64_t{1} << 31, int64_t{1} << 31, 2}), Error);
  EXPECT_THROW(element_count({int64_t{1} << 32, int64_t{1} << 32}), Error);  // 2^64 wraps to 0
  EXPECT_THROW(element_count({-1}), Error);
  EXPECT_THROW(element_count({-1, -1}), Error);
  EXPECT_THROW(element_count({0, -1}), Error);
  EXPECT_THROW(element_count({INT64_MAX, 0, INT64_MAX}), Error);  // whatever the order of the sizes
  EXPECT_THROW(element_count({0, INT64_MAX, INT64_MAX}), Error);
}

TEST(Tensor, HostileSizesAreErrorsAndNotAllocations) {
  EXPECT_THROW(Tensor(DType::c128, {int64_t{1} << 62}), Error);
  EXPECT_THROW(Tensor(DType::u8, {int64_t{1} << 62}), Error);
  EXPECT_THROW(Tensor(DType::f64, {int64_t{1} << 50}), Error);
  EXPECT_THROW(Storage{std::numeric_limits<std::size_t>::max()}, Error);
  EXPECT_THROW(Tensor::from_bytes(DType::f32, {int64_t{1} << 40}, "abcd", 4), Error);
  EXPECT_THROW(Tensor::from_doubles(DType::f32, {int64_t{1} << 61}, {1, 2}), Error);
  EXPECT_THROW(Tensor::from_ints(DType::i8, {3}, {1, 2}), Error);
  EXPECT_THROW(Tensor(static_cast<DType>(99), {1}), Error);
}

TEST(Tensor, NewTensorsAreZeroedAlignedAndContiguous) {
  const Tensor t(DType::bf16, {3, 5});
  EXPECT_TRUE(t.defined());
  EXPECT_EQ(t.count(), 15);
  EXPECT_EQ(t.bytes(), 30u);
  EXPECT_EQ(t.strides(), (Shape{5, 1}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
  EXPECT_EQ(t.to_doubles(), std::vector<double>(15, 0.0));
  EXPECT_EQ(t.size(-1), 5);
  EXPECT_EQ(t.size(0), 3);
  EXPECT_THROW(t.size(2), Error);
  EXPECT_THROW(t.size(-3), Error);
  const Tensor undefined;
  EXPECT_FALSE(undefined.defined());
  EXPECT_THROW(undefined.data(), Error);
  EXPECT_THROW(undefined.reshaped({1}), Error);
  EXPECT_FALSE(undefined.clone().defined());
}

TEST(Tensor, ScalarsAndEmptyTensors) {
  EXPECT_EQ(Tensor::scalar(DType::f16, 1.0 / 3).to_doubles(), std::vector<double>{0x1.554p-2});
  EXPECT_EQ(Tensor::scalar(DType::c64, 2).to_doubles(), (std::vector<double>{2, 0}));
  EXPECT_EQ(Tensor::scalar(DType::i16, -7).to_ints(), std::vector<int64_t>{-7});
  const Tensor empty(DType::i32, {4, 0, 2});
  EXPECT_EQ(empty.count(), 0);
  EXPECT_TRUE(empty.is_contiguous());
  EXPECT_TRUE(empty.to_ints().empty());
  EXPECT_TRUE(empty.clone().bitwise_equal(empty));
  EXPECT_EQ(empty.reshaped({0, 7}).shape(), (Shape{0, 7}));
  EXPECT_TRUE(Tensor::from_bytes(DType::f32, {0}, nullptr, 0).defined());
}

TEST(Tensor, ViewsReadInLogicalOrder) {
  for (const DType dtype : {DType::u8, DType::i16, DType::f32, DType::i64}) {
    const Tensor t = counting(dtype, {2, 3, 4});
    const Tensor transposed(dtype, {4, 3, 2}, {1, 4, 12}, 0, t.storage());
    EXPECT_FALSE(transposed.is_contiguous());
    EXPECT_THROW(transposed.data(), Error);
    std::vector<double> expected;
    for (int c = 0; c < 4; ++c) {
      for (int b = 0; b < 3; ++b) {
        for (int a = 0; a < 2; ++a) expected.push_back(a * 12 + b * 4 + c);
      }
    }
    EXPECT_EQ(transposed.to_doubles(), expected);
    EXPECT_EQ(transposed.clone().to_doubles(), expected);
    EXPECT_TRUE(transposed.bitwise_equal(transposed.contiguous()));
    EXPECT_EQ(transposed.reshaped({24}).to_doubles(), expected);
  }
  const Tensor t = counting(DType::i32, {6});
  EXPECT_EQ(Tensor(DType::i32, {6}, {-1}, 5, t.storage()).to_ints(),
            (std::vector<int64_t>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(Tensor(DType::i32, {2, 3}, {0, 2}, 1, t.storage()).to_ints(),
            (std::vector<int64_t>{1, 3, 5, 1, 3, 5}));
  EXPECT_EQ(Tensor(DType::i32, {2, 1, 2}, {3, INT64_MAX, 1}, 1, t.storage()).to_ints(),
            (std::vector<int64_t>{1, 2, 4, 5}));  // the stride of a dimension of size 1 is never used
  const Tensor sixteen = Tensor::from_doubles(DType::c128, {2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(Tensor(DType::c128, {2, 2}, {1, 2}, 0, sixteen.storage()).to_doubles(),
            (std::vector<double>{0, 1, 4, 5, 2, 3, 6, 7}));
}

TEST(Tensor, ViewsMustStayInsideTheirStorage) {
  const Tensor t = counting(DType::i32, {6});
  const auto view = [&](Shape shape, Shape strides, int64_t offset) {
    return Tensor(DType::i32, std::move(shape), std::move(strides), offset, t.storage());
  };
  EXPECT_NO_THROW(view({6}, {1}, 0));
  EXPECT_THROW(view({6}, {1}, 1), Error);
  EXPECT_THROW(view({7}, {1}, 0), Error);
  EXPECT_THROW(view({2}, {-1}, 0), Error);
  EXPECT_THROW(view({2}, {1}, -1), Error);
  EXPECT_THROW(view({}, {}, 6), Error);
  EXPECT_THROW(view({2}, {1, 1}, 0), Error);
  EXPECT_THROW(view({3}, {INT64_MAX}, 0), Error);
  EXPECT_THROW(view({3, 3}, {INT64_MAX, INT64_MIN}, 0), Error);
  EXPECT_THROW(view({2}, {1}, INT64_MAX), Error);
  EXPECT_THROW(view({0}, {1}, 7), Error);
  EXPECT_NO_THROW(view({0}, {1}, 6));
  EXPECT_THROW(Tensor(DType::i32, {1}, {1}, 0, nullptr), Error);
  EXPECT_THROW(Tensor(DType::f64, {6}, {1}, 0, t.storage()), Error);  // as wide elements there are three
}

TEST(Tensor, CopiesShareBytesAndClonesDoNot) {
  Tensor a = counting(DType::u8, {4});
  const Tensor b = a;
  const Tensor c = a.clone();
  const Tensor d = a.reshaped({2, 2});
  a.mutable_data()[0] = std::byte{9};
  EXPECT_EQ(b.to_ints()[0], 9);
  EXPECT_EQ(c.to_ints()[0], 0);
  EXPECT_EQ(d.to_ints()[0], 9);
  EXPECT_THROW(a.reshaped({3}), Error);
}

TEST(Tensor, BitwiseEqualitySeesSignsNansAndMetadata) {
  const Tensor zero = Tensor::scalar(DType::f32, 0.0);
  EXPECT_FALSE(zero.bitwise_equal(Tensor::scalar(DType::f32, -0.0)));
  const Tensor nan = Tensor::scalar(DType::f32, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(nan.bitwise_equal(nan.clone()));
  EXPECT_FALSE(zero.bitwise_equal(Tensor::scalar(DType::i32, 0)));
  EXPECT_FALSE(zero.bitwise_equal(zero.reshaped({1})));
  EXPECT_FALSE(zero.bitwise_equal(Tensor()));
  EXPECT_TRUE(Tensor().bitwise_equal(Tensor()));
}

TEST(Tensor, FloatsAreNotIntegers) {
  EXPECT_THROW(Tensor::scalar(DType::f32, 1).to_ints(), Error);
  EXPECT_THROW(Tensor::from_ints(DType::f32, {1}, {1}), Error);
  EXPECT_THROW(Tensor::scalar(DType::i8, 300), Error);
  EXPECT_EQ(Tensor::from_ints(DType::i8, {1}, {300}).to_ints(), std::vector<int64_t>{44});  // modulo 2^8
}

}  // namespace
}  // namespace assay
