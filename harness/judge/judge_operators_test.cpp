// One-node cases: right devices pass in whatever order they add, wrong ones are found.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "harness/judge/compare.h"
#include "harness/judge/testing/cases.h"
#include "harness/mutant/families.h"
#include "harness/mutant/mutant.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

using emulation::DeviceOptions;
using emulation::judge_emulated;
using emulation::JudgedCase;
using emulation::text_of;

TEST(JudgeOperators, NoFalseAlarmInTenSeeds) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      for (const JudgedCase& c : emulation::operator_cases(seed, dtype)) {
        DeviceOptions device;
        device.seed = seed;
        const Verdict verdict = judge_emulated(c, device, seed);
        EXPECT_EQ(verdict.status, Status::pass)
            << c.graph->id << " " << name_of(dtype) << " seed " << seed << ": " << text_of(verdict);
        ASSERT_TRUE(verdict.margin.has_value()) << c.graph->id;
        EXPECT_LE(*verdict.margin, 1) << c.graph->id;
      }
    }
  }
}

TEST(JudgeOperators, TheSuiteDrawnGatesAreApplied) {
  for (const JudgedCase& c : emulation::operator_cases(3)) {
    const Verdict verdict = judge_emulated(c);
    const GateStatus rms = verdict.gates.at("rms").status, bias = verdict.gates.at("bias").status;
    if (c.graph->id == "aten::mm.default") {
      EXPECT_EQ(rms, GateStatus::pass);
    } else if (c.graph->id == "aten::add.Tensor") {
      EXPECT_EQ(bias, GateStatus::pass);
    } else if (c.graph->id == "aten::exp.default") {
      EXPECT_EQ(bias, GateStatus::not_applicable);
    }
    EXPECT_EQ(verdict.gates.size(), 5U);
  }
}

// The mean of nothing is NaN by definition: comparable where a suite says that the operator is meant.
TEST(JudgeOperators, NaNByDefinitionIsComparedWhereASuiteSaysSo) {
  JudgedCase c;
  c.graph = emulation::one_node(
      {"aten::mean.dim", {{DType::f32, {0, 3}}}, {"self"}, {emulation::ints_arg("dim", {0})}});
  c.inputs = {Tensor(DType::f32, {0, 3})};
  EXPECT_EQ(judge_emulated(c).reason, "reference_nan");
  c.checks.nan_policy = true;
  const Verdict verdict = judge_emulated(c);
  EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
  RunResult zeros;
  zeros.outputs = {Tensor(DType::f32, {3})};
  JudgeRequest request;
  request.case_id = "test/zeros";
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.checks = c.checks;
  request.contract = emulation::emulated_contract();
  request.mode = "eager";
  EXPECT_EQ(Judge(std::move(request)).judge(zeros).status, Status::vacuous);
}

// An uninitialised byte may equal the one that buffers are filled with.
TEST(JudgeOperators, WhatMayHoldAnythingIsNeverStale) {
  JudgedCase c;
  c.graph = emulation::one_node({"aten::empty.memory_format",
                                 {},
                                 {},
                                 {emulation::ints_arg("size", {1}), {"dtype", DTypeArg{DType::boolean}}}});
  RunResult run;
  run.outputs = {Tensor::from_bytes(DType::boolean, {1}, "\xa5", 1)};
  JudgeRequest request;
  request.case_id = "test/anything";
  request.graph = c.graph;
  request.contract = emulation::emulated_contract();
  request.mode = "eager";
  const Verdict verdict = Judge(std::move(request)).judge(run);
  EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
}

