// Backward operators against finite differences of the reference's own forward operators, in fp64
// (core/decompose/testdata/gradient_calls.py says which forward call each belongs to).
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "core/decompose/decompose.h"
#include "reference/call_text_test.h"
#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

// sum of result 0 times the gradient that flows into it.
class Forward {
 public:
  Forward(const Json& call, std::vector<double> gradient)
      : composite_(call), gradient_(std::move(gradient)), inputs_(composite_.wide_inputs()) {
    decompose(composite_.graph);
    walker_.emplace(composite_.graph);
  }

  std::size_t number(const std::string& argument) const { return composite_.numbers.at(argument); }
  std::size_t count(const std::string& argument) const { return inputs_.at(number(argument)).real.size(); }

  // Central difference with respect to one element.
  double difference(const std::string& argument, std::size_t element) {
    double& x = inputs_.at(number(argument)).real.at(element);
    const double kept = x, h = 1e-5 * std::max(1.0, std::abs(x));
    x = kept + h;
    const double above = loss();
    x = kept - h;
    const double below = loss();
    x = kept;
    return (above - below) / (2 * h);
  }

 private:
  double loss() const {
    std::vector<const Wide*> pointers;
    for (const Wide& input : inputs_) pointers.push_back(&input);
    const Wide out = walker_->run_wide(pointers).at(0);
    double total = 0;
    for (std::size_t i = 0; i < out.real.size(); ++i) total += out.real[i] * gradient_.at(i);
    return total;
  }

  Composite composite_;
  std::vector<double> gradient_;
  std::vector<Wide> inputs_;
  std::optional<Walker> walker_;
};

TEST(Gradients, AreFiniteDifferencesOfTheForwardOperator) {
  std::set<std::string> seen;
  for (const Json& call : calls_in("gradient_calls.json")) {
    if (call.size() < 4) continue;
    SCOPED_TRACE(call.dump().substr(0, 400));
    const Json& about = call.at(3);
    Composite backward(call);
    const auto gradient =
        backward.inputs.at(backward.numbers.at(about.at("grad").get<std::string>())).to_doubles();
    decompose(backward.graph);
    const std::vector<Tensor> got = backward.run();
    Forward forward(about.at("forward"), gradient);
    std::size_t result = 0;
    for (const Json& of : about.at("of")) {
      if (of.is_null()) continue;
      const std::string argument = of.get<std::string>();
      const std::vector<double> values = got.at(result++).to_doubles();
      ASSERT_EQ(values.size(), forward.count(argument)) << argument;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double want = forward.difference(argument, i);
        EXPECT_NEAR(values[i], want, 1e-6 * std::max(1.0, std::abs(want))) << argument << " element " << i;
      }
    }
    seen.insert(call.at(0).get<std::string>());
  }
  EXPECT_GT(seen.size(), 40U);
}

std::vector<float> drawn_floats(std::size_t n, unsigned seed, float center) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = center + 0.5F * normal(generator);
  return values;
}

// Scattered in float32 by the formula of aten/src/ATen/native/UpSample.h. `edge`: what is subtracted from the
// centred position, 1/2.
std::vector<float> linear_gradient(const std::vector<float>& g, int in, float edge) {
  const int out = static_cast<int>(g.size());
  std::vector<float> gradient(static_cast<std::size_t>(in), 0);
  const float step = static_cast<float>(in) / static_cast<float>(out);
  for (int o = 0; o < out; ++o) {
    const float position = std::max(step * (static_cast<float>(o) + 0.5F) - edge, 0.0F);
    const int low = std::min(static_cast<int>(position), in - 1);
    const float weight = position - static_cast<float>(low);
    float &first = gradient[static_cast<std::size_t>(low)],
          &second = gradient[static_cast<std::size_t>(std::min(low + 1, in - 1))];
    first = first + (1 - weight) * g[static_cast<std::size_t>(o)];
    second = second + weight * g[static_cast<std::size_t>(o)];
  }
  return gradient;
}

TEST(GradientBound, OfLinearResamplingHoldsInFloatAndFindsAPositionThatIsOff) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<float> g = drawn_floats(37, seed, 0);
    const BoundedWide bounded =
        OpUnderTest(
            "aten::upsample_linear1d_backward.default", {{"grad_output", singles({1, 1, 37}, g)}},
            {int_list("output_size", {37}), int_list("input_size", {1, 1, 11}), {"align_corners", false}})
            .bounded(f32_precision())[0];
    EXPECT_LE(margin(bounded, linear_gradient(g, 11, 0.5F)), 1);
    EXPECT_GT(margin(bounded, linear_gradient(g, 11, 0.5F)), 0.001);
    EXPECT_GT(margin(bounded, linear_gradient(g, 11, 0.5005F)), 10);
  }
}

TEST(GradientBound, OfCumprodHoldsInFloatAndFindsALostTerm) {
  const std::size_t n = 24;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<float> g = drawn_floats(n, seed, 0), x = drawn_floats(n, seed + 100, 1);
    std::vector<float> products(n), gradient(n), lost(n);
    float product = 1;
    for (std::size_t i = 0; i < n; ++i) products[i] = product = product * x[i];
    const BoundedWide bounded =
        OpUnderTest(
            "aten::cumprod_backward.default",
            {{"grad", singles({24}, g)}, {"input", singles({24}, x)}, {"output", singles({24}, products)}},
            {{"dim", int64_t{0}}})
            .bounded(f32_precision())[0];
    for (std::size_t k = 0; k < n; ++k) {  // from the last one on, as a reversed scan adds
      float sum = 0;
      for (std::size_t j = n; j-- > k;) {
        float others = 1;
        for (std::size_t i = 0; i <= j; ++i) others = i == k ? others : others * x[i];
        sum = sum + g[j] * others;
        if (j == k + 1) lost[k] = sum;
      }
      gradient[k] = sum;
    }
    EXPECT_LE(margin(bounded, gradient), 1);
    EXPECT_GT(margin(bounded, gradient), 0.001);
    EXPECT_GT(margin(bounded, lost), 10);
  }
}

}  // namespace
}  // namespace assay::reference
