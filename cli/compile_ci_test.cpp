// Compile mode on the simulated Trainium as users meet it: what a second process compiles, what a record says
// about it, and how a graph fails.
#include <gmock/gmock.h>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kArchitectures = ASSAY_SOURCE_DIR "/sweeps/catalogue/architectures.csv";

class Compile : public ProgramTest {
 protected:
  // One catalogue model in both modes, on a cache that all of a test's runs share; one case at a time, so
  // that it is the same one each time that compiles what both modes need.
  std::vector<std::string> sweep(const std::string& model, const std::string& out) const {
    return {
        "sweep",           kArchitectures, "--backend",    "trainium", "--mode", "eager,compile", "--filter",
        "models/" + model, "--cache",      path("shared"), "--out",    out,      "--jobs",        "1"};
  }
  static int64_t sum(const std::map<std::string, Record>& records, int64_t Compiles::*member) {
    int64_t total = 0;
    for (const auto& [key, record] : records) total += record.compiles.*member;
    return total;
  }
};

TEST_F(Compile, ASecondProcessCompilesNothing) {
  const std::vector<std::string> models{"gpt2", "resnet", "vit", "bert"};
  std::vector<std::map<std::string, Record>> runs;
  for (const std::string out : {"first", "second"}) {
    runs.emplace_back();
    for (const std::string& model : models) {
      const auto run = assay(sweep(model, out + model));
      ASSERT_EQ(run.status, 0) << run;
      runs.back().merge(records(out + model));
    }
    ASSERT_EQ(runs.back().size(), 2 * models.size());
  }
  EXPECT_GT(sum(runs[0], &Compiles::count), 100);
  EXPECT_EQ(sum(runs[1], &Compiles::count), 0);
  for (const auto& [key, record] : runs[0]) {
    EXPECT_EQ(std::ssize(record.compiles.misses), record.compiles.count) << key;
    if (record.mode != "compile") continue;
    EXPECT_EQ(record.compiles.count, 1) << key;
    EXPECT_THAT(record.compiles.misses, ::testing::ElementsAre("new graph")) << key;
    EXPECT_TRUE(record.phases.compile_cold_s.has_value()) << key;
    EXPECT_FALSE(record.phases.compile_disk_warm_s.has_value()) << key;
    // One launch instead of one a node.
    const std::string eager = record.id + " eager";
    EXPECT_LT(record.device->seconds, runs[0].at(eager).device->seconds / 4) << key;
  }
  for (const auto& [key, record] : runs[1]) {
    EXPECT_GT(record.compiles.hits_disk, 0) << key;
    EXPECT_TRUE(record.compiles.misses.empty()) << key;
    EXPECT_FALSE(record.phases.compile_cold_s.has_value()) << key;
    EXPECT_TRUE(record.phases.compile_disk_warm_s.has_value()) << key;
    // The device's time does not depend on where its Program came from.
    EXPECT_EQ(record.device->cycles, runs[0].at(key).device->cycles) << key;
  }
  expect_equal_but_for_times(runs[1], runs[0]);
}

TEST_F(Compile, RunsShareACache) {
  Program one(command(sweep("bert", "one")), folder_.string());
  Program two(command(sweep("bert", "two")), folder_.string());
  EXPECT_EQ(one.wait().status, 0);
  EXPECT_EQ(two.wait().status, 0);
  EXPECT_EQ(assay(sweep("bert", "three")).status, 0);
  EXPECT_EQ(sum(records("three"), &Compiles::count), 0);
}

// A compiler that takes too long is no compiler that refuses.
TEST_F(Compile, TimeoutsAndErrorsAreTold) {
  auto words = sweep("mamba", "timeout");
  words[5] = "compile";
  words.insert(words.end(), {"--compile-timeout", "0.001"});
  EXPECT_EQ(assay(words).status, 1);
  EXPECT_EQ(records("timeout").at("models/mamba compile").status, Status::compile_timeout);
}

// Three of seven nodes: without the flag the host runs them, and they are counted.
TEST_F(Compile, FullgraphNamesEverythingThatTheDeviceDoesNotRun) {
  const std::string file = ASSAY_SOURCE_DIR "/sweeps/export/testdata/special.pt2";
  const auto broken = assay({"check", file, "--mode", "compile", "--out", "broken"});
  EXPECT_EQ(broken.status, 0) << broken;
  for (const auto& [key, record] : records("broken")) EXPECT_EQ(record.fallbacks.size(), 3u) << key;
  const auto whole = assay({"check", file, "--mode", "compile", "--fullgraph", "--out", "whole"});
  EXPECT_EQ(whole.status, 1) << whole;
  for (const auto& [key, record] : records("whole")) {
    EXPECT_EQ(record.status, Status::compile_error) << key;
    for (const char* op :
         {"aten::polygamma.default", "aten::special_bessel_j0.default", "aten::special_i1.default"})
      EXPECT_THAT(record.detail, HasSubstr(op)) << key;
    EXPECT_THAT(record.detail, Not(HasSubstr("aten::sin"))) << key;
  }
}

}  // namespace
}  // namespace assay::cli
