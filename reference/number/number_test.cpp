#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

#include "core/contract/contract.h"
#include "reference/number/functions.h"
#include "reference/number/matmul_rows.h"
#include "reference/number/normals.h"
#include "reference/number/sums.h"

namespace assay::reference {
namespace {

Precision f32_precision() {
  Precision precision;
  precision.products_exact = false;
  return precision;
}

TEST(Gamma, IsVoidWhereNuReachesOne) {
  EXPECT_DOUBLE_EQ(gamma(4, 0.125), 1.0);
  EXPECT_TRUE(std::isnan(gamma(256, 0x1p-8)));
  EXPECT_EQ(gamma(0, 0x1p-24), 0);
}

TEST(Bounded, FollowsTheRunningErrorRules) {
  const Precision precision = f32_precision();
  Environment environment(precision, DType::f32, false);
  const EnvironmentScope scope(&environment);
  const double u = 0x1p-24;
  const Bounded a(3, 0.5, 0), b(-2, 0.25, 0);
  EXPECT_DOUBLE_EQ((a + b).bound, 0.75 + u);
  EXPECT_DOUBLE_EQ((a * b).bound, 3 * 0.25 + 2 * 0.5 + 0.125 + 6 * u);
  // |3.5 / -1.75| - 1.5 = 0.5 is the worst of the four corners.
  EXPECT_NEAR((a / b).bound, (0.5 + 1.5 * 0.25) / 1.75 + 1.5 * u, 1e-12);
  EXPECT_EQ((-a).bound, 0.5);
  EXPECT_DOUBLE_EQ(fn::exp(Bounded(1.0)).bound, 2 * u * std::exp(1.0));
}

TEST(Bounded, DivisionByAnIntervalWithZeroHasNoBound) {
  const Precision precision = f32_precision();
  Environment environment(precision, DType::f32, false);
  const EnvironmentScope scope(&environment);
  EXPECT_TRUE(std::isinf((Bounded(1.0) / Bounded(0.5, 0.5, 0)).bound));
}

// A float32 sum in any order lies within the Bound, and the Bound is not much larger than the worst of them.
TEST(Bounded, CoversFloatSumsInRandomOrders) {
  const Precision precision = f32_precision();
  Environment environment(precision, DType::f32, false);
  const EnvironmentScope scope(&environment);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const int64_t n : {2, 17, 300}) {
    std::vector<Bounded> terms;
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i) {
      values.push_back(normal(random));
      terms.emplace_back(static_cast<double>(values.back()));
    }
    const Bounded sum = sum_any_order(terms.data(), n);
    for (int order = 0; order < 50; ++order) {
      std::shuffle(values.begin(), values.end(), random);
      float running = 0;
      for (const float v : values) running = running + v;
      EXPECT_LE(std::fabs(static_cast<double>(running) - sum.value), sum.bound);
    }
    double magnitude = 0;
    for (const float v : values) magnitude = magnitude + std::fabs(static_cast<double>(v));
    EXPECT_LE(sum.bound, 1.01 * static_cast<double>(n) * 0x1p-24 * magnitude);
  }
}

TEST(Bounded, MatmulCoversFloatProductsAndFindsALostTerm) {
  const Precision precision = f32_precision();
  Environment environment(precision, DType::f32, false);
  const EnvironmentScope scope(&environment);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const int64_t k = 200;
  std::vector<Bounded> a, b;
  std::vector<float> fa, fb;
  for (int64_t i = 0; i < k; ++i) {
    fa.push_back(normal(random));
    fb.push_back(normal(random));
    a.emplace_back(static_cast<double>(fa.back()));
    b.emplace_back(static_cast<double>(fb.back()));
  }
  const Bounded dot = dot_any_order(a.data(), b.data(), k);
  float forward = 0, backward = 0, without_last = 0;
  for (std::size_t i = 0; i < fa.size(); ++i) {
    without_last = forward;
    forward = forward + fa[i] * fb[i];
    backward = backward + fa[fa.size() - 1 - i] * fb[fa.size() - 1 - i];
  }
  EXPECT_LE(std::fabs(static_cast<double>(forward) - dot.value), dot.bound);
  EXPECT_LE(std::fabs(static_cast<double>(backward) - dot.value), dot.bound);
  EXPECT_GT(std::fabs(static_cast<double>(without_last) - dot.value), dot.bound);
}

