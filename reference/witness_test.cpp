// float128 and fp64 evaluations come from the same source line and must agree to fp64's precision.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/graph/builder.h"
#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

Wide draw(Shape shape, unsigned seed, double scale = 1) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) v = normal(generator) * scale;
  return reals(DType::f64, std::move(shape), std::move(values));
}

void expect_agreement(const OpUnderTest& op, double tolerance = 1e-14) {
  const auto witness = evaluate_witness(op.call(), op.inputs());
#ifdef __clang__
  if (!witness) GTEST_SKIP() << "no float128 with this compiler";
#endif
  ASSERT_TRUE(witness.has_value());
  const auto value = op.value();
  for (std::size_t o = 0; o < value.size(); ++o) {
    double largest = 0;
    for (const double v : value[o].real) largest = std::max(largest, std::fabs(v));
    for (std::size_t i = 0; i < value[o].real.size(); ++i) {
      EXPECT_NEAR(value[o].real[i], (*witness)[o].real[i], tolerance * largest) << op.call().op() << " " << i;
    }
    EXPECT_EQ(value[o].integer, (*witness)[o].integer);
  }
}

TEST(Witness, UnaryFunctions) {
  for (const char* name : {"exp", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh",
                           "erf", "sigmoid", "silu", "gelu", "neg", "floor", "round"}) {
    expect_agreement(OpUnderTest(std::string("aten::") + name + ".default", {{"self", draw({200}, 1, 2)}}));
  }
  Wide positive = draw({200}, 2);
  for (double& v : positive.real) v = v * v + 0.01;
  for (const char* name : {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"}) {
    expect_agreement(OpUnderTest(std::string("aten::") + name + ".default", {{"self", positive}}));
  }
}

TEST(Witness, ProductsReductionsAndNorms) {
  expect_agreement(OpUnderTest("aten::mm.default", {{"self", draw({9, 50}, 3)}, {"mat2", draw({50, 7}, 4)}}));
  expect_agreement(OpUnderTest("aten::_softmax.default", {{"self", draw({5, 40}, 5, 4)}},
                               {{"dim", int64_t{-1}}, {"half_to_float", false}}));
  expect_agreement(OpUnderTest(
      "aten::native_layer_norm.default", {{"input", draw({5, 40}, 6)}},
      {int_list("normalized_shape", {40}), {"weight", NoneArg{}}, {"bias", NoneArg{}}, {"eps", 1e-5}}));
  expect_agreement(OpUnderTest("aten::var.correction", {{"self", draw({5, 40}, 7)}}, {int_list("dim", {1})}));
  expect_agreement(OpUnderTest("aten::cumsum.default", {{"self", draw({40}, 8)}}, {{"dim", int64_t{0}}}));
  expect_agreement(OpUnderTest("aten::linalg_vector_norm.default", {{"self", draw({5, 40}, 9)}}));
}

// fp64 alone cannot see what a cancelling sum lost; the witness does.
TEST(Witness, SeesMoreThanFp64) {
  const OpUnderTest op("aten::sum.dim_IntList", {{"self", reals(DType::f64, {3}, {1e20, 1, -1e20})}},
                       {int_list("dim", {0})});
  const auto witness = evaluate_witness(op.call(), op.inputs());
#ifdef __clang__
  if (!witness) GTEST_SKIP() << "no float128 with this compiler";
#endif
  ASSERT_TRUE(witness.has_value());
  EXPECT_EQ((*witness)[0].real[0], 1);
  EXPECT_NE(op.value()[0].real[0], 1);
}

TEST(Witness, WalksWholeGraphsWithoutRoundingBetweenNodes) {
  // (x + 1e20) - 1e20 keeps x only with more digits than fp64 has.
  GraphBuilder builder("cancel");
  const ValueId x = builder.input("x", DType::f64, {2});
  const ValueId sum = builder.call("aten::add.Tensor", {{"self", ValueArg{x}}, {"other", 1e20}});
  builder.output(builder.call("aten::sub.Tensor", {{"self", ValueArg{sum}}, {"other", 1e20}}));
  const Graph graph = builder.build();
  const Walker walker(graph);
  const Wide input = reals(DType::f64, {2}, {1.5, -3});
  const auto outputs = walker.run_witness({&input});
#ifdef __clang__
  if (!outputs) GTEST_SKIP() << "no float128 with this compiler";
#endif
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ((*outputs)[0].real, (std::vector<double>{1.5, -3}));
  EXPECT_EQ(walker.run_wide({&input})[0].real, (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace assay::reference
