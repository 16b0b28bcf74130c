// Elementary functions of the Scalar and GpSimd engines.
#include <cmath>
#include <limits>
#include <numbers>

#include "backend/simulator/alu.h"
#include "backend/simulator/vector_functions.h"

namespace assay::backend {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double normal_cdf(double x) { return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2); }
double normal_pdf(double x) {
  return std::exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
}
double softplus(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }
// x * f(x) where f underflows to 0 faster than x grows; avoids inf * 0.
double times(double x, double f) { return f == 0 ? std::copysign(0.0, x) : x * f; }

constexpr double kTanhScale = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kTanhCubic = 0.044715;
constexpr double kSigmoidScale = 1.702;

double gelu_tanh(double x) {
  return times(x, 0.5 * (1 + std::tanh(kTanhScale * (x + kTanhCubic * x * x * x))));
}
double gelu_tanh_dx(double x) {
  const double t = std::tanh(kTanhScale * (x + kTanhCubic * x * x * x));
  return 0.5 * (1 + t) + times(0.5 * x * kTanhScale * (1 + 3 * kTanhCubic * x * x), 1 - t * t);
}

double evaluate(Activation function, double x, double slope) {
  switch (function) {
    case Activation::copy:
      return x;
    case Activation::square:
      return x * x;
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::prelu:
      return x < 0 ? x * slope : x;
    case Activation::gelu:
      return times(x, normal_cdf(x));
    case Activation::gelu_dx:
      return normal_cdf(x) + times(x, normal_pdf(x));
    case Activation::gelu_apprx_tanh:
      return gelu_tanh(x);
    case Activation::gelu_apprx_tanh_dx:
      return gelu_tanh_dx(x);
    case Activation::gelu_apprx_sigmoid:
      return times(x, sigmoid(kSigmoidScale * x));
    case Activation::gelu_apprx_sigmoid_dx: {
      const double g = sigmoid(kSigmoidScale * x);
      return g + times(kSigmoidScale * x, g * (1 - g));
    }
    case Activation::silu:
      return times(x, sigmoid(x));
    case Activation::silu_dx: {
      const double g = sigmoid(x);
      return g + times(x, g * (1 - g));
    }
    case Activation::tanh:
      return std::tanh(x);
    case Activation::tanh_dx: {
      const double t = std::tanh(x);
      return 1 - t * t;
    }
    case Activation::softplus:
      return softplus(x);
    case Activation::mish:
      return times(x, std::tanh(softplus(x)));
    case Activation::erf:
      return std::erf(x);
    case Activation::erf_dx:
      return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    case Activation::exp:
      return std::exp(x);
    case Activation::log:
      return std::log(x);
    case Activation::sin:
      return std::sin(x);
    case Activation::arctan:
      return std::atan(x);
    case Activation::sqrt:
      return std::sqrt(x);
    case Activation::rsqrt:
      return 1 / std::sqrt(x);
    case Activation::reciprocal:
      return 1 / x;
    case Activation::sign:
      return std::isnan(x) ? x : (x > 0) - (x < 0);
    case Activation::abs:
      return std::fabs(x);
  }
  return kNan;
}

// Beyond its range a piece-wise polynomial goes on as a polynomial: for sin, the Taylor polynomial of degree
// 7 (the documented sample gives about 27.65 for sin(9.0); ours is as wrong in another way). The others: NaN.
// Invented.
double out_of_range(Activation function, double x) {
  if (function != Activation::sin || !std::isfinite(x)) return kNan;
  const double y = x * x;
  return x * (1 - y / 6 * (1 - y / 20 * (1 - y / 42)));
}

double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double shift = 0;
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    shift = -std::numbers::pi / std::tan(std::numbers::pi * x);
    x = 1 - x;
  }
  for (; x < 10; x += 1) shift -= 1 / x;
  const double y = 1 / (x * x);  // asymptotic series, Abramowitz & Stegun 6.3.18
  return shift + std::log(x) - 0.5 / x -
         y * (1.0 / 12 -
              y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760))))));
}