// Numbers that the harness drew are not the device's.
TEST(JudgeOperators, DrawsOfTheHarnessAreNotJudged) {
  JudgedCase c;
  c.graph = emulation::one_node({"aten::rand_like.default", {{DType::f32, {40, 40}}}, {"self"}, {}});
  c.inputs = {Tensor(DType::f32, {40, 40})};
  RunResult run;
  run.outputs = {Tensor(DType::f32, {40, 40})};  // nothing that could be drawn
  run.nodes.resize(1);
  run.nodes[0].placement = Placement::fallback;
  JudgeRequest request;
  request.case_id = "test/draws";
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.contract = emulation::emulated_contract();
  request.mode = "eager";
  const Verdict verdict = Judge(std::move(request)).judge(run);
  EXPECT_EQ(verdict.status, Status::unsupported) << text_of(verdict);
  EXPECT_EQ(verdict.reason, "nothing_ran_on_device");
}

TEST(JudgeOperators, CastsOfEightBitFloatsAreJudged) {
  for (const DType from : {DType::f32, DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2}) {
    for (const DType to : {DType::f32, DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2}) {
      JudgedCase c;
      c.graph =
          emulation::one_node({"aten::_to_copy.default", {{from, {6}}}, {"self"}, {{"dtype", DTypeArg{to}}}});
      c.inputs = {Tensor::from_doubles(from, {6}, {0, 0.3, -1.1, 2.7, 13, -100})};
      const Verdict verdict = judge_emulated(c);
      EXPECT_EQ(verdict.status, Status::pass)
          << name_of(from) << " to " << name_of(to) << ": " << text_of(verdict);
    }
  }
}

// A case in which a defect that plain draws do not show does show.
JudgedCase special_case(const std::string& mutant) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  JudgedCase c;
  const auto unary = [&](const char* op, const std::vector<double>& values) {
    c.graph = emulation::one_node({op, {{DType::f32, {static_cast<int64_t>(values.size())}}}, {"self"}, {}});
    c.inputs = {Tensor::from_doubles(DType::f32, {static_cast<int64_t>(values.size())}, values)};
  };
  if (mutant == "nan_becomes_zero") unary("aten::exp.default", {1, nan, 2});
  if (mutant == "nan_ignored_by_max") unary("aten::relu.default", {1, nan, 2});
  if (mutant == "infinity_saturates") unary("aten::exp.default", {1, 100, inf});
  if (mutant == "zero_loses_its_sign") unary("aten::neg.default", {1, 0, -2});
  if (mutant == "subnormals_flushed") unary("aten::exp.default", {1, -90, -100});
  if (mutant == "ties_away_from_zero" || mutant == "rounded_twice") {
    // 1 + 2^-8 is halfway between two bf16; 1 + 2^-8 + 2^-16 rounds up only once it was rounded to 10 bits
    // before.
    c.graph = emulation::one_node(
        {"aten::_to_copy.default", {{DType::f32, {4}}}, {"self"}, {{"dtype", DTypeArg{DType::bf16}}}});
    c.inputs = {Tensor::from_doubles(DType::f32, {4},
                                     {1 + 0x1p-8, 1 + 0x1p-7 + 0x1p-8 - 0x1p-15, 3.25, -1 - 0x1p-8})};
  }
  if (mutant == "softmax_without_max") {
    c.graph =
        emulation::one_node({"aten::_softmax.default",
                             {{DType::f32, {2, 3}}},
                             {"self"},
                             {emulation::int_arg("dim", 1), emulation::bool_arg("half_to_float", false)}});
    c.inputs = {Tensor::from_doubles(DType::f32, {2, 3}, {100, 99, 98, 1, 2, 3})};
  }
  if (mutant == "one_pass_variance") {
    c.graph = emulation::one_node({"aten::native_layer_norm.default",
                                   {{DType::f32, {4, 64}}},
                                   {"input"},
                                   {emulation::ints_arg("normalized_shape", {64}),
                                    {"weight", NoneArg{}},
                                    {"bias", NoneArg{}},
                                    emulation::float_arg("eps", 1e-5)}});
    c.inputs = {emulation::draw({DType::f32, {4, 64}}, "x", 1, 1, 1000)};
  }
  if (mutant == "epsilon_outside_the_root") {
    c.graph = emulation::one_node({"aten::native_layer_norm.default",
                                   {{DType::f32, {4, 16}}},
                                   {"input"},
                                   {emulation::ints_arg("normalized_shape", {16}),
                                    {"weight", NoneArg{}},
                                    {"bias", NoneArg{}},
                                    emulation::float_arg("eps", 1e-5)}});
    c.inputs = {emulation::draw({DType::f32, {4, 16}}, "x", 1, 1e-3)};
  }
  if (mutant == "integers_through_fp32") {
    c.graph = emulation::one_node(
        {"aten::mul.Tensor", {{DType::i64, {2}}, {DType::i64, {2}}}, {"self", "other"}, {}});
    c.inputs = {Tensor::from_ints(DType::i64, {2}, {4097, 3}), Tensor::from_ints(DType::i64, {2}, {4097, 5})};
  }
  if (mutant == "comparison_is_strict") {
    c.graph = emulation::one_node(
        {"aten::ge.Tensor", {{DType::f32, {3}}, {DType::f32, {3}}}, {"self", "other"}, {}});
    c.inputs = {Tensor::from_doubles(DType::f32, {3}, {1, 2, 3}),
                Tensor::from_doubles(DType::f32, {3}, {1, 3, 2})};
  }
  if (mutant == "pool_pads_with_zero") {
    c.graph = emulation::one_node(
        {"aten::max_pool2d_with_indices.default",
         {{DType::f32, {1, 1, 4, 4}}},
         {"self"},
         {emulation::ints_arg("kernel_size", {3, 3}), emulation::ints_arg("stride", {2, 2}),
          emulation::ints_arg("padding", {1, 1})}});
    c.inputs = {emulation::draw({DType::f32, {1, 1, 4, 4}}, "x", 1, 1, -2)};
  }
  if (mutant == "duplicates_lost") {
    c.graph = emulation::one_node({"aten::scatter_add.default",
                                   {{DType::f32, {4}}, {DType::i64, {3}}, {DType::f32, {3}}},
                                   {"self", "index", "src"},
                                   {emulation::int_arg("dim", 0)}});
    c.inputs = {Tensor(DType::f32, {4}), Tensor::from_ints(DType::i64, {3}, {1, 1, 2}),
                Tensor::from_doubles(DType::f32, {3}, {1, 2, 3})};
  }
  return c;
}

