#include "core/error.h"
#include "core/graph/builder.h"
#include "reference/ops/op_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace assay::reference {
namespace {

// y = bf16(x * x) + 1, in bf16.
Graph square_plus_one(DType dtype) {
  GraphBuilder builder("square");
  const ValueId x = builder.input("x", dtype, {2});
  const ValueId square = builder.call("aten::mul.Tensor", {{"self", ValueArg{x}}, {"other", ValueArg{x}}});
  builder.output(builder.call("aten::add.Tensor", {{"self", ValueArg{square}}, {"other", int64_t{1}}}));
  return builder.build();
}

TEST(LocalChain, RoundsEachNodeOnceToItsDtype) {
  const Graph graph = square_plus_one(DType::bf16);
  const Tensor x = Tensor::from_doubles(DType::bf16, {2}, {1.0078125, 3});
  const auto values = local_chain(graph, {x});
  ASSERT_EQ(values.size(), graph.values.size());
  const ValueId square = graph.nodes[0].outputs[0], sum = graph.nodes[1].outputs[0];
  // 1.0078125^2 = 1.01568603515625 rounds to 1.015625.
  EXPECT_EQ(values[static_cast<std::size_t>(square)].to_doubles(), (std::vector<double>{1.015625, 9}));
  EXPECT_EQ(values[static_cast<std::size_t>(sum)].to_doubles(), (std::vector<double>{2.015625, 10}));
}

TEST(Walker, WideChainDoesNotRoundAndReplaysDifferByRoundings) {
  const Graph graph = square_plus_one(DType::f32);
  const Walker walker(graph);
  const Wide x = reals(DType::f32, {2}, {1.3F, 3});
  const double exact = static_cast<double>(1.3F) * static_cast<double>(1.3F) + 1;
  EXPECT_EQ(walker.run_wide({&x})[0].real[0], exact);
  const Precision precision;
  const auto replay = [&](uint64_t seed, uint32_t number) {
    return walker
        .run_stochastic(
            {&x}, [&](int, const OpCall&) -> const Precision& { return precision; }, seed, number)[0]
        .real;
  };
  EXPECT_EQ(replay(1, 0), replay(1, 0));
  bool differs = false;
  for (uint32_t r = 0; r < 16; ++r) {
    const auto y = replay(1, r);
    EXPECT_NEAR(y[0], exact, 3 * 0x1p-23);
    EXPECT_EQ(y[1], 10);  // every step is exact
    differs = differs || y[0] != replay(1, 0)[0];
  }
  EXPECT_TRUE(differs);
}

// Intermediates have fp32's range; what a node returns has its dtype's, subnormals and all.
TEST(Walker, ReplaysRoundSubnormalsOfTheDtype) {
  GraphBuilder builder("halved");
  const ValueId x = builder.input("x", DType::f16, {1});
  builder.output(builder.call("aten::mul.Tensor", {{"self", ValueArg{x}}, {"other", 0.5}}));
  const Graph graph = builder.build();
  const Walker walker(graph);
  const Wide three = reals(DType::f16, {1}, {3 * 0x1p-24});
  const Precision precision;
  std::set<double> seen;
  for (uint32_t r = 0; r < 64; ++r) {
    seen.insert(walker
                    .run_stochastic(
                        {&three}, [&](int, const OpCall&) -> const Precision& { return precision; }, 1, r)[0]
                    .real[0]);
  }
  EXPECT_EQ(seen, (std::set<double>{0x1p-24, 0x1p-23}));
}

TEST(Walker, NamesTheNodeInErrors) {
  GraphBuilder builder("lookup");
  const ValueId table = builder.input("table", DType::f32, {3, 2});
  const ValueId index = builder.input("index", DType::i64, {1});
  builder.output(
      builder.call("aten::embedding.default", {{"weight", ValueArg{table}}, {"indices", ValueArg{index}}}));
  const Graph graph = builder.build();
  const Wide weights = reals(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}), bad = integers_of(DType::i64, {1}, {7});
  try {
    Walker(graph).run_wide({&weights, &bad});
    FAIL() << "index 7 of 3 rows was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(graph.nodes[0].name), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("index 7"), std::string::npos) << error.what();
  }
}

TEST(Walker, TooFewInputsAreAnError) {
  const Graph graph = square_plus_one(DType::f32);
  EXPECT_THROW(Walker(graph).run_wide({}), Error);
}

TEST(CheckChoice, AcceptsAnyOfEqualElementsAndNothingWorse) {
  const OpUnderTest op("aten::topk.default", {{"self", reals(DType::f32, {4}, {1, 3, 3, 2})}},
                       {{"k", int64_t{2}}});
  const auto verdict = [&](std::vector<double> values, std::vector<int64_t> indices) {
    return check_choice(
               op.call(), op.inputs(),
               {Tensor::from_doubles(DType::f32, {2}, values), Tensor::from_ints(DType::i64, {2}, indices)})
        .value();
  };
  EXPECT_EQ(verdict({3, 3}, {1, 2}), "");
  EXPECT_EQ(verdict({3, 3}, {2, 1}), "");
  EXPECT_NE(verdict({3, 3}, {1, 1}), "");
  EXPECT_NE(verdict({3, 2}, {1, 3}), "");
  EXPECT_NE(verdict({3, 3}, {1, 3}), "");
  EXPECT_NE(verdict({3, 3}, {1, 9}), "");
  EXPECT_NE(verdict({3, 3}, {1, -1}), "");
}

TEST(CheckChoice, NaNIsLargest) {
  const OpUnderTest op("aten::argmax.default", {{"self", reals(DType::f32, {3}, {5, std::nan(""), 7})}},
                       {{"dim", int64_t{0}}});
  const auto verdict = [&](int64_t index) {
    return check_choice(op.call(), op.inputs(), {Tensor::from_ints(DType::i64, {}, {index})}).value();
  };
  EXPECT_EQ(verdict(1), "");
  EXPECT_NE(verdict(2), "");
}

TEST(CheckChoice, IsSilentAboutOtherOperators) {
  const OpUnderTest op("aten::exp.default", {{"self", reals(DType::f32, {1}, {1})}});
  EXPECT_FALSE(check_choice(op.call(), op.inputs(), {Tensor(DType::f32, {1})}).has_value());
}

}  // namespace
}  // namespace assay::reference
