// Bookkeeping of planted defects, both ways, with judges that are made up.
#include "harness/run/mutant_trials.h"

#include <gmock/gmock.h>

#include <memory>

#include "core/graph/builder.h"

namespace assay {
namespace {

using testing::HasSubstr;

Case unary(const std::string& id) {
  GraphBuilder builder(id);
  const ValueId x = builder.input("x", DType::f32, {4});
  builder.output(builder.call("aten::neg.default", {{"self", ValueArg{x}}}));
  Case c;
  c.id = id;
  c.graph = std::make_shared<const Graph>(builder.build());
  return c;
}

Case pair(const std::string& mutant = "tail_dropped", int trials = 2) {
  Case c = unary("selftest/neg/" + mutant);
  c.mutant = mutant;
  for (int i = 0; i < trials; ++i)
    c.trials.push_back(std::make_shared<const Case>(unary("ops/neg/" + std::to_string(i))));
  return c;
}

Trial trial(Status status, std::optional<bool> changed, const std::string& reason = "") {
  Trial t{make_record(), changed};
  t.record.status = status;
  t.record.reason = reason;
  return t;
}

// A judge of cases without a defect says `clean`, one of cases with it `planted`.
MutantTrials::Attempt judge(const Trial& clean, const Trial& planted, int* calls = nullptr) {
  return [=](const Case& c) -> std::optional<Trial> {
    if (calls != nullptr) ++*calls;
    return c.mutant.empty() ? clean : planted;
  };
}

std::string nothing(const Mutant&, const OpCall&) { return ""; }

const Trial kPass = trial(Status::pass, std::nullopt);

TEST(MutantTrials, AFailureWithTheDefectIsAPass) {
  for (const Status status : {Status::wrong, Status::nan_mismatch, Status::meta_mismatch,
                              Status::nondeterministic, Status::vacuous}) {
    MutantTrials trials;
    int calls = 0;
    const auto record = trials.run(pair(), make_record(),
                                   judge(kPass, trial(status, true, "element_bound"), &calls), nothing);
    EXPECT_EQ(record->status, Status::pass);
    EXPECT_THAT(record->detail, HasSubstr("ops/neg/0 finds tail_dropped"));
    EXPECT_EQ(calls, 2) << "the first case is enough";
  }
}

TEST(MutantTrials, AJudgeThatAcceptsEverythingHasSurvivors) {
  MutantTrials trials;
  const auto record = trials.run(pair(), make_record(), judge(kPass, trial(Status::pass, true)), nothing);
  EXPECT_EQ(record->status, Status::wrong);
  EXPECT_EQ(record->reason, "mutant_survived");
  EXPECT_THAT(record->detail, HasSubstr("tail_dropped"));
  EXPECT_THAT(record->detail, HasSubstr("ops/neg/1"));
}

TEST(MutantTrials, ADefectThatChangesNothingIsNotApplicable) {
  MutantTrials trials;
  const Trial unchanged = trial(Status::skip_policy, false, "mutant_not_applicable");
  const auto record = trials.run(pair(), make_record(), judge(kPass, unchanged), nothing);
  EXPECT_EQ(record->status, Status::skip_policy);
  EXPECT_EQ(record->reason, "mutant_not_applicable");
  // A case that fails all the same does not make it one that is found.
  const auto failing = trials.run(pair(), make_record(), judge(kPass, trial(Status::wrong, false)), nothing);
  EXPECT_EQ(failing->reason, "mutant_not_applicable");
}

TEST(MutantTrials, SurvivorsAreExplainedOnlyIfAllOfThemAre) {
  MutantTrials trials;
  int asked = 0;
  const auto all = [](const Mutant&, const OpCall&) { return std::string("ftz_out of the Contract"); };
  const auto record = trials.run(pair(), make_record(), judge(kPass, trial(Status::pass, true)), all);
  EXPECT_EQ(record->status, Status::skip_policy);
  EXPECT_EQ(record->reason, "contract_allows");
  EXPECT_THAT(record->detail, HasSubstr("ftz_out of the Contract"));
  const auto first = [&](const Mutant&, const OpCall&) { return std::string(asked++ == 0 ? "ftz_out" : ""); };
  EXPECT_EQ(trials.run(pair(), make_record(), judge(kPass, trial(Status::pass, true)), first)->reason,
            "mutant_survived");
}

TEST(MutantTrials, CasesThatFailWithoutTheDefectSayNothing) {
  MutantTrials trials;
  const auto record = trials.run(
      pair(), make_record(),
      judge(trial(Status::wrong, std::nullopt, "element_bound"), trial(Status::wrong, true, "element_bound")),
      nothing);
  EXPECT_EQ(record->status, Status::skip_eligibility);
  EXPECT_THAT(record->detail, HasSubstr("ops/neg/0 without the defect"));
}

TEST(MutantTrials, AnOperatorThatABackendLacksIsNotAskedForOnAllCases) {
  MutantTrials trials;
  int calls = 0;
  const auto record =
      trials.run(pair("tail_dropped", 40), make_record(),
                 judge(trial(Status::unsupported, std::nullopt, "operator"), kPass, &calls), nothing);
  EXPECT_EQ(record->status, Status::skip_eligibility);
  EXPECT_EQ(calls, 16);
}

TEST(MutantTrials, AWorkerThatDiesIsNoFinding) {
  MutantTrials trials;
  const auto died =
      trials.run(pair(), make_record(), judge(kPass, trial(Status::crash, std::nullopt, "exited")), nothing);
  EXPECT_EQ(died->status, Status::infrastructure_error);
  // One that cannot plant is not to blame.
  const auto cannot =
      trials.run(pair(), make_record(),
                 judge(kPass, trial(Status::unsupported, std::nullopt, "not_implemented")), nothing);
  EXPECT_EQ(cannot->status, Status::skip_eligibility);
  EXPECT_EQ(trials.run(pair("no_such_defect"), make_record(), judge(kPass, kPass), nothing)->status,
            Status::infrastructure_error);
}

TEST(MutantTrials, CasesWithoutTheDefectRunOnce) {
  MutantTrials trials;
  int calls = 0;
  for (int i = 0; i < 3; ++i)
    trials.run(pair(), make_record(), judge(kPass, trial(Status::wrong, true), &calls), nothing);
  EXPECT_EQ(calls, 1 + 3);
}

TEST(MutantTrials, WhatChangesNothingOfTheCleanResultsNeedsNoWorker) {
  Trial clean = kPass;
  clean.graph = unary("clean").graph;
  clean.given = {Tensor::from_doubles(DType::f32, {4}, {1, 2, 3, 4})};
  clean.returned = {Tensor::from_doubles(DType::f32, {4}, {-1, -2, -3, -4})};
  EXPECT_TRUE(may_change(*find_mutant("tail_dropped"), clean));
  EXPECT_FALSE(may_change(*find_mutant("nan_becomes_zero"), clean));
  EXPECT_TRUE(may_change(*find_mutant("not_repeatable"), clean)) << "only the worker can tell";
  EXPECT_TRUE(may_change(*find_mutant("nan_becomes_zero"), kPass)) << "nothing is known";

  MutantTrials trials;
  int calls = 0;
  const auto record = trials.run(pair("nan_becomes_zero"), make_record(),
                                 judge(clean, trial(Status::wrong, true), &calls), nothing);
  EXPECT_EQ(record->reason, "mutant_not_applicable");
  EXPECT_EQ(calls, 2) << "two cases without the defect";
}

TEST(MutantTrials, ContractsExplainWhatTheyDeclare) {
  const auto call = [](const char* op, DType dtype) {
    return OpCall(op, {{dtype, {4}}}, {{"self", ValueArg{0}}}, {{dtype, {4}}});
  };
  const Contract plain =
      Contract::parse(R"({"name": "plain", "rules": [{"correctly_rounded": false}]})", "test");
  const Contract flushing =
      Contract::parse(R"({"name": "f", "rules": [{"op": "aten::exp.*", "ftz_out": true}]})", "test");
  const auto why = [&](const char* mutant, const OpCall& c, const Contract& contract) {
    return excuse(*find_mutant(mutant), c, contract, "eager", {});
  };
  EXPECT_EQ(why("tail_dropped", call("aten::exp.default", DType::f32), plain), "");
  EXPECT_EQ(why("subnormals_flushed", call("aten::exp.default", DType::f32), plain), "");
  EXPECT_EQ(why("subnormals_flushed", call("aten::exp.default", DType::f32), flushing),
            "ftz_out of the Contract's rule for aten::exp.*, *");
  EXPECT_EQ(why("subnormals_flushed", call("aten::log.default", DType::f32), flushing), "");
  EXPECT_THAT(why("truncated_result", call("aten::exp.default", DType::f32), plain),
              HasSubstr("intermediate"));
  EXPECT_EQ(why("truncated_result", call("aten::exp.default", DType::bf16), plain), "");
  EXPECT_THAT(why("truncated_result", call("assay::muon_orthogonalize.default", DType::bf16), plain),
              HasSubstr("matrices between products"));
  EXPECT_EQ(why("tail_dropped", call("assay::muon_orthogonalize.default", DType::bf16), plain), "");
  const OpCall mode("aten::mode.default", {{DType::u8, {4}}}, {{"self", ValueArg{0}}},
                    {{DType::u8, {}}, {DType::i64, {}}});
  EXPECT_THAT(why("unsigned_as_signed", mode, plain), HasSubstr("as frequent"));
  EXPECT_EQ(why("unsigned_as_signed", call("aten::neg.default", DType::u8), plain), "");
}

}  // namespace
}  // namespace assay
