// Distributed cases over real worlds: values, bytes and the errors of every rank, on each backend that is
// here.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;

class Distributed : public ProgramTest {
 protected:
  std::vector<Record> records_of(const std::string& out) const {
    std::vector<Record> all;
    for (auto& [key, record] : records(out)) all.push_back(record);
    return all;
  }
  // Runs the suite and returns its records, all of which must have passed or been skipped.
  std::vector<Record> run(const std::string& backend, int ranks, const std::string& filter = "") {
    const std::string out = backend + std::to_string(ranks) + "-" + std::to_string(runs_++);
    std::vector<std::string> words{"run",   "distributed", "--backend",
                                   backend, "--ranks",     std::to_string(ranks),
                                   "--out", out,           "--quiet"};
    if (!filter.empty()) words.insert(words.end(), {"--filter", filter});
    const ProgramResult r = assay(words);
    std::vector<Record> all = records_of(out);
    for (const Record& record : all) {
      EXPECT_TRUE(is_pass(record.status) || is_skip(record.status))
          << record.id << ": " << name_of(record.status) << " " << record.reason << ": " << record.detail;
    }
    EXPECT_FALSE(all.empty()) << r;
    return all;
  }
  int runs_ = 0;
};

TEST_F(Distributed, ReferenceCountsEveryByte) {
  for (const int ranks : {1, 3}) {
    for (const Record& record : run("reference", ranks)) {
      if (record.status != Status::pass) continue;
      ASSERT_TRUE(record.traffic) << record.id;
      // Of steps that are resumed on other ranks it is those that are counted; a bad checkpoint ends before.
      const std::size_t on = record.id.find("/on-");
      const int resumed = on == std::string::npos ? ranks : std::stoi(record.id.substr(on + 4));
      for (const auto* bytes : {&record.traffic->sent, &record.traffic->received}) {
        EXPECT_THAT(bytes->size(), testing::AnyOf(ranks, resumed)) << record.id;
        EXPECT_EQ(std::accumulate(bytes->begin(), bytes->end(), int64_t{0}), record.traffic->formula)
            << record.id;
      }
    }
  }
}

TEST_F(Distributed, ManyRanks) {
  EXPECT_GT(run("reference", 64, "distributed/n64/all_reduce/*/bf16/*").size(), 5u);
  // fp8 sums of so many ranks have no Bound; integers are probes all the same.
  for (const Record& record : run("trainium", 64, "distributed/n64/all_reduce/sum/f8_e*/exact"))
    EXPECT_TRUE(record.status == Status::pass || record.reason == "dtype") << record.id;
}

TEST_F(Distributed, Trainium) {
  int algorithms = 0;
  for (const Record& record : run("trainium", 4)) {
    const bool of_regimes = record.id.find("/regimes/") != std::string::npos;
    EXPECT_TRUE(record.traffic || !of_regimes) << record.id;
    if (record.status != Status::pass || !record.traffic) continue;
    algorithms += record.traffic->algorithm.empty() ? 0 : 1;
    EXPECT_TRUE(record.device && record.device->seconds > 0) << record.id;
  }
  EXPECT_GT(algorithms, 50);
}

// The null backend computes nothing and has no collectives: no case passes but those that only refuse.
TEST_F(Distributed, NullNeverPasses) {
  const ProgramResult r =
      assay({"run", "distributed", "--backend", "null", "--ranks", "2", "--out", "n", "--quiet"});
  for (const Record& record : records_of("n")) EXPECT_NE(record.status, Status::pass) << record.id << r;
}

TEST_F(Distributed, Mpi) {
  const std::vector<Record> all = run("mpi", 3, "distributed/n3/*");
  if (all.front().reason == "mpi_missing") GTEST_SKIP() << all.front().detail;
  int64_t passed = 0;
  for (const Record& record : all) {
    if (record.status != Status::pass) continue;
    ++passed;
    ASSERT_TRUE(record.traffic) << record.id;
    for (const auto* bytes : {&record.traffic->sent, &record.traffic->received}) {
      EXPECT_EQ(std::accumulate(bytes->begin(), bytes->end(), int64_t{0}), record.traffic->formula)
          << record.id;
    }
  }
  EXPECT_GT(passed, 100);
}

// MPI's own reductions give the same values, and say nothing of their bytes.
TEST_F(Distributed, MpisOwnReductions) {
  const ProgramResult r =
      assay({"run", "distributed", "--backend", "mpi", "--option", "reductions=library", "--ranks", "3",
             "--filter", "distributed/n3/all_reduce/*/drawn", "--out", "library", "--quiet"});
  const std::vector<Record> all = records_of("library");
  ASSERT_FALSE(all.empty()) << r;
  if (all.front().reason == "mpi_missing") GTEST_SKIP() << all.front().detail;
  for (const Record& record : all) {
    EXPECT_EQ(record.status, Status::pass) << record.id << ": " << record.detail;
    ASSERT_TRUE(record.traffic) << record.id;
    EXPECT_TRUE(record.traffic->sent.empty()) << record.id;
    EXPECT_THAT(record.traffic->algorithm, HasSubstr("not counted")) << record.id;
  }
}

// Open MPI's jobs of one user share a folder, which two that start together may both want to make.
TEST_F(Distributed, AnMpirunThatMeetsAnotherIsStartedAgain) {
  std::ofstream(path("mpirun"))
      << "#!/bin/sh\n"
      << "PATH=${PATH#*:}\n"
      << "if [ ! -e '" << path("met") << "' ]; then touch '" << path("met")
      << "'; echo 'A call to mkdir was unable to create the desired directory' >&2; "
      << "exit 1; fi\nexec mpirun \"$@\"\n";
  std::filesystem::permissions(path("mpirun"), std::filesystem::perms::owner_all);
  const char* own = std::getenv("PATH");
  const std::string before = own == nullptr ? "/usr/bin" : own;
  ::setenv("PATH", (folder_.string() + ":" + before).c_str(), 1);
  const std::vector<Record> all = run("mpi", 2, "distributed/n2/all_reduce/*f32*");
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_FALSE(all.empty());
  if (all.front().reason == "mpi_missing") GTEST_SKIP() << all.front().detail;
  EXPECT_TRUE(std::filesystem::exists(path("met")));
  for (const Record& record : all) EXPECT_TRUE(is_pass(record.status)) << record.id << ": " << record.detail;
}

TEST_F(Distributed, MpiRanksThatFail) {
  const std::vector<std::string> ids{"dies", "stops", "skips-the-call", "other-dtype-of-equal-size"};
  for (const std::string& id : ids) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Record> all = run("mpi", 3, "distributed/n3/faults/" + id);
    if (all.front().reason == "mpi_missing") GTEST_SKIP() << all.front().detail;
    EXPECT_EQ(all.front().status, Status::rejected_bad_input) << id;
    EXPECT_THAT(all.front().detail, HasSubstr("rank 2")) << id;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(120)) << id;
  }
}

TEST_F(Distributed, BackendsOfRanksRunNothingElse) {
  const ProgramResult r =
      assay({"run", "ops", "--backend", "mpi", "--filter", "ops/relu/f32/*", "--out", "o", "--quiet"});
  for (const Record& record : records_of("o")) EXPECT_TRUE(is_skip(record.status)) << record.id << r;
}

}  // namespace
}  // namespace assay::cli
