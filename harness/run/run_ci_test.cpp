// Whole runs, with worker and judge processes.
#include "harness/run/run.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "core/graph/builder.h"
#include "harness/record/json_schema_for_test.h"
#include "harness/record/results.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const char* const kMisbehaving = ASSAY_BINARY_DIR "/lib/assay_misbehaving.so";

Case unary(const std::string& id, const std::string& op, int64_t n = 300) {
  GraphBuilder builder(id);
  const ValueId x = builder.input("x", DType::f32, {n});
  builder.output(builder.call(op, {{"self", ValueArg{x}}}));
  Case c;
  c.id = id;
  c.suite = "ops";
  c.graph = std::make_shared<const Graph>(builder.build());
  c.inputs["x"] = {DType::f32, {n}, UniformDraw{0.25, 1}};
  c.checks.suite_drawn = true;
  return c;
}

// neg, relu, exp: the middle one misbehaves, the last one is not supported by the device.
Case chain(const std::string& id) {
  GraphBuilder builder(id);
  ValueId x = builder.input("x", DType::f32, {300});
  for (const char* op : {"aten::neg.default", "aten::relu.default", "aten::exp.default"}) {
    x = builder.call(op, {{"self", ValueArg{x}}});
  }
  builder.output(x);
  Case c;
  c.id = id;
  c.suite = "models";
  c.graph = std::make_shared<const Graph>(builder.build());
  c.inputs["x"] = {DType::f32, {300}, UniformDraw{0, 1}};
  return c;
}

class RunTest : public testing::Test {
 protected:
  RunTest() : root_(fs::path(testing::TempDir()) / ("run" + std::to_string(getpid()))) {
    fs::remove_all(root_);
  }
  ~RunTest() override { fs::remove_all(root_); }

  RunOptions options(const std::string& backend, const std::string& name = "out") const {
    RunOptions o;
    o.backend = backend;
    o.out = (root_ / name).string();
    o.jobs = 2;
    o.timeout_s = 20;
    return o;
  }
  std::map<std::string, Record> records(const std::string& name = "out") const {
    std::map<std::string, Record> by_id;
    for (Record& record : read_results((root_ / name / "results.jsonl").string())) {
      EXPECT_TRUE(by_id.emplace(record.id + "/" + record.mode, record).second) << record.id << " twice";
    }
    return by_id;
  }
  // Relu misbehaves as `how`, between two cases that are fine.
  Record misbehave(const std::string& how, RunOptions o) {
    o.jobs = 1;
    const RunSummary summary = run_cases(
        o,
        {unary("a", "aten::neg.default"), unary("b", "aten::relu.default"), unary("c", "aten::neg.default")});
    auto by_id = records(fs::path(o.out).filename().string());
    EXPECT_EQ(by_id.size(), 3U) << how;
    EXPECT_EQ(by_id["a/eager"].status, Status::pass) << how << ": " << by_id["a/eager"].detail;
    EXPECT_EQ(by_id["c/eager"].status, Status::pass) << how << ": " << by_id["c/eager"].detail;
    EXPECT_EQ(summary.passed + summary.failed + summary.skipped, 3) << how;
    return by_id["b/eager"];
  }
  Record misbehave(const std::string& how) { return misbehave(how, options(plugin(how), how)); }
  static std::string plugin(const std::string& how) {
    setenv("ASSAY_TEST_MISBEHAVIOUR", how.c_str(), 1);
    return kMisbehaving;
  }
  fs::path root_;
};

struct Misbehaviour {
  const char* how;
  Status status;
  const char* reason;
};

TEST_F(RunTest, EveryMisbehaviourCostsOneCaseAndIsClassified) {
  const Misbehaviour table[] = {
      {"segv", Status::crash, "killed_by_signal"},
      {"kill", Status::crash, "killed_by_signal"},
      {"exit", Status::crash, "exited"},
      {"rubbish", Status::crash, "rubbish_output"},
      {"length", Status::crash, "rubbish_output"},
      {"torn", Status::crash, "rubbish_output"},
      {"trap", Status::crash, "device_trap"},
      {"utf8", Status::crash, "device_trap"},
      {"overrun", Status::crash, "device_trap"},
      {"full", Status::out_of_memory, "device_memory"},
      {"compiler", Status::compile_error, "compiler_error"},
      {"stale", Status::vacuous, "stale_output"},
      {"idle", Status::vacuous, "miscounted"},
      {"input", Status::wrong, "input_modified"},
  };
  for (const Misbehaviour& entry : table) {
    if (std::string(entry.how) == "overrun") continue;  // spoils every copy, see below
    const Record record = misbehave(entry.how);
    EXPECT_EQ(name_of(record.status), name_of(entry.status)) << entry.how << ": " << record.detail;
    EXPECT_EQ(record.reason, entry.reason) << entry.how << ": " << record.detail;
    EXPECT_FALSE(record.detail.empty()) << entry.how;
  }
}