// Every planted defect is found on at least one case, and the same case passes without it.
TEST(JudgeOperators, EveryMutantIsFound) {
  EXPECT_GE(all_mutants().size(), 30U);
  const std::vector<JudgedCase> cases = emulation::operator_cases(7);
  std::set<std::string> not_applicable;
  int tried = 0;
  for (const Mutant& mutant : all_mutants()) {
    // Defects of programs need a device with buffers (run_ci_test), those of other operators their cases
    // (suites/selftest).
    if (mutant.effect != Effect::result) continue;
    std::vector<JudgedCase> candidates;
    if (mutant.name == "duplicates_lost" && !reference::has_operator("aten::scatter_add.default")) {
      not_applicable.insert(mutant.name);
      continue;
    }
    if (JudgedCase special = special_case(mutant.name); special.graph)
      candidates.push_back(std::move(special));
    candidates.insert(candidates.end(), cases.begin(), cases.end());
    int found = 0, changed = 0;
    for (const JudgedCase& c : candidates) {
      const OpCall call(*c.graph, c.graph->nodes[0]);
      if (!mutant.applies(call) || c.graph->id == "aten::permute.default") continue;  // nothing planted there
      const std::vector<Tensor> right = recompute(call, c.inputs);
      std::vector<Tensor> planted = right;
      plant_mutant(mutant.name, call, c.inputs, planted);
      bool same = true;
      for (std::size_t k = 0; k < right.size(); ++k) same = same && planted[k].bitwise_equal(right[k]);
      if (same) continue;
      ++changed;
      DeviceOptions device;
      device.mutant = mutant.name;
      const Verdict verdict = judge_emulated(c, device);
      if (is_pass(verdict.status)) continue;
      EXPECT_TRUE(is_failure(verdict.status)) << mutant.name << ": " << text_of(verdict);
      const Verdict clean = judge_emulated(c);
      EXPECT_EQ(clean.status, Status::pass) << mutant.name << " on " << c.graph->id << ": " << text_of(clean);
      ++found;
      break;
    }
    if (changed == 0) continue;
    ++tried;
    EXPECT_EQ(found, 1) << mutant.name << " was found nowhere";
  }
  EXPECT_GE(tried, 35);
}