// An infinite operand makes an exact infinity: a finite answer there is wrong, however wide the Bound of its
// neighbours.
// Tiles in registers add the same terms in the same order as the definition, for every remainder of rows and
// columns, infinities and NaN included.
TEST(MatmulRows, TilesGiveTheBitsOfTheDefinition) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto drawn = [&](int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = uniform(random);
    return values;
  };
  const auto same = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
  };
  for (const int64_t m : {1, 3, 4, 9}) {
    for (const int64_t n : {1, 7, 8, 16, 29}) {
      for (const int64_t k : {0, 1, 33}) {
        std::vector<double> a = drawn(m * k), b = drawn(k * n), start = drawn(m * n);
        if (m == 9 && k == 33) {
          a[40] = HUGE_VAL;
          b[3] = -HUGE_VAL;
        }
        std::vector<double> sums(start.size()), squares(start.size()), want(start.size()),
            want_squares(start.size());
        for (const bool begun : {false, true}) {
          MatmulRows x{a.data(), b.data(), begun ? start.data() : nullptr, sums.data(), nullptr, begun, m,
                       n,        k};
          matmul_rows(x);
          x.c = want.data();
          matmul_rows_plainly(x);
          EXPECT_TRUE(same(sums, want)) << m << " " << n << " " << k;
          x.squares = want_squares.data();
          matmul_rows_plainly(x);
          x.c = sums.data();
          x.squares = squares.data();
          matmul_rows(x);
          EXPECT_TRUE(same(sums, want) && same(squares, want_squares)) << m << " " << n << " " << k;
        }
      }
    }
  }
}

TEST(Bounded, InfinityFromAnInfiniteOperandHasBoundZero) {
  const Precision precision;
  Environment environment(precision, DType::f32, false);
  const EnvironmentScope scope(&environment);
  const Bounded infinite(HUGE_VAL), one(1.0);
  const std::vector<Bounded> row{infinite, one, one};
  const Bounded sum = sum_any_order(row.data(), 3);
  for (const Bounded& x : {infinite + one, infinite * one, infinite / one, one / Bounded(0.0), sum,
                           sum / Bounded(3.0), dot_any_order(row.data(), row.data(), 3)}) {
    EXPECT_EQ(x.value, HUGE_VAL);
    EXPECT_EQ(x.bound, 0);
  }
}

TEST(Bounded, Bf16AccumulationIsSimulatedIfItsOrderIsDeclaredAndUnmodelledIfNot) {
  Precision precision;
  precision.accumulator = DType::bf16;
  std::vector<Bounded> ones(1024, Bounded(1.0));
  {
    Environment environment(precision, DType::bf16, false);
    const EnvironmentScope scope(&environment);
    EXPECT_TRUE(std::isnan(sum_any_order(ones.data(), 1024).bound));
  }
  precision.order = ReductionOrder::ascending;
  Environment environment(precision, DType::bf16, false);
  const EnvironmentScope scope(&environment);
  // 256 + 1 rounds to even, 256: the sum sticks there.
  EXPECT_EQ(sum_any_order(ones.data(), 1024).value, 256);
  EXPECT_EQ(sum_any_order(ones.data(), 1024).bound, 0);
  EXPECT_EQ(dot_any_order(ones.data(), ones.data(), 1024).value, 256);
}

TEST(Stochastic, RoundsToNeighboursWithTheRightMean) {
  RandomStream random(1, 0, 0);
  const Grid bf16(float_format(DType::bf16));
  const double v = 1 + 0.3 * 0x1p-7;
  double sum = 0;
  const int n = 40000;
  for (int i = 0; i < n; ++i) {
    const double rounded = stochastic_round(bf16, v, random);
    ASSERT_TRUE(rounded == 1 || rounded == 1 + 0x1p-7);
    sum = sum + rounded;
  }
  EXPECT_NEAR((sum / n - 1) * 0x1p7, 0.3, 5 * std::sqrt(0.3 * 0.7 / n));
  EXPECT_EQ(stochastic_round(bf16, -1.5, random), -1.5);
  EXPECT_EQ(stochastic_round(bf16, 0.0, random), 0.0);
  // Beyond the largest finite number: it or infinity; subnormals: multiples of the quantum.
  EXPECT_GE(stochastic_round(bf16, float_format(DType::bf16).max * (1 + 0x1p-10), random),
            float_format(DType::bf16).max);
  const double quantum = float_format(DType::bf16).smallest_subnormal();
  EXPECT_EQ(std::fmod(stochastic_round(bf16, 2.4 * quantum, random), quantum), 0);
}

