#include "harness/bench/harness_bench.h"

#include <gmock/gmock.h>

#include "harness/bench/bench.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

TEST(HarnessBench, RateAndTimePerProgram) {
  HarnessBenchResult result;
  result.backend = "trainium";
  result.jobs = 2;
  result.judged = 4000;
  result.large = 400;
  result.wall_s = 2;
  result.programs = {{"assay", 1}, {"assay-judge", 2}};
  EXPECT_DOUBLE_EQ(result.rate(), 2000);
  const std::string text = harness_bench_text(result);
  EXPECT_THAT(text, HasSubstr("2000 a second (400 above 100000 elements)"));
  EXPECT_THAT(text, HasSubstr("0.250"));  // ms a case of the program itself
  EXPECT_THAT(text, HasSubstr("0.750"));  // of all
  const std::string json = harness_bench_json(result);
  EXPECT_THAT(json, HasSubstr("\"items_per_second\": 2000.0"));
  EXPECT_THAT(json, HasSubstr("\"cpu_s/assay-judge\": 2.0"));
}

TEST(Bench, RatiosAndDifferencesAreWritten) {
  BenchResult result;
  result.backend = "trainium";
  result.peer = "torch:cpu";
  BenchRow row;
  row.id = "bench/gla/f32/forward";
  row.mode = "eager";
  row.seconds = {0.1, 0.1};
  row.peer_seconds = {0.4, 0.4};
  row.ratio = paired_ratio(row.seconds, row.peer_seconds);
  row.difference = 3e-7;
  result.rows = {row};
  const std::string text = bench_text(result), json = bench_json(result);
  EXPECT_THAT(text, HasSubstr("0.250  [0.250, 0.250]  outputs differ by 3.0e-07"));
  EXPECT_THAT(json, HasSubstr("\"ratio\": 0.2"));
  EXPECT_THAT(json, HasSubstr("\"difference\": 3e-07"));
  EXPECT_THAT(json, HasSubstr("torch:cpu/bench/gla/f32/forward/eager_median"));
}

TEST(HarnessBench, NothingJudgedHasNoRate) { EXPECT_EQ(HarnessBenchResult().rate(), 0); }

}  // namespace
}  // namespace assay
