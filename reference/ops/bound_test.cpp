// Bounds of composite operators: computations in float32, in several forms, lie inside; planted defects lie
// outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

using Floats = std::vector<float>;

Floats draw_around(std::size_t n, unsigned seed, float scale = 1, float shift = 0) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& v : values) v = normal(generator) * scale + shift;
  return values;
}
float sum_in_order(const Floats& x, const std::vector<std::size_t>& order) {
  float sum = 0;
  for (const std::size_t i : order) sum = sum + x[i];
  return sum;
}
std::vector<std::size_t> some_order(std::size_t n, unsigned seed) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

TEST(SoftmaxBound, HoldsInAnyOrderAndFindsAWrongMaximumOrALostTerm) {
  const std::size_t n = 100;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Floats x = draw_around(n, seed, 5);
    const BoundedWide bounded = OpUnderTest("aten::_softmax.default", {{"self", singles({100}, x)}},
                                            {{"dim", int64_t{0}}, {"half_to_float", false}})
                                    .bounded(f32_precision())[0];
    const float best = *std::max_element(x.begin(), x.end());
    Floats e(n), y(n), reciprocal(n), lost(n);
    for (std::size_t i = 0; i < n; ++i) e[i] = std::exp(x[i] - best);
    const float total = sum_in_order(e, some_order(n, seed));
    auto short_order = some_order(n, seed);
    // A lost term that matters: the largest one.
    short_order.erase(
        std::find_if(short_order.begin(), short_order.end(), [&](std::size_t i) { return x[i] == best; }));
    const float short_total = sum_in_order(e, short_order);
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = e[i] / total;
      reciprocal[i] = e[i] * (1 / total);
      lost[i] = e[i] / short_total;
    }
    EXPECT_LE(margin(bounded, y), 1);
    EXPECT_LE(margin(bounded, reciprocal), 1);
    EXPECT_GT(margin(bounded, y), 0.001);
    EXPECT_GT(margin(bounded, lost), 10);
  }
}

TEST(LogSoftmaxBound, Holds) {
  const std::size_t n = 64;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Floats x = draw_around(n, seed, 3, 20);
    const BoundedWide bounded = OpUnderTest("aten::_log_softmax.default", {{"self", singles({64}, x)}},
                                            {{"dim", int64_t{0}}, {"half_to_float", false}})
                                    .bounded(f32_precision())[0];
    const float best = *std::max_element(x.begin(), x.end());
    Floats e(n), y(n), other(n);
    for (std::size_t i = 0; i < n; ++i) e[i] = std::exp(x[i] - best);
    const float log_total = std::log(sum_in_order(e, some_order(n, seed)));
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = x[i] - best - log_total;
      other[i] = x[i] - (best + log_total);
    }
    EXPECT_LE(margin(bounded, y), 1);
    EXPECT_LE(margin(bounded, other), 1);
  }
}

TEST(LayerNormBound, HoldsForThreeFormsAndFindsAForgottenEpsilon) {
  const std::size_t n = 64;
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const float shift : {0.0F, 30.0F}) {
      const Floats x = draw_around(n, seed, 0.1F, shift), w = draw_around(n, seed + 100),
                   b = draw_around(n, seed + 200);
      const float eps = 1e-3F;
      const BoundedWide bounded =
          OpUnderTest("aten::native_layer_norm.default",
                      {{"input", singles({64}, x)}, {"weight", singles({64}, w)}, {"bias", singles({64}, b)}},
                      {int_list("normalized_shape", {64}), {"eps", static_cast<double>(eps)}})
              .bounded(f32_precision())[0];
      const float mean = sum_in_order(x, some_order(n, seed)) / static_cast<float>(n);
      Floats squares(n), y(n), folded(n), rooted(n), forgotten(n);
      for (std::size_t i = 0; i < n; ++i) squares[i] = (x[i] - mean) * (x[i] - mean);
      const float variance = sum_in_order(squares, some_order(n, seed + 1)) / static_cast<float>(n);
      const float r = 1 / std::sqrt(variance + eps), without = 1 / std::sqrt(variance);
      for (std::size_t i = 0; i < n; ++i) {
        y[i] = (x[i] - mean) * r * w[i] + b[i];
        folded[i] = x[i] * (r * w[i]) + (b[i] - mean * (r * w[i]));
        rooted[i] = (x[i] - mean) / std::sqrt(variance + eps) * w[i] + b[i];
        forgotten[i] = (x[i] - mean) * without * w[i] + b[i];
      }
      EXPECT_LE(margin(bounded, y), 1) << shift;
      EXPECT_LE(margin(bounded, folded), 1) << shift;
      EXPECT_LE(margin(bounded, rooted), 1) << shift;
      EXPECT_GT(margin(bounded, forgotten), 2) << shift;
    }
  }
}

