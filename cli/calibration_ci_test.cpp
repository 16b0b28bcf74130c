// assay bench calibration.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/testing/calibration_report.h"
#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class BenchCalibration : public ProgramTest {};

// What Assay ships: few constants, each told by several rows and equal to what the rows give today, and the
// aim for rows that were left out.
TEST_F(BenchCalibration, ShippedConstantsAreThoseOfTheShippedRows) {
  const ProgramResult r = assay({"bench", "calibration", "--json", "--out", path("out")});
  ASSERT_EQ(r.status, 0) << r;
  const Json report = Json::parse(r.out);
  EXPECT_EQ(Json::parse(read("out/calibration.json")), report);
  EXPECT_LE(report.at("fitted_constants"), 5);
  EXPECT_EQ(report.at("constants").size(), report.at("fitted_constants"));
  std::map<std::string, int> roles = expect_report(report);
  EXPECT_GE(roles["fit"], 10);
  EXPECT_GE(roles["check"], 10);
  EXPECT_GE(roles["context"], 10);
  const Json& medians = report.at("median_absolute_error");
  EXPECT_LE(medians.at("leave_one_out"), 0.15);
  EXPECT_LE(medians.at("fit"), medians.at("leave_one_out"));
  EXPECT_LE(medians.at("check"), 0.2);
}

TEST_F(BenchCalibration, OtherMeasurementsCanBeTried) {
  const std::string header = "id,workload,target,boundary,certainty,role,measured_us,source,note\n";
  const std::string mine =
      write("mine.csv", header + "M1,vector_add n=12800 partitions=128,trn2,device,stated,check,200,me,\n");
  const ProgramResult r = assay({"bench", "calibration", "--measurements", mine, "--out", path("out")});
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_THAT(r.out, AllOf(HasSubstr("0 fitted constants"), HasSubstr("M1"), HasSubstr("200.0"),
                           HasSubstr("leave-one-out -, check ")));
  const auto refused = [&](const std::string& row, const std::string& what) {
    const std::string bad = write("bad.csv", header + row + "\n");
    const ProgramResult result = assay({"bench", "calibration", "--measurements", bad, "--out", path("out")});
    EXPECT_EQ(result.status, 2) << row << "\n" << result;
    EXPECT_THAT(result.err, HasSubstr(what)) << row;
  };
  refused("M1,vector_sub n=1,trn2,device,stated,check,1,me,", "vector_sub");
  refused("M1,vector_add n=128,trn2,device,stated,check,0,me,", "measured_us");
  refused("M1,vector_add n=128,trn2,device,stated,fast,1,me,", "role");
  refused("M1,vector_add n=128 partitions=128 columns=999999,trn2,device,stated,check,1,me,", "M1");
  refused("M1,vector_add n=128,trn2,device,stated,check", "fields");
  EXPECT_EQ(assay({"bench", "calibration", "--measurements", path("none.csv"), "--out", path("out")}).status,
            2);
  EXPECT_EQ(assay({"bench", "calibration", "ops", "--out", path("out")}).status, 2);
}

}  // namespace
}  // namespace assay::cli
