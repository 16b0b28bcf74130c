// Elementwise kernels against loops in double and int64.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "backend/kernels/run_call_test.h"

namespace assay::backend {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor drawn(DType dtype, const Shape& shape, double low, double high, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) v = is_float(dtype) ? draw(random) : std::floor(draw(random));
  return Tensor::from_doubles(dtype, shape, values);
}

std::vector<NamedArgument> unary() { return {{"self", ValueArg{0}}}; }
std::vector<NamedArgument> binary() { return {{"self", ValueArg{0}}, {"other", ValueArg{1}}}; }

// |got - want| <= ulps, in ulps of the result's dtype; NaN, infinities and zeros' signs must be equal.
void expect_near(const Tensor& got, const std::vector<double>& want, double ulps, const std::string& what) {
  const std::vector<double> values = got.to_doubles();
  ASSERT_EQ(values.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double rounded = round_to(got.dtype(), want[i]);
    if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0) {
      EXPECT_TRUE(std::isnan(rounded) ? std::isnan(values[i]) : values[i] == rounded)
          << what << " [" << i << "] got " << values[i] << " want " << rounded;
      if (rounded == 0) {
        EXPECT_EQ(std::signbit(values[i]), std::signbit(rounded)) << what << " [" << i << "]";
      }
      continue;
    }
    const FloatFormat& format = float_format(got.dtype());
    const double unit =
        std::max(2 * format.unit_roundoff() * std::exp2(std::floor(std::log2(std::fabs(rounded)))),
                 format.smallest_subnormal());
    EXPECT_LE(std::fabs(values[i] - want[i]), ulps * unit)
        << what << " [" << i << "] got " << values[i] << " want " << want[i];
  }
}

TEST(Elementwise, AddBroadcastsOverEverySizeOfTile) {
  const std::pair<Shape, Shape> shapes[] = {
      {{}, {}},
      {{0, 4}, {1, 4}},
      {{1}, {1}},
      {{5, 7}, {1, 7}},
      {{5, 7}, {5, 1}},
      {{129, 5}, {129, 1}},
      {{2, 1, 5}, {2, 3, 1}},
      {{131}, {131}},
      {{300, 1000}, {1}},
      {{3, 128, 513}, {513}},
      {{2, 1, 3, 1, 2, 1, 3}, {1, 2, 1, 2, 1, 2, 1}},
      {{263, 1031}, {263, 1031}},
  };
  for (const auto& [a, b] : shapes) {
    const Tensor x = drawn(DType::f32, a, -4, 4, 1), y = drawn(DType::f32, b, -4, 4, 2);
    const CallResult result = run_call("aten::add.Tensor", {x, y}, binary());
    const Tensor& got = result.outputs[0];
    EXPECT_EQ(result.native, Native::engines);
    const Tensor xb(
        DType::f32, got.shape(),
        [&] {
          Shape s = contiguous_strides(a);
          Shape out(got.shape().size(), 0);
          for (std::size_t d = 0; d < a.size(); ++d) out[out.size() - a.size() + d] = a[d] == 1 ? 0 : s[d];
          return out;
        }(),
        0, x.storage());
    const Tensor yb(
        DType::f32, got.shape(),
        [&] {
          Shape s = contiguous_strides(b);
          Shape out(got.shape().size(), 0);
          for (std::size_t d = 0; d < b.size(); ++d) out[out.size() - b.size() + d] = b[d] == 1 ? 0 : s[d];
          return out;
        }(),
        0, y.storage());
    const std::vector<double> u = xb.to_doubles(), v = yb.to_doubles(), w = got.to_doubles();
    for (std::size_t i = 0; i < w.size(); ++i) {
      ASSERT_EQ(w[i], static_cast<double>(static_cast<float>(u[i] + v[i])));
    }
  }
}

