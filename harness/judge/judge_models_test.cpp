// Graphs of several nodes: local pass, end-to-end gate, decisions, fallback, witnesses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/end_to_end.h"
#include "harness/judge/replay.h"
#include "harness/judge/testing/cases.h"

namespace assay {
namespace {

using emulation::arg;
using emulation::DeviceOptions;
using emulation::GraphBuilder;
using emulation::int_arg;
using emulation::judge_emulated;
using emulation::JudgedCase;
using emulation::text_of;
using ::testing::HasSubstr;

JudgedCase model(uint64_t seed, DType dtype = DType::f32) {
  JudgedCase c;
  c.graph = emulation::small_model(dtype);
  c.inputs = emulation::draw_inputs(*c.graph, seed, 1);
  return c;
}

TEST(JudgeModels, NoFalseAlarmInTenSeeds) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool eager : {true, false}) {
      for (uint64_t seed = 0; seed < 10; ++seed) {
        DeviceOptions device;
        device.seed = seed;
        device.local_pass = eager;
        const Verdict verdict = judge_emulated(model(seed, dtype), device, seed);
        EXPECT_EQ(verdict.status, Status::pass)
            << name_of(dtype) << " seed " << seed << ": " << text_of(verdict);
        EXPECT_EQ(verdict.gates.at("end_to_end").status, GateStatus::pass);
        EXPECT_LT(*verdict.gates.at("end_to_end").value, 6)
            << "correct devices were measured at 4.7 sigma at most";
      }
    }
  }
}

TEST(JudgeModels, TheFirstBadNodeIsNamed) {
  DeviceOptions device;
  device.mutant = "tf32_operands";
  device.mutant_node = "n3";
  const Verdict verdict = judge_emulated(model(1), device);
  EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
  ASSERT_TRUE(verdict.first_bad_node.has_value());
  EXPECT_EQ(verdict.first_bad_node->name, "n3");
  EXPECT_EQ(verdict.first_bad_node->op, "aten::mm.default");
  EXPECT_EQ(verdict.first_bad_node->source, "model.py:13");
  ASSERT_EQ(verdict.nodes.size(), 1U) << "the local pass isolates the defect";
  EXPECT_EQ(verdict.nodes[0].status, "wrong");
}

TEST(JudgeModels, CompiledGraphsAreJudgedEndToEnd) {
  for (const std::string mutant : {"tf32_operands", "bf16_accumulator", "last_k_dropped", "bias_dropped",
                                   "unbiased_variance", "other_gelu", "one_element_scaled", "rows_shifted"}) {
    DeviceOptions device;
    device.local_pass = false;
    device.mutant = mutant;
    const Verdict verdict = judge_emulated(model(2), device);
    EXPECT_EQ(verdict.status, Status::wrong) << mutant << ": " << text_of(verdict);
    EXPECT_EQ(verdict.reason, "end_to_end") << mutant;
    EXPECT_EQ(verdict.gates.at("end_to_end").status, GateStatus::fail);
    EXPECT_GT(*verdict.margin, 1);
  }
}

TEST(JudgeModels, VerdictsAreDeterministic) {
  const Verdict a = judge_emulated(model(3)), b = judge_emulated(model(3));
  EXPECT_EQ(*a.margin, *b.margin);
  EXPECT_EQ(*a.gates.at("end_to_end").value, *b.gates.at("end_to_end").value);
}

TEST(JudgeModels, FallbackNodesAreNotJudged) {
  const JudgedCase c = model(1);
  DeviceOptions device;
  device.fallback_all = true;
  Verdict verdict = judge_emulated(c, device);
  EXPECT_EQ(verdict.status, Status::unsupported);
  EXPECT_EQ(verdict.reason, "nothing_ran_on_device");

  const ValueId id = c.graph->outputs[0].value;
  const std::vector<Tensor> chain = reference::local_chain(*c.graph, c.inputs);
  verdict = judge_emulated(c, device, 0, {{"0", chain[static_cast<std::size_t>(id)]}});
  EXPECT_EQ(verdict.status, Status::pass_with_fallback) << text_of(verdict);
  EXPECT_FALSE(verdict.first_bad_node.has_value());
}