TEST_F(RunTest, HangsAndHoardsEndAtTheirLimits) {
  RunOptions o = options(plugin("hang"), "hang");
  o.timeout_s = 0.7;
  Record record = misbehave("hang", o);
  EXPECT_EQ(name_of(record.status), "run_timeout") << record.detail;
  EXPECT_EQ(record.reason, "time_limit");
  o = options(plugin("spin"), "spin");
  o.timeout_s = 0.7;
  EXPECT_EQ(name_of(misbehave("spin", o).status), "run_timeout");
  o = options(plugin("memory"), "memory");
  o.memory_mib = 256;
  record = misbehave("memory", o);
  EXPECT_EQ(name_of(record.status), "out_of_memory") << record.detail;
  EXPECT_EQ(record.reason, "memory_limit");
}

TEST_F(RunTest, NoiseIsHarmless) { EXPECT_EQ(name_of(misbehave("noise").status), "pass"); }

TEST_F(RunTest, UnwrittenPartsAreFound) {
  const Record record = misbehave("half");
  EXPECT_TRUE(is_failure(record.status)) << name_of(record.status);
}

TEST_F(RunTest, WritingOutsideOfACopyIsFound) {
  const RunOptions o = options(plugin("overrun"));
  run_cases(o, {unary("a", "aten::neg.default")});
  const Record record = records()["a/eager"];
  EXPECT_EQ(name_of(record.status), "crash");
  EXPECT_THAT(record.detail, HasSubstr("outside"));
}

TEST_F(RunTest, ResultsThatDifferAreNondeterministic) {
  const Record record = misbehave("dice");
  EXPECT_TRUE(record.status == Status::nondeterministic || record.status == Status::wrong)
      << name_of(record.status);
}

TEST_F(RunTest, DetailsHoldNothingThatDiffersBetweenRuns) {
  const Record first = misbehave("segv", options(plugin("segv"), "one"));
  const Record second = misbehave("segv", options(plugin("segv"), "two"));
  EXPECT_EQ(first.detail, second.detail);
  EXPECT_EQ(first.repro, second.repro);
  EXPECT_EQ(first.detail.find(root_.string()), std::string::npos);
}

TEST_F(RunTest, ABackendThatCannotBeLoadedIsAnError) {
  const std::vector<Case> cases{unary("a", "aten::neg.default")};
  for (const char* how : {"refuse", "greet"}) {
    EXPECT_THROW(run_cases(options(plugin(how)), cases), Error) << how;
  }
  EXPECT_THROW(run_cases(options("/no/such/backend.so"), cases), Error);
  EXPECT_THROW(run_cases(options("nothing"), cases), Error);
  const std::string text = (root_ / "text.so").string();
  fs::create_directories(root_);
  std::ofstream(text) << "not a library";
  EXPECT_THROW(run_cases(options(text), cases), Error);
}

TEST_F(RunTest, TheNullBackendNeverPasses) {
  RunOptions o = options("null");
  o.modes = {"eager", "compile"};
  const RunSummary summary =
      run_cases(o, {unary("neg", "aten::neg.default"), unary("view", "aten::alias.default"), chain("chain")});
  EXPECT_EQ(summary.passed, 0);
  EXPECT_EQ(summary.exit_status(), 1);
  for (const auto& [id, record] : records()) {
    EXPECT_TRUE(is_failure(record.status)) << id;
    EXPECT_NE(record.status, Status::infrastructure_error) << record.detail;
  }
}

