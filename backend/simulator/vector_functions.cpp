#include "backend/simulator/vector_functions.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace assay::backend {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();  // all NaN are this one

// Everything here is free of branches, so that loops over it become vector code.
#define ASSAY_INLINE inline __attribute__((always_inline))

// x, x^2, x^4, x^8, x^16
using Powers = double[5];

template <std::size_t kFirst, std::size_t kCount, std::size_t kTerms>
ASSAY_INLINE double terms_from(const double (&terms)[kTerms], const Powers& powers) {
  if constexpr (kCount == 1) {
    return terms[kFirst];
  } else {
    constexpr std::size_t kHalf = std::bit_floor(kCount - 1);
    return terms_from<kFirst, kHalf>(terms, powers) +
           powers[std::countr_zero(kHalf)] * terms_from<kFirst + kHalf, kCount - kHalf>(terms, powers);
  }
}

// Estrin's scheme: halves do not wait for each other.
template <std::size_t kTerms>
ASSAY_INLINE double polynomial(const double (&terms)[kTerms], double x) {
  const double square = x * x, fourth = square * square, eighth = fourth * fourth;
  const Powers powers{x, square, fourth, eighth, eighth * eighth};
  return terms_from<0, kTerms>(terms, powers);
}

// Adding it rounds to an integer, which is left in the low bits.
constexpr double kInteger = 0x1.8p52;

ASSAY_INLINE uint64_t integer_bits(double shifted) {
  return std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(kInteger);
}
ASSAY_INLINE double power_of_two(uint64_t exponent) { return std::bit_cast<double>((exponent + 1023) << 52); }

// exp(x) = 2^n exp(r), |r| <= log(2) / 2, by Taylor's series.
ASSAY_INLINE double exponential(double x) {
  constexpr double kLow = -746, kHigh = 710;  // beyond: 0 and infinity
  constexpr double kTaylor[] = {1.0,
                                1.0,
                                1.0 / 2,
                                1.0 / 6,
                                1.0 / 24,
                                1.0 / 120,
                                1.0 / 720,
                                1.0 / 5040,
                                1.0 / 40320,
                                1.0 / 362880,
                                1.0 / 3628800,
                                1.0 / 39916800,
                                1.0 / 479001600,
                                1.0 / 6227020800};
  constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;
  x = x < kLow ? kLow : x;
  x = x > kHigh ? kHigh : x;
  const double shifted = x * std::numbers::log2e + kInteger, n = shifted - kInteger;
  const double r = (x - n * kLog2High) - n * kLog2Low;
  const double half = n * 0.5 + kInteger;  // in two steps: results may be subnormal
  const uint64_t first = integer_bits(half), second = integer_bits(shifted) - first;
  return polynomial(kTaylor, r) * power_of_two(first) * power_of_two(second);
}

// log(x) = e log(2) + log(m), m between sqrt(1/2) and sqrt(2), by the series of atanh.
ASSAY_INLINE double logarithm(double x) {
  constexpr double kSeries[] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9, 2.0 / 11,
                                2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1, kOne = uint64_t{1023} << 52;
  // Arguments are fp32: never subnormal in double.
  const auto bits = std::bit_cast<uint64_t>(x);
  const double wide = std::bit_cast<double>((bits & kMantissa) | kOne);
  const bool large = wide > std::numbers::sqrt2;
  const double m = large ? wide * 0.5 : wide;
  const double biased = std::bit_cast<double>((bits >> 52) | std::bit_cast<uint64_t>(0x1p52)) - 0x1p52;
  const double e = biased - (large ? 1022.0 : 1023.0);
  const double s = (m - 1) / (m + 1);
  const double result = e * std::numbers::ln2 + s * polynomial(kSeries, s * s);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double positive = x == kInfinity ? kInfinity : result;
  const double finite = x == 0 ? -kInfinity : positive;
  return x >= 0 ? finite : kNan;
}

ASSAY_INLINE double logistic(double x) {
  const double a = exponential(-std::fabs(x));
  return (x >= 0 ? 1.0 : a) / (1 + a);
}

// Near 0 by Taylor's series.
ASSAY_INLINE double hyperbolic_tangent(double x) {
  constexpr double kTaylor[] = {1.0, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835};
  const double magnitude = std::fabs(x), a = exponential(-2 * magnitude);
  const double far = std::copysign((1 - a) / (1 + a), x);
  return magnitude < 0.02 ? x * polynomial(kTaylor, x * x) : far;
}