TEST(Stochastic, EqualKeysGiveEqualDraws) {
  RandomStream a(5, 2, 9), b(5, 2, 9), other_node(5, 2, 10), other_replay(5, 3, 9);
  bool node_differs = false, replay_differs = false;
  for (int i = 0; i < 200; ++i) {
    const uint32_t word = a.word();
    EXPECT_EQ(word, b.word());
    node_differs = node_differs || word != other_node.word();
    replay_differs = replay_differs || word != other_replay.word();
  }
  EXPECT_TRUE(node_differs && replay_differs);
}

// Eight cosines, then eight sines, from eight radii and eight angles; a last group may be cut.
TEST(Stochastic, NormalsAreThoseOfBoxAndMuller) {
  RandomStream random(5, 1, 2), uniform(5, 1, 2);
  std::vector<double> drawn(16 * 4000 + 3);
  draw_normals(random, drawn.data(), drawn.size());
  double squares = 0, fourth = 0;
  for (std::size_t i = 0; i + 16 <= drawn.size(); i += 16) {
    std::array<double, 8> u{}, v{};
    for (double& x : u) x = uniform.uniform();
    for (double& x : v) x = uniform.uniform();
    for (std::size_t j = 0; j < 8; ++j) {
      const double radius = std::sqrt(-2 * std::log(u[j])), angle = 2 * std::numbers::pi * v[j];
      const double cosine = drawn[i + j], sine = drawn[i + 8 + j];
      ASSERT_NEAR(cosine, radius * std::cos(angle), 1e-11);
      ASSERT_NEAR(sine, radius * std::sin(angle), 1e-11);
      squares = squares + cosine * cosine + sine * sine;
      fourth = fourth + std::pow(cosine, 4) + std::pow(sine, 4);
    }
  }
  EXPECT_NEAR(squares / 64000, 1, 5 * std::sqrt(2. / 64000));
  EXPECT_NEAR(fourth / 64000, 3, 5 * std::sqrt(96. / 64000));
}

// The one draw of a dot product has 1.4 times the standard deviation of rounding every step stochastically:
// variance 2 (u^2/3) sum s_k^2 against sum ulp_k^2 / 6 (ulp between u and 2u of the value: 1.5 times on
// average).
TEST(Stochastic, DrawOfADotMatchesRoundingEveryStep) {
  Precision precision;
  precision.products_exact = true;
  Environment environment(precision, DType::f32, true);
  const EnvironmentScope scope(&environment);
  environment.random = RandomStream(11, 0, 0);
  std::mt19937 generator(5);
  std::normal_distribution<float> normal;
  const int64_t k = 64;
  std::vector<Stochastic> a, b;
  double exact = 0;
  for (int64_t i = 0; i < k; ++i) {
    a.emplace_back(static_cast<double>(normal(generator)));
    b.emplace_back(static_cast<double>(normal(generator)));
    exact = exact + a.back().value * b.back().value;
  }
  const int trials = 4000;
  double drawn = 0, stepped = 0;
  const Grid f32(float_format(DType::f32));
  for (int t = 0; t < trials; ++t) {
    const double d = dot_any_order(a.data(), b.data(), k).value - exact;
    drawn = drawn + d * d;
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum = stochastic_round(f32, sum + a[i].value * b[i].value, environment.random);
    }
    stepped = stepped + (sum - exact) * (sum - exact);
  }
  const double ratio = std::sqrt(drawn / stepped);
  EXPECT_GT(ratio, 1.1);
  EXPECT_LT(ratio, 2.0);
}

TEST(Functions, GeluKeepsItsDigitsInTheLeftTail) {
  // x Phi(x) from 50-digit arithmetic.
  EXPECT_NEAR(fn::gelu(-5.0) / -1.4332578593959695584e-06, 1, 1e-13);
  EXPECT_NEAR(fn::gelu(-20.0) / -5.5072482372124673902e-88, 1, 1e-13);
  EXPECT_NEAR(fn::gelu(1.0), 0.8413447460685429, 1e-15);
  EXPECT_EQ(fn::gelu(HUGE_VAL), HUGE_VAL);
  EXPECT_EQ(fn::gelu(-HUGE_VAL), 0);
  EXPECT_EQ(fn::silu(-HUGE_VAL), 0);
  EXPECT_EQ(fn::gelu_tanh(-HUGE_VAL), 0);
  EXPECT_EQ(fn::gelu_tanh(HUGE_VAL), HUGE_VAL);
}

}  // namespace
}  // namespace assay::reference
