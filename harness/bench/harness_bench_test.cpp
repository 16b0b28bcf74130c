#include "harness/bench/harness_bench.h"

#include <gmock/gmock.h>

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

TEST(HarnessBench, NothingJudgedHasNoRate) { EXPECT_EQ(HarnessBenchResult().rate(), 0); }

}  // namespace
}  // namespace assay