TEST(JudgeModels, AnExpectedValueMovedVisiblyFails) {
  const JudgedCase c = model(4);
  const ValueId id = c.graph->outputs[0].value;
  const Tensor right = reference::local_chain(*c.graph, c.inputs)[static_cast<std::size_t>(id)];
  std::vector<double> values = right.to_doubles();
  EXPECT_EQ(judge_emulated(c, {}, 0, {{"0", Tensor::from_doubles(DType::f64, right.shape(), values)}}).status,
            Status::pass);
  values[7] += 1e-3;
  const Verdict verdict =
      judge_emulated(c, {}, 0, {{"0", Tensor::from_doubles(DType::f64, right.shape(), values)}});
  EXPECT_EQ(verdict.status, Status::wrong);
  EXPECT_EQ(verdict.reason, "end_to_end");
  EXPECT_THAT(verdict.detail, HasSubstr("the file does not"));
  EXPECT_EQ(verdict.worst->index, (std::vector<int64_t>{0, 7}));
  EXPECT_EQ(verdict.witness, "expected_file");
}

// x is moved by roundings; whether x > 0 for the element that is almost 0 is open.
JudgedCase with_decision(double nearly_zero) {
  GraphBuilder b("decision");
  const ValueId x = b.input("x", DType::f32, {4}), y = b.input("y", DType::f32, {4});
  const ValueId sum = b.node("aten::add.Tensor", {arg("self", x), arg("other", y)});
  const ValueId squash = b.node("aten::tanh.default", {arg("self", sum)});
  const ValueId positive = b.node("aten::gt.Scalar", {arg("self", squash), {"other", 0.5}});
  const ValueId other = b.node("aten::neg.default", {arg("self", squash)});
  b.output(
      b.node("aten::where.self", {arg("condition", positive), arg("self", squash), arg("other", other)}));
  b.output(positive);
  b.output(squash);
  JudgedCase c;
  c.graph = b.build();
  const double threshold = std::atanh(0.5);
  c.inputs = {Tensor::from_doubles(DType::f32, {4}, {1, -1, threshold, 2}),
              Tensor::from_doubles(DType::f32, {4}, {0.25, 0.25, nearly_zero, 0.25})};
  return c;
}

// The emulated device decides the other way at element 2.
RunResult decided_otherwise(const JudgedCase& c, bool eager) {
  DeviceOptions device;
  const std::vector<Tensor> chain = reference::local_chain(*c.graph, c.inputs);
  RunResult run = emulation::run_emulated(*c.graph, c.inputs, chain, device);
  const auto flip = [](Tensor& tensor) {
    std::vector<int64_t> values = tensor.to_ints();
    values[2] = 1 - values[2];
    tensor = Tensor::from_ints(tensor.dtype(), tensor.shape(), values);
  };
  flip(run.nodes[2].free.at(0));
  flip(run.outputs[1]);
  std::vector<double> values = run.outputs[0].to_doubles();
  values[2] = -values[2];
  run.outputs[0] = Tensor::from_doubles(DType::f32, {4}, values);
  if (!eager) run.nodes.clear();
  return run;
}

Verdict judge_run(const JudgedCase& c, const RunResult& run, const std::string& mode) {
  JudgeRequest request;
  request.case_id = "test";
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.contract = emulation::emulated_contract();
  request.mode = mode;
  return Judge(std::move(request)).judge(run);
}

TEST(JudgeDecisions, OpenOnesFollowTheDeviceInEagerMode) {
  const JudgedCase c = with_decision(0);
  EXPECT_EQ(judge_emulated(c).status, Status::pass);
  const Verdict verdict = judge_run(c, decided_otherwise(c, true), "eager");
  EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
  EXPECT_EQ(verdict.gates.at("end_to_end").status, GateStatus::pass);
}

TEST(JudgeDecisions, OpenOnesLeaveElementsUndeterminedInCompileMode) {
  const JudgedCase c = with_decision(0);
  RunResult run = decided_otherwise(c, false);
  EXPECT_EQ(judge_run(c, run, "compile").status, Status::pass);
  // The others are still judged, in the same output.
  std::vector<double> values = run.outputs[0].to_doubles();
  values[3] *= 1.01;
  run.outputs[0] = Tensor::from_doubles(DType::f32, {4}, values);
  const Verdict verdict = judge_run(c, run, "compile");
  EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
  EXPECT_EQ(verdict.worst->index, (std::vector<int64_t>{3}));
}