TEST(Elementwise, IntegersAreExactBeyond24Bits) {
  const Tensor a = Tensor::from_ints(DType::i64, {4}, {INT64_MAX, (int64_t{1} << 53) + 1, -7, 16777217});
  const Tensor b = Tensor::from_ints(DType::i64, {4}, {1, 2, 3, 16777219});
  EXPECT_THAT(run_call("aten::add.Tensor", {a, b}, binary()).outputs[0].to_ints(),
              testing::ElementsAre(INT64_MIN, (int64_t{1} << 53) + 3, -4, 33554436));
  EXPECT_THAT(run_call("aten::mul.Tensor", {a, b}, binary()).outputs[0].to_ints(),
              testing::ElementsAre(INT64_MAX, (int64_t{1} << 54) + 2, -21, int64_t{16777217} * 16777219));
  EXPECT_THAT(run_call("aten::lt.Tensor", {a, b}, binary()).outputs[0].to_ints(),
              testing::ElementsAre(0, 0, 1, 1));
  const Tensor c = Tensor::from_ints(DType::i32, {3}, {33554433, 33554434, -1});
  std::vector<NamedArgument> args{{"self", ValueArg{0}}, {"other", int64_t{33554433}}};
  EXPECT_THAT(run_call("aten::eq.Scalar", {c}, args).outputs[0].to_ints(), testing::ElementsAre(1, 0, 0));
  EXPECT_THAT(run_call("aten::sub.Tensor", {c}, args).outputs[0].to_ints(),
              testing::ElementsAre(0, 1, -33554434));
  EXPECT_EQ(run_call("aten::sub.Tensor", {c}, args).native, Native::gpsimd);
}

TEST(Elementwise, AlphaScalesOther) {
  const Tensor a = Tensor::from_doubles(DType::f32, {2}, {1, 2}),
               b = Tensor::from_doubles(DType::f32, {2}, {8, 16});
  auto args = binary();
  args.push_back({"alpha", 0.25});
  EXPECT_THAT(run_call("aten::add.Tensor", {a, b}, args).outputs[0].to_doubles(), testing::ElementsAre(3, 6));
  EXPECT_THAT(run_call("aten::sub.Tensor", {a, b}, args).outputs[0].to_doubles(),
              testing::ElementsAre(-1, -2));
}

struct Function {
  const char* op;
  std::function<double(double)> f;
  double low, high, ulps;
};

TEST(Elementwise, FunctionsOverTheirDomains) {
  const std::vector<Function> functions{
      {"exp", [](double x) { return std::exp(x); }, -87, 88, 0.51},
      {"log", [](double x) { return std::log(x); }, 1e-6, 100, 0.51},
      {"log1p", [](double x) { return std::log1p(x); }, -0.9, 10, 0.51},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -20, 20, 0.51},
      {"tanh", [](double x) { return std::tanh(x); }, -9, 9, 0.51},
      {"sin", [](double x) { return std::sin(x); }, -30000, 30000, 1.6},
      {"cos", [](double x) { return std::cos(x); }, -30000, 30000, 0.51},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-6, 100, 1},
      {"sqrt", [](double x) { return std::sqrt(x); }, 0, 100, 0.5},
      {"reciprocal", [](double x) { return 1 / x; }, 0.1, 100, 0.5},
      {"erf", [](double x) { return std::erf(x); }, -4, 4, 0.51},
      {"floor", [](double x) { return std::floor(x); }, -9, 9, 0},
      {"ceil", [](double x) { return std::ceil(x); }, -9, 9, 0},
      {"neg", [](double x) { return -x; }, -9, 9, 0},
      {"abs", [](double x) { return std::fabs(x); }, -9, 9, 0},
  };
  for (const Function& fact : functions) {
    for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const Tensor x = drawn(dtype, {257}, fact.low, fact.high);
      std::vector<double> want;
      for (double v : x.to_doubles()) want.push_back(fact.f(v));
      // Below fp32 the only rounding that shows is the one on write.
      const double ulps = dtype == DType::f32 || fact.ulps == 0 ? fact.ulps : 0.501;
      expect_near(run_call(std::string("aten::") + fact.op + ".default", {x}, unary()).outputs[0], want, ulps,
                  std::string(fact.op) + " " + std::string(name_of(dtype)));
    }
  }
}

