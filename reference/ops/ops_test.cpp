// Values and edge rules of operators, against hand-computed or documented results.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType f32 = DType::f32, i64 = DType::i64;

void expect_same(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    } else if (std::isinf(want[i])) {
      EXPECT_EQ(got[i], want[i]) << i;
    } else {
      EXPECT_NEAR(got[i], want[i], 1e-15 * std::fabs(want[i])) << i;
    }
  }
}

Wide x(std::vector<double> values, DType dtype = f32) {
  const auto n = static_cast<int64_t>(values.size());
  return reals(dtype, {n}, std::move(values));
}
Wide k(std::vector<int64_t> values, DType dtype = i64) {
  const auto n = static_cast<int64_t>(values.size());
  return integers_of(dtype, {n}, std::move(values));
}

std::vector<double> unary(const std::string& op, const std::vector<double>& values) {
  return OpUnderTest(op, {{"self", x(values)}}).value()[0].real;
}
std::vector<double> binary(const std::string& op, const Wide& a, const Wide& b,
                           const std::string& second = "other", std::vector<NamedArgument> more = {}) {
  return OpUnderTest(op, {{"self", a}, {second, b}}, std::move(more)).value()[0].real;
}

TEST(Unary, EdgeValues) {
  expect_same(unary("aten::relu.default", {-1, 2, kNaN, -kInf}), {0, 2, kNaN, 0});
  expect_same(unary("aten::sign.default", {-3, 0, kNaN}), {-1, 0, kNaN});
  expect_same(unary("aten::round.default", {0.5, 1.5, 2.5, -0.5, kInf}), {0, 2, 2, 0, kInf});
  EXPECT_TRUE(std::signbit(unary("aten::round.default", {-0.25})[0]));
  expect_same(unary("aten::gelu.default", {kInf, -kInf, kNaN, 0}), {kInf, 0, kNaN, 0});
  expect_same(unary("aten::sigmoid.default", {0, 1000, -1000, kInf}), {0.5, 1, 0, 1});
  expect_same(unary("aten::sin.default", {1e10, 1e-7}), {-0.48750602508751067, 1e-7 - 1e-21 / 6});
  expect_same(unary("aten::log.default", {0, -1, 1}), {-kInf, kNaN, 0});
}

TEST(Range, WhatRoundsToInfinityInTheDtypeIsInfinite) {
  expect_same(binary("aten::mul.Tensor", x({3e38, 65504}), x({2, 1})), {kInf, 65504});
  expect_same(binary("aten::add.Tensor", x({65504, 65504}, DType::f16), x({15, 16}, DType::f16)),
              {65519, kInf});
  EXPECT_EQ(binary("aten::mul.Tensor", x({3e38}, DType::f64), x({2}, DType::f64))[0], 6e38);
}

TEST(Pow, FollowsC99) {
  const auto pow = [](double a, double b) {
    return binary("aten::pow.Tensor_Tensor", x({a}), x({b}), "exponent")[0];
  };
  EXPECT_EQ(pow(0, 0), 1);
  EXPECT_EQ(pow(kNaN, 0), 1);
  EXPECT_EQ(pow(1, kNaN), 1);
  EXPECT_TRUE(std::isnan(pow(-8, 1.0 / 3)));
  EXPECT_EQ(pow(-0.0, -1), -kInf);
  EXPECT_EQ(pow(-kInf, 3), -kInf);
  EXPECT_EQ(pow(-1, kInf), 1);
}

TEST(Pow, IntegersToNegativeIntegerPowersAreRefused) {
  const TensorMeta meta{i64, {1}};
  const OpCall call("aten::pow.Tensor_Scalar", {meta}, {{"self", ValueArg{0}}, {"exponent", int64_t{-1}}},
                    {meta});
  const Wide two = k({2});
  EXPECT_THROW(evaluate(call, {&two}), Error);
  const OpUnderTest tensors("aten::pow.Tensor_Tensor",
                            {{"self", k({2, -1, 1})}, {"exponent", k({-1, -3, -2})}});
  EXPECT_EQ(tensors.value()[0].integer, (std::vector<int64_t>{0, -1, 1}));
}

