#include "backend/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace assay::backend {
namespace {

constexpr Generation kGenerations[] = {Generation::trn1, Generation::trn2, Generation::trn3};

TEST(DeviceTest, EveryConstantHasASource) {
  std::vector<NamedConstant> all;
  const auto append = [&](std::vector<NamedConstant> more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (Generation g : kGenerations) {
    append(constants(core(g)));
    append(constants(chip(g)));
  }
  for (const InstanceDescription& instance : instances()) append(constants(instance));
  EXPECT_GT(all.size(), 100u);
  for (const NamedConstant& constant : all) EXPECT_GT(constant.source.size(), 3u) << constant.name;
}

// The documented peak is 2 flops for each of the 128 x 128 elements and each cycle, on all cores.
TEST(DeviceTest, ClocksAgreeWithDocumentedPeaks) {
  for (Generation g : kGenerations) {
    const double tflops = 2.0 * 128 * 128 * core(g).tensor_ghz * chip(g).cores / 1e3;
    EXPECT_NEAR(tflops / chip(g).bf16_tflops, 1.0, 0.07) << core(g).name;
    EXPECT_NEAR(tflops / core(g).fp32_matmul_slowdown / chip(g).fp32_tflops, 1.0, 0.15) << core(g).name;
  }
}

TEST(DeviceTest, UsableBytesAreBelowNominal) {
  for (Generation g : kGenerations) {
    EXPECT_LT(core(g).sbuf_usable_bytes_per_partition, core(g).sbuf_bytes_per_partition);
    EXPECT_EQ(core(g).psum_banks * core(g).psum_bank_bytes, 16 * 1024);
  }
}

TEST(DeviceTest, TargetsAreParsedAndListed) {
  EXPECT_EQ(parse_target("trn1"), Generation::trn1);
  EXPECT_EQ(parse_target("trn2.48xlarge"), Generation::trn2);
  try {
    parse_target("h100");
    FAIL() << "an unknown target was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), testing::HasSubstr("trn2.3xlarge"));
  }
}

}  // namespace
}  // namespace assay::backend