// Outside of the ranges of the activation tables, and where IEEE 754 and C99 have special values.
TEST(Elementwise, WholeRangeAndSpecialValues) {
  const std::vector<double> x{kNan,    kInf,   -kInf,   0.0,      -0.0,     1,      -1,
                              1e-45,   1e-40,  1.2e-38, 0x1p-64,  0x1p-61,  0x1p61, 0x1p64,
                              0x1p100, 3.4e38, -1e-40,  -0x1p101, 0x1p-101, 1e20,   1e10};
  const Tensor t = Tensor::from_doubles(DType::f32, {static_cast<int64_t>(x.size())}, x);
  const std::vector<double> exact = t.to_doubles();
  const std::vector<Function> functions{
      {"log", [](double v) { return std::log(v); }, 0, 0, 1.6},
      {"sqrt", [](double v) { return std::sqrt(v); }, 0, 0, 0.5},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }, 0, 0, 1},
      {"sin", [](double v) { return std::sin(v); }, 0, 0, 1.6},
      {"cos", [](double v) { return std::cos(v); }, 0, 0, 0.51},
      {"exp", [](double v) { return std::exp(v); }, 0, 0, 0.51},
      {"tanh", [](double v) { return std::tanh(v); }, 0, 0, 0.51},
      {"reciprocal", [](double v) { return 1 / v; }, 0, 0, 0.51},
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }, 0, 0, 0.51},
      {"relu", [](double v) { return v < 0 ? 0.0 : v; }, 0, 0, 0},
  };
  for (const Function& fact : functions) {
    std::vector<double> want;
    for (double v : exact) want.push_back(fact.f(v));
    expect_near(run_call(std::string("aten::") + fact.op + ".default", {t}, unary()).outputs[0], want,
                fact.ulps, fact.op);
  }
}

TEST(Elementwise, WhereTakesOnlyTheSelectedSide) {
  const Tensor c = Tensor::from_ints(DType::boolean, {4}, {1, 0, 1, 0});
  const Tensor a = Tensor::from_doubles(DType::f32, {4}, {1, kNan, -0.0, kInf});
  const Tensor b = Tensor::from_doubles(DType::f32, {4}, {kNan, 2, kInf, -0.0});
  const auto got = run_call("aten::where.self", {c, a, b},
                            {{"condition", ValueArg{0}}, {"self", ValueArg{1}}, {"other", ValueArg{2}}})
                       .outputs[0];
  expect_near(got, {1, 2, -0.0, -0.0}, 0, "where");
  const Tensor i = Tensor::from_ints(DType::i64, {4}, {INT64_MAX, 1, 2, 3});
  const Tensor j = Tensor::from_ints(DType::i64, {}, {-5});
  EXPECT_THAT(run_call("aten::where.self", {c, i, j},
                       {{"condition", ValueArg{0}}, {"self", ValueArg{1}}, {"other", ValueArg{2}}})
                  .outputs[0]
                  .to_ints(),
              testing::ElementsAre(INT64_MAX, -5, 2, -5));
}

TEST(Elementwise, PowFollowsC99) {
  const std::vector<double> base{0, kNan, 1, -8, -0.0, -kInf, -1}, exponent{0, 0, kNan, 1.0 / 3, -1, 3, kInf};
  const Tensor a = Tensor::from_doubles(DType::f32, {7}, base),
               b = Tensor::from_doubles(DType::f32, {7}, exponent);
  std::vector<double> want;
  for (std::size_t i = 0; i < base.size(); ++i) want.push_back(std::pow(base[i], exponent[i]));
  expect_near(run_call("aten::pow.Tensor_Tensor", {a, b}, {{"self", ValueArg{0}}, {"exponent", ValueArg{1}}})
                  .outputs[0],
              want, 0.51, "pow");
  const Tensor i = Tensor::from_ints(DType::i64, {3}, {-100, 3, 2000000});
  EXPECT_THAT(run_call("aten::pow.Tensor_Scalar", {i}, {{"self", ValueArg{0}}, {"exponent", int64_t{3}}})
                  .outputs[0]
                  .to_ints(),
              testing::ElementsAre(-1000000, 27, 8000000000000000000));
}

TEST(Elementwise, UnsupportedSaysWhy) {
  const Tensor d(DType::f64, {2});
  try {
    run_call("aten::add.Tensor", {d, d}, binary());
    FAIL();
  } catch (const Unsupported& error) {
    EXPECT_EQ(error.reason(), ASSAY_REASON_FLOAT64);
    EXPECT_THAT(error.what(), testing::HasSubstr("aten::add.Tensor"));
  }
}

}  // namespace
}  // namespace assay::backend