TEST(BatchNormBound, HoldsForBothForms) {
  const Floats x = draw_around(64, 1, 1, 3), w = draw_around(4, 2), b = draw_around(4, 3),
               m = draw_around(4, 4, 1, 3);
  Floats v = draw_around(4, 5);
  for (float& value : v) value = value * value + 0.05F;
  const BoundedWide bounded = OpUnderTest("aten::_native_batch_norm_legit_no_training.default",
                                          {{"input", singles({1, 4, 16}, x)},
                                           {"weight", singles({4}, w)},
                                           {"bias", singles({4}, b)},
                                           {"running_mean", singles({4}, m)},
                                           {"running_var", singles({4}, v)}},
                                          {{"momentum", 0.1}, {"eps", 1e-5}})
                                  .bounded(f32_precision())[0];
  Floats y(64), folded(64);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t c = i / 16;
    const float scale = w[c] * (1 / std::sqrt(v[c] + 1e-5F));
    y[i] = (x[i] - m[c]) * scale + b[c];
    folded[i] = x[i] * scale + (b[c] - m[c] * scale);
  }
  EXPECT_LE(margin(bounded, y), 1);
  EXPECT_LE(margin(bounded, folded), 1);
}

TEST(GeluBound, HoldsForTheCancellingFormula) {
  const Floats x = draw_around(2000, 9, 3);
  const BoundedWide bounded =
      OpUnderTest("aten::gelu.default", {{"self", singles({2000}, x)}}).bounded(f32_precision())[0];
  Floats y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * 0.5F * (1 + std::erf(x[i] * 0.70710678F));
  EXPECT_LE(margin(bounded, y), 1);
}

TEST(ArithmeticBound, CorrectRoundingTouchesItAndTruncationDoesNotFit) {
  const Floats a = draw_around(500, 1), b = draw_around(500, 2);
  const BoundedWide bounded =
      OpUnderTest("aten::mul.Tensor", {{"self", singles({500}, a)}, {"other", singles({500}, b)}})
          .bounded(f32_precision())[0];
  Floats rounded(500), truncated(500);
  for (std::size_t i = 0; i < 500; ++i) {
    const double exact = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    rounded[i] = a[i] * b[i];
    truncated[i] = std::fabs(static_cast<double>(rounded[i])) > std::fabs(exact)
                       ? std::nextafter(rounded[i], 0.0F)
                       : rounded[i];
  }
  EXPECT_LE(margin(bounded, rounded), 1);
  EXPECT_GT(margin(bounded, rounded), 0.8);
  EXPECT_GT(margin(bounded, truncated), 1.5);
}

// Every partial sum is as large as beta * self where a device starts with it.
TEST(MatmulBound, AScaledProductMayBeAddedToAScaledSumTermByTerm) {
  const std::size_t size = 12;
  const auto n = static_cast<int64_t>(size);
  const Floats c = draw_around(size * size, 5), a = draw_around(size * size, 6),
               b = draw_around(size * size, 7);
  const float alpha = 0.015625F * 1.1F, beta = 8.3F;
  const BoundedWide bounded =
      OpUnderTest("aten::addmm.default",
                  {{"self", singles({n, n}, c)}, {"mat1", singles({n, n}, a)}, {"mat2", singles({n, n}, b)}},
                  {{"beta", static_cast<double>(beta)}, {"alpha", static_cast<double>(alpha)}})
          .bounded(f32_precision())[0];
  const auto added = [&](std::size_t terms) {
    Floats sum(size * size);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = beta * c[i];
      for (std::size_t k = 0; k < terms; ++k)
        sum[i] += alpha * a[i / size * size + k] * b[k * size + i % size];
    }
    return sum;
  };
  EXPECT_LE(margin(bounded, added(size)), 1);
  EXPECT_GT(margin(bounded, added(size)), 0.1);
  EXPECT_GT(margin(bounded, added(size - 1)), 10);
}

// 1 / 0.1f is just below 10 and rounds to 10: both integers are right; 7 / 2 has one answer.
TEST(TruncatedQuotient, MayFallOnEitherSideWhereRoundingDecides) {
  const BoundedWide bounded =
      OpUnderTest("aten::div.Tensor_mode",
                  {{"self", singles({2}, {1, 7})}, {"other", singles({2}, {0.1F, 2})}},
                  {{"rounding_mode", std::string("trunc")}})
          .bounded(f32_precision())[0];
  EXPECT_LE(margin(bounded, {9, 3}), 1);
  EXPECT_LE(margin(bounded, {10, 3}), 1);
  EXPECT_GT(margin(bounded, {8, 3}), 1);
  EXPECT_EQ(bounded.bound[1], 0);
}

