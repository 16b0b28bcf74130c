// Curves of runs of several steps: gradient descent on a small least-squares problem.
#include "harness/judge/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "core/io/safetensors.h"
#include "harness/judge/testing/cases.h"
#include "harness/judge/trajectories_cache.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSteps = 24;

// loss = mean((x w - y)^2), w' = w - rate x^T (x w - y), n' = n + 1.
std::shared_ptr<const Graph> descent(double rate) {
  emulation::GraphBuilder b("descent");
  const ValueId x = b.input("x", DType::f32, {16, 12}), y = b.input("y", DType::f32, {16, 4}),
                w = b.input("w", DType::f32, {12, 4}), n = b.input("n", DType::i64, {1});
  const ValueId xw = b.node("aten::mm.default", {emulation::arg("self", x), emulation::arg("mat2", w)});
  const ValueId off = b.node("aten::sub.Tensor", {emulation::arg("self", xw), emulation::arg("other", y)});
  const ValueId squares =
      b.node("aten::mul.Tensor", {emulation::arg("self", off), emulation::arg("other", off)});
  const ValueId transposed =
      b.node("aten::permute.default", {emulation::arg("self", x), emulation::ints_arg("dims", {1, 0})});
  const ValueId gradient =
      b.node("aten::mm.default", {emulation::arg("self", transposed), emulation::arg("mat2", off)});
  const ValueId scaled = b.node("aten::mul.Scalar", {emulation::arg("self", gradient), {"other", rate}});
  b.output(b.node("aten::mean.default", {emulation::arg("self", squares)}));
  b.output(b.node("aten::sub.Tensor", {emulation::arg("self", w), emulation::arg("other", scaled)}));
  const ValueId next = b.node("aten::add.Scalar", {emulation::arg("self", n), {"other", int64_t{1}}});
  b.output(next);
  b.output(b.node("aten::mul.Scalar", {emulation::arg("self", next), {"other", int64_t{2}}}));
  return b.build();
}

// What a device that rounds every node returned for outputs 0 and 3 in all steps.
StepsRequest descended(double rate = 0.02, double device_rate = 0.02) {
  StepsRequest request;
  request.request.case_id = "test";
  request.request.graph = descent(rate);
  request.request.contract = emulation::emulated_contract();
  request.request.mode = "eager";
  for (const GraphInput& input : request.request.graph->inputs) {
    const Value& value = request.request.graph->values.at(static_cast<std::size_t>(input.value));
    if (is_integral(value.dtype)) {
      request.request.inputs.push_back(Tensor::from_ints(value.dtype, value.shape, {0}));
      continue;
    }
    std::vector<double> drawn(static_cast<std::size_t>(element_count(value.shape)));
    for (std::size_t i = 0; i < drawn.size(); ++i)
      drawn[i] = std::sin(static_cast<double>(i * i + value.name[0]));
    request.request.inputs.push_back(Tensor::from_doubles(value.dtype, value.shape, drawn));
  }
  request.steps = kSteps;
  request.carry = {{1, "w"}, {2, "n"}};
  const auto device = descent(device_rate);
  std::vector<Tensor> inputs = request.request.inputs;
  std::vector<double> losses;
  std::vector<int64_t> counts;
  for (int t = 0; t < kSteps; ++t) {
    const std::vector<Tensor> chain = reference::local_chain(*device, inputs);
    const auto output = [&](std::size_t i) {
      return chain.at(static_cast<std::size_t>(device->outputs[i].value));
    };
    losses.push_back(output(0).to_doubles()[0]);
    counts.push_back(output(3).to_ints()[0]);
    inputs[2] = output(1);
    inputs[3] = output(2);
  }
  request.observed = {Tensor::from_doubles(DType::f32, {kSteps}, losses),
                      Tensor::from_ints(DType::i64, {kSteps, 1}, counts)};
  return request;
}

void move(StepsRequest& request, std::size_t step, double factor) {
  std::vector<double> values = request.observed[0].to_doubles();
  values[step] *= factor;
  request.observed[0] = Tensor::from_doubles(DType::f32, {kSteps}, values);
}

TEST(JudgeSteps, ARightCurvePasses) {
  const Verdict verdict = judge_steps(descended());
  EXPECT_EQ(verdict.status, Status::pass) << verdict.detail;
  EXPECT_EQ(verdict.gates.at("end_to_end").status, GateStatus::pass);
  EXPECT_GT(*verdict.margin, 0);
  EXPECT_LT(*verdict.margin, 1);
  EXPECT_EQ(verdict.witness, "reference");
  const Verdict again = judge_steps(descended());
  EXPECT_EQ(*verdict.margin, *again.margin) << "draws are keyed by the case";
}

TEST(JudgeSteps, OneWrongStepIsFound) {
  for (const std::size_t step : {0, 11, kSteps - 1}) {
    StepsRequest request = descended();
    move(request, step, 1 + 2e-5);
    const Verdict verdict = judge_steps(request);
    EXPECT_EQ(verdict.status, Status::wrong) << "step " << step;
    EXPECT_EQ(verdict.reason, "end_to_end");
    EXPECT_EQ(verdict.worst->index.at(0), static_cast<int64_t>(step));
    EXPECT_EQ(verdict.gates.at("end_to_end").status, GateStatus::fail);
  }
}

