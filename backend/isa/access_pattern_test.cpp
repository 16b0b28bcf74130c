#include "backend/isa/access_pattern.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace assay::backend {
namespace {

TEST(AccessPatternTest, TilesAreRowMajor) {
  const AccessPattern a = sbuf_tile(DType::bf16, 32, 64, 128, {3, 4});
  EXPECT_EQ(a.strides[0], 4);
  EXPECT_EQ(a.strides[1], 1);
  EXPECT_EQ(a.elements(), 64 * 12);
  EXPECT_TRUE(a.is_contiguous());
  EXPECT_EQ(a.extent().begin, 128);
  EXPECT_EQ(a.extent().end, 128 + 24);
  EXPECT_EQ(psum_tile(DType::f32, 0, 4, 3, {8}).offset, 3 * 2048);
}

TEST(AccessPatternTest, ViewsKeepTheirElements) {
  const AccessPattern a = sbuf_tile(DType::f32, 0, 8, 0, {6, 10});
  const AccessPattern reversed = a.slice(1, 9, 10, -1);
  EXPECT_EQ(reversed.offset, 36);
  EXPECT_EQ(reversed.strides[1], -1);
  EXPECT_EQ(reversed.extent().begin, 0);
  EXPECT_EQ(reversed.extent().end, 240);
  EXPECT_EQ(a.select(0, 2).offset, 80);
  EXPECT_EQ(a.select(0, 2).rank, 1);
  EXPECT_EQ(a.permuted({1, 0}).sizes[0], 10);
  EXPECT_EQ(a.slice(0, 1, 1).broadcast(0, 5).strides[0], 0);
  EXPECT_EQ(a.unsqueezed(1, 7).sizes[1], 7);
  EXPECT_EQ(a.reshaped({3, 20}).strides[0], 20);
  EXPECT_EQ(a.reinterpreted(DType::i16).sizes[1], 20);
  EXPECT_EQ(a.partition_slice(3, 2).partition_start, 3);
  const AccessPattern h = hbm_tile(DType::f32, 0, 5, 4, 100, {10}, {1});
  EXPECT_EQ(h.partition_slice(2, 1).offset, (5 + 200) * 4);
}

TEST(AccessPatternTest, DensityIsExact) {
  const AccessPattern a = sbuf_tile(DType::f32, 0, 1, 0, {4, 6});
  EXPECT_TRUE(a.is_dense());
  EXPECT_TRUE(a.permuted({1, 0}).is_dense());
  EXPECT_TRUE(a.slice(1, 5, 6, -1).is_dense());
  EXPECT_FALSE(a.slice(1, 0, 3, 2).is_dense());
  EXPECT_FALSE(a.slice(1, 0, 5).is_dense());
  // As many elements as bytes in the box, but with a hole and a repetition.
  AccessPattern odd = sbuf_tile(DType::u8, 0, 1, 0, {2, 2, 2});
  odd.strides = {1, 1, 5};
  EXPECT_EQ(odd.extent().end, 8);
  EXPECT_FALSE(odd.is_dense());
  AccessPattern repeated = sbuf_tile(DType::u8, 0, 1, 0, {2, 2});
  repeated.strides = {3, 0};
  EXPECT_FALSE(repeated.is_dense());
}

TEST(AccessPatternTest, ViewsThatDoNotFitThrow) {
  const AccessPattern a = sbuf_tile(DType::f32, 0, 8, 0, {6, 10});
  EXPECT_THROW(a.slice(1, 5, 6), std::out_of_range);
  EXPECT_THROW(a.slice(2, 0, 1), std::out_of_range);
  EXPECT_THROW(a.select(0, 6), std::out_of_range);
  EXPECT_THROW(a.permuted({0, 0}), std::out_of_range);
  EXPECT_THROW(a.partition_slice(7, 2), std::out_of_range);
  EXPECT_THROW(a.broadcast(0, 3), std::out_of_range);
  EXPECT_THROW(a.reshaped({61}), std::out_of_range);
  EXPECT_THROW(a.permuted({1, 0}).reshaped({60}), std::out_of_range);
  EXPECT_THROW(a.slice(1, 0, 3).reinterpreted(DType::i64), std::out_of_range);
  EXPECT_THROW(sbuf_tile(DType::f32, 0, 1, 0, {1, 1, 1, 1, 1, 1}), std::out_of_range);
}

}  // namespace
}  // namespace assay::backend