TEST_F(RunTest, FallbacksAreCounted) {
  run_cases(options(plugin("")), {chain("chain")});
  const Record record = records()["chain/eager"];
  EXPECT_EQ(name_of(record.status), "pass_with_fallback") << record.detail;
  ASSERT_EQ(record.fallbacks.size(), 1U);
  EXPECT_EQ(record.fallbacks[0].op, "aten::exp.default");
  EXPECT_EQ(record.fallbacks[0].reason, "operator");
  EXPECT_EQ(record.fallbacks[0].count, 1);
  EXPECT_EQ(record.fallbacks[0].bytes, 1200);  // its input to the host; its output stays there
  EXPECT_NEAR(record.residency->nodes, 2.0 / 3, 1e-12);
}

TEST_F(RunTest, WithoutFallbackTheDeviceMustDoIt) {
  RunOptions o = options(plugin(""));
  o.fallback = false;
  run_cases(o, {chain("chain"), unary("neg", "aten::neg.default")});
  auto by_id = records();
  EXPECT_EQ(name_of(by_id["chain/eager"].status), "unsupported");
  EXPECT_THAT(by_id["chain/eager"].detail, HasSubstr("aten::exp.default"));
  EXPECT_EQ(name_of(by_id["neg/eager"].status), "pass");
}

TEST_F(RunTest, NothingOnTheDeviceIsUnsupported) {
  run_cases(options(plugin("")), {unary("exp", "aten::exp.default")});
  const Record record = records()["exp/eager"];
  EXPECT_EQ(name_of(record.status), "unsupported");
  EXPECT_EQ(record.reason, "nothing_ran_on_device");
}

TEST_F(RunTest, RecordsFitTheSchemaAndSayHowToRepeatThem) {
  run_cases(options(plugin("segv")), {chain("chain"), unary("neg", "aten::neg.default")});
  std::ifstream schema_file(ASSAY_SOURCE_DIR "/abi/record.schema.json");
  const auto schema = nlohmann::json::parse(schema_file);
  std::ifstream results(root_ / "out/results.jsonl");
  std::string line;
  int lines = 0;
  while (std::getline(results, line)) {
    ++lines;
    EXPECT_THAT(validate_against(schema, nlohmann::json::parse(line)), testing::IsEmpty());
  }
  EXPECT_EQ(lines, 2);
  const Record record = records()["chain/eager"];
  EXPECT_THAT(record.repro, HasSubstr("--filter chain"));
  EXPECT_EQ(record.first_bad_node ? record.first_bad_node->op : "", "aten::relu.default");
  EXPECT_TRUE(fs::exists(root_ / "out/run.json"));
}

TEST_F(RunTest, FailuresKeepTheirTensors) {
  run_cases(options(plugin("input")), {unary("b", "aten::relu.default")});
  EXPECT_TRUE(fs::exists(root_ / "out/failures/b/inputs.safetensors"));
  EXPECT_TRUE(fs::exists(root_ / "out/failures/b/outputs.eager.safetensors"));
}

TEST_F(RunTest, MalformedFilesAndDuplicates) {
  Case broken;
  broken.id = "broken";
  broken.suite = "check";
  set_graph_error(broken, Error(ErrorCode::malformed_file, "broken.pt2: not a zip"));
  Case refused = broken;
  refused.id = "refused";
  set_graph_error(refused, Error(ErrorCode::unsupported, "refused.pt2: symbolic sizes; give --inputs"));
  Case masked = broken;
  masked.id = "masked";
  set_graph_error(masked, Error(ErrorCode::unsupported, "masked.pt2: a size that depends on data"));
  Case first = unary("first", "aten::neg.default");
  first.inputs["x"] = {
      DType::f32, {300}, Tensor::from_doubles(DType::f32, {300}, std::vector<double>(300, 2.0))};
  Case second = first;
  second.id = "second";
  const RunSummary summary = run_cases(options(plugin("")), {broken, refused, masked, first, second});
  EXPECT_EQ(summary.last_line(), "2 passed, 2 failed, 1 skipped");
  auto by_id = records();
  EXPECT_EQ(name_of(by_id["broken/eager"].status), "malformed_file");
  EXPECT_EQ(by_id["refused/eager"].reason, "symbolic_sizes");
  EXPECT_EQ(name_of(by_id["masked/eager"].status), "unsupported");
  EXPECT_EQ(by_id["masked/eager"].reason, "dynamic_shape");
  EXPECT_EQ(by_id["second/eager"].same_as, "first");
  EXPECT_EQ(by_id["second/eager"].margin, by_id["first/eager"].margin);
  EXPECT_EQ(by_id["first/eager"].same_as, "");
}