// The file holds what another right implementation got, which decided the other way.
TEST(JudgeDecisions, AFileMayHaveDecidedOtherwise) {
  const JudgedCase c = with_decision(0);
  const RunResult other = decided_otherwise(c, true);
  std::map<std::string, Tensor> file{{"0", other.outputs[0]}, {"1", other.outputs[1]}};
  for (const bool eager : {true, false}) {
    DeviceOptions device;
    device.local_pass = eager;
    Verdict verdict = judge_emulated(c, device, 0, file);
    EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
    // What does not depend on the decision must still agree with the file.
    std::map<std::string, Tensor> moved = file;
    std::vector<double> values = file["0"].to_doubles();
    values[1] += 0.01;
    moved["0"] = Tensor::from_doubles(DType::f64, {4}, values);
    verdict = judge_emulated(c, device, 0, moved);
    EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
    EXPECT_EQ(verdict.worst->index, (std::vector<int64_t>{1}));
  }
}

TEST(JudgeDecisions, ClearOnesMustBeRight) {
  const JudgedCase c = with_decision(0.01);
  EXPECT_EQ(judge_emulated(c).status, Status::pass);
  for (const std::string mode : {"eager", "compile"}) {
    const Verdict verdict = judge_run(c, decided_otherwise(c, mode == "eager"), mode);
    EXPECT_EQ(verdict.status, Status::wrong) << mode << ": " << text_of(verdict);
  }
}