TEST(Division, RemaindersAndQuotientsHavePythonsSigns) {
  const Wide a = x({-7, 7, -7}), b = x({3, -3, -3});
  expect_same(binary("aten::remainder.Tensor", a, b), {2, -2, -1});
  expect_same(binary("aten::fmod.Tensor", a, b), {-1, 1, -1});
  const auto mode = [&](const char* name) {
    return std::vector<NamedArgument>{{"rounding_mode", std::string(name)}};
  };
  expect_same(binary("aten::div.Tensor_mode", a, b, "other", mode("floor")), {-3, -3, 2});
  expect_same(binary("aten::div.Tensor_mode", a, b, "other", mode("trunc")), {-2, -2, 2});
  // The exact quotient of 1 and the f32 nearest to 0.1 is just below 10.
  expect_same(binary("aten::div.Tensor_mode", x({1}), x({0.10000000149011612}), "other", mode("floor")), {9});
}

TEST(Division, IntegersWrapAndDivisionByZeroIsUndefinedButAlive) {
  const OpUnderTest op(
      "aten::div.Tensor_mode",
      {{"self", k({INT32_MIN, 1, INT32_MIN}, DType::i32)}, {"other", k({-1, 0, 2097152}, DType::i32)}},
      {{"rounding_mode", std::string("trunc")}});
  const Wide out = op.value()[0];
  EXPECT_EQ(out.integer[0], INT32_MIN);
  EXPECT_EQ(out.integer[2], -1024);
  EXPECT_EQ(out.undefined, (std::vector<uint8_t>{0, 1, 0}));
  EXPECT_EQ(op.bounded(Precision())[0].special, (std::vector<uint8_t>{0, special_undefined, 0}));
}

TEST(Casts, RoundOnceAndMarkWhatAnIntegerCannotHold) {
  const OpUnderTest narrow("aten::_to_copy.default", {{"self", x({3.14, 1 + 0x1p-8, 0.26914})}},
                           {{"dtype", DTypeArg{DType::bf16}}});
  expect_same(narrow.bounded(Precision())[0].value.real, {3.140625, 1.0, 0.26953125});
  EXPECT_EQ(narrow.bounded(Precision())[0].bound, (std::vector<double>{0, 0, 0}));
  const OpUnderTest integer("aten::_to_copy.default", {{"self", x({kNaN, -1, 300, 255.5})}},
                            {{"dtype", DTypeArg{DType::u8}}});
  EXPECT_EQ(integer.value()[0].undefined, (std::vector<uint8_t>{1, 1, 1, 0}));
  EXPECT_EQ(integer.value()[0].integer[3], 255);
  const OpUnderTest wrap("aten::_to_copy.default", {{"self", k({300, -200})}},
                         {{"dtype", DTypeArg{DType::i8}}});
  EXPECT_EQ(wrap.value()[0].integer, (std::vector<int64_t>{44, 56}));
}

TEST(Extrema, NaNWins) {
  expect_same(binary("aten::maximum.default", x({1, kNaN, 2}), x({kNaN, 1, 3})), {kNaN, kNaN, 3});
  expect_same(OpUnderTest("aten::amax.default", {{"self", x({1, kNaN, 3})}}).value()[0].real, {kNaN});
  const auto out = OpUnderTest("aten::min.dim", {{"self", x({1, kNaN, -3})}}, {{"dim", int64_t{0}}}).value();
  expect_same(out[0].real, {kNaN});
  EXPECT_EQ(out[1].integer[0], 1);
}

TEST(Clamp, TheUpperLimitWinsAndNaNStays) {
  const auto clamp = [](std::vector<double> values, double lo, double hi) {
    return OpUnderTest("aten::clamp.default", {{"self", x(std::move(values))}}, {{"min", lo}, {"max", hi}})
        .value()[0]
        .real;
  };
  expect_same(clamp({-3, 0, 3}, 5, 1), {1, 1, 1});
  expect_same(clamp({kNaN, -2, 0.5}, -1, 1), {kNaN, -1, 0.5});
}

