#include "harness/judge/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay {
namespace {

StandardErrors normal_errors(std::size_t n, double scale, double shift, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(shift, scale);
  std::vector<double> got(n), value(n, 1), sigma(n, 1);
  for (double& g : got) g = 1 + normal(random);
  return standard_errors(got, value, sigma);
}

TEST(Rms, PassesDeclaredPrecisionAndFailsThreeTimesIt) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(rms_gate(normal_errors(1024, 1, 0, seed)).status, GateStatus::pass);
    EXPECT_EQ(rms_gate(normal_errors(1024, 3, 0, seed)).status, GateStatus::fail);
  }
}

TEST(Rms, NotApplicableOutsideOfItsRange) {
  EXPECT_EQ(rms_gate(normal_errors(255, 9, 0, 0)).status, GateStatus::not_applicable);
  EXPECT_EQ(rms_gate(normal_errors(256, 9, 0, 0)).status, GateStatus::fail);
  EXPECT_EQ(rms_gate(normal_errors(4096, 9, 0, 0)).status, GateStatus::fail);
  EXPECT_EQ(rms_gate(normal_errors(4097, 9, 0, 0)).status, GateStatus::not_applicable);
}

TEST(Rms, ElementsWithoutSigmaAreLeftOut) {
  std::vector<double> got(300, 1), value(300, 1), sigma(300, 0.1);
  got[0] = 100;
  sigma[0] = 0;
  got[1] = INFINITY;
  const StandardErrors errors = standard_errors(got, value, sigma);
  EXPECT_EQ(errors.signed_error.size(), 298U);
  EXPECT_EQ(*rms_gate(errors).value, 0);
}

TEST(Bias, SeesShiftsThatTheRmsDoesNot) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(bias_gate(normal_errors(1024, 1, 0, seed)).status, GateStatus::pass);
    EXPECT_EQ(rms_gate(normal_errors(1024, 1, 0.5, seed)).status, GateStatus::pass);
    EXPECT_EQ(bias_gate(normal_errors(1024, 1, 0.5, seed)).status, GateStatus::fail);
  }
}

TEST(Bias, SeesTruncationOfNumbersOfBothSigns) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> got, value, sigma;
  for (int i = 0; i < 1024; ++i) {
    const double v = uniform(random);
    value.push_back(v);
    got.push_back(std::trunc(v * 256) / 256);
    sigma.push_back(1.0 / 256 / std::sqrt(3.0));
  }
  EXPECT_EQ(bias_gate(standard_errors(got, value, sigma)).status, GateStatus::fail);
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = std::nearbyint(value[i] * 256) / 256;
  EXPECT_EQ(bias_gate(standard_errors(got, value, sigma)).status, GateStatus::pass);
}

}  // namespace
}  // namespace assay
