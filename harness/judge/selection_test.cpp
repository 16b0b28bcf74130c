#include "harness/judge/selection.h"

#include <gtest/gtest.h>

#include <limits>

#include "harness/judge/node_rules.h"
#include "harness/judge/testing/graphs.h"

namespace assay {
namespace {

using reference::Wide;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

Wide row(const std::vector<double>& values) {
  Wide w;
  w.meta = {DType::f32, {static_cast<int64_t>(values.size())}};
  w.real = values;
  return w;
}

struct TopK {
  explicit TopK(const std::vector<double>& values, int64_t k, bool sorted = true)
      : input(row(values)),
        call("aten::topk.default", {input.meta},
             {emulation::arg("self", 0), emulation::int_arg("k", k), emulation::int_arg("dim", -1),
              emulation::bool_arg("largest", true), emulation::bool_arg("sorted", sorted)},
             {{DType::f32, {k}}, {DType::i64, {k}}}) {
    want = reference::evaluate(call, {&input});
  }
  SelectionVerdict judge(const std::vector<int64_t>& indices, const Slack& slack = {}) const {
    std::vector<double> values;
    for (const int64_t i : indices) {
      values.push_back(i >= 0 && i < static_cast<int64_t>(input.real.size())
                           ? input.real[static_cast<std::size_t>(i)]
                           : 0);
    }
    return judge_pair(values, indices, slack);
  }
  SelectionVerdict judge_pair(const std::vector<double>& values, const std::vector<int64_t>& indices,
                              const Slack& slack = {}) const {
    const auto k = static_cast<int64_t>(indices.size());
    CompareRule rule;
    rule.output = "1";
    return judge_selection(
        call, input, want,
        {Tensor::from_doubles(DType::f32, {k}, values), Tensor::from_ints(DType::i64, {k}, indices)}, slack,
        rule);
  }
  Wide input;
  OpCall call;
  std::vector<Wide> want;
};

TEST(TopK, AnyOfEqualElementsIsRight) {
  const TopK topk({1, 3, 2, 3, 3}, 2);
  EXPECT_TRUE(topk.judge({1, 3}).ok);
  EXPECT_TRUE(topk.judge({4, 1}).ok);
  EXPECT_FALSE(topk.judge({1, 1}).ok) << "twice the same";
  EXPECT_FALSE(topk.judge({1, 2}).ok) << "2 is not among the largest two";
  EXPECT_FALSE(topk.judge({1, 5}).ok) << "out of range";
  EXPECT_FALSE(topk.judge({1, -1}).ok) << "out of range";
}

TEST(TopK, ValuesMustBeThoseAtTheIndices) {
  const TopK topk({1, 3, 2}, 2);
  EXPECT_TRUE(topk.judge_pair({3, 2}, {1, 2}).ok);
  const SelectionVerdict verdict = topk.judge_pair({3, 1.99}, {1, 2});
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.values.beyond, 1);
}

TEST(TopK, OrderMattersOnlyWhereSorted) {
  EXPECT_FALSE(TopK({1, 3, 2}, 2, true).judge({2, 1}).ok);
  EXPECT_TRUE(TopK({1, 3, 2}, 2, true).judge({1, 2}).ok);
}

TEST(TopK, NanIsTheLargest) {
  const TopK topk({1, kNotANumber, 2}, 2);
  EXPECT_TRUE(topk.judge({1, 2}).ok);
  EXPECT_FALSE(topk.judge({2, 0}).ok);
}

TEST(TopK, SlackAllowsNearTies) {
  const TopK topk({1, 3, 2.999, 0}, 1);
  EXPECT_FALSE(topk.judge({2}).ok);
  CompareRule rule;
  const Tensor index = Tensor::from_ints(DType::i64, {1}, {2});
  EXPECT_TRUE(
      judge_selection(topk.call, topk.input, topk.want, {Tensor(), index}, Slack(4, 0.001), rule, false).ok);
  EXPECT_FALSE(
      judge_selection(topk.call, topk.input, topk.want, {Tensor(), index}, Slack(4, 0.0001), rule, false).ok);
}

TEST(MaxPool, IndicesMustLieInTheirWindow) {
  Wide input;
  input.meta = {DType::f32, {1, 1, 4, 4}};
  for (int i = 0; i < 16; ++i) input.real.push_back(i % 4 == 3 ? 7 : i);  // a 7 in every row
  const OpCall call("aten::max_pool2d_with_indices.default", {input.meta},
                    {emulation::arg("self", 0), emulation::ints_arg("kernel_size", {2, 2}),
                     emulation::ints_arg("stride", {2, 2})},
                    {{DType::f32, {1, 1, 2, 2}}, {DType::i64, {1, 1, 2, 2}}});
  const std::vector<Wide> want = reference::evaluate(call, {&input});
  const auto judge = [&](std::vector<int64_t> indices) {
    std::vector<double> values;
    for (const int64_t i : indices) values.push_back(input.real[static_cast<std::size_t>(i)]);
    CompareRule rule;
    return judge_selection(call, input, want,
                           {Tensor::from_doubles(DType::f32, {1, 1, 2, 2}, values),
                            Tensor::from_ints(DType::i64, {1, 1, 2, 2}, indices)},
                           {}, rule)
        .ok;
  };
  EXPECT_TRUE(judge(want[1].integer));
  std::vector<int64_t> tie = want[1].integer;
  tie[1] = tie[1] == 3 ? 7 : 3;  // the other 7 of the window
  EXPECT_TRUE(judge(tie));
  tie[1] = 11;  // a 7 of the window below
  EXPECT_FALSE(judge(tie));
  std::vector<int64_t> wrong = want[1].integer;
  wrong[2] = 8;  // inside, but smaller
  EXPECT_FALSE(judge(wrong));
}

TEST(ArgMax, FlattenedAndAlongADimension) {
  Wide input;
  input.meta = {DType::f32, {2, 3}};
  input.real = {1, 5, 5, 2, 0, 2};
  const OpCall rows("aten::argmax.default", {input.meta},
                    {emulation::arg("self", 0), emulation::int_arg("dim", 1)}, {{DType::i64, {2}}});
  const std::vector<Wide> want = reference::evaluate(rows, {&input});
  CompareRule rule;
  const auto judge = [&](const OpCall& call, const std::vector<Wide>& w, const Shape& shape,
                         const std::vector<int64_t>& indices) {
    return judge_selection(call, input, w, {Tensor::from_ints(DType::i64, shape, indices)}, {}, rule).ok;
  };
  EXPECT_TRUE(judge(rows, want, {2}, {1, 0}));
  EXPECT_TRUE(judge(rows, want, {2}, {2, 2}));
  EXPECT_FALSE(judge(rows, want, {2}, {0, 0}));
  EXPECT_FALSE(judge(rows, want, {2}, {1, 3}));
  const OpCall flat("aten::argmax.default", {input.meta}, {emulation::arg("self", 0)}, {{DType::i64, {}}});
  Wide first;
  first.meta = {DType::i64, {}};
  first.integer = {1};
  const std::vector<Wide> flat_want{first};
  EXPECT_TRUE(judge(flat, flat_want, {}, {2}));
  EXPECT_FALSE(judge(flat, flat_want, {}, {3}));
}

}  // namespace
}  // namespace assay