// A device that holds the scalar 0.1 in float32 shows no bias against the value.
TEST(ArithmeticBound, ScalarsAreCentredWhereTheDeviceHoldsThem) {
  const Floats a = draw_around(500, 3);
  const BoundedWide bounded = OpUnderTest("aten::mul.Tensor", {{"self", singles({500}, a)}}, {{"other", 0.1}})
                                  .bounded(f32_precision())[0];
  double bias = 0;
  Floats held(500), unrounded(500);
  for (std::size_t i = 0; i < 500; ++i) {
    held[i] = a[i] * 0.1F;
    unrounded[i] = static_cast<float>(static_cast<double>(a[i]) * 0.1);
    const double error = static_cast<double>(held[i]) - bounded.value.real[i];
    bias = bias + (a[i] > 0 ? error : -error) / bounded.sigma[i] / std::sqrt(500.0);
  }
  EXPECT_LE(margin(bounded, held), 1);
  EXPECT_LE(margin(bounded, unrounded), 1);
  EXPECT_LE(std::fabs(bias), 5);
}

// The RMS gate's sigma: errors of a correct float32 product stay below it, those of bf16 inputs far above.
TEST(MatmulSigma, SeparatesCorrectProductsFromNarrowInputs) {
  const int64_t m = 16, n = 16, k = 256;
  const Floats a = draw_around(static_cast<std::size_t>(m * k), 1),
               b = draw_around(static_cast<std::size_t>(k * n), 2);
  const BoundedWide bounded =
      OpUnderTest("aten::mm.default", {{"self", singles({m, k}, a)}, {"mat2", singles({k, n}, b)}})
          .bounded(f32_precision())[0];
  ASSERT_EQ(bounded.sigma.size(), 256U);
  double correct = 0, narrow = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      float sum = 0, sum_narrow = 0;
      for (std::size_t p = 0; p < 256; ++p) {
        const float x = a[i * 256 + p], y = b[p * 16 + j];
        sum = sum + x * y;
        sum_narrow = sum_narrow + static_cast<float>(round_to(DType::bf16, x)) * y;
      }
      const std::size_t at = i * 16 + j;
      const auto z = [&](float got) {
        const double error = (static_cast<double>(got) - bounded.value.real[at]) / bounded.sigma[at];
        return error * error;
      };
      correct = correct + z(sum);
      narrow = narrow + z(sum_narrow);
    }
  }
  EXPECT_LE(std::sqrt(correct / 256), 2);
  EXPECT_GT(std::sqrt(narrow / 256), 100);
}

TEST(Flushing, SubnormalResultsMayBecomeZeroOnlyWhereDeclared) {
  const OpUnderTest op("aten::mul.Tensor",
                       {{"self", singles({1}, {1e-30F})}, {"other", singles({1}, {1e-10F})}});
  Precision precision = f32_precision();
  EXPECT_LT(op.bounded(precision)[0].bound[0], 1e-44);
  precision.ftz_out = true;
  EXPECT_GE(op.bounded(precision)[0].bound[0], 1e-40);
}

TEST(AutoCast, InputsRoundedToTheDeclaredWidthFit) {
  const Floats a = draw_around(32, 1), b = draw_around(32, 2);
  const OpUnderTest op("aten::mm.default", {{"self", singles({1, 32}, a)}, {"mat2", singles({32, 1}, b)}});
  Precision precision = f32_precision();
  float sum = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    sum = sum +
          static_cast<float>(round_to(DType::bf16, a[i])) * static_cast<float>(round_to(DType::bf16, b[i]));
  }
  EXPECT_GT(margin(op.bounded(precision)[0], {sum}), 1);
  precision.input = DType::bf16;
  EXPECT_LE(margin(op.bounded(precision)[0], {sum}), 1);
}

TEST(EarlyOverflow, CountsOnlyWhereDeclared) {
  const OpUnderTest op("aten::gelu.default", {{"self", singles({1}, {1e13F})}},
                       {{"approximate", std::string("tanh")}});
  Precision precision = f32_precision();
  EXPECT_TRUE(op.bounded(precision)[0].special.empty());
  precision.early_overflow = true;
  const auto special = op.bounded(precision)[0].special;
  ASSERT_EQ(special.size(), 1U);
  EXPECT_TRUE(special[0] & special_undefined);
}

