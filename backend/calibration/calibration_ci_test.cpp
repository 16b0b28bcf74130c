#include "backend/calibration/calibration.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "backend/calibration/workloads.h"
#include "backend/isa/synchronize.h"
#include "backend/simulator/timing/clock.h"
#include "core/error.h"

namespace assay::backend {
namespace {

using testing::HasSubstr;

CalibrationRow row(const std::string& id, const std::string& workload, Generation target, Role role,
                   double us, Boundary boundary = Boundary::device) {
  CalibrationRow r;
  r.id = id;
  r.workload = workload;
  r.target = target;
  r.role = role;
  r.boundary = boundary;
  r.measured_us = us;
  r.source = "test";
  r.certainty = "stated";
  return r;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Measurements made with known constants: the fit finds those again, each with the row's own part left out
// too.
TEST(CalibrationTest, FindsTheConstantsThatMadeTheRows) {
  constexpr double kIssue = 400, kFloor = 5, kLaunch = 33;
  CoreDescription made = core(Generation::trn2);
  made.dma_issue_ns.value = kIssue;
  made.kernel_floor_us.value = kFloor;
  std::vector<CalibrationRow> rows;
  const char* const workloads[] = {"vector_add n=2560", "vector_add n=5120", "vector_add n=25600 columns=100",
                                   "vector_add n=25600 columns=200"};
  for (const char* workload : workloads) {
    const BuiltWorkload built = build(parse_workload(workload, "test"), made, "test");
    const double us = Clock(made).time(built.program).seconds * 1e6;
    rows.push_back(row(workload, workload, Generation::trn2, Role::fit, us));
    rows.push_back(row(std::string(workload) + " host", workload, Generation::trn2, Role::check, us + kLaunch,
                       Boundary::host));
  }
  rows.push_back(row("launch", "", Generation::trn2, Role::fit, kLaunch, Boundary::launch));
  rows.push_back(row("elsewhere", "", Generation::trn2, Role::context, 1, Boundary::outside));
  const CalibrationReport report = calibrate(rows);
  ASSERT_EQ(report.constants.size(), 3u);
  EXPECT_NEAR(report.constants[0].value, kIssue, 0.5);
  EXPECT_NEAR(report.constants[1].value, kFloor, 0.02);
  EXPECT_NEAR(report.constants[2].value, kLaunch, 0.02);
  EXPECT_EQ(report.constants[0].shipped, core(Generation::trn2).dma_issue_ns);
  EXPECT_LT(*report.fit_error, 1e-3);
  EXPECT_LT(*report.left_out_error, 1e-2);
  EXPECT_LT(*report.check_error, 1e-3);
  for (const RowResult& r : report.rows) {
    if (r.row.id == "elsewhere") {
      EXPECT_FALSE(r.predicted_us.has_value());
    }
    if (r.row.id != "launch") continue;
    EXPECT_FALSE(r.left_out_error.has_value());  // nothing else tells the launch
    EXPECT_THAT(r.not_predicted, HasSubstr("launch_us"));
  }
}

// A row that is left out does not help to predict itself.
TEST(CalibrationTest, LeavingOutIsHonest) {
  std::vector<CalibrationRow> rows;
  for (int k = 0; k < 4; ++k)
    rows.push_back(row("launch" + std::to_string(k), "", Generation::trn2, Role::fit, k == 3 ? 160 : 80,
                       Boundary::launch));
  const CalibrationReport report = calibrate(rows);
  ASSERT_EQ(report.constants.size(), 1u);
  EXPECT_NEAR(report.constants[0].value, 80 * std::pow(2, 0.25), 1e-3);  // least squares of logarithms
  EXPECT_NEAR(*report.rows[3].left_out_error, -0.5, 1e-4);
  EXPECT_NEAR(*report.rows[0].left_out_error, std::pow(2, 1.0 / 3) - 1, 1e-4);
}

TEST(CalibrationTest, WorkloadsAreChecked) {
  const auto complaint = [](const std::string& text) {
    return message_of([&] { build(parse_workload(text, "row 7"), core(Generation::trn2), "row 7"); });
  };
  EXPECT_THAT(complaint("vector_sub n=1"),
              testing::AllOf(HasSubstr("row 7"), HasSubstr("vector_sub"), HasSubstr("vector_add")));
  EXPECT_THAT(complaint("vector_add"), HasSubstr("parameter n is missing"));
  EXPECT_THAT(complaint("vector_add n=256 columms=2"), HasSubstr("columms"));
  EXPECT_THAT(complaint("vector_add n=-1"), HasSubstr("n=-1"));
  EXPECT_THAT(complaint("vector_add n=1e9"), HasSubstr("n=1e9"));
  EXPECT_THAT(complaint("vector_add n=128 dtype=f64"), HasSubstr("f64"));
  EXPECT_THAT(complaint("vector_add n=100"), HasSubstr("multiple"));
  EXPECT_THAT(complaint("vector_add n=128 n=128"), HasSubstr("twice"));
  EXPECT_THAT(complaint("vector_add n"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(complaint(" "), HasSubstr("empty"));
  EXPECT_THAT(complaint("vector_add n=128000000 columns=1000000"), HasSubstr("SBUF"));
  EXPECT_GE(workload_descriptions().size(), 9u);
}

TEST(CalibrationTest, RowsAreChecked) {
  const std::map<std::string, std::string, std::less<>> good = {{"id", "A"},
                                                                {"workload", "vector_add n=128"},
                                                                {"target", "trn1"},
                                                                {"boundary", "device"},
                                                                {"certainty", "stated"},
                                                                {"role", "check"},
                                                                {"measured_us", "1.5"},
                                                                {"source", "x"},
                                                                {"note", ""}};
  EXPECT_EQ(read_row(good, "f:2").target, Generation::trn1);
  const auto complaint = [&](const std::string& column, const std::string& value) {
    auto fields = good;
    fields[column] = value;
    return message_of([&] { read_row(fields, "f:2"); });
  };
  EXPECT_THAT(complaint("measured_us", "fast"), testing::AllOf(HasSubstr("f:2"), HasSubstr("fast")));
  EXPECT_NE(complaint("measured_us", "-1"), "");
  EXPECT_NE(complaint("measured_us", "nan"), "");
  EXPECT_NE(complaint("measured_us", "inf"), "");
  EXPECT_THAT(complaint("role", "fitted"), HasSubstr("fit, check, context"));
  EXPECT_THAT(complaint("boundary", "?"), HasSubstr("device, host"));
  EXPECT_NE(complaint("certainty", "sure"), "");
  EXPECT_NE(complaint("target", "trn9"), "");
  EXPECT_NE(complaint("source", ""), "");
  EXPECT_NE(complaint("id", ""), "");
  EXPECT_NE(complaint("workload", ""), "");  // nothing to check
  const CalibrationRow twice = read_row(good, "f:2");
  EXPECT_THAT(message_of([&] { calibrate({twice, twice}); }), HasSubstr("twice"));
}

// Every workload is a valid Program on every generation.
TEST(CalibrationTest, WorkloadsFitEveryGeneration) {
  for (const Generation g : {Generation::trn1, Generation::trn2, Generation::trn3}) {
    for (const char* text :
         {"vector_add n=1024 columns=2", "copy_in partitions=128 columns=64", "activation_chain count=3",
          "matrix_product m=256 k=256 n=700", "conv2d in=128 out=256 height=12 width=20 pool=2",
          "mlp_context tokens=128 hidden=1024 intermediate=448",
          "mlp_token tokens=4 hidden=1024 intermediate=448",
          "projection_token tokens=5 hidden=1024 outputs=384", "rmsnorm_quantise tokens=130 hidden=512"}) {
      const BuiltWorkload built = build(parse_workload(text, "test"), core(g), "test");
      const TimingResult r = Clock(core(g)).time(built.program);
      EXPECT_GT(r.seconds, core(g).kernel_floor_us * 1e-6) << text;
      EXPECT_EQ(r.instructions, built.program.instructions.size());
    }
  }
}

// Both cores have work, and together they are faster than one.
TEST(CalibrationTest, WorkloadsOfTwoCores) {
  for (const char* text :
       {"mlp_context tokens=512 hidden=1024 intermediate=448",
        "mlp_token tokens=4 hidden=8192 intermediate=448",
        "projection_token tokens=5 hidden=16384 outputs=384", "rmsnorm_quantise tokens=512 hidden=4096"}) {
    const auto timed = [&](const std::string& cores) {
      return build(parse_workload(text + cores, "test"), core(Generation::trn2), "test").program;
    };
    const Program pair = timed(" cores=2");
    EXPECT_EQ(find_race(pair), std::nullopt) << text;
    const TimingResult one = Clock(core(Generation::trn2)).time(timed("")),
                       two = Clock(core(Generation::trn2)).time(pair);
    EXPECT_LT(two.seconds, one.seconds) << text;
    EXPECT_GT(two.seconds, one.seconds / 2) << text;
    for (std::size_t c = 0; c < kMaxCores; ++c) {
      EXPECT_GT(two.engines[c * kEngines + static_cast<std::size_t>(Engine::vector)].active_s, 0) << text;
    }
    EXPECT_THAT(message_of([&] {
                  build(parse_workload(text + std::string(" cores=2"), "test"), core(Generation::trn1),
                        "test");
                }),
                HasSubstr("LNC 2"));
  }
}

}  // namespace
}  // namespace assay::backend