TEST(Comparisons, NumbersAreComparedInTheTensorsDtype) {
  const Wide tenth = x({static_cast<double>(0.1F)});
  EXPECT_EQ(OpUnderTest("aten::eq.Scalar", {{"self", tenth}}, {{"other", 0.1}}).value()[0].integer[0], 1);
}

TEST(Addmm, BetaZeroDoesNotReadCAndKZeroIsAnEmptySum) {
  const Wide ones = reals(f32, {2, 2}, {1, 1, 1, 1}), nans = reals(f32, {2, 2}, {kNaN, kNaN, kNaN, kNaN});
  const auto addmm = [](const Wide& c, const Wide& a, const Wide& b, double beta, double alpha) {
    return OpUnderTest("aten::addmm.default", {{"self", c}, {"mat1", a}, {"mat2", b}},
                       {{"beta", beta}, {"alpha", alpha}})
        .value()[0]
        .real;
  };
  expect_same(addmm(nans, ones, ones, 0, 1), {2, 2, 2, 2});
  expect_same(addmm(ones, nans, ones, 1, 0), {1, 1, 1, 1});
  expect_same(addmm(ones, reals(f32, {2, 0}, {}), reals(f32, {0, 2}, {}), 2, 1), {2, 2, 2, 2});
}

TEST(Softmax, Infinities) {
  const auto softmax = [](std::vector<double> values) {
    return OpUnderTest("aten::_softmax.default", {{"self", x(std::move(values))}},
                       {{"dim", int64_t{0}}, {"half_to_float", false}});
  };
  expect_same(softmax({-kInf, -kInf}).value()[0].real, {kNaN, kNaN});
  expect_same(softmax({kInf, 0}).value()[0].real, {kNaN, kNaN});
  expect_same(softmax({-kInf, 1}).value()[0].real, {0, 1});
  // A mask of the lowest float is no infinity and has a Bound.
  const auto masked = softmax({1, -3.4028234663852886e38}).bounded(Precision());
  EXPECT_FALSE(masked[0].unmodelled);
  EXPECT_LT(masked[0].bound[0], 1e-6);
  EXPECT_LT(masked[0].bound[1], 1e-30);
}

TEST(LayerNorm, ConstantRowsTinyVarianceAndHugeValues) {
  const auto norm = [](std::vector<double> values, double eps) {
    const auto n = static_cast<int64_t>(values.size());
    return OpUnderTest(
        "aten::native_layer_norm.default", {{"input", x(std::move(values))}},
        {int_list("normalized_shape", {n}), {"weight", NoneArg{}}, {"bias", NoneArg{}}, {"eps", eps}});
  };
  expect_same(norm(std::vector<double>(8, 1234), 1e-5).value()[0].real, std::vector<double>(8, 0));
  const auto tiny = norm({9.9e-4, -9.9e-4}, 1e-12).value()[0].real;
  EXPECT_NEAR(tiny[0], 1, 1e-6);
  // The variance, 1e60, is beyond f32, the result is not.
  expect_same(norm({1e30, -1e30}, 1e-5).value()[0].real, {1, -1});
}

TEST(Var, LargeMeanAndTooFewElements) {
  const OpUnderTest large("aten::var.correction", {{"self", x({1e8, 1e8 + 8, 1e8 + 16})}});
  EXPECT_EQ(large.value()[0].real[0], 64);
  const OpUnderTest single("aten::var.correction", {{"self", x({1})}});
  EXPECT_TRUE(std::isnan(single.value()[0].real[0]));
}

TEST(MaxPool, NaNWinsAndAWindowOfMinusInfinityGivesItsFirstElement) {
  const auto pool = [](std::vector<double> values) {
    const auto n = static_cast<int64_t>(values.size());
    return OpUnderTest("aten::max_pool2d_with_indices.default",
                       {{"self", reals(f32, {1, 1, 1, n}, std::move(values))}},
                       {int_list("kernel_size", {1, 2}), int_list("stride", {1, 2})})
        .value();
  };
  expect_same(pool({kNaN, 1, 2, 3})[0].real, {kNaN, 3});
  EXPECT_EQ(pool({-kInf, -kInf})[1].integer, (std::vector<int64_t>{0}));
}

