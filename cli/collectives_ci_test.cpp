// assay bench collectives.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/testing/calibration_report.h"
#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class BenchCollectives : public ProgramTest {};

// What Assay ships: few constants, equal to what the rows give today, and no worse errors than documented.
TEST_F(BenchCollectives, ShippedConstantsAreThoseOfTheShippedRows) {
  const ProgramResult r = assay({"bench", "collectives", "--json", "--out", path("out")});
  ASSERT_EQ(r.status, 0) << r;
  const Json report = Json::parse(r.out);
  EXPECT_EQ(Json::parse(read("out/collectives.json")), report);
  EXPECT_EQ(report.at("fitted_constants"), 6);
  std::map<std::string, int> roles = expect_report(report);
  for (const Json& row : report.at("rows")) {
    if (row.at("predicted_us").is_null()) continue;
    const double us = row.at("predicted_us");
    const Json& time = row.at("time");
    EXPECT_NEAR(time.at("algbw_bytes_per_s").get<double>() * us * 1e-6, row.at("bytes").get<double>(), 1)
        << row;
    EXPECT_NEAR(us,
                time.at("launch_us").get<double>() + time.at("step_latency_us").get<double>() +
                    time.at("link_us").get<double>() + time.at("stream_us").get<double>() +
                    time.at("hbm_us").get<double>(),
                1e-6 * us);
  }
  EXPECT_GE(roles["fit"], 15);
  EXPECT_GE(roles["check"], 20);
  EXPECT_GE(roles["context"], 20);
  const Json& medians = report.at("median_absolute_error");
  EXPECT_LE(medians.at("leave_one_out"), 0.12);
  EXPECT_LE(medians.at("fit"), medians.at("leave_one_out"));
  EXPECT_LE(medians.at("check"), 0.12);
}

TEST_F(BenchCollectives, TablesShowChangesOfAlgorithmAndForms) {
  const ProgramResult r = assay({"bench", "collectives", "--ranks", "16", "--json", "--out", path("out")});
  ASSERT_EQ(r.status, 0) << r;
  const Json report = Json::parse(r.out);
  EXPECT_EQ(report.at("ranks"), 16);
  std::map<std::string, std::vector<std::string>> algorithms;
  for (const Json& at : report.at("changes_of_algorithm")) {
    std::vector<std::string>& of = algorithms[at.at("op")];
    const std::string algorithm = at.at("algorithm");
    if (of.empty() || of.back() != algorithm) of.push_back(algorithm);
  }
  const std::vector<std::string> all{"mesh_single_step", "mesh", "recursive", "ring"};
  EXPECT_EQ(algorithms["all_reduce"], all);
  EXPECT_EQ(algorithms["broadcast"], (std::vector<std::string>{"mesh", "ring"}));
  // Rows of 1 MiB: a native gather moves 15 of 16 parts to the root, an emulated one to everybody.
  std::map<std::string, int64_t> bytes;
  for (const Json& form : report.at("forms")) {
    const Json& ledger = form.at("ledger");
    bytes[form.at("op").get<std::string>() + " " + form.at("form").get<std::string>()] = ledger.at("total");
    int64_t sent = 0;
    for (const Json& of_rank : ledger.at("sent")) sent += of_rank.get<int64_t>();
    EXPECT_EQ(sent, ledger.at("total")) << form;
  }
  EXPECT_EQ(bytes["gather native"], 15 << 16);
  EXPECT_EQ(bytes["gather emulated"], 16 * (15 << 16));
  EXPECT_EQ(assay({"bench", "collectives", "--ranks", "65", "--out", path("out2")}).status, 2);
}

// What two all-to-alls save of each baseline: counted, equal to the closed forms, and which of them give the
// published 1/24.
TEST_F(BenchCollectives, MuonsTrafficIsCounted) {
  const ProgramResult r = assay({"bench", "collectives", "--ranks", "4", "--json", "--out", path("out")});
  ASSERT_EQ(r.status, 0) << r;
  const Json report = Json::parse(r.out);
  std::vector<std::string> published;
  for (const Json& row : report.at("muon").at("rows")) {
    const double n = row.at("ranks"), m = row.at("matrices"), reduction = row.at("reduction");
    const std::string baseline = row.at("baseline"), ownership = row.at("ownership");
    if (ownership == "round_robin" && row.at("exchanged") == "f32" && row.at("broadcast") != "bf16") {
      const double want = baseline == "all_gather" ? n / 2 : baseline == "gather_broadcast" ? (n + 1) / 2 : n;
      EXPECT_DOUBLE_EQ(reduction, want) << row;
    }
    if (ownership == "padded" && baseline == "all_gather") {
      EXPECT_DOUBLE_EQ(reduction, m / (2 * std::ceil(m / n))) << row;
    }
    EXPECT_EQ(row.at("gives_published_reduction").get<bool>(), reduction == 24) << row;
    if (reduction == 24) {
      EXPECT_NEAR(row.at("share_for_published_throughput"), 0.403, 0.001) << row;
      published.push_back(baseline + " " + ownership + " " + row.at("ranks").dump() + " " +
                          row.at("broadcast").get<std::string>());
    }
  }
  EXPECT_THAT(published, testing::UnorderedElementsAre(
                             "all_gather round_robin 48 ", "gather_broadcast round_robin 47 f32",
                             "all_gather_broadcast round_robin 24 f32", "all_gather padded 64 ",
                             "all_gather padded 48 ", "all_gather_broadcast round_robin 32 bf16"));
}

TEST_F(BenchCollectives, OtherMeasurementsCanBeTried) {
  const std::string header =
      "id,op,ranks,bytes,dtype,instance,lnc,timer,algorithm,certainty,role,measured_us,source,note\n";
  const auto run = [&](const std::string& row) {
    return assay({"bench", "collectives", "--measurements", write("mine.csv", header + row + "\n"), "--out",
                  path("out")});
  };
  const ProgramResult r =
      run("M1,all_gather,64,1048576,bf16,trn2.48xlarge,2,collective,ring,stated,check,200,me,");
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("0 fitted constants"), HasSubstr("M1"), HasSubstr("200.0"), HasSubstr("ring")));
  const auto refused = [&](const std::string& row, const std::string& what) {
    const ProgramResult result = run(row);
    EXPECT_EQ(result.status, 2) << row << "\n" << result;
    EXPECT_THAT(result.err, HasSubstr(what)) << row;
  };
  refused("M1,all_gathr,64,1024,f32,trn2.48xlarge,2,collective,,stated,check,1,me,", "op");
  refused("M1,all_gather,65,1024,f32,trn2.48xlarge,2,collective,,stated,check,1,me,", "cores 0 to 63");
  refused("M1,all_gather,2,1024,f32,trn2.48xlarge,3,collective,,stated,check,1,me,", "LNC");
  refused("M1,all_gather,2,-1,f32,trn2.48xlarge,2,collective,,stated,check,1,me,", "bytes");
  refused("M1,all_gather,2,1024,f32,trn9,2,collective,,stated,check,1,me,", "trn9");
  refused("M1,all_gather,2,1024,f32,trn2.48xlarge,2,collective,tree,stated,check,1,me,", "no algorithm");
  refused("M1,all_gather,2,1024,f32,trn2.48xlarge,2,collective,,stated,check,0,me,", "measured_us");
  refused("M1,all_gather,2,1024,f32,trn2.48xlarge,2,outside,,stated,check,1,me,", "context");
  refused("M1,all_reduce,2,1024,f64,trn2.48xlarge,2,collective,,stated,check,1,me,", "datapath");
}

}  // namespace
}  // namespace assay::cli
