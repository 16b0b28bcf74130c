// docs/quirks.md: cases find every quirk that a knob plants, as the table says, and nothing without it.
#include <gmock/gmock.h>

#include <set>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;

struct Knob {
  std::string option;  // that plants it
  std::string backend, suite, filter;
  std::set<std::string> found_as;  // status of every failure
  std::string detail;              // that each holds
  int at_least = 1;                // failures
};

const Knob kKnobs[] = {
    {"quirk_integers_through_fp32=1", "trainium", "ops", "ops/*/i32/beyond-2^24", {"wrong"}, "want", 3},
    {"quirk_activation_range=1", "trainium", "ops", "ops/sin/f32/shape-*", {"wrong"}, "want", 5},
    {"quirk_non_ocp_fp8=1",
     "trainium:trn3",
     "ops",
     "ops/_to_copy/*f8_e4m3fn*/edge-*",
     {"nan_mismatch", "wrong"},
     "got",
     1},
    {"quirk_uninitialized_sbuf=1",
     "trainium",
     "attention",
     "attention/sdpa/f32/5x7/*",
     {"crash"},
     "uninitialized_sbuf",
     5},
    {"quirk_uninitialized_sbuf=1,traps=0",
     "trainium",
     "attention",
     "attention/sdpa/f32/5x7/*",
     {"nan_mismatch", "wrong", "vacuous", "nondeterministic"},
     "",
     5},
    {"quirk_psum_accumulate=1", "trainium", "ops", "ops/mm/bf16/drawn*", {"crash"}, "psum_accumulate", 3},
    {"quirk_psum_accumulate=1,traps=0",
     "trainium:trn1",
     "ops",
     "ops/mm/bf16/drawn*",
     {"nan_mismatch", "wrong"},
     "want",
     3},
    {"quirk_transpose_spreads_nan=1",
     "trainium",
     "attention",
     "attention/sdpa/f32/*/nan-bias",
     {"nan_mismatch"},
     "got nan",
     5},
    {"quirk_transpose_spreads_nan=1",
     "trainium:trn1",
     "attention",
     "attention/sdpa/bf16/*/nan-bias",
     {"nan_mismatch"},
     "got nan",
     5},
    {"quirk_matmul_truncates=1", "trainium", "ops", "ops/mm/f32/drawn*", {"wrong"}, "want", 3},
    // No quirk, but found in the same way (docs/compiler.md).
    {"implicit_integer_downcast=default",
     "trainium",
     "ops",
     "ops/*mm/i32/*edge-extremes",
     {"wrong"},
     "the Contract declares integers exact to 24 bits",
     2},
};

class Quirks : public ProgramTest {
 protected:
  ProgramResult run(const Knob& knob, const std::string& mode, const std::string& option) {
    std::vector<std::string> line{
        "run",       knob.suite, "--backend", knob.backend, "--filter",
        knob.filter, "--mode",   mode,        "--out",      "o" + std::to_string(++runs_)};
    if (!option.empty()) line.insert(line.end(), {"--option", option});
    return assay(line);
  }
  std::string out() const { return "o" + std::to_string(runs_); }
  int runs_ = 0;
};

TEST_F(Quirks, EveryKnobIsFoundAndNothingWithoutIt) {
  std::set<std::string> clean;
  for (const Knob& knob : kKnobs) {
    SCOPED_TRACE(knob.option + " on " + knob.backend);
    EXPECT_EQ(run(knob, "eager", knob.option).status, 1);
    int failures = 0;
    for (const auto& [key, record] : records(out())) {
      if (!is_failure(record.status)) continue;
      ++failures;
      EXPECT_TRUE(knob.found_as.contains(std::string(name_of(record.status)))) << key << " " << record.detail;
      EXPECT_THAT(record.detail, HasSubstr(knob.detail)) << key;
      EXPECT_THAT(record.repro, HasSubstr(knob.option.substr(0, knob.option.find('=')))) << key;
    }
    EXPECT_GE(failures, knob.at_least);
    if (!clean.insert(knob.backend + knob.filter).second) continue;
    const ProgramResult without = run(knob, "eager", "");
    EXPECT_EQ(without.status, 0) << without;
  }
}

TEST_F(Quirks, CompiledGraphsHaveThemToo) {
  for (const Knob& knob : kKnobs) {
    if (knob.option != "quirk_psum_accumulate=1" && knob.option != "quirk_matmul_truncates=1") continue;
    EXPECT_EQ(run(knob, "compile", knob.option).status, 1) << knob.option;
    EXPECT_EQ(run(knob, "compile", "").status, 0) << knob.option;
  }
}

TEST_F(Quirks, WhatANewerCoreDefinesPassesThere) {
  Knob knob{"quirk_psum_accumulate=1", "trainium:trn3", "ops", "ops/mm/bf16/drawn*", {}, ""};
  EXPECT_EQ(run(knob, "eager", knob.option).status, 0);
}

// What fits 24 bits is right.
TEST_F(Quirks, IntegersThatFitMayGoThroughFloats) {
  Knob knob{"implicit_integer_downcast=default", "trainium", "ops", "ops/mm/i64/3x5,5x7/strided", {}, ""};
  EXPECT_EQ(run(knob, "eager", knob.option).status, 0);
}

// Without traps the device's good kernels are as right as with them.
TEST_F(Quirks, GoodKernelsNeedNoTraps) {
  Knob knob{"traps=0", "trainium", "ops", "ops/mm/*/drawn*", {}, ""};
  EXPECT_EQ(run(knob, "eager", knob.option).status, 0);
}

}  // namespace
}  // namespace assay::cli
