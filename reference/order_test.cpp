// Scans, order statistics, searches, histograms and writes by index: kernels against PyTorch's answers
// (core/decompose/testdata/order_calls.py), Bounds against other algorithms, and what choices are right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "reference/call_text_test.h"
#include "reference/ops/op_test.h"
#include "reference/overlap.h"

namespace assay::reference {
namespace {

using ::testing::HasSubstr;

TEST(Order, KernelsAgreeWithPyTorch) {
  std::set<std::string> seen;
  for (const Json& call : calls_in("order_calls.json")) {
    const std::string op = call.at(0).get<std::string>();
    if (!has_operator(op)) {
      EXPECT_NE(decompose_rules().find(op), nullptr) << op;
      continue;
    }
    SCOPED_TRACE(call.dump().substr(0, 400));
    seen.insert(op);
    const Composite composite(call);
    std::vector<Tensor> got;
    ASSERT_NO_THROW(got = composite.run());
    expect_expected(composite, got);
  }
  EXPECT_GE(seen.size(), 30u);
}

// A device may carry the logarithm from element to element; dropping one term must not pass.
TEST(Order, RunningLogarithmsInSinglePrecisionLieInsideTheBoundAndAMissingTermDoesNot) {
  std::mt19937 generator(5);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> x(513);
  for (float& v : x) v = normal(generator);
  std::vector<float> ascending = x;
  std::sort(ascending.begin(), ascending.end());
  for (const std::vector<float>& line : {x, ascending}) {
    Precision precision;
    const BoundedWide bounded =
        OpUnderTest("aten::logcumsumexp.default", {{"self", singles({513}, line)}}, {{"dim", int64_t{0}}})
            .bounded(precision)[0];
    const auto margin = [&](std::size_t skipped) {
      double worst = 0;
      float carried = -std::numeric_limits<float>::infinity();
      for (std::size_t k = 0; k < line.size(); ++k) {
        const float high = std::max(carried, line[k]), low = std::min(carried, line[k]);
        if (k != skipped) carried = high + std::log1p(std::exp(low - high));
        worst = std::max(worst, std::fabs(carried - bounded.value.real[k]) / bounded.bound[k]);
      }
      return worst;
    };
    EXPECT_LE(margin(line.size()), 1);
    const auto largest = std::max_element(line.begin(), line.end()) - line.begin();
    EXPECT_GT(margin(static_cast<std::size_t>(largest)), 10);
  }
}

TEST(Order, AnElementAtAnEdgeOfABinMayFallOnEitherSide) {
  // 0.3f * 10 is 3 only after rounding.
  const BoundedWide bins = OpUnderTest("aten::histc.default", {{"self", singles({3}, {0.3f, 0.55f, 0.95f})}},
                                       {{"bins", int64_t{10}}, {"min", int64_t{0}}, {"max", int64_t{1}}})
                               .bounded(Precision{})[0];
  EXPECT_EQ(bins.bound.at(2), 1);
  EXPECT_EQ(bins.bound.at(3), 1);
  EXPECT_EQ(bins.value.real.at(2) + bins.value.real.at(3), 1);
  EXPECT_EQ(bins.value.real.at(5), 1);
  EXPECT_EQ(bins.bound.at(9), 0);
}

std::optional<std::string> choice(const std::string& op, const Wide& x,
                                  std::vector<std::pair<std::string, Argument>> arguments,
                                  const std::vector<double>& values, const std::vector<int64_t>& indices) {
  std::vector<NamedArgument> named;
  for (auto& [name, value] : arguments) named.push_back({name, value});
  const OpUnderTest test(op, {{"self", x}}, named);
  const auto n = static_cast<int64_t>(values.size());
  const Shape shape = n == 1 && op.find("cum") == std::string::npos ? Shape{} : Shape{n};
  return check_choice(
      test.call(), test.inputs(),
      {Tensor::from_doubles(DType::f32, shape, values), Tensor::from_ints(DType::i64, shape, indices)});
}

TEST(Order, AnyOfEqualElementsMayBeChosen) {
  const Wide x = singles({5}, {1, 3, 3, 2, 3});
  const std::vector<std::pair<std::string, Argument>> along{{"dim", int64_t{0}}};
  for (const std::vector<int64_t>& indices :
       {std::vector<int64_t>{0, 1, 1, 1, 1}, {0, 1, 2, 2, 4}, {0, 1, 2, 1, 2}}) {
    EXPECT_EQ(choice("aten::cummax.default", x, along, {1, 3, 3, 3, 3}, indices), "");
  }
  EXPECT_THAT(choice("aten::cummax.default", x, along, {1, 3, 3, 3, 3}, {0, 2, 2, 2, 2}).value(),
              HasSubstr("out of range"));
  EXPECT_THAT(choice("aten::cummax.default", x, along, {1, 3, 3, 2, 3}, {0, 1, 1, 3, 1}).value(),
              HasSubstr("no extremum"));
  EXPECT_THAT(choice("aten::cummax.default", x, along, {1, 3, 3, 2, 3}, {0, 1, 1, 1, 1}).value(),
              HasSubstr("the value"));
  for (const int64_t index : {1, 2, 4})
    EXPECT_EQ(choice("aten::median.dim", x, along, {3}, {index}), "") << index;
  EXPECT_THAT(choice("aten::median.dim", x, along, {2}, {3}).value(), HasSubstr("another rank"));
  EXPECT_EQ(choice("aten::kthvalue.default", x, {{"k", int64_t{2}}}, {2}, {3}), "");
  const Wide even = singles({4}, {5, 1, 5, 1});
  for (const int64_t index : {0, 1, 2, 3})
    EXPECT_EQ(choice("aten::mode.default", even, along, {index % 2 == 0 ? 5.0 : 1.0}, {index}), "");
  EXPECT_THAT(choice("aten::mode.default", singles({3}, {5, 1, 5}), along, {1}, {1}).value(),
              HasSubstr("most frequent"));
}

TEST(Order, EachOfTheValuesWrittenToOneElementMayStay) {
  const OpUnderTest scatter("aten::scatter.src",
                            {{"self", singles({3}, {0, 0, 0})},
                             {"index", integers_of(DType::i64, {3}, {1, 1, 2})},
                             {"src", singles({3}, {7, 8, 9})}},
                            {{"dim", int64_t{0}}});
  ASSERT_TRUE(writes_may_meet(scatter.call()));
  const Contests contests = contested_writes(scatter.call(), scatter.inputs());
  ASSERT_EQ(contests.places.size(), 1u);
  EXPECT_EQ(contests.places[0].first, 1);
  for (const auto& [kept, stays] : {std::pair{7.0, 7.0}, {8.0, 8.0}, {5.0, 7.0}}) {
    Wide want = singles({3}, {0, 8, 9});
    follow_writes(contests, Tensor::from_doubles(DType::f32, {3}, {0, kept, 9}), want);
    EXPECT_EQ(want.real, (std::vector<double>{0, stays, 9}));
  }
}

// Never a read or write outside: each refusal names the index.
TEST(Order, IndicesOutOfRangeAreErrors) {
  const std::vector<std::pair<const char*, std::vector<int64_t>>> calls{{"aten::scatter.src", {3, 0}},
                                                                        {"aten::scatter.src", {-1, 0}},
                                                                        {"aten::scatter_add.default", {0, 3}},
                                                                        {"aten::scatter_reduce.two", {-1, 0}},
                                                                        {"aten::scatter_reduce.two", {1, 9}}};
  for (const auto& [op, indices] : calls) {
    std::vector<NamedArgument> more{{"dim", int64_t{0}}};
    if (std::string(op).find("reduce") != std::string::npos) more.push_back({"reduce", std::string("amax")});
    const OpUnderTest test(op,
                           {{"self", singles({3}, {1, 2, 3})},
                            {"index", integers_of(DType::i64, {2}, indices)},
                            {"src", singles({2}, {7, 8})}},
                           more);
    try {
      test.value();
      ADD_FAILURE() << op;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("is out of range for a dim of size 3")) << op;
    }
  }
}

}  // namespace
}  // namespace assay::reference