// The distribution function of the normal distribution. erfc(z) exp(z^2) (1 + z) for z >= 0 is nearly flat in
// y = 2 (z / (z + 4)) (32 / 28) - 1, and a polynomial in it that interpolates at Chebyshev's points of [0,
// 28] is exact to half a unit in the last place.
ASSAY_INLINE double normal_distribution(double x) {
  constexpr double kFlat[] = {
      0x1.6c761bc3ae390p-1,  -0x1.9db7d5082a586p-3,  0x1.a79c07234ad16p-4,   -0x1.013875295d0d0p-5,
      -0x1.9966695acebf2p-8, 0x1.16c1e0997ba94p-6,   -0x1.ca837de823a45p-7,  0x1.f5ff7fda67706p-8,
      -0x1.87a78e8deddf3p-9, 0x1.8d9db7dbb8097p-11,  -0x1.033f824340860p-14, -0x1.4530f636cc4b6p-15,
      0x1.04fede56d1317p-16, -0x1.518bbff8c1ba1p-22, -0x1.63b284d24d0fdp-20, 0x1.0960d190445b0p-22,
      0x1.94104c44d50a3p-24, -0x1.27729484c9fd4p-25, -0x1.b8bef9d5504fdp-28, 0x1.f9bc867624eb7p-29,
      0x1.801e7c343816cp-32, -0x1.1cd7eb0de26a6p-32};
  constexpr double kBeyond = 28;  // erfc underflows
  double z = std::fabs(x) * (std::numbers::sqrt2 / 2);
  z = z > kBeyond ? kBeyond : z;
  const double y = z / (z + 4) * (2.0 * 32 / 28) - 1;
  const double tail = 0.5 * exponential(-z * z) * polynomial(kFlat, y) / (1 + z);
  return x <= 0 ? tail : 1 - tail;
}

// x f where f underflows to 0 faster than x grows; avoids inf * 0.
ASSAY_INLINE double product_or_zero(double x, double f) { return f == 0 ? std::copysign(0.0, x) : x * f; }

// By way of a copy: `out` may be `x`, which would keep the loop from becoming vector code.
template <typename F>
ASSAY_INLINE void each_of_many(const float* x, float* out, int64_t n, F f) {
  constexpr int64_t kPart = 256;
  float part[kPart];
  for (int64_t first = 0; first < n; first += kPart) {
    const int64_t count = n - first < kPart ? n - first : kPart;
    std::memcpy(part, x + first, static_cast<std::size_t>(count) * sizeof(float));
    for (int64_t i = 0; i < count; ++i) {
      const double result = f(static_cast<double>(part[i]));
      out[first + i] = static_cast<float>(result == result ? result : kNan);
    }
  }
}

ASSAY_INLINE bool evaluate_many(Activation function, const float* x, float* out, int64_t n) {
  switch (function) {
    case Activation::exp:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) { return exponential(v); });
      return true;
    case Activation::log:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) { return logarithm(v); });
      return true;
    case Activation::sigmoid:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) { return logistic(v); });
      return true;
    case Activation::silu:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) { return product_or_zero(v, logistic(v)); });
      return true;
    case Activation::tanh:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) { return hyperbolic_tangent(v); });
      return true;
    case Activation::gelu:
      each_of_many(
          x, out, n,
          [](double v) __attribute__((always_inline)) { return product_or_zero(v, normal_distribution(v)); });
      return true;
    case Activation::gelu_apprx_tanh:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) {
            constexpr double kScale = 0.79788456080286535588, kCubic = 0.044715;  // sqrt(2 / pi)
            // 0.5 (1 + tanh u) without cancellation.
            return product_or_zero(v, logistic(2 * kScale * (v + kCubic * v * v * v)));
          });
      return true;
    case Activation::square:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) { return v * v; });
      return true;
    case Activation::sqrt:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) { return std::sqrt(v); });
      return true;
    case Activation::rsqrt:
      each_of_many(
          x, out, n, [](double v) __attribute__((always_inline)) { return 1 / std::sqrt(v); });
      return true;
    default:
      return false;
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
ASSAY_AVX512 bool evaluate_many_avx512(Activation function, const float* x, float* out, int64_t n) {
  return evaluate_many(function, x, out, n);
}
__attribute__((target("avx2"))) bool evaluate_many_avx2(Activation function, const float* x, float* out,
                                                        int64_t n) {
  return evaluate_many(function, x, out, n);
}
#endif

}  // namespace

bool activation_of_many(Activation function, const float* x, float* out, int64_t n, VectorWidth width) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (cpu_has_avx512() && width == VectorWidth::best) return evaluate_many_avx512(function, x, out, n);
  if (cpu_has_avx2() && width != VectorWidth::portable) return evaluate_many_avx2(function, x, out, n);
#endif
  return evaluate_many(function, x, out, n);
}

}  // namespace assay::backend
