// Outputs that are no straight line within the roundings' reach: an optimiser's first step takes a sign.
#include <gtest/gtest.h>

#include <cmath>

#include "core/philox.h"
#include "harness/judge/end_to_end.h"
#include "harness/judge/replay.h"
#include "harness/judge/testing/cases.h"

namespace assay {
namespace {

constexpr int64_t kElements = 512;
constexpr double kRate = 0.05;

// p - 0.05 g / (|g| + 1e-8), as AdamW's step from states of 0; g is a sum that nearly cancels. The outputs
// are the parameter and, as something that is a straight line, the sum.
emulation::JudgedCase first_step() {
  emulation::GraphBuilder b("first_step");
  std::vector<std::vector<double>> values;
  std::vector<ValueId> inputs;
  const TensorMeta meta{DType::bf16, {kElements}};
  for (const char* name : {"p", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"}) {
    inputs.push_back(b.input(name, meta.dtype, meta.shape));
    std::vector<double> drawn;
    for (int64_t i = 0; i < kElements; ++i) {
      const double u = draw_symmetric(key_of_name(name), 0, static_cast<uint64_t>(i));
      drawn.push_back(
          Tensor::from_doubles(DType::bf16, {1}, {name[0] == 'p' ? 0.4 + 0.1 * u : 2 + u}).to_doubles()[0]);
    }
    values.push_back(std::move(drawn));
  }
  // What nearly cancels the sum, on its grid.
  values.emplace_back();
  for (std::size_t i = 0; i < kElements; ++i) {
    double sum = 0;
    for (std::size_t x = 1; x < values.size() - 1; ++x) sum += values[x][i];
    const double steps = std::round(sum / 0.0625) + static_cast<double>(i % 41) - 20;
    values.back().push_back(-Tensor::from_doubles(DType::bf16, {1}, {steps * 0.0625}).to_doubles()[0]);
  }
  inputs.push_back(b.input("y", meta.dtype, meta.shape));
  ValueId sum = inputs[1];
  for (std::size_t x = 2; x < inputs.size(); ++x) {
    sum = b.node("aten::add.Tensor", {emulation::arg("self", sum), emulation::arg("other", inputs[x])});
  }
  const ValueId square =
      b.node("aten::mul.Tensor", {emulation::arg("self", sum), emulation::arg("other", sum)});
  const ValueId size = b.node("aten::sqrt.default", {emulation::arg("self", square)});
  const ValueId safe = b.node("aten::add.Scalar", {emulation::arg("self", size), {"other", 1e-8}});
  const ValueId sign =
      b.node("aten::div.Tensor", {emulation::arg("self", sum), emulation::arg("other", safe)});
  const ValueId step = b.node("aten::mul.Scalar", {emulation::arg("self", sign), {"other", -kRate}});
  b.output(b.node("aten::add.Tensor", {emulation::arg("self", inputs[0]), emulation::arg("other", step)}));
  b.output(sum);
  emulation::JudgedCase c;
  c.graph = b.build();
  for (const auto& numbers : values) {
    c.inputs.push_back(Tensor::from_doubles(meta.dtype, meta.shape, numbers));
  }
  return c;
}

// The device's outputs, with changes.
class FirstStep : public ::testing::Test {
 protected:
  FirstStep() : case_(first_step()) {
    const std::vector<Tensor> chain = reference::local_chain(*case_.graph, case_.inputs);
    run_ = emulation::run_emulated(*case_.graph, case_.inputs, chain, {});
    run_.nodes.clear();
    ReplayRequest request;
    std::vector<reference::Wide> wide;
    for (const Tensor& input : case_.inputs) wide.push_back(reference::Wide::from(input));
    const Contract contract = emulation::emulated_contract();
    const std::map<std::string, std::string> options;
    request.graph = case_.graph.get();
    request.inputs = &wide;
    request.contract = &contract;
    request.mode = "compile";
    request.options = &options;
    request.seed = fnv1a64("test#0");
    replay_ = replay(request);
  }

  Verdict judged() const {
    JudgeRequest request;
    request.case_id = "test";
    request.graph = case_.graph;
    request.inputs = case_.inputs;
    request.contract = emulation::emulated_contract();
    request.mode = "compile";
    return Judge(std::move(request)).judge(run_);
  }

  // Elements whose sum is `low` to `high` standard errors from 0 and whose sign no replay takes otherwise.
  std::vector<std::size_t> missed(double low, double high) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < kElements; ++i) {
      const double centre = replay_.outputs[1].centre.real[i];
      double squares = 0;
      bool flips = false;
      for (const reference::Wide& r : replay_.outputs[1].replays) {
        squares += std::pow(r.real[i] - centre, 2);
        flips = flips || r.real[i] * centre <= 0;
      }
      const double errors = std::fabs(centre) / std::sqrt(squares / kReplays);
      if (!flips && errors >= low && errors <= high) found.push_back(i);
    }
    return found;
  }