// Where a defect applies, how many of the cases show it: those that must never be missed.
TEST(JudgeOperators, DefectsOfStructureAreFoundOnEveryCase) {
  for (const std::string name :
       {"stale_output", "all_zeros", "wrong_dtype", "tf32_operands", "bf16_operands", "bf16_accumulator",
        "bias_dropped", "last_k_dropped", "unbiased_variance", "one_element_scaled", "second_operand_ignored",
        "stored_in_bf16", "coarse_function", "index_returned_twice"}) {
    const Mutant* mutant = find_mutant(name);
    ASSERT_NE(mutant, nullptr) << name;
    for (const JudgedCase& c : emulation::operator_cases(5)) {
      if (!mutant->applies(OpCall(*c.graph, c.graph->nodes[0]))) continue;
      DeviceOptions device;
      device.mutant = name;
      const Verdict verdict = judge_emulated(c, device);
      if (c.graph->id == "aten::permute.default") continue;  // the emulated device plants nothing there
      EXPECT_FALSE(is_pass(verdict.status)) << name << " on " << c.graph->id << ": " << text_of(verdict);
    }
  }
}

TEST(JudgeOperators, TruncationOfBf16ProductsIsBeyondTheBound) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const std::vector<JudgedCase> cases = emulation::operator_cases(seed, DType::bf16);
    const Verdict right = judge_emulated(cases[0], {}, seed);
    EXPECT_EQ(right.status, Status::pass);
    EXPECT_GT(*right.margin, 0.8) << "the Bound is tight";
    DeviceOptions device;
    device.mutant = "truncated_result";
    const Verdict wrong = judge_emulated(cases[0], device, seed);
    EXPECT_EQ(wrong.status, Status::wrong);
    EXPECT_GT(*wrong.margin, 1.5);
    EXPECT_LT(*wrong.margin, 2.1);
  }
}

TEST(JudgeOperators, NarrowResultsOfBasicArithmeticAreExact) {
  JudgedCase c;
  c.graph = emulation::one_node(
      {"aten::add.Tensor", {{DType::bf16, {512}}, {DType::bf16, {512}}}, {"self", "other"}, {}});
  c.inputs = emulation::draw_inputs(*c.graph, 1);
  const Verdict right = judge_emulated(c);
  EXPECT_EQ(right.status, Status::pass);
  EXPECT_EQ(right.gates.at("probe").status, GateStatus::pass);
  EXPECT_EQ(*right.margin, 0);
  DeviceOptions device;
  device.mutant = "ties_away_from_zero";
  const Verdict wrong = judge_emulated(c, device);
  EXPECT_EQ(wrong.status, Status::wrong);
  EXPECT_EQ(wrong.reason, "probe");
}

