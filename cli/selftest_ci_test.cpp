// assay run selftest: planted defects are found, and the table says so.
#include <gmock/gmock.h>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;

class SelfTest : public ProgramTest {
 protected:
  // No defect survives without an explanation, and at most one in twenty with one.
  void expect_all_found(const std::string& backend, const std::string& operators, int at_least) {
    const std::string out = "o" + std::to_string(runs_++);
    const ProgramResult r =
        assay({"run", "selftest", "--backend", backend, "--filter", "selftest/" + operators, "--out", out});
    EXPECT_EQ(r.status, 0) << r;
    EXPECT_THAT(r.out, HasSubstr("planted defect"));
    EXPECT_THAT(r.out, HasSubstr("kill rate"));
    int killed = 0, explained = 0;
    for (const auto& [key, record] : records(out)) {
      EXPECT_EQ(record.suite, "selftest");
      killed += record.status == Status::pass ? 1 : 0;
      explained += record.reason == "contract_allows" ? 1 : 0;
    }
    EXPECT_GE(killed, at_least) << operators;
    EXPECT_LE(explained * 20, killed + explained) << operators << r.out;
  }
  int runs_ = 0;
};

TEST_F(SelfTest, NoDefectSurvivesOnTheSimulatedDevice) {
  expect_all_found("trainium", "a*", 100);  // add, addmm, abs, amax, argmax, avg_pool, attention, ...
  expect_all_found("trainium", "mm/*", 20);
  expect_all_found("trainium", "convolution/*", 15);
  expect_all_found("trainium", "native_layer_norm/*", 15);
  expect_all_found("trainium", "_embedding_bag/*", 15);  // results that graphs leave out
}

TEST_F(SelfTest, NoDefectSurvivesOnTheReference) {
  expect_all_found("reference", "sc*", 60);   // scatter_*
  expect_all_found("reference", "se*", 100);  // segment_reduce, select, ...
  expect_all_found("reference", "so*", 60);   // softplus, sort
  expect_all_found("reference", "su*", 80);   // sub, sum
}

TEST_F(SelfTest, DefectsAreNotPlantedInCompiledGraphs) {
  const ProgramResult r =
      assay({"run", "selftest", "--mode", "compile", "--filter", "selftest/neg/*", "--out", "o"});
  EXPECT_EQ(r.status, 3) << r;
  for (const auto& [key, record] : records("o")) EXPECT_EQ(record.status, Status::skip_eligibility);
}

}  // namespace
}  // namespace assay::cli