TEST_F(RunTest, ResumeNeedsTheSameCommand) {
  RunOptions o = options(plugin(""));
  const std::vector<Case> cases{unary("a", "aten::neg.default")};
  run_cases(o, cases);
  EXPECT_THROW(run_cases(o, cases), Error);
  o.resume = true;
  EXPECT_EQ(run_cases(o, cases).passed, 1);
  o.seed = 1;
  EXPECT_THROW(run_cases(o, cases), Error);
}

std::string without_times(Record record) {
  record.phases = {};
  record.wall_s = 0;
  record.judge_s.reset();
  record.device.reset();
  record.compiles = {};
  for (Fallback& fallback : record.fallbacks) fallback.seconds = 0;
  return to_json_line(record);
}

TEST_F(RunTest, AKilledRunResumesToTheSameRecords) {
  constexpr int kCases = 500;  // half a second: a few are through before one looks
  std::vector<Case> cases;
  for (int i = 0; i < kCases; ++i) {
    cases.push_back(i % 3 == 0 ? chain("chain/" + std::to_string(i))
                               : unary("neg/" + std::to_string(i), "aten::neg.default", 200 + i));
  }
  run_cases(options(plugin(""), "whole"), cases);
  const auto whole = records("whole");
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(kCases));

  RunOptions o = options(plugin(""), "killed");
  const std::string results = o.out + "/results.jsonl";
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    run_cases(o, cases);
    _exit(0);
  }
  const auto lines = [&] {
    std::ifstream file(results);
    return std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n');
  };
  for (int i = 0; i < 5000 && lines() < 5; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_GE(lines(), 5);
  ASSERT_LT(lines(), kCases) << "the run ended before it was killed";
  std::ofstream(results, std::ios::app) << R"({"schema": 1, "id": "torn)";

  o.resume = true;
  const RunSummary summary = run_cases(o, cases);
  EXPECT_EQ(summary.passed + summary.failed + summary.skipped, kCases);
  const auto resumed = records("killed");
  ASSERT_EQ(resumed.size(), whole.size());
  for (const auto& [id, record] : whole) EXPECT_EQ(without_times(resumed.at(id)), without_times(record));
}

TEST_F(RunTest, SeedsAreIndependentOfJobsAndOrder) {
  std::vector<Case> cases;
  for (int i = 0; i < 6; ++i) cases.push_back(unary("neg/" + std::to_string(i), "aten::neg.default"));
  run_cases(options("reference", "one"), cases);
  std::reverse(cases.begin(), cases.end());
  RunOptions o = options("reference", "two");
  o.jobs = 1;
  run_cases(o, cases);
  const auto one = records("one");
  for (const auto& [id, record] : records("two")) EXPECT_EQ(without_times(record), without_times(one.at(id)));
}

TEST_F(RunTest, TheReferencePassesAgainstAWitness) {
  RunOptions o = options("reference");
  o.modes = {"eager", "compile"};
  run_cases(o, {unary("neg", "aten::neg.default"), unary("exp", "aten::exp.default"), chain("chain")});
  for (const auto& [id, record] : records()) {
    EXPECT_EQ(name_of(record.status), "pass") << id << ": " << record.reason << " " << record.detail;
    EXPECT_EQ(record.witness, "float128") << id;
  }
}

TEST_F(RunTest, AFullDiskStopsTheRun) {
  RunOptions o = options(plugin(""));
  o.jobs = 1;
  std::vector<Case> cases;
  for (int i = 0; i < 5; ++i) cases.push_back(unary("neg/" + std::to_string(i), "aten::neg.default"));
  signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  int64_t recorded = 0;
  const RunSummary summary = run_cases(o, cases, [&](const Progress& progress) {
    recorded = progress.done;
    if (progress.done != 2) return;
    const rlimit small{fs::file_size(root_ / "out/results.jsonl") + 10, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_TRUE(summary.write_failed);
  EXPECT_EQ(summary.exit_status(), 4);
  EXPECT_THAT(summary.write_error, HasSubstr("results.jsonl"));
  EXPECT_EQ(recorded, 2);
  EXPECT_EQ(records().size(), 2U);
  o.resume = true;
  EXPECT_EQ(run_cases(o, cases).passed, 5);
}

}  // namespace
}  // namespace assay