  // The step goes the other way.
  void flip(std::size_t i) {
    const double before = case_.inputs[0].to_doubles()[i];
    change(0, i, before - (run_.outputs[0].to_doubles()[i] - before));
  }
  void change(std::size_t output, std::size_t i, double value) {
    std::vector<double> values = run_.outputs[output].to_doubles();
    values[i] = value;
    run_.outputs[output] = Tensor::from_doubles(DType::bf16, {kElements}, values);
  }

  emulation::JudgedCase case_;
  RunResult run_;
  Replay replay_;
};

TEST_F(FirstStep, ASignThatReplaysMissedIsRight) {
  const auto close = missed(1, 4);
  ASSERT_GE(close.size(), 3u) << "8 replays miss signs that rounding can flip";
  EXPECT_EQ(judged().status, Status::pass) << emulation::text_of(judged());
  flip(close[0]);
  flip(close[1]);
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::pass) << emulation::text_of(verdict);
  EXPECT_LT(*verdict.gates.at("end_to_end").value, kSigmaLimit);
  EXPECT_LE(*verdict.margin, 1);
}

TEST_F(FirstStep, ASignOutOfReachIsWrong) {
  const auto far = missed(40, 1e9);
  ASSERT_FALSE(far.empty());
  flip(far[0]);
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::wrong) << emulation::text_of(verdict);
  EXPECT_EQ(verdict.reason, "end_to_end");
  EXPECT_EQ(verdict.worst->index, (std::vector<int64_t>{static_cast<int64_t>(far[0])}));
}

TEST_F(FirstStep, BeyondTheOtherSignIsWrong) {
  const std::size_t i = missed(1, 4).at(0);
  const double before = case_.inputs[0].to_doubles()[i];
  change(0, i, before - 1.5 * (run_.outputs[0].to_doubles()[i] - before));
  EXPECT_EQ(judged().status, Status::wrong) << emulation::text_of(judged());
}

// Where the output is a straight line, extrapolation excuses nothing.
TEST_F(FirstStep, StraightLinesKeepTheirLimit) {
  const std::size_t i = missed(1, 4).at(0);
  const double sigma = [&] {
    double squares = 0;
    const double centre = replay_.outputs[1].centre.real[i];
    for (const auto& r : replay_.outputs[1].replays) squares += std::pow(r.real[i] - centre, 2);
    return std::sqrt(squares / kReplays);
  }();
  change(1, i, replay_.outputs[1].centre.real[i] + 16 * sigma);
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::wrong) << emulation::text_of(verdict);
  EXPECT_EQ(verdict.worst->output, "1");
}

TEST_F(FirstStep, ManySignsAtOnceAreADefect) {
  const auto close = missed(0.5, 5);
  ASSERT_GT(close.size(), static_cast<std::size_t>(kElements / 100 + 1));
  for (const std::size_t i : close) flip(i);
  EXPECT_EQ(judged().status, Status::wrong) << emulation::text_of(judged());
}

}  // namespace
}  // namespace assay