TEST(JudgeOperators, ExactProbesCompareBits) {
  JudgedCase c;
  c.graph = emulation::one_node(
      {"aten::mm.default", {{DType::f32, {4, 64}}, {DType::f32, {64, 4}}}, {"self", "mat2"}, {}});
  std::vector<double> ones(256, 1), powers(256, 1);
  for (std::size_t i = 0; i < 256; i += 64) ones[i] = 0x1p20;
  c.inputs = {Tensor::from_doubles(DType::f32, {4, 64}, ones),
              Tensor::from_doubles(DType::f32, {64, 4}, powers)};
  c.checks.exact_probe = true;
  const Verdict right = judge_emulated(c);
  EXPECT_EQ(right.status, Status::pass) << text_of(right);
  EXPECT_EQ(right.gates.at("probe").status, GateStatus::pass);
  DeviceOptions device;
  device.mutant = "bf16_accumulator";
  const Verdict wrong = judge_emulated(c, device);
  EXPECT_EQ(wrong.reason, "probe") << text_of(wrong);
  EXPECT_EQ(wrong.gates.at("probe").status, GateStatus::fail);
}

TEST(JudgeOperators, VacuousResultsHaveTheirReasons) {
  const JudgedCase c = emulation::operator_cases(1)[0];
  DeviceOptions device;
  device.mutant = "stale_output";
  Verdict verdict = judge_emulated(c, device);
  EXPECT_EQ(verdict.status, Status::vacuous);
  EXPECT_EQ(verdict.reason, "stale_output");
  device.mutant = "all_zeros";
  verdict = judge_emulated(c, device);
  EXPECT_EQ(verdict.status, Status::vacuous);
  EXPECT_EQ(verdict.reason, "all_zero");
  device.mutant = "wrong_dtype";
  verdict = judge_emulated(c, device);
  EXPECT_EQ(verdict.status, Status::meta_mismatch);
  EXPECT_EQ(verdict.reason, "dtype_mismatch");
}

TEST(JudgeOperators, EmptyResultsAreComparedByShape) {
  JudgedCase c;
  c.graph = emulation::one_node(
      {"aten::mm.default", {{DType::f32, {0, 4}}, {DType::f32, {4, 3}}}, {"self", "mat2"}, {}});
  c.inputs = emulation::draw_inputs(*c.graph, 1);
  EXPECT_EQ(judge_emulated(c).status, Status::pass);
}

TEST(JudgeOperators, AnExpectedFileMovesTheCentre) {
  const JudgedCase c = emulation::operator_cases(2)[0];
  JudgeRequest request;
  request.graph = c.graph;
  request.inputs = c.inputs;
  Judge judge(std::move(request));
  std::vector<double> values = judge.chain().back().to_doubles();
  const Shape shape = judge.chain().back().shape();
  Verdict verdict = judge_emulated(c, {}, 0, {{"0", Tensor::from_doubles(DType::f64, shape, values)}});
  EXPECT_EQ(verdict.status, Status::pass) << text_of(verdict);
  EXPECT_EQ(verdict.witness, "expected_file");
  values[5] += 0.01;
  verdict = judge_emulated(c, {}, 0, {{"0", Tensor::from_doubles(DType::f64, shape, values)}});
  EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
  EXPECT_EQ(verdict.worst->index, index_of(shape, 5, false));
  verdict = judge_emulated(c, {}, 0, {{"1", Tensor::from_doubles(DType::f64, shape, values)}});
  EXPECT_EQ(verdict.status, Status::malformed_file);
}

TEST(JudgeOperators, DeclaredIntegerWidthIsSaid) {
  JudgedCase c = special_case("integers_through_fp32");
  JudgeRequest request;
  request.case_id = "int";
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.mode = "eager";
  request.contract = Contract::parse(R"({"name": "narrow", "rules": [{"int_exact_bits": 24}]})", "test");
  Judge judge(std::move(request));
  DeviceOptions device;
  device.mutant = "integers_through_fp32";
  const std::vector<Tensor> chain = judge.chain();
  const Verdict verdict = judge.judge(emulation::run_emulated(*c.graph, c.inputs, chain, device));
  EXPECT_EQ(verdict.status, Status::wrong);
  EXPECT_EQ(verdict.reason, "declared_int_width");
}

}  // namespace
}  // namespace assay
