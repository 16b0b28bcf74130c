// Outputs that the replays do not show and a right device can give all the same: those behind an intermediate
// that overflows early, and those of files in f64, where a number like 0.7 keeps all its digits.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/testing/cases.h"

namespace assay {
namespace {

// x[6] f32, one node.
emulation::JudgedCase with_number(const std::string& op, double number) {
  emulation::GraphBuilder b(op);
  const ValueId x = b.input("x", DType::f32, {6});
  b.output(b.node(op, {emulation::arg("self", x), {"other", number}}));
  emulation::JudgedCase c;
  c.graph = b.build();
  c.inputs = {Tensor::from_doubles(DType::f32, {6}, {0.1F, 0.7F, 3.5F, -2.25F, 100.125F, 1e4F})};
  return c;
}

std::vector<double> remainders(const Tensor& x, double divisor) {
  std::vector<double> values;
  for (const double v : x.to_doubles()) values.push_back(std::fmod(v, divisor) + (v < 0 ? divisor : 0));
  return values;
}

emulation::DeviceOptions eager_or_not(bool eager) {
  emulation::DeviceOptions options;
  options.local_pass = eager;
  return options;
}

TEST(SecondLook, FilesInF64KeepTheDigitsOfANumber) {
  const emulation::JudgedCase c = with_number("aten::remainder.Scalar", 0.7);
  for (const bool local : {true, false}) {
    std::vector<double> file = remainders(c.inputs[0], 0.7);
    // 0.7 as f32 is less than 0.7.
    ASSERT_GT(std::fabs(file[5] - remainders(c.inputs[0], 0.7F)[5]), 1e-4);
    const auto judged = [&] {
      return emulation::judge_emulated(c, eager_or_not(local), 0,
                                       {{"0", Tensor::from_doubles(DType::f64, {6}, file)}});
    };
    EXPECT_EQ(judged().status, Status::pass) << emulation::text_of(judged());
    file[3] += 1e-3;
    EXPECT_EQ(judged().status, Status::wrong) << emulation::text_of(judged());
  }
}

TEST(SecondLook, ANumberThatTheDtypeHoldsOtherwiseMayDecideOtherwise) {
  const emulation::JudgedCase c = with_number("aten::eq.Scalar", 0.7);
  for (const bool local : {true, false}) {
    Tensor file(DType::boolean, {6});
    const auto judged = [&] { return emulation::judge_emulated(c, eager_or_not(local), 0, {{"0", file}}); };
    EXPECT_EQ(judged().status, Status::pass) << emulation::text_of(judged());
    file = Tensor::from_doubles(DType::boolean, {6}, {0, 0, 1, 0, 0, 0});
    EXPECT_EQ(judged().status, Status::wrong) << emulation::text_of(judged());
  }
}

// (x + y + z) / 2: two of the numbers overflow together.
TEST(SecondLook, WhatLiesBehindAnEarlyOverflowIsLeftOpen) {
  emulation::GraphBuilder b("overflow");
  const ValueId x = b.input("x", DType::f32, {2, 3});
  const ValueId sum =
      b.node("aten::sum.dim_IntList", {emulation::arg("self", x), {"dim", IntListArg{{1}, {}}}});
  const ValueId scaled = b.node("aten::mul.Scalar", {emulation::arg("self", sum), {"other", 0.5}});
  b.output(scaled);
  emulation::JudgedCase c;
  c.graph = b.build();
  c.inputs = {Tensor::from_doubles(DType::f32, {2, 3}, {3e38, 3e38, -3e38, 1, 2, 3})};
  for (const bool declared : {true, false}) {
    JudgeRequest request;
    request.case_id = "test";
    request.graph = c.graph;
    request.inputs = c.inputs;
    request.contract = Contract::parse(declared ? R"({"name": "early", "rules": [{"early_overflow": true}]})"
                                                : R"({"name": "late", "rules": []})",
                                       "test");
    request.mode = "compile";
    Judge judge(std::move(request));
    RunResult run = emulation::run_emulated(*c.graph, c.inputs, judge.chain(), eager_or_not(false));
    const auto judged = [&](double first, double second) {
      run.outputs[0] = Tensor::from_doubles(DType::f32, {2}, {first, second});
      return judge.judge(run);
    };
    EXPECT_EQ(judged(1.5e38, 3).status, Status::pass);
    EXPECT_EQ(judged(HUGE_VAL, 3).status, declared ? Status::pass : Status::wrong);
    EXPECT_EQ(judged(NAN, 3).status, declared ? Status::pass : Status::nan_mismatch);
    EXPECT_EQ(judged(HUGE_VAL, HUGE_VAL).status, Status::wrong);
  }
}

// x 2^120 / 2: a subnormal x may be a zero, and then infinity times x is NaN.
TEST(SecondLook, SubnormalsMayBeFlushedOnTheWay) {
  emulation::GraphBuilder b("flush");
  const ValueId x = b.input("x", DType::f32, {4}), y = b.input("y", DType::f32, {4});
  const ValueId product = b.node("aten::mul.Tensor", {emulation::arg("self", x), emulation::arg("other", y)});
  b.output(b.node("aten::mul.Scalar", {emulation::arg("self", product), {"other", 0.5}}));
  emulation::JudgedCase c;
  c.graph = b.build();
  const double large = std::ldexp(1.0, 120), tiny = std::ldexp(1.0, -130);
  c.inputs = {Tensor::from_doubles(DType::f32, {4}, {1, tiny, tiny, 2}),
              Tensor::from_doubles(DType::f32, {4}, {large, large, HUGE_VAL, 3})};
  for (const bool flushes : {true, false}) {
    JudgeRequest request;
    request.case_id = "test";
    request.graph = c.graph;
    request.inputs = c.inputs;
    request.contract =
        Contract::parse(flushes ? R"({"name": "flush", "rules": [{"ftz_in": true, "ftz_out": true}]})"
                                : R"({"name": "keep", "rules": []})",
                        "test");
    request.mode = "compile";
    Judge judge(std::move(request));
    RunResult run = emulation::run_emulated(*c.graph, c.inputs, judge.chain(), eager_or_not(false));
    const auto judged = [&](double second, double third, double fourth) {
      run.outputs[0] = Tensor::from_doubles(DType::f32, {4}, {large / 2, second, third, fourth});
      return judge.judge(run).status;
    };
    EXPECT_EQ(judged(tiny * large / 2, HUGE_VAL, 3), Status::pass);
    EXPECT_EQ(judged(0, HUGE_VAL, 3), flushes ? Status::pass : Status::wrong);
    EXPECT_EQ(judged(0, NAN, 3), flushes ? Status::pass : Status::nan_mismatch);
    EXPECT_EQ(judged(tiny * large / 2, HUGE_VAL, 0), Status::wrong);
    EXPECT_EQ(judged(tiny * large * 2, HUGE_VAL, 3), Status::wrong);
  }
}

}  // namespace
}  // namespace assay
