#include "backend/simulator/vector_functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace assay::backend {
namespace {

struct Known {
  Activation function;
  double (*exact)(double);
};

double logistic_of(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double times_of(double x, double f) { return f == 0 ? std::copysign(0.0, x) : x * f; }

const std::vector<Known>& known() {
  static const std::vector<Known> all{
      {Activation::exp, [](double x) { return std::exp(x); }},
      {Activation::log, [](double x) { return std::log(x); }},
      {Activation::sigmoid, logistic_of},
      {Activation::silu, [](double x) { return times_of(x, logistic_of(x)); }},
      {Activation::tanh, [](double x) { return std::tanh(x); }},
      {Activation::gelu, [](double x) { return times_of(x, 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2)); }},
      {Activation::gelu_apprx_tanh,
       [](double x) {
         return times_of(x, logistic_of(2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
       }},
      {Activation::square, [](double x) { return x * x; }},
      {Activation::sqrt, [](double x) { return std::sqrt(x); }},
      {Activation::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
  };
  return all;
}

// All exponents and signs, and what is special.
std::vector<float> arguments() {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65521)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float v : {0.0f, -0.0f, 1.0f, -1.0f, kInfinity, -kInfinity, std::nanf("")}) x.push_back(v);
  for (int k = -4000; k <= 4000; ++k) x.push_back(static_cast<float>(k) / 40);
  return x;
}

TEST(VectorFunctions, EqualTheLibrarysToOneRounding) {
  const std::vector<float> x = arguments();
  for (const Known& f : known()) {
    std::vector<float> got = x;
    ASSERT_TRUE(activation_of_many(f.function, got.data(), got.data(), static_cast<int64_t>(x.size())));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto want = static_cast<float>(f.exact(static_cast<double>(x[i])));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got[i])) << x[i];
        continue;
      }
      // Both are within a hair of the exact value, so they may differ where it lies between two floats.
      EXPECT_TRUE(got[i] == want || std::nextafter(got[i], want) == want)
          << "function " << static_cast<int>(f.function) << " of " << x[i] << ": " << got[i] << ", not "
          << want;
      EXPECT_EQ(std::signbit(got[i]), std::signbit(want)) << x[i];
    }
  }
}

TEST(VectorFunctions, BitsDoNotDependOnTheCpu) {
  const std::vector<float> x = arguments();
  for (const Known& f : known()) {
    const auto results = [&](VectorWidth width) {
      std::vector<float> out(x.size());
      EXPECT_TRUE(
          activation_of_many(f.function, x.data(), out.data(), static_cast<int64_t>(x.size()), width));
      return out;
    };
    const std::vector<float> portable = results(VectorWidth::portable);
    for (const VectorWidth width : {VectorWidth::best, VectorWidth::avx2}) {
      const std::vector<float> fast = results(width);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(fast[i]), std::bit_cast<uint32_t>(portable[i])) << x[i];
    }
  }
}

TEST(VectorFunctions, RefusesWhatItDoesNotHave) {
  float x = 1;
  EXPECT_FALSE(activation_of_many(Activation::mish, &x, &x, 1));
  EXPECT_EQ(x, 1);
}

}  // namespace
}  // namespace assay::backend