TEST(AvgPool, CeilModeDivisors) {
  const OpUnderTest op("aten::avg_pool1d.default", {{"self", reals(f32, {1, 1, 5}, {1, 2, 3, 4, 5})}},
                       {int_list("kernel_size", {2}), int_list("stride", {2}), {"ceil_mode", true}});
  expect_same(op.value()[0].real, {1.5, 3.5, 5});
  std::vector<double> nine(9);
  for (std::size_t i = 0; i < 9; ++i) nine[i] = static_cast<double>(i);
  const auto padded = [&](bool include) {
    return OpUnderTest("aten::avg_pool2d.default", {{"self", reals(f32, {1, 1, 3, 3}, nine)}},
                       {int_list("kernel_size", {2, 2}),
                        int_list("stride", {2, 2}),
                        int_list("padding", {1, 1}),
                        {"ceil_mode", true},
                        {"count_include_pad", include}})
        .value()[0]
        .real;
  };
  expect_same(padded(true), {0, 0.75, 2.25, 6});
  expect_same(padded(false), {0, 1.5, 4.5, 6});
}

TEST(Convolution, GroupsAndDilation) {
  const auto conv = [](const Wide& input, const Wide& weight, int64_t pad, int64_t dilation, int64_t groups) {
    return OpUnderTest("aten::convolution.default", {{"input", input}, {"weight", weight}},
                       {{"bias", NoneArg{}},
                        int_list("stride", {1}),
                        int_list("padding", {pad}),
                        int_list("dilation", {dilation}),
                        {"transposed", false},
                        int_list("output_padding", {0}),
                        {"groups", groups}})
        .value()[0]
        .real;
  };
  expect_same(conv(reals(f32, {1, 2, 2}, {0, 1, 2, 3}), reals(f32, {2, 1, 1}, {1, 10}), 0, 1, 2),
              {0, 1, 20, 30});
  expect_same(conv(reals(f32, {1, 1, 5}, {0, 1, 2, 3, 4}), reals(f32, {1, 1, 2}, {1, -1}), 1, 3, 1),
              {-2, -3, -3, 2});
}

TEST(Indexing, OutOfRangeIsRefusedAndNegativeCountsFromTheEndWhereThePyTorchOperatorSaysSo) {
  const Wide table = reals(f32, {3, 1}, {10, 20, 30});
  EXPECT_THROW(OpUnderTest("aten::embedding.default", {{"weight", table}, {"indices", k({3})}}).value(),
               Error);
  EXPECT_THROW(OpUnderTest("aten::embedding.default", {{"weight", table}, {"indices", k({-1})}}).value(),
               Error);
  expect_same(OpUnderTest("aten::embedding.default", {{"weight", table}, {"indices", k({2, 0})}},
                          {{"padding_idx", int64_t{0}}})
                  .value()[0]
                  .real,
              {30, 10});
}

TEST(Cumsum, BooleansCountInI64) {
  const auto out =
      OpUnderTest("aten::cumsum.default", {{"self", k({1, 0, 1}, DType::boolean)}}, {{"dim", int64_t{0}}})
          .value()[0];
  EXPECT_EQ(out.meta.dtype, DType::i64);
  EXPECT_EQ(out.integer, (std::vector<int64_t>{1, 1, 2}));
}

TEST(Mean, OfMoreOnesThanF16CanCountIsOne) {
  const OpUnderTest op("aten::mean.dim", {{"self", x(std::vector<double>(70000, 1), DType::f16)}},
                       {int_list("dim", {0})});
  EXPECT_EQ(op.value()[0].real[0], 1);
}

TEST(EmptyTensors, ReduceToTheirIdentities) {
  const Wide none = reals(f32, {0, 2}, {});
  expect_same(OpUnderTest("aten::sum.dim_IntList", {{"self", none}}, {int_list("dim", {0})}).value()[0].real,
              {0, 0});
  expect_same(OpUnderTest("aten::mean.dim", {{"self", none}}, {int_list("dim", {0})}).value()[0].real,
              {kNaN, kNaN});
  EXPECT_TRUE(OpUnderTest("aten::exp.default", {{"self", none}}).value()[0].real.empty());
}

