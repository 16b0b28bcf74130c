// Cases of several steps, with worker and judge processes.
#include "harness/run/steps_case.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/graph/builder.h"
#include "harness/record/results.h"
#include "harness/run/run.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr int kSteps = 6;

// x' = relu(x), and mean(-x) beside it: neg and relu run on the misbehaving device, mean on the host. The
// first element is too small to be seen in the mean.
Case relu_steps() {
  GraphBuilder builder("steps");
  const ValueId x = builder.input("x", DType::f32, {64});
  builder.output(builder.call("aten::relu.default", {{"self", ValueArg{x}}}));
  const ValueId negative = builder.call("aten::neg.default", {{"self", ValueArg{x}}});
  builder.output(builder.call("aten::mean.default", {{"self", ValueArg{negative}}}));
  Case c;
  c.id = "steps";
  c.suite = "training";
  c.graph = std::make_shared<const Graph>(builder.build());
  std::vector<double> values(64);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i == 0 ? 1e-6 : 1 + 0.01 * static_cast<double>(i);
  c.inputs["x"] = {DType::f32, {64}, Tensor::from_doubles(DType::f32, {64}, values)};
  c.steps = kSteps;
  c.carry = {{0, "x"}};
  return c;
}

class StepsRunTest : public testing::Test {
 protected:
  StepsRunTest() : root_(std::filesystem::path(testing::TempDir()) / ("steps" + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
  }
  ~StepsRunTest() override { std::filesystem::remove_all(root_); }

  Record run(const std::string& backend, const Case& c, const std::string& mode = "eager") const {
    RunOptions o;
    o.backend = backend;
    o.out = (root_ / std::to_string(++runs_)).string();
    o.jobs = 1;
    o.timeout_s = 60;
    o.modes = {mode};
    run_cases(o, {c});
    const auto records = read_results((std::filesystem::path(o.out) / "results.jsonl").string());
    EXPECT_EQ(records.size(), 1u);
    return records.empty() ? make_record() : records[0];
  }
  Record misbehave(const char* how, const Case& c) const {
    setenv("ASSAY_TEST_MISBEHAVIOUR", how, 1);
    return run(ASSAY_BINARY_DIR "/lib/assay_misbehaving.so", c);
  }

  std::filesystem::path root_;
  mutable int runs_ = 0;
};

TEST_F(StepsRunTest, PhasesAreApartAndStepsAreCounted) {
  Case c = relu_steps();
  c.checks.resumes = c.checks.unobserved = true;
  for (const char* mode : {"eager", "compile"}) {
    const Record record = run("trainium", c, mode);
    EXPECT_EQ(record.status, Status::pass) << mode << ": " << record.detail;
    EXPECT_TRUE(record.phases.prepare_s.has_value()) << mode;
    ASSERT_TRUE(record.phases.first_run_s.has_value()) << mode;
    EXPECT_EQ(record.phases.steady_s.size(), static_cast<std::size_t>(kSteps - 1)) << mode;
    const bool compiled = record.phases.compile_cold_s || record.phases.compile_disk_warm_s ||
                          record.phases.compile_memory_warm_s;
    EXPECT_TRUE(compiled) << mode << ": programs are compiled, or loaded";
    ASSERT_TRUE(record.device.has_value()) << mode;
    EXPECT_GT(record.device->instructions, 0) << mode;
  }
}

TEST_F(StepsRunTest, BitsThatDependOnTheProcessAreFound) {
  Case c = relu_steps();
  Record record = misbehave("fine", c);
  EXPECT_EQ(record.status, Status::pass_with_fallback) << record.detail;
  ASSERT_EQ(record.fallbacks.size(), 1u);
  EXPECT_EQ(record.fallbacks[0].count, kSteps) << "the ledger is a sum";
  record = misbehave("dice", c);
  EXPECT_EQ(record.status, Status::pass_with_fallback) << record.detail;
  c.checks.resumes = true;
  record = misbehave("fine", c);
  EXPECT_EQ(record.status, Status::pass_with_fallback) << record.detail;
  record = misbehave("dice", c);
  EXPECT_EQ(record.status, Status::nondeterministic) << record.detail;
  EXPECT_EQ(record.reason, "resume_differs");
  EXPECT_THAT(record.detail, HasSubstr("step 4: 'x' has other bits after the run was resumed"));
  c.checks.resumes = false;
  c.checks.unobserved = true;
  record = misbehave("fine", c);
  EXPECT_EQ(record.status, Status::pass_with_fallback) << record.detail;
  record = misbehave("dice", c);
  EXPECT_EQ(record.status, Status::nondeterministic) << record.detail;
  EXPECT_EQ(record.reason, "observation_differs");
}

TEST_F(StepsRunTest, WhatNeverPasses) {
  Case c = relu_steps();
  Record record = misbehave("trap", c);
  EXPECT_EQ(record.status, Status::crash) << record.reason;
  EXPECT_THAT(record.detail, HasSubstr("step 1: "));
  EXPECT_FALSE(is_pass(run("null", c).status));
  c.carry = {{0, "y"}};
  record = run("trainium", c);
  EXPECT_EQ(record.status, Status::malformed_file);
  EXPECT_THAT(record.detail, HasSubstr("carried to 'y', which is no user input"));
  c.carry = {{2, "x"}};
  record = run("trainium", c);
  EXPECT_EQ(record.status, Status::malformed_file);
  EXPECT_THAT(record.detail, HasSubstr("output 2 is carried, which the graph does not have"));
}

}  // namespace
}  // namespace assay