// Rational start (Giles, "Approximating the erfinv function", 2010), then Newton steps in double.
double erfinv(double x) {
  if (std::fabs(x) >= 1) {
    return std::fabs(x) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : kNan;
  }
  double w = -std::log((1 - x) * (1 + x)), p = 0;
  if (w < 5) {
    w -= 2.5;
    for (double c : {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                     -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}) {
      p = c + p * w;
    }
  } else {
    w = std::sqrt(w) - 3;
    for (double c : {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                     -0.0076224613, 0.00943887047, 1.00167406, 2.83297682}) {
      p = c + p * w;
    }
  }
  double y = p * x;
  for (int step = 0; step < 3; ++step) {
    // erf(y) - x without cancellation near 1.
    const double error = x > 0 ? (1 - x) - std::erfc(y) : std::erfc(-y) - (1 + x);
    y -= error / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
  }
  return y;
}

double evaluate(MathFunction function, double x, double y) {
  switch (function) {
    case MathFunction::floor:
      return std::floor(x);
    case MathFunction::ceil:
      return std::ceil(x);
    case MathFunction::trunc:
      return std::trunc(x);
    case MathFunction::round:
      return std::nearbyint(x);
    case MathFunction::cos:
      return std::cos(x);
    case MathFunction::tan:
      return std::tan(x);
    case MathFunction::asin:
      return std::asin(x);
    case MathFunction::acos:
      return std::acos(x);
    case MathFunction::sinh:
      return std::sinh(x);
    case MathFunction::cosh:
      return std::cosh(x);
    case MathFunction::asinh:
      return std::asinh(x);
    case MathFunction::acosh:
      return std::acosh(x);
    case MathFunction::atanh:
      return std::atanh(x);
    case MathFunction::exp2:
      return std::exp2(x);
    case MathFunction::expm1:
      return std::expm1(x);
    case MathFunction::log2:
      return std::log2(x);
    case MathFunction::log10:
      return std::log10(x);
    case MathFunction::log1p:
      return std::log1p(x);
    case MathFunction::erfc:
      return std::erfc(x);
    case MathFunction::erfinv:
      return erfinv(x);
    case MathFunction::lgamma: {
#if defined(__GLIBC__)
      int sign = 0;
      return ::lgamma_r(x, &sign);  // std::lgamma writes a global
#else
      return std::lgamma(x);
#endif
    }
    case MathFunction::digamma:
      return digamma(x);
    case MathFunction::is_nan:
      return std::isnan(x);
    case MathFunction::is_inf:
      return std::isinf(x);
    case MathFunction::atan2:
      return std::atan2(x, y);
    case MathFunction::pow:
      return std::pow(x, y);
    case MathFunction::fmod:
      return std::fmod(x, y);
    case MathFunction::remainder: {
      const double r = std::fmod(x, y);
      return r != 0 && (r < 0) != (y < 0) ? r + y : (r == 0 ? std::copysign(r, y) : r);
    }
    case MathFunction::hypot:
      return std::hypot(x, y);
    case MathFunction::copysign:
      return std::copysign(x, y);
  }
  return kNan;
}

}  // namespace

void activation(Activation function, const float* x, float slope, bool restricted, float* out, int64_t n) {
  if (restricted) {
    const ValidRange range = valid_range(function);
    for (int64_t i = 0; i < n; ++i) {
      const double value = static_cast<double>(x[i]), tested = range.magnitude ? std::fabs(value) : value;
      const bool inside = tested >= range.lo && tested <= range.hi;
      out[i] = static_cast<float>(inside ? evaluate(function, value, static_cast<double>(slope))
                                         : out_of_range(function, value));
    }
    return;
  }
  if (activation_of_many(function, x, out, n)) return;
  if (function == Activation::copy) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i];
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(evaluate(function, static_cast<double>(x[i]), static_cast<double>(slope)));
  }
}

void math(MathFunction function, const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(
        evaluate(function, static_cast<double>(x[i]), y != nullptr ? static_cast<double>(y[i]) : 0.0));
  }
}

}  // namespace assay::backend
