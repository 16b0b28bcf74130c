// Backward operators against finite differences of the reference's own forward operators, in fp64
// (core/decompose/testdata/gradient_calls.py says which forward call each belongs to).
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/decompose/decompose.h"
#include "reference/call_text_test.h"

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

}  // namespace
}  // namespace assay::reference
