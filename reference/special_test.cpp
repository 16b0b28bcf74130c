// Special functions, complex numbers and Fourier transforms: fp64 against float128, which takes other ways.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

// Largest |value - witness| in units of 2^-52 of the witness (of the modulus, for complex results).
double worst_ulps(const OpUnderTest& subject) {
  const Wide value = subject.value()[0];
  const auto witness = evaluate_witness(subject.call(), subject.inputs());
  if (!witness) return HUGE_VAL;
  const Wide& want = (*witness)[0];
  const std::size_t parts = is_complex(want.meta.dtype) ? 2 : 1;
  double worst = 0;
  for (std::size_t i = 0; i < want.real.size(); ++i) {
    const double a = value.real[i], b = want.real[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const std::size_t first = i / parts * parts;
    const double size = parts == 2 ? std::hypot(want.real[first], want.real[first + 1]) : std::fabs(b);
    const double ulps = std::fabs(a - b) / (size * 0x1p-52 + 1e-300);
    worst = std::isnan(ulps) ? HUGE_VAL : std::max(worst, ulps);
  }
  return worst;
}

std::vector<double> points(double low, double high, std::size_t n) {
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(n);
  for (double& v : values) v = uniform(generator);
  return values;
}
Wide line(std::vector<double> values) {
  const auto n = static_cast<int64_t>(values.size());
  return reals(DType::f64, {n}, std::move(values));
}

// The functions' argument is called self or x.
OpUnderTest function_of(const std::string& name, const Wide& x) {
  const std::string op = "aten::" + name + ".default";
  return OpUnderTest(op, {{find_schema(op)->arguments.at(0).name, x}});
}

TEST(SpecialFunctions, AgreeWithFloat128) {
  struct Function {
    const char* name;
    double low, high;
    double ulps = 2;  // more where a zero of the function is near
  };
  const double wide = 1e300;
  for (const Function& f : {Function{"erfc", -5, 26},
                            {"erfinv", -1, 1},
                            {"special_erfcx", -20, 200},
                            {"special_ndtri", 0, 1},
                            {"lgamma", -20, 100, 64},
                            {"digamma", -20, 100, 64},
                            {"i0", -40, 700},
                            {"special_i0e", -200, 200},
                            {"special_i0e", 0, wide},
                            {"special_i1", -700, 40},
                            {"special_i1e", -200, 200},
                            {"special_modified_bessel_k0", 0, 200},
                            {"special_modified_bessel_k1", 0, 200},
                            {"special_scaled_modified_bessel_k0", 0, 200},
                            {"special_scaled_modified_bessel_k1", 0, 1e5},
                            {"special_bessel_j0", -50, 50, 4096},
                            {"special_bessel_j1", -50, 50, 4096},
                            {"special_bessel_y0", 0, 50, 4096},
                            {"special_bessel_y1", 0, 50, 4096},
                            {"special_spherical_bessel_j0", -20, 20},
                            {"special_airy_ai", -30, 20, 4096}}) {
    EXPECT_LE(worst_ulps(function_of(f.name, line(points(f.low, f.high, 80)))), f.ulps) << f.name;
  }
}

TEST(SpecialFunctions, OfTwoArgumentsAgreeWithFloat128) {
  const Wide a = line(points(0.1, 40, 80));
  std::vector<double> x = points(0, 60, 80);
  std::shuffle(x.begin(), x.end(), std::mt19937(1));
  for (const auto& [name, ulps] : {std::pair("igamma", 16.0), {"igammac", 16.0}}) {
    EXPECT_LE(worst_ulps({std::string("aten::") + name + ".default", {{"self", a}, {"other", line(x)}}}),
              ulps)
        << name;
  }
  EXPECT_LE(
      worst_ulps({"aten::special_zeta.default", {{"self", line(points(1.01, 30, 80))}, {"other", line(x)}}}),
      4);
  for (const int64_t n : {0, 1, 2, 5}) {
    EXPECT_LE(worst_ulps({"aten::polygamma.default", {{"self", line(x)}}, {{"n", n}}}), 16) << n;
  }
  EXPECT_LE(
      worst_ulps({"aten::polygamma.default", {{"self", line(points(-8, 0, 200))}}, {{"n", int64_t{1}}}}), 64);
}

TEST(SpecialFunctions, PolesAndEnds) {
  const double inf = HUGE_VAL, nan = std::nan("");
  struct Case {
    const char* name;
    double x, y;
  };
  for (const Case& c : {Case{"erfinv", 1, inf},
                        {"erfinv", 2, nan},
                        {"special_ndtri", 0, -inf},
                        {"lgamma", -3, inf},
                        {"digamma", 0, -inf},
                        {"digamma", -0.0, inf},
                        {"digamma", -2, nan},
                        {"special_modified_bessel_k0", 0, inf},
                        {"special_modified_bessel_k0", -1, nan},
                        {"special_bessel_y0", 0, -inf},
                        {"special_bessel_j0", inf, 0},
                        {"special_i0e", inf, 0},
                        {"special_erfcx", -30, inf},
                        {"special_spherical_bessel_j0", 0, 1}}) {
    const double got = function_of(c.name, line({c.x})).value()[0].real[0];
    EXPECT_TRUE(std::isnan(c.y) ? std::isnan(got) : got == c.y) << c.name << " of " << c.x << " is " << got;
  }
}

// Every term underflows: the sum ends all the same.
TEST(SpecialFunctions, ZetaOfHugeExponentsEnds) {
  const OpUnderTest zeta(
      "aten::special_zeta.default",
      {{"self", line({0x1p62, 0x1p62, 0x1p62, 2, std::numeric_limits<double>::infinity()})},
       {"other", line({3, 0x1p62, 1, std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::infinity()})}});
  EXPECT_EQ(zeta.value()[0].real, (std::vector<double>{0, 0, 1, 0, 0}));
  EXPECT_LE(worst_ulps(zeta), 0);
}

// The forms by recurrence and by cosines, in float32, lie inside.
TEST(Polynomials, BoundHoldsForBothForms) {
  const std::vector<double> x = points(-1, 1, 200);
  for (const double n : {0.0, 1.0, 5.0, 12.0, 40.0}) {
    const OpUnderTest subject("aten::special_chebyshev_polynomial_t.default",
                              {{"x", reals(DType::f32, {200}, x)}, {"n", reals(DType::f32, {}, {n})}});
    const BoundedWide bounded = subject.bounded(Precision{})[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<float>(x[i]);
      const float cosine = std::cos(static_cast<float>(n) * std::acos(at));
      float before = 1, now = n == 0 ? 1 : at;
      for (int k = 1; k < n; ++k) {
        const float next = 2 * at * now - before;
        before = now;
        now = next;
      }
      const double exact = std::cos(n * std::acos(x[i]));
      EXPECT_NEAR(exact, bounded.value.real[i], 1e-12);
      const double moved = n * n * std::fabs(static_cast<double>(at) - x[i]);  // the draw is no float
      EXPECT_LE(std::fabs(static_cast<double>(now) - exact), bounded.bound[i] + moved) << n << " " << x[i];
      EXPECT_LE(std::fabs(static_cast<double>(cosine) - exact), bounded.bound[i] + moved) << n << " " << x[i];
      EXPECT_LE(bounded.bound[i], 1e-3);
    }
  }
}

Wide complex_line(std::vector<double> parts, DType dtype = DType::c128) {
  const auto n = static_cast<int64_t>(parts.size() / 2);
  return reals(dtype, {n}, std::move(parts));
}

TEST(ComplexNumbers, AgreeWithFloat128) {
  const Wide z = complex_line(points(-3, 3, 400)), w = complex_line(points(-2, 5, 400));
  for (const char* name : {"exp",   "log",   "log2",  "log10",   "sqrt",  "rsqrt", "reciprocal", "sin",
                           "cos",   "tan",   "asin",  "acos",    "atan",  "sinh",  "cosh",       "tanh",
                           "asinh", "acosh", "atanh", "sigmoid", "expm1", "log1p", "abs",        "angle"}) {
    EXPECT_LE(worst_ulps({std::string("aten::") + name + ".default", {{"self", z}}}), 4) << name;
  }
  for (const char* name : {"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor"}) {
    EXPECT_LE(worst_ulps({std::string("aten::") + name, {{"self", z}, {"other", w}}}), 2) << name;
  }
  EXPECT_LE(worst_ulps({"aten::pow.Tensor_Tensor", {{"self", z}, {"exponent", w}}}), 64);
}

// 1 + exp(-z) cancels beside the pole i pi: the Bound is that of the formula, and no larger far from it.
TEST(ComplexNumbers, SigmoidBesideItsPole) {
  const double near = 3.14159;
  Precision precision;
  precision.accumulator = precision.intermediate = DType::f64;
  const OpUnderTest sigmoid("aten::sigmoid.default", {{"self", complex_line({0.07, near, 0.5, 0.5})}});
  const BoundedWide out = sigmoid.bounded(precision)[0];
  const std::complex<double> z(0.07, near), by_formula = 1.0 / (1.0 + std::exp(-z));
  EXPECT_LE(std::fabs(by_formula.real() - out.value.real[0]), out.bound[0]);
  EXPECT_LE(std::fabs(by_formula.imag() - out.value.real[1]), out.bound[1]);
  EXPECT_GT(out.bound[0], 40 * 0x1p-53 * std::abs(by_formula));
  EXPECT_LT(out.bound[2], 16 * 0x1p-53);
}

TEST(ComplexNumbers, AnnexG) {
  const double inf = HUGE_VAL, nan = std::nan("");
  EXPECT_EQ(
      OpUnderTest("aten::abs.default", {{"self", complex_line({inf, nan, nan, -inf, 3, 4})}}).value()[0].real,
      (std::vector<double>{inf, inf, 5}));
  const Wide root =
      OpUnderTest("aten::sqrt.default", {{"self", complex_line({-1, -0.0, -1, 0.0})}}).value()[0];
  EXPECT_EQ(root.real, (std::vector<double>{0, -1, 0, 1}));
  const Wide quotient = OpUnderTest("aten::div.Tensor", {{"self", complex_line({0, 0}, DType::c64)},
                                                         {"other", complex_line({1e-36, 0}, DType::c64)}})
                            .value()[0];
  EXPECT_EQ(quotient.real, (std::vector<double>{0, 0}));
  const OpUnderTest turned("aten::_conj.default", {{"self", complex_line({1, 2, -3, 0.0})}});
  EXPECT_EQ(turned.value()[0].real, (std::vector<double>{1, -2, -3, -0.0}));
  EXPECT_EQ(error_model(turned.call()).name, "exact");
  const OpUnderTest modulus("aten::abs.default", {{"self", complex_line({1, 2})}});
  EXPECT_EQ(error_model(modulus.call()).name, "bounded") << "abs is exact for real numbers only";
}

TEST(Fourier, AgreesWithFloat128AndRoundTrips) {
  for (const int64_t n : {1, 2, 7, 12, 30, 64, 101}) {
    const Wide x = reals(DType::c128, {3, n, 2}, points(-1, 1, static_cast<std::size_t>(12 * n)));
    const OpUnderTest forward("aten::_fft_c2c.default", {{"self", x}},
                              {int_list("dim", {1, 2}), {"normalization", int64_t{1}}, {"forward", true}});
    const Wide y = forward.value()[0];
    const auto witness = evaluate_witness(forward.call(), forward.inputs());
    for (std::size_t i = 0; i < y.real.size(); ++i) EXPECT_NEAR(y.real[i], (*witness)[0].real[i], 1e-14);
    const Wide back =
        OpUnderTest("aten::_fft_c2c.default", {{"self", y}},
                    {int_list("dim", {1, 2}), {"normalization", int64_t{1}}, {"forward", false}})
            .value()[0];
    for (std::size_t i = 0; i < back.real.size(); ++i) EXPECT_NEAR(back.real[i], x.real[i], 1e-13);

    const Wide r = reals(DType::f64, {4, n}, points(-1, 1, static_cast<std::size_t>(4 * n)));
    const Wide half =
        OpUnderTest("aten::_fft_r2c.default", {{"self", r}},
                    {int_list("dim", {0, 1}), {"normalization", int64_t{0}}, {"onesided", true}})
            .value()[0];
    EXPECT_EQ(half.meta.shape, (Shape{4, n / 2 + 1}));
    const Wide again =
        OpUnderTest("aten::_fft_c2r.default", {{"self", half}},
                    {int_list("dim", {0, 1}), {"normalization", int64_t{2}}, {"last_dim_size", n}})
            .value()[0];
    for (std::size_t i = 0; i < again.real.size(); ++i) EXPECT_NEAR(again.real[i], r.real[i], 1e-13);
  }
}

// A float32 transform by the definition lies inside the Bound, one with a wrong root of unity does not.
TEST(Fourier, BoundHolds) {
  const int64_t n = 48;
  std::vector<double> parts = points(-1, 1, 96);
  for (double& v : parts) v = static_cast<double>(static_cast<float>(v));
  const BoundedWide bounded =
      OpUnderTest("aten::_fft_c2c.default", {{"self", complex_line(parts, DType::c64)}},
                  {int_list("dim", {0}), {"normalization", int64_t{0}}, {"forward", true}})
          .bounded(Precision{})[0];
  for (const double turn : {2 * M_PI / 48, 2 * M_PI / 48 * 1.0001}) {
    double worst = 0;
    for (int64_t j = 0; j < n; ++j) {
      float re = 0, im = 0;
      for (int64_t k = 0; k < n; ++k) {
        const auto at = static_cast<std::size_t>(2 * k);
        const auto x = static_cast<float>(parts[at]), y = static_cast<float>(parts[at + 1]);
        const double angle = -turn * static_cast<double>(j * k % n);
        const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
        re += x * c - y * s;
        im += x * s + y * c;
      }
      const auto at = static_cast<std::size_t>(2 * j);
      worst =
          std::max({worst, std::fabs(static_cast<double>(re) - bounded.value.real[at]) / bounded.bound[at],
                    std::fabs(static_cast<double>(im) - bounded.value.real[at + 1]) / bounded.bound[at + 1]});
    }
    EXPECT_EQ(worst <= 1, turn == 2 * M_PI / 48) << worst;
  }
}

TEST(Bits, NextAfterAndSigns) {
  const Wide from = reals(DType::bf16, {6}, {1, 1, 0, -2, 0x1.fep127, HUGE_VAL}),
             to = reals(DType::bf16, {6}, {2, 0, -1, 0, HUGE_VAL, 0});
  EXPECT_EQ(OpUnderTest("aten::nextafter.default", {{"self", from}, {"other", to}}).value()[0].real,
            (std::vector<double>{1.0078125, 0.99609375, -0x1p-133, -1.9921875, HUGE_VAL, 0x1.fep127}));
  const auto parts =
      OpUnderTest("aten::frexp.Tensor", {{"self", reals(DType::f32, {3}, {6, -0.25, 0})}}).value();
  EXPECT_EQ(parts[0].real, (std::vector<double>{0.75, -0.5, 0}));
  EXPECT_EQ(parts[1].integer, (std::vector<int64_t>{3, -1, 0}));
  EXPECT_EQ(OpUnderTest("aten::signbit.default", {{"self", reals(DType::f32, {3}, {-0.0, 0.0, -1})}})
                .value()[0]
                .integer,
            (std::vector<int64_t>{1, 0, 1}));
  const OpUnderTest shifted("aten::bitwise_left_shift.Tensor",
                            {{"self", integers_of(DType::i8, {3}, {3, -1, 64})},
                             {"other", integers_of(DType::i8, {3}, {2, 7, 1})}});
  EXPECT_EQ(shifted.value()[0].integer, (std::vector<int64_t>{12, -128, -128}));
}

}  // namespace
}  // namespace assay::reference
