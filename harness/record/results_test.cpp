#include "harness/record/results.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Results : public testing::Test {
 protected:
  Results() : folder_(fs::path(testing::TempDir()) / ("results" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~Results() override { fs::remove_all(folder_); }
  std::string file(const char* name) const { return (folder_ / name).string(); }
  static Record record(const std::string& id) {
    Record r = make_record();
    r.id = id;
    r.mode = "eager";
    r.status = Status::pass;
    return r;
  }
  static NodeRecord node(const std::string& id) {
    NodeRecord n;
    n.case_id = id;
    n.mode = "eager";
    n.name = "n";
    return n;
  }
  static std::string text(const std::string& path) {
    std::ifstream f(path, std::ios::binary);
    std::stringstream s;
    s << f.rdbuf();
    return s.str();
  }
  fs::path folder_;
};

TEST_F(Results, AppendsAndReads) {
  {
    RunFolder folder(folder_.string(), false);
    folder.append(record("a"), {node("a")});
    folder.append(record("b"), {});
    folder.sync();
  }
  const auto records = read_results(file("results.jsonl"));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].id, "b");
  EXPECT_EQ(read_nodes(file("nodes.jsonl")).size(), 1U);
  EXPECT_TRUE(read_results(file("missing.jsonl")).empty());
}

TEST_F(Results, ATornLastLineIsDroppedAndCutOffOnResume) {
  {
    RunFolder folder(folder_.string(), false);
    folder.append(record("a"), {node("a")});
    folder.append(record("b"), {node("b")});
  }
  const std::string whole = text(file("results.jsonl"));
  const std::size_t second = whole.find('\n') + 1;
  for (const std::size_t size : {second, second + 1, whole.size() - 1}) {
    std::ofstream(file("results.jsonl"), std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    uint64_t complete = 0;
    EXPECT_EQ(read_results(file("results.jsonl"), &complete).size(), 1U);
    EXPECT_EQ(complete, second);
    RunFolder folder(folder_.string(), true);
    ASSERT_EQ(folder.previous().size(), 1U);
    EXPECT_EQ(text(file("results.jsonl")), whole.substr(0, second));
    folder.append(record("b"), {node("b")});
    EXPECT_EQ(text(file("results.jsonl")), whole);
    EXPECT_EQ(read_nodes(file("nodes.jsonl")).size(), 2U);  // b's first detail had lost its record
  }
}

TEST_F(Results, ABadLineInTheMiddleIsAnErrorWithItsNumber) {
  fs::create_directories(folder_);
  std::ofstream(file("results.jsonl")) << to_json_line(record("a")) << "\n{}\n"
                                       << to_json_line(record("b")) << "\n";
  try {
    read_results(file("results.jsonl"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("results.jsonl:2"));
  }
}

TEST_F(Results, OneRunAtATimeAndNoneOverOldResults) {
  {
    RunFolder folder(folder_.string(), false);
    EXPECT_THROW(RunFolder(folder_.string(), true), Error);
    folder.append(record("a"), {});
  }
  EXPECT_THROW(RunFolder(folder_.string(), false), Error);
  EXPECT_NO_THROW(RunFolder(folder_.string(), true));
}

TEST_F(Results, AFolderThatCannotBeMadeIsAnError) {
  fs::create_directories(folder_);
  std::ofstream(file("plain")) << "x";
  EXPECT_THROW(RunFolder(file("plain"), false), Error);
  EXPECT_THROW(RunFolder(file("plain/below"), false), Error);
  EXPECT_THROW(RunFolder("/proc/nowhere/at/all", false), Error);
}

TEST_F(Results, AFullDiskLosesNothingThatWasRecorded) {
  RunFolder folder(folder_.string(), false);
  folder.append(record("a"), {});
  const std::string before = text(file("results.jsonl"));
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{before.size() + 10, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  try {
    folder.append(record("b"), {});
    ADD_FAILURE() << "the record was written in spite of the limit";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("results.jsonl"));
  }
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(text(file("results.jsonl")), before);
  folder.append(record("c"), {});
  EXPECT_EQ(read_results(file("results.jsonl")).size(), 2U);
}

// Details without a record are dropped on resume; where that fails, those with one are still there.
TEST_F(Results, DetailsOfNodesAreReplacedWhole) {
  {
    RunFolder folder(folder_.string(), false);
    folder.append(record("a"), {node("a"), node("a")});
  }
  const std::string kept = text(file("nodes.jsonl"));
  std::ofstream(file("nodes.jsonl"), std::ios::app) << to_json_line(node("b")) << "\n";
  const std::string before = text(file("nodes.jsonl"));
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(RunFolder(folder_.string(), true), Error);
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(text(file("nodes.jsonl")), before);
  EXPECT_NO_THROW(RunFolder(folder_.string(), true));
  EXPECT_EQ(text(file("nodes.jsonl")), kept);
  EXPECT_FALSE(fs::exists(file("nodes.jsonl.new")));
}

TEST_F(Results, APipeIsNoFileOfResults) {
  fs::create_directories(folder_);
  for (const char* name : {"results.jsonl", "nodes.jsonl"}) {
    ASSERT_EQ(mkfifo(file(name).c_str(), 0600), 0);
    EXPECT_THROW(RunFolder(folder_.string(), true), Error);  // and does not wait for a writer
    fs::remove(file(name));
  }
}

TEST_F(Results, RunJsonIsReplacedWhole) {
  RunFolder folder(folder_.string(), false);
  EXPECT_EQ(folder.read_run_json(), "");
  folder.write_run_json("{\"a\": 1}\n");
  folder.write_run_json("{}\n");
  EXPECT_EQ(folder.read_run_json(), "{}\n");
  EXPECT_FALSE(fs::exists(file("run.json.new")));
}

TEST_F(Results, TensorsOfFailuresStayInsideTheFolderAndTheLimit) {
  RunFolder folder(folder_.string(), false);
  TensorFile tensors;
  tensors.tensors["x"] = Tensor::from_doubles(DType::f32, {2}, {1, 2});
  folder.save_tensors("../../../etc/x", "inputs", tensors, 12);
  EXPECT_TRUE(fs::exists(folder_ / "failures/__/__/__/etc/x/inputs.safetensors"));
  folder.save_tensors("second", "inputs", tensors, 12);
  EXPECT_FALSE(fs::exists(folder_ / "failures/second"));
}

TEST(SafePath, NeverLeavesItsFolder) {
  EXPECT_EQ(safe_path("ops/add.Tensor/f32"), "ops/add.Tensor/f32");
  EXPECT_EQ(safe_path("/abs"), "abs");
  EXPECT_EQ(safe_path("a/../b"), "a/__/b");
  EXPECT_EQ(safe_path("."), "_");
  EXPECT_EQ(safe_path(""), "_");
  EXPECT_EQ(safe_path(std::string("a\0b c", 5)), "a_b_c");
}

}  // namespace
}  // namespace assay