// Sums, products and norms: elements whose partial results may exceed the maximum are marked, others are not.
TEST(EarlyOverflow, MarksSumsAndProductsThatMayOverflowInSomeOrder) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Precision declared = f32_precision();
  declared.early_overflow = true;
  const auto marked = [&](const OpUnderTest& op) {
    EXPECT_TRUE(op.bounded(f32_precision())[0].special.empty()) << op.call().op();
    const auto special = op.bounded(declared)[0].special;
    std::vector<bool> marks(op.bounded(declared)[0].value.real.size());
    for (std::size_t i = 0; i < special.size(); ++i) marks[i] = (special[i] & special_early_overflow) != 0;
    return marks;
  };
  const auto rows = [](const std::string& op, const Wide& x) {
    std::vector<NamedArgument> more{int_list("dim", {1})};
    if (op == "aten::linalg_vector_norm.default") more.push_back({"ord", 2.0});
    return OpUnderTest(op, {{"self", x}}, more);
  };
  const Wide sums = singles({3, 3}, {3e38F, 2e38F, -3e38F, 1e38F, 1e38F, 1e38F, infinity, 1, 2});
  EXPECT_EQ(marked(rows("aten::sum.dim_IntList", sums)), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(marked(rows("aten::mean.dim", sums)), (std::vector<bool>{true, false, false}));
  const Wide squares = singles({2, 2}, {1e20F, 1, 1e18F, 1e18F});
  EXPECT_EQ(marked(rows("aten::linalg_vector_norm.default", squares)), (std::vector<bool>{true, false}));
  EXPECT_EQ(marked(OpUnderTest("aten::mm.default", {{"self", singles({2, 2}, {1e30F, 1e30F, 1e10F, 1e10F})},
                                                    {"mat2", singles({2, 1}, {1e10F, -1e10F})}})),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(marked(OpUnderTest("aten::prod.dim_int",
                               {{"self", singles({2, 4}, {1e-30F, 1e30F, 1e-20F, 1e30F,  //
                                                          1e-5F, 1e30F, 1e-2F, 2})}},
                               {{"dim", int64_t{1}}})),
            (std::vector<bool>{true, false}));
}

// Partial products that underflow may lose everything.
TEST(ProductBound, CountsUnderflowInSomeOrder) {
  const OpUnderTest op("aten::prod.default", {{"self", singles({4}, {1e-30F, 1e30F, 1e-20F, 1e20F})}});
  EXPECT_GT(op.bounded(f32_precision())[0].bound[0], 1);
  const OpUnderTest safe("aten::prod.default", {{"self", singles({4}, {1e-10F, 1e10F, 1e-10F, 1e10F})}});
  EXPECT_LT(safe.bounded(f32_precision())[0].bound[0], 1e-6);
}

// Limits at infinity have no error; the formula's is not a number there.
TEST(GeluBound, LimitsAtInfinityAreExact) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const char* op : {"aten::gelu.default", "aten::silu.default"}) {
    const BoundedWide b =
        OpUnderTest(op, {{"self", singles({2}, {-infinity, infinity})}}).bounded(f32_precision())[0];
    EXPECT_FALSE(b.unmodelled) << op;
    EXPECT_EQ(b.bound, (std::vector<double>{0, 0})) << op;
    EXPECT_EQ(b.value.real[0], 0) << op;
    EXPECT_TRUE(std::isinf(b.value.real[1])) << op;
  }
}

TEST(NormBound, OfInfinityIsExact) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const double p : {1.0, 2.0, 3.0}) {
    const BoundedWide b = OpUnderTest("aten::linalg_vector_norm.default",
                                      {{"self", singles({2}, {-infinity, 1.1F})}}, {{"ord", p}})
                              .bounded(f32_precision())[0];
    EXPECT_TRUE(std::isinf(b.value.real[0])) << p;
    EXPECT_EQ(b.bound[0], 0) << p;
    EXPECT_TRUE(b.special.empty() && !b.unmodelled) << p;
  }
}

// With dtype the input is cast first.
TEST(CumsumBound, HoldsTheCastOfTheInput) {
  const OpUnderTest op("aten::cumsum.default", {{"self", singles({2}, {1.001F, 1.001F})}},
                       {{"dim", int64_t{0}}, {"dtype", DTypeArg{DType::bf16}}});
  EXPECT_LE(margin(op.bounded(f32_precision())[0], {1, 2}), 1);
  EXPECT_GT(margin(op.bounded(f32_precision())[0], {1.1F, 2.1F}), 1);
}

}  // namespace
}  // namespace assay::reference
