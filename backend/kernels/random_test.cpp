// Draws on the simulated device: support and moments; their distribution is judged by the harness.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/kernels/run_call_test.h"

namespace assay::backend {
namespace {

std::vector<Tensor> drawn(const std::string& op, const std::vector<Tensor>& inputs,
                          const std::vector<NamedArgument>& arguments, uint64_t key = 1) {
  DeviceOptions options;
  options.compile.draw_seed = 7;
  options.compile.draw_key = key;
  return run_call(op, inputs, arguments, options).outputs;
}

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}
double deviation(const std::vector<double>& x) {
  const double centre = mean(x);
  double sum = 0;
  for (const double v : x) sum += (v - centre) * (v - centre);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST(RandomKernels, UniformAndNormalNumbers) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const std::vector<NamedArgument> arguments = {{"size", IntListArg{{3, 1001}, {}}},
                                                  {"dtype", DTypeArg{dtype}}};
    const std::vector<double> u = drawn("aten::rand.default", {}, arguments)[0].to_doubles();
    EXPECT_GE(*std::min_element(u.begin(), u.end()), 0);
    EXPECT_LT(*std::max_element(u.begin(), u.end()), 1);
    EXPECT_NEAR(mean(u), 0.5, 0.03);
    EXPECT_NEAR(deviation(u), std::sqrt(1.0 / 12), 0.02);
    const std::vector<double> z = drawn("aten::randn.default", {}, arguments)[0].to_doubles();
    EXPECT_NEAR(mean(z), 0, 0.1);
    EXPECT_NEAR(deviation(z), 1, 0.08);
  }
}

TEST(RandomKernels, NodesDrawFromStreamsOfTheirOwn) {
  const std::vector<NamedArgument> arguments = {{"size", IntListArg{{500}, {}}}};
  const Tensor first = drawn("aten::rand.default", {}, arguments, 1)[0];
  EXPECT_TRUE(first.bitwise_equal(drawn("aten::rand.default", {}, arguments, 1)[0]));
  EXPECT_FALSE(first.bitwise_equal(drawn("aten::rand.default", {}, arguments, 2)[0]));
}

TEST(RandomKernels, DropoutOfNothingAndOfEverything) {
  const double infinity = HUGE_VAL;
  const Tensor x = Tensor::from_doubles(DType::f32, {4}, {1, -2, infinity, 4});
  for (const double p : {0.0, 1.0}) {
    const auto out =
        drawn("aten::native_dropout.default", {x}, {{"input", ValueArg{0}}, {"p", p}, {"train", true}});
    EXPECT_EQ(out[1].to_ints(), std::vector<int64_t>(4, p == 0));
    EXPECT_EQ(out[0].to_doubles(), p == 0 ? x.to_doubles() : std::vector<double>(4, 0));
  }
}

TEST(RandomKernels, IntegersAndPermutations) {
  std::vector<int64_t> x =
      drawn("aten::randint.low", {},
            {{"low", int64_t{-3}}, {"high", int64_t{4}}, {"size", IntListArg{{2000}, {}}}})[0]
          .to_ints();
  EXPECT_EQ(*std::min_element(x.begin(), x.end()), -3);
  EXPECT_EQ(*std::max_element(x.begin(), x.end()), 3);
  std::vector<int64_t> order = drawn("aten::randperm.default", {}, {{"n", int64_t{500}}})[0].to_ints();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int64_t>(i));
  EXPECT_THROW(drawn("aten::randperm.default", {}, {{"n", int64_t{2049}}}), Unsupported);
}

}  // namespace
}  // namespace assay::backend