TEST(JudgeDecisions, TheWorldsMarkWhatDependsOnThem) {
  const JudgedCase c = with_decision(0);
  ReplayRequest request;
  const Contract contract = emulation::emulated_contract();
  const std::map<std::string, std::string> options;
  std::vector<reference::Wide> inputs;
  for (const Tensor& input : c.inputs) inputs.push_back(reference::Wide::from(input));
  request.graph = c.graph.get();
  request.inputs = &inputs;
  request.contract = &contract;
  request.mode = "compile";
  request.options = &options;
  const Replay replayed = replay(request);
  EXPECT_EQ(replayed.uncertain, 1);
  EXPECT_EQ(replayed.outputs[0].undetermined, (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(replayed.outputs[1].undetermined, (std::vector<bool>{false, false, true, false}));
  EXPECT_TRUE(replayed.outputs[2].undetermined.empty()) << "tanh does not depend on the decision";
}

TEST(JudgeDecisions, TiesOfTopKFollowTheDevice) {
  GraphBuilder b("ties");
  const ValueId x = b.input("x", DType::f32, {4}), table = b.input("table", DType::f32, {4});
  const std::vector<ValueId> top = b.nodes("aten::topk.default", {arg("self", x), int_arg("k", 2)});
  const ValueId picked =
      b.node("aten::gather.default", {arg("self", table), int_arg("dim", 0), arg("index", top[1])});
  b.output(picked);
  JudgedCase c;
  c.graph = b.build();
  c.inputs = {Tensor::from_doubles(DType::f32, {4}, {3, 1, 3, 3}),
              Tensor::from_doubles(DType::f32, {4}, {10, 20, 30, 40})};
  RunResult run = emulation::run_emulated(*c.graph, c.inputs, reference::local_chain(*c.graph, c.inputs));
  EXPECT_EQ(judge_run(c, run, "eager").status, Status::pass);
  // The device picks the last two of the three.
  run.nodes[0].free[1] = Tensor::from_ints(DType::i64, {2}, {3, 2});
  run.nodes[0].local[1] = run.nodes[0].free[1];
  run.outputs[0] = Tensor::from_doubles(DType::f32, {2}, {40, 30});
  Verdict verdict = judge_run(c, run, "eager");
  EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
  // An index that is no tie.
  run.nodes[0].free[1] = Tensor::from_ints(DType::i64, {2}, {3, 1});
  run.outputs[0] = Tensor::from_doubles(DType::f32, {2}, {40, 20});
  verdict = judge_run(c, run, "eager");
  EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
}

// PyTorch and the device may order equal elements differently; an index in the file that is no tie stays
// wrong.
TEST(JudgeDecisions, AFileMayHaveChosenAnotherOfEqualElements) {
  GraphBuilder b("file_ties");
  const ValueId x = b.input("x", DType::f32, {4});
  const ValueId r = b.node("aten::relu.default", {arg("self", x)});
  const std::vector<ValueId> top = b.nodes("aten::topk.default", {arg("self", r), int_arg("k", 2)});
  b.output(top[0]);
  b.output(top[1]);
  JudgedCase c;
  c.graph = b.build();
  c.inputs = {Tensor::from_doubles(DType::f32, {4}, {3, -1, 3, 3})};
  const auto verdict_of = [&](const std::vector<int64_t>& indices) {
    return judge_emulated(c, {}, 0, {{"1", Tensor::from_ints(DType::i64, {2}, indices)}});
  };
  for (const std::vector<int64_t>& indices : {std::vector<int64_t>{0, 2}, {3, 2}, {2, 0}, {3, 0}}) {
    const Verdict verdict = verdict_of(indices);
    EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
  }
  for (const std::vector<int64_t>& indices : {std::vector<int64_t>{0, 1}, {2, 2}, {0, 7}, {-1, 2}}) {
    const Verdict verdict = verdict_of(indices);
    EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
  }
}

TEST(JudgeEndToEnd, OutputsWithoutRoundingMustBeEqual) {
  GraphBuilder b("copies");
  const ValueId x = b.input("x", DType::f32, {3}), y = b.input("y", DType::f32, {3});
  b.output(b.node("aten::cat.default", {{"tensors", ValueListArg{{x, y}}}, int_arg("dim", 0)}));
  b.output(b.node("aten::neg.default", {arg("self", x)}));
  b.output(y);
  JudgedCase c;
  c.graph = b.build();
  c.inputs = emulation::draw_inputs(*c.graph, 1);
  DeviceOptions compiled;
  compiled.local_pass = false;
  EXPECT_EQ(judge_emulated(c, compiled).status, Status::pass);
  RunResult run = emulation::run_emulated(*c.graph, c.inputs, {}, compiled);
  std::vector<double> values = run.outputs[1].to_doubles();
  values[1] = std::nextafterf(static_cast<float>(values[1]), 9.0F);
  run.outputs[1] = Tensor::from_doubles(DType::f32, {3}, values);
  EXPECT_EQ(judge_run(c, run, "compile").status, Status::wrong);
}

TEST(JudgeEndToEnd, SigmaIsFlooredByTheMedianOfTheNonZero) {
  ReplayedOutput output;
  output.centre.meta = {DType::f32, {4}};
  output.centre.real = {0, 0, 1, 2};
  output.rounding = true;
  for (int r = 0; r < kReplays; ++r) {
    reference::Wide replay = output.centre;
    replay.real[2] += r % 2 ? 1e-3 : -1e-3;
    replay.real[3] += r % 2 ? 3e-3 : -3e-3;
    output.replays.push_back(replay);
  }
  const std::vector<double> sigma = spread_of(output);
  EXPECT_NEAR(sigma[0], 3e-3, 1e-12) << "upper median of {1e-3, 3e-3}";
  EXPECT_NEAR(sigma[2], std::hypot(1e-3, 3e-3), 1e-12);
  output.replays[3].real[1] = INFINITY;
  EXPECT_TRUE(std::isnan(spread_of(output)[1])) << "replays disagree on an infinity";
}

TEST(JudgeRun, FindingsThatAreNotAboutValues) {
  const JudgedCase c = model(1);
  const std::vector<Tensor> chain = reference::local_chain(*c.graph, c.inputs);
  const RunResult good = emulation::run_emulated(*c.graph, c.inputs, chain);

  RunResult run = good;
  run.repeatable = false;
  EXPECT_EQ(judge_run(c, run, "eager").status, Status::nondeterministic);

  run = good;
  run.guard_violation = "node 'n1' (aten::mm.default) modified its input 0";
  EXPECT_EQ(judge_run(c, run, "eager").reason, "input_modified");
  run.guard_violation = "node 'n1' wrote into a buffer that it was not given";
  EXPECT_EQ(judge_run(c, run, "eager").reason, "guard_overwritten");

  run = good;
  run.outputs[1] = Tensor();
  EXPECT_EQ(judge_run(c, run, "eager").reason, "missing_output");
  run.outputs = {Tensor(), Tensor()};
  EXPECT_EQ(judge_run(c, run, "eager").status, Status::vacuous);
  EXPECT_EQ(judge_run(c, run, "eager").reason, "no_output");

  run = good;
  run.failure = Status::crash;
  run.reason = "killed_by_signal";
  run.failed_node = "n2";
  const Verdict crash = judge_run(c, run, "eager");
  EXPECT_EQ(crash.status, Status::crash);
  EXPECT_EQ(crash.first_bad_node->name, "n2");

  run = good;
  run.nodes[1].local.clear();
  EXPECT_EQ(judge_run(c, run, "eager").status, Status::infrastructure_error);
}

TEST(JudgeRun, EveryReasonIsOfTheClosedEnum) {
  const JudgedCase c = model(1);
  for (const std::string mutant : {"tf32_operands", "stale_output", "all_zeros", "wrong_dtype"}) {
    DeviceOptions device;
    device.mutant = mutant;
    const Verdict verdict = judge_emulated(c, device);
    EXPECT_TRUE(is_reason(verdict.reason)) << verdict.reason;
    EXPECT_FALSE(verdict.detail.empty());
  }
}

// The reference judged by float128: what it computes in fp64, rounded once.
RunResult run_reference(const JudgedCase& c) {
  const std::vector<Tensor> chain = reference::local_chain(*c.graph, c.inputs);
  RunResult run;
  for (const Node& node : c.graph->nodes) {
    NodeOutcome outcome;
    outcome.placement = Placement::device;
    for (const ValueId id : node.outputs) outcome.local.push_back(chain[static_cast<std::size_t>(id)]);
    outcome.free = outcome.local;
    run.nodes.push_back(outcome);
  }
  for (const GraphOutput& output : c.graph->outputs)
    run.outputs.push_back(chain[static_cast<std::size_t>(output.value)]);
  return run;
}

TEST(JudgeWitness, TheReferenceIsJudgedByFloat128) {
  const JudgedCase c = model(5);
  JudgeRequest request;
  request.case_id = "witness";
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.mode = "eager";
  request.backend_is_reference = true;
  request.contract = Contract::parse(
      R"({"name": "reference", "rules": [{"accumulator": "f64", "intermediate": "f64", "functions": {"*": {"ulp": 1}}}]})",
      "test");
  RunResult run = run_reference(c);
  Verdict verdict = Judge(request).judge(run);
  EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
  EXPECT_EQ(verdict.witness, "float128");

  std::vector<double> values = run.nodes[0].local[0].to_doubles();
  values[3] = std::nextafterf(static_cast<float>(values[3]), 9.0F);
  run.nodes[0].local[0] = Tensor::from_doubles(DType::f32, run.nodes[0].local[0].shape(), values);
  verdict = Judge(request).judge(run);
  EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
  EXPECT_EQ(verdict.first_bad_node->name, "n0");
}

TEST(JudgeWitness, GraphsInDoublePrecisionAreJudgedByFloat128) {
  JudgedCase c;
  c.graph = emulation::small_model(DType::f64, 1);
  c.inputs = emulation::draw_inputs(*c.graph, 1, 1);
  JudgeRequest request;
  request.case_id = "f64";
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.mode = "eager";
  RunResult run = run_reference(c);
  Verdict verdict = Judge(request).judge(run);
  EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
  EXPECT_EQ(verdict.witness, "float128");
  std::vector<double> values = run.nodes[1].local[0].to_doubles();
  values[0] *= 1 + 1e-13;
  run.nodes[1].local[0] = Tensor::from_doubles(DType::f64, run.nodes[1].local[0].shape(), values);
  verdict = Judge(request).judge(run);
  EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
}

TEST(JudgeNodes, WhatTheDeviceHasToReturn) {
  const JudgedCase c = with_decision(0);
  EXPECT_EQ(free_nodes(*c.graph), (std::vector<int>{2})) << "the comparison of floats";
  EXPECT_TRUE(free_nodes(*model(1).graph).empty());
}

TEST(JudgeNodes, AllNodesWhereAsked) {
  const JudgedCase c = model(1);
  JudgeRequest request;
  request.case_id = "all";
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.contract = emulation::emulated_contract();
  request.mode = "eager";
  request.keep_all_nodes = true;
  Judge judge(request);
  const std::vector<Tensor> chain = judge.chain();
  const Verdict verdict = judge.judge(emulation::run_emulated(*c.graph, c.inputs, chain));
  ASSERT_EQ(verdict.nodes.size(), c.graph->nodes.size());
  EXPECT_EQ(verdict.nodes[0].status, "pass");
  EXPECT_EQ(verdict.nodes[0].dtype, "f32");
  EXPECT_EQ(verdict.nodes[0].shape, (std::vector<int64_t>{6, 32}));
}

}  // namespace
}  // namespace assay