TEST(JudgeSteps, AnotherRateIsFound) {
  const Verdict verdict = judge_steps(descended(0.02, 0.02 * 1.0001));
  EXPECT_EQ(verdict.status, Status::wrong);
  EXPECT_EQ(verdict.reason, "end_to_end");
}

TEST(JudgeSteps, CountsMustBeEqual) {
  StepsRequest request = descended();
  std::vector<int64_t> counts = request.observed[1].to_ints();
  counts[7] += 1;
  request.observed[1] = Tensor::from_ints(DType::i64, {kSteps, 1}, counts);
  const Verdict verdict = judge_steps(request);
  EXPECT_EQ(verdict.status, Status::wrong);
  EXPECT_EQ(verdict.worst->output, "3");
}

TEST(JudgeSteps, NothingIsNoCurve) {
  StepsRequest request = descended();
  move(request, 0, 0);
  request.observed[0] =
      Tensor::from_doubles(DType::f32, {kSteps}, std::vector<double>(static_cast<std::size_t>(kSteps), 0));
  EXPECT_EQ(judge_steps(request).status, Status::vacuous);
  request = descended();
  request.observed[0] = Tensor(DType::f32, {kSteps, 1});
  EXPECT_EQ(judge_steps(request).status, Status::meta_mismatch);
  request.observed.pop_back();
  EXPECT_THROW(judge_steps(request), Error);
}

TEST(JudgeSteps, DescentIsHeldAgainstTheFirstStep) {
  StepsRequest request = descended();
  const std::vector<double> curve = request.observed[0].to_doubles();
  const double share = (curve[kSteps - 2] + curve[kSteps - 1]) / 2 / curve[0];
  ASSERT_LT(share, 0.9);
  request.request.checks.descends = share * 1.01;
  EXPECT_EQ(judge_steps(request).status, Status::pass);
  request.request.checks.descends = share * 0.99;
  const Verdict verdict = judge_steps(request);
  EXPECT_EQ(verdict.status, Status::wrong);
  EXPECT_EQ(verdict.reason, "no_descent");
}

TEST(JudgeSteps, TheReferenceIsJudgedByFloat128) {
  StepsRequest request = descended();
  request.request.backend_is_reference = true;
  const Verdict verdict = judge_steps(request);
  EXPECT_EQ(verdict.status, Status::pass) << verdict.detail;
  EXPECT_EQ(verdict.witness, "float128");
}

TEST(JudgeSteps, TrajectoriesAreKeptForTheNextJudgement) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("trajectories" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  StepsRequest request = descended();
  request.cache_dir = folder.string();
  const double margin = *judge_steps(request).margin;
  const std::string path = TrajectoriesCache(request).path();
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(*judge_steps(request).margin, margin);

  // What is there is what is judged by: moved trajectories make the curve wrong.
  TensorFile file = read_safetensors(path);
  ASSERT_EQ(file.tensors.size(), 2u * (1 + kStepReplays));
  for (auto& [name, tensor] : file.tensors) {
    if (is_integral(tensor.dtype())) continue;
    std::vector<double> losses = tensor.to_doubles();
    for (double& loss : losses) loss *= 1.01;
    tensor = Tensor::from_doubles(DType::f64, {kSteps}, losses);
  }
  write_safetensors(path, file);
  EXPECT_EQ(judge_steps(request).status, Status::wrong);

  // Another seed, Contract, carry, input or number of steps has trajectories of its own; so has the
  // reference as backend. The mode has none where no rule of the Contract reads it.
  const auto other = [&](const auto& change) {
    StepsRequest changed = request;
    change(changed);
    return TrajectoriesCache(changed).path() != path;
  };
  EXPECT_TRUE(other([](StepsRequest& r) { r.request.seed = 1; }));
  EXPECT_TRUE(other([](StepsRequest& r) { r.request.contract = Contract(); }));
  EXPECT_TRUE(other([](StepsRequest& r) { r.carry.pop_back(); }));
  EXPECT_TRUE(other([](StepsRequest& r) { r.request.inputs[0] = Tensor(DType::f32, {16, 12}); }));
  EXPECT_TRUE(other([](StepsRequest& r) { r.steps += 1; }));
  EXPECT_TRUE(other([](StepsRequest& r) { r.request.backend_is_reference = true; }));
  EXPECT_TRUE(other([](StepsRequest& r) { r.cache_dir.clear(); }));
  EXPECT_FALSE(other([](StepsRequest& r) { r.request.mode = "compile"; }));

  // A file of something else, or a torn one, is computed again.
  file.metadata["key"] += " of another";
  write_safetensors(path, file);
  EXPECT_EQ(judge_steps(request).status, Status::pass);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_EQ(*judge_steps(request).margin, margin);
  std::filesystem::remove_all(folder);
}

TEST(JudgeSteps, CarriesAreUserInputs) {
  const StepsRequest request = descended();
  const Graph& graph = *request.request.graph;
  EXPECT_THAT(observed_outputs(graph, request.carry), ElementsAre(0, 3));
  EXPECT_EQ(input_number(graph, "w"), 2u);
  try {
    input_number(graph, "v");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("descent: an output is carried to 'v', which is no user input"));
  }
}

}  // namespace
}  // namespace assay
