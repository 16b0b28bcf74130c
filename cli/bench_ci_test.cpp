// assay bench on cases: judged by a smaller graph, timed at full size, written as Google Benchmark's JSON.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class BenchCases : public ProgramTest {};

TEST_F(BenchCases, GatedLinearAttentionIsTimed) {
  const ProgramResult r = assay({"bench", "gla", "--filter", "bench/gla/f32/forward", "--blocks", "2",
                                 "--quiet", "--out", path("out")});
  ASSERT_EQ(r.status, 0) << r;
  EXPECT_THAT(r.out, HasSubstr("bench/gla/f32/forward eager"));
  const Json report = Json::parse(read("out/bench.json"));
  ASSERT_EQ(report.at("benchmarks").size(), 1u);
  const Json& entry = report.at("benchmarks")[0];
  EXPECT_EQ(entry.at("name"), "trainium/bench/gla/f32/forward/eager_median");
  EXPECT_EQ(entry.at("repetitions"), 2);
  EXPECT_GT(entry.at("real_time").get<double>(), 0);
  EXPECT_FALSE(entry.contains("ratio"));  // there was no peer
  // What was judged has the id of what was timed.
  EXPECT_THAT(read("out/trainium/results.jsonl"), HasSubstr("\"bench/gla/f32/forward\""));
}

// A backend that computes nothing has no speed.
TEST_F(BenchCases, NothingIsTimedThatDidNotPass) {
  const ProgramResult r = assay({"bench", "muon", "--backend", "null", "--filter", "bench/muon/f32/*",
                                 "--blocks", "2", "--quiet", "--out", path("out")});
  EXPECT_EQ(r.status, 1) << r;
  EXPECT_THAT(r.out, HasSubstr("not timed: "));
}

TEST_F(BenchCases, UnknownSetsAreNamed) {
  const ProgramResult r = assay({"bench", "glas", "--out", path("out")});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("gla, muon"));
}

}  // namespace
}  // namespace assay::cli