TEST(Registry, EveryKernelHasASchemaAnErrorModelAndAnAuthority) {
  ASSERT_GT(operator_names().size(), 150U);
  for (const std::string& name : operator_names()) {
    EXPECT_NE(find_schema(name), nullptr) << name;
    EXPECT_FALSE(error_model(name).name.empty()) << name;
    EXPECT_FALSE(error_model(name).authority.empty()) << name;
  }
  EXPECT_EQ(error_model("aten::no_such_operator.default").name, "");
}

std::vector<int64_t> whole(const std::string& op, const Wide& a, const Wide& b) {
  return OpUnderTest(op, {{"self", a}, {"other", b}}).value()[0].integer;
}
std::vector<double> with_number(const std::string& op, const Wide& a, double other) {
  return OpUnderTest(op, {{"self", a}}, {{"other", other}}).value()[0].real;
}

// PyTorch's promotion: operands are converted before anything is computed.
TEST(Promotion, OperandsCountAsTheComputationHoldsThem) {
  const Wide minus_three = integers_of(DType::i8, {}, {-3});  // 253 as u8
  const Wide bytes = k({3, 254}, DType::u8);
  EXPECT_EQ(whole("aten::minimum.default", bytes, minus_three), (std::vector<int64_t>{3, 253}));
  EXPECT_EQ(whole("aten::maximum.default", bytes, minus_three), (std::vector<int64_t>{253, 254}));
  EXPECT_EQ(whole("aten::le.Tensor", bytes, minus_three), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(OpUnderTest("aten::clamp.Tensor", {{"self", bytes}, {"min", minus_three}}).value()[0].integer,
            (std::vector<int64_t>{253, 254}));
  expect_same(OpUnderTest("aten::cos.default", {{"self", k({2147483647}, DType::i32)}}).value()[0].real,
              {std::cos(2147483648.0)});
}

TEST(Remainder, TakesANumberInTheTensorsDtype) {
  const double f = 0.1F, b = round_to(DType::bf16, 0.1);
  expect_same(with_number("aten::fmod.Scalar", x({1, -1}), 0.1), {std::fmod(1, f), -std::fmod(1, f)});
  expect_same(with_number("aten::remainder.Scalar", x({1}, DType::bf16), 0.1), {std::fmod(1, b)});
  EXPECT_FALSE(error_model("aten::remainder.Scalar").signed_zero);
  EXPECT_TRUE(error_model("aten::fmod.Scalar").signed_zero);
}

TEST(Reduction, CastsToIntegersBeforeItReduces) {
  const auto reduced = [](const std::string& op, const Wide& a, DType dtype) {
    std::vector<NamedArgument> more{{"dtype", DTypeArg{dtype}}};
    if (op == "aten::sum.dim_IntList") more.push_back(int_list("dim", {0}));
    if (op == "aten::cumsum.default") more.push_back({"dim", int64_t{0}});
    return OpUnderTest(op, {{"self", a}}, more).value()[0];
  };
  EXPECT_EQ(reduced("aten::sum.dim_IntList", x({1.5, 2.5}), i64).integer, (std::vector<int64_t>{3}));
  EXPECT_EQ(reduced("aten::prod.default", x({1.5, -2.5}), i64).integer, (std::vector<int64_t>{-2}));
  EXPECT_EQ(reduced("aten::cumsum.default", x({1.5, 2.5}), i64).integer, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(reduced("aten::sum.dim_IntList", x({0.5, 0.5}), DType::boolean).integer,
            (std::vector<int64_t>{1}));
  EXPECT_EQ(reduced("aten::sum.dim_IntList", k({1, -1}), DType::boolean).integer, (std::vector<int64_t>{1}));
  EXPECT_EQ(reduced("aten::sum.dim_IntList", x({kNaN, 1}), i64).undefined, (std::vector<uint8_t>{1}));
  EXPECT_THROW(reduced("aten::cumsum.default", x({1}), DType::boolean), Error);
}

}  // namespace
}  // namespace assay::reference
