// Processes that are killed or stopped under the program: a worker or a judge costs one case; the program
// itself is taken up again by --resume.
#include <gmock/gmock.h>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

class Processes : public ProgramTest {
 protected:
  // Some hundred cases, a few seconds.
  std::vector<std::string> run(const std::string& out, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"run",   "--backend", "reference", "--filter", "ops/m*imum/*32/*",
                                       "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return command(arguments);
  }
  // Some models, which are judged in a process of their own.
  std::vector<std::string> sweep(const std::string& out, std::vector<std::string> more = {}) const {
    const std::string catalogue = ASSAY_SOURCE_DIR "/sweeps/catalogue/architectures.csv";
    std::vector<std::string> arguments{"sweep", catalogue, "--backend", "reference", "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return command(arguments);
  }
  // Does `action` to the one process named `name` after `records` of a run, and returns how that ended.
  template <typename Action>
  ProgramResult disturb(const std::vector<std::string>& command, const std::string& name, int records,
                        Action action) {
    Program program(command, folder_.string());
    EXPECT_TRUE(wait_for_records(program, "o", records));
    std::vector<pid_t> children;
    while (program.running() && (children = program.children(name)).empty()) {
    }
    EXPECT_EQ(children.size(), 1U);
    for (const pid_t child : children) action(child);
    EXPECT_TRUE(program.running()) << "it was disturbed too late";
    return program.wait();
  }
  // All others are as in an undisturbed run.
  Record the_one_that_differs(const std::vector<std::string>& undisturbed) {
    const ProgramResult whole = Program(undisturbed, folder_.string()).wait();
    EXPECT_EQ(whole.status, 0) << whole;
    const auto want = records("whole");
    const auto got = records("o");
    EXPECT_EQ(got.size(), want.size());
    std::vector<Record> differ;
    for (const auto& [key, record] : want) {
      if (!got.contains(key)) ADD_FAILURE() << key << " is lost";
      if (got.contains(key) && without_times(got.at(key)) != without_times(record))
        differ.push_back(got.at(key));
    }
    EXPECT_EQ(differ.size(), 1U);
    return differ.empty() ? Record{} : differ.front();
  }
};

TEST_F(Processes, AWorkerThatIsKilledCostsOneCase) {
  const ProgramResult r =
      disturb(run("o", {"--jobs", "1"}), "assay-worker", 10, [](pid_t pid) { ::kill(pid, SIGKILL); });
  EXPECT_EQ(r.status, 1) << r;
  const Record record = the_one_that_differs(run("whole"));
  EXPECT_EQ(name_of(record.status), "crash");
  EXPECT_EQ(record.reason, "killed_by_signal");
  EXPECT_THAT(record.detail, testing::HasSubstr("SIGKILL"));
}

TEST_F(Processes, AWorkerThatIsStoppedTimesOut) {
  const ProgramResult r = disturb(run("o", {"--timeout", "5", "--jobs", "1"}), "assay-worker", 10,
                                  [](pid_t pid) { ::kill(pid, SIGSTOP); });
  EXPECT_EQ(r.status, 1) << r;
  int timed_out = 0;
  for (const auto& [key, record] : records("o")) {
    if (is_pass(record.status)) continue;
    EXPECT_EQ(name_of(record.status), "run_timeout") << key;
    EXPECT_EQ(record.reason, "time_limit");
    ++timed_out;
  }
  EXPECT_EQ(timed_out, 1);
}

TEST_F(Processes, AJudgeThatIsKilledCostsOneCase) {
  const ProgramResult r = disturb(sweep("o", {"--jobs", "1", "--filter", "*bert*"}), "assay-judge", 1,
                                  [](pid_t pid) { ::kill(pid, SIGKILL); });
  EXPECT_EQ(r.status, 4) << r;
  const Record record = the_one_that_differs(sweep("whole", {"--filter", "*bert*"}));
  EXPECT_EQ(name_of(record.status), "infrastructure_error");
  EXPECT_EQ(record.reason, "judge_failed");
}

TEST_F(Processes, ADeadProgramTakesItsWorkersAlong) {
  Program program(sweep("o", {"--jobs", "2"}), folder_.string());
  ASSERT_TRUE(wait_for_records(program, "o", 1));
  // One of the two may be through with several cases before the other has its judge.
  std::vector<pid_t> children;
  for (int i = 0; i < 400 && children.size() < 4; ++i) {
    children = program.children("assay-worker");
    const std::vector<pid_t> judges = program.children("assay-judge");
    children.insert(children.end(), judges.begin(), judges.end());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(children.size(), 4U);
  program.signal_group(SIGKILL);
  program.wait();
  for (const pid_t child : children) {
    bool alive = true;
    for (int i = 0; i < 1000 && alive; ++i) {
      std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
      std::string pid, name, state;
      alive = static_cast<bool>(stat >> pid >> name >> state) && state != "Z";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_FALSE(alive) << child;
  }
}

// kill -9 of the whole process group at several points, then --resume until it is through.
TEST_F(Processes, AKilledRunResumesToTheSameRecords) {
  ASSERT_EQ(Program(run("whole", {"--mode", "eager,compile"}), folder_.string()).wait().status, 0);
  const auto whole = records("whole");
  ASSERT_GT(whole.size(), 100U);

  const auto total = static_cast<int64_t>(whole.size());
  int kills = 0;
  // In the first half: however fast it goes on, the other is left to resume.
  for (int64_t at = 1; at < total / 2; at += total / 10) {
    std::vector<std::string> more{"--mode", "eager,compile"};
    if (at > 1) more.push_back("--resume");
    Program program(run("killed", more), folder_.string());
    if (!wait_for_records(program, "killed", at)) break;
    program.signal_group(SIGKILL);
    const ProgramResult r = program.wait();
    if (r.signal == SIGKILL) ++kills;
    records("killed");  // none twice, whole lines readable
  }
  EXPECT_GE(kills, 2);
  ASSERT_LT(lines("killed"), total) << "nothing was left to resume";
  const ProgramResult r =
      Program(run("killed", {"--mode", "eager,compile", "--resume"}), folder_.string()).wait();
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_EQ(r.last_line(), std::to_string(total) + " passed, 0 failed, 0 skipped");
  expect_equal_but_for_times(records("killed"), whole);
  EXPECT_TRUE(std::filesystem::exists(path("killed/report.html")));
}

// Models have nodes, too: details of nodes and records stay together.
TEST_F(Processes, AKilledSweepResumesToTheSameRecordsAndNodes) {
  const std::vector<std::string> berts{"--filter", "*bert*", "--nodes", "all"};
  ASSERT_EQ(Program(sweep("whole", berts), folder_.string()).wait().status, 0);
  const auto whole = records("whole");
  const auto nodes_of = [&](const std::string& out) {
    std::map<std::string, std::string> lines;
    for (const NodeRecord& node : read_nodes(path(out + "/nodes.jsonl"))) {
      EXPECT_TRUE(lines.emplace(node.case_id + " " + node.name, to_json_line(node)).second) << node.name;
    }
    return lines;
  };
  {
    Program program(sweep("killed", berts), folder_.string());
    ASSERT_TRUE(wait_for_records(program, "killed", 1));
    program.signal_group(SIGKILL);
    EXPECT_EQ(program.wait().signal, SIGKILL);
  }
  EXPECT_LT(lines("killed"), static_cast<int64_t>(whole.size()));
  std::vector<std::string> rest = berts;
  rest.push_back("--resume");
  EXPECT_EQ(Program(sweep("killed", rest), folder_.string()).wait().status, 0);
  expect_equal_but_for_times(records("killed"), whole);
  EXPECT_EQ(nodes_of("killed"), nodes_of("whole"));
  EXPECT_GT(nodes_of("whole").size(), 100U);
}

}  // namespace
}  // namespace assay::cli
