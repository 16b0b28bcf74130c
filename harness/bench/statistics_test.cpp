#include "harness/bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

TEST(PairedRatio, SeesASlowdownThroughACommonDrift) {
  std::vector<double> a, b;
  for (int i = 0; i < 15; ++i) {
    const double drift = 1 + 0.3 * i;  // shared by both
    a.push_back(1.05 * drift * (i % 2 ? 1.001 : 0.999));
    b.push_back(1.00 * drift);
  }
  const PairedRatio r = paired_ratio(a, b);
  EXPECT_NEAR(r.ratio, 1.05, 0.002);
  EXPECT_GT(r.low, 1.04);
  EXPECT_LT(r.high, 1.06);
}

TEST(PairedRatio, IntervalHoldsOneForEqualPeers) {
  std::vector<double> a, b;
  for (int i = 0; i < 16; ++i) {
    a.push_back(1 + 0.01 * ((i * 7) % 5 - 2));
    b.push_back(1 + 0.01 * ((i * 3) % 5 - 2));
  }
  const PairedRatio r = paired_ratio(a, b);
  EXPECT_LT(r.low, 1);
  EXPECT_GT(r.high, 1);
}

TEST(Median, OddEvenEmpty) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median_of({})));
}

TEST(StudentT, TableAndTail) {
  EXPECT_DOUBLE_EQ(student_t95(14), 2.145);
  EXPECT_NEAR(student_t95(100), 1.984, 0.002);
}

}  // namespace
}  // namespace assay
