// Exit statuses and last lines of every verb (INTERFACE: 0 passed, 1 failures, 2 bad command line or file,
// 3 nothing passed, 4 infrastructure).
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr const char* kModel = ASSAY_SOURCE_DIR "/core/io/testdata/kinds.pt2";
constexpr const char* kCatalogue = ASSAY_SOURCE_DIR "/sweeps/catalogue/architectures.csv";
constexpr const char* kRelu = "ops/relu/*/drawn";  // 5 cases

class ExitStatus : public ProgramTest {
 protected:
  // Refused with status 2 and a message that holds `words`; nothing on stdout that looks like a result.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& words) const {
    const ProgramResult r = assay(arguments);
    EXPECT_EQ(r.status, 2) << testing::PrintToString(arguments) << "\n" << r;
    EXPECT_THAT(r.err, HasSubstr(words)) << testing::PrintToString(arguments);
    EXPECT_THAT(r.err, Not(HasSubstr("internal error"))) << testing::PrintToString(arguments);
    EXPECT_THAT(r.out, Not(HasSubstr(" passed, "))) << testing::PrintToString(arguments);
  }
};

TEST_F(ExitStatus, NoVerbUnknownVerbUnknownFlag) {
  expect_refused({}, "subcommand");
  expect_refused({"frobnicate"}, "frobnicate");
  expect_refused({"run", "--frobnicate"}, "frobnicate");
  for (const char* verb : {"list", "check", "sweep", "bench", "report", "compare", "abi-test", "profile"}) {
    expect_refused({verb}, "required");
  }
}

TEST_F(ExitStatus, HelpAndVersionAreZero) {
  for (const char* verb :
       {"list", "run", "check", "sweep", "bench", "profile", "report", "compare", "abi-test", "doctor"}) {
    const ProgramResult r = assay({verb, "--help"});
    EXPECT_EQ(r.status, 0) << r;
    EXPECT_THAT(r.out, HasSubstr("--help"));
  }
  EXPECT_THAT(assay({"--version"}).out, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

// Cases that take minutes each are for who names their suite.
TEST_F(ExitStatus, LongRunsAreLeftOutUnlessTheirSuiteIsNamed) {
  const ProgramResult all = assay({"run", "--backend", "null", "--filter", "training/*/200-steps"});
  EXPECT_EQ(all.status, 3) << all;
  EXPECT_THAT(all.out, HasSubstr("0 passed, 0 failed, 0 skipped")) << all;
  const ProgramResult named =
      assay({"run", "training", "--backend", "null", "--filter", "training/*/200-steps"});
  EXPECT_EQ(named.status, 1) << named;
}

TEST_F(ExitStatus, FilesThatAreMissing) {
  expect_refused({"check", "none.pt2"}, "none.pt2");
  expect_refused({"check", kModel, "--inputs", "none.safetensors"}, "none.safetensors");
  expect_refused({"check", kModel, "--expect", "none.safetensors"}, "none.safetensors");
  expect_refused({"sweep", "none.csv"}, "none.csv");
  std::filesystem::create_directory(path("folder.csv"));
  for (const char* folder : {".", "folder.csv"})
    expect_refused({"sweep", folder, "--dtype", "bf16"}, "only models of a catalogue");
  expect_refused({"sweep", kCatalogue, "--dtype", "f32"}, "--dtype");
  expect_refused({"report", "none"}, "none");
  expect_refused({"compare", "none", "none"}, "none");
  expect_refused({"abi-test", "none.so"}, "none.so");
  expect_refused({"run", "--backend", "none.so"}, "none.so");
  expect_refused({"run", "--filter", kRelu, "--contract", "none.json"}, "none.json");
}

// --expect "$FILE" with FILE unset would be a run without expected values.
TEST_F(ExitStatus, ArgumentsThatAreEmpty) {
  for (const char* flag : {"--inputs", "--expect", "--out", "--contract", "--filter", "--cache"})
    expect_refused({"check", kModel, "--backend", "reference", flag, ""}, flag);
  expect_refused({"check", ""}, "empty");
}

TEST_F(ExitStatus, FilesThatAreMalformed) {
  write("bad.pt2", "not a zip");
  write("bad.csv", "no,such,columns\n1,2\n");
  write("bad.so", "not a library");
  write("bad.json", "{\"accumulator\": ");
  write("bad.safetensors", "????????????");
  write("run/results.jsonl", "{}\n");
  write("deep/results.jsonl", std::string(200000, '[') + "\n");
  expect_refused({"check", "bad.pt2"}, "bad.pt2");
  expect_refused({"check", kModel, "--inputs", "bad.safetensors"}, "bad.safetensors");
  expect_refused({"check", kModel, "--expect", "bad.safetensors"}, "bad.safetensors");
  expect_refused({"sweep", "bad.csv"}, "bad.csv");
  expect_refused({"report", "run"}, "run/results.jsonl:1");
  expect_refused({"report", "deep"}, "deep/results.jsonl:1");
  expect_refused({"compare", "run", "run"}, "run/results.jsonl:1");
  expect_refused({"abi-test", path("bad.so")}, "bad.so");
  expect_refused({"run", "--backend", path("bad.so")}, "bad.so");
  expect_refused({"run", "--backend", "reference", "--filter", kRelu, "--contract", "bad.json"}, "bad.json");
}

TEST_F(ExitStatus, NamesThatNobodyKnows) {
  expect_refused({"run", "--backend", "gpu9000"}, "gpu9000");
  expect_refused({"run", "--backend", "trainium:trn9"}, "trn9");
  expect_refused({"run", "frobs"}, "'frobs'");
  expect_refused({"list", "frobs"}, "frobs");
  expect_refused({"bench", "frobs"}, "frobs");
}

TEST_F(ExitStatus, FlagsOutOfRange) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> table{
      {"--shard", {"0/2", "3/2", "1", "1/2/3", "a/b", "-1/2", "1/99999999999999999999"}},
      {"--timeout", {"0", "-1", "nan", "inf", "1e400", "x", ""}},
      {"--compile-timeout", {"0", "nan"}},
      {"--memory", {"0", "-5", "x", "99999999999999999999"}},
      {"--seed", {"-1", "1.5", "18446744073709551616", "x"}},
      {"--jobs", {"-1", "x", "99999"}},
      {"--mode", {"fast", "eager,", ""}},
      {"--nodes", {"some"}},
      {"--ranks", {"0"}},
      {"--option", {"novalue", "=1", "a=1,a=2"}},
  };
  for (const auto& [flag, values] : table) {
    for (const std::string& value : values) {
      expect_refused({"run", "--backend", "reference", "--filter", kRelu, flag + "=" + value}, flag);
    }
  }
}

TEST_F(ExitStatus, OptionsThatTheBackendDoesNotKnow) {
  for (const char* backend : {"reference", "trainium"}) {
    expect_refused({"run", "--backend", backend, "--filter", kRelu, "--option", "frob=1"}, "frob");
  }
  expect_refused({"run", "--backend", "trainium", "--filter", kRelu, "--option", "lnc=77"}, "lnc");
}

TEST_F(ExitStatus, PassesFailuresAndNothing) {
  ProgramResult r = assay({"run", "--backend", "reference", "--filter", kRelu, "--out", "good"});
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_EQ(r.last_line(), "5 passed, 0 failed, 0 skipped");
  EXPECT_TRUE(std::filesystem::exists(path("good/report.html")));

  r = assay({"run", "--backend", "null", "--filter", kRelu, "--out", "bad"});
  EXPECT_EQ(r.status, 1) << r;
  EXPECT_EQ(r.last_line(), "0 passed, 5 failed, 0 skipped");

  r = assay({"run", "--backend", "reference", "--filter", "no/such/case", "--out", "nothing"});
  EXPECT_EQ(r.status, 3) << r;
  EXPECT_EQ(r.last_line(), "0 passed, 0 failed, 0 skipped");
  EXPECT_THAT(r.err, MatchesRegex("(.|\n)*--filter 'no/such/case' asks for none of [0-9]+ cases(.|\n)*"));

  r = assay({"check", kModel, "--backend", "reference", "--out", "model"});
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_EQ(r.last_line(), "1 passed, 0 failed, 0 skipped");

  r = assay({"sweep", kCatalogue, "--backend", "reference", "--filter", "*bert*", "--out", "sweep"});
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_THAT(r.last_line(), MatchesRegex("[0-9]+ passed, 0 failed, [0-9]+ skipped"));
  const ProgramResult one =
      assay({"sweep", kCatalogue, "--backend", "reference", "--filter", "models/bert", "--out", "one"});
  EXPECT_EQ(one.last_line(), "1 passed, 0 failed, 0 skipped")
      << "models that could not be exported have ids, too";

  r = assay({"sweep", kCatalogue, "--dtype", "bf16", "--backend", "trainium", "--filter", "*bert", "--mode",
             "eager,compile", "--out", "bf16"});
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_THAT(r.last_line(), MatchesRegex("4 passed, 0 failed, [0-9]+ skipped"));

  EXPECT_EQ(assay({"report", "good", "bad"}).status, 0);
  EXPECT_EQ(assay({"compare", "good", "good"}).status, 0);
  EXPECT_EQ(assay({"compare", "good", "bad"}).status, 1);
  EXPECT_EQ(assay({"compare", "bad", "bad"}).status, 3);
  EXPECT_EQ(assay({"compare", "good", "nothing"}).status, 3);
  EXPECT_EQ(assay({"compare", "nothing", "good"}).status, 3);
}

TEST_F(ExitStatus, QuietPrintsTheLastLineOnly) {
  const ProgramResult r =
      assay({"run", "--backend", "null", "--filter", "ops/relu/f32/*", "--out", "o", "--quiet"});
  EXPECT_THAT(r.out, MatchesRegex("0 passed, [0-9]+ failed, 0 skipped\n"));
  EXPECT_EQ(r.err, "");
}

TEST_F(ExitStatus, ABackendThatIsNotInstalledSkips) {
  // A Python that has no torch: everything is skipped, and nothing passed.
  write("empty/python3", "#!/bin/sh\nexec /usr/bin/python3 -S -E -s \"$@\"\n");
  std::filesystem::permissions(path("empty/python3"), std::filesystem::perms::owner_all);
  const ProgramResult r = shell("ASSAY_PYTHON=" + path("empty/python3") + " PYTHONPATH= " + assay_program() +
                                " run --backend torch:cpu --filter '" + kRelu + "' --out o");
  EXPECT_EQ(r.status, 3) << r;
  EXPECT_EQ(r.last_line(), "0 passed, 0 failed, 5 skipped");
  for (const auto& [key, record] : records("o")) EXPECT_EQ(record.reason, "pytorch_missing") << key;
}

TEST_F(ExitStatus, AFolderThatHoldsResultsIsRefused) {
  ASSERT_EQ(assay({"run", "--backend", "reference", "--filter", kRelu, "--out", "o"}).status, 0);
  const std::string before = read("o/results.jsonl");
  expect_refused({"run", "--backend", "reference", "--filter", kRelu, "--out", "o"}, "--resume");
  EXPECT_EQ(read("o/results.jsonl"), before);
}

TEST_F(ExitStatus, ResumeMeetsAnotherCommandLine) {
  ASSERT_EQ(assay({"run", "--backend", "reference", "--filter", kRelu, "--out", "o"}).status, 0);
  const std::string before = read("o/results.jsonl");
  const std::vector<std::string> same{"run", "--backend", "reference", "--filter",
                                      kRelu, "--out",     "o",         "--resume"};
  EXPECT_EQ(assay(same).status, 0);
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--seed", "1"},
                                               {"--mode", "compile"},
                                               {"--shard", "1/2"},
                                               {"--no-fallback"},
                                               {"--nodes", "all"},
                                               {"ops"}}) {
    std::vector<std::string> changed = same;
    changed.insert(changed.end(), more.begin(), more.end());
    expect_refused(changed, "another command line");
  }
  expect_refused({"run", "--backend", "null", "--filter", kRelu, "--out", "o", "--resume"}, "backend");
  expect_refused({"check", kModel, "--out", "o", "--resume"}, "verb");
  EXPECT_EQ(read("o/results.jsonl"), before);
  // --jobs and --quiet do not change what is run.
  std::vector<std::string> faster = same;
  faster.insert(faster.end(), {"--jobs", "1", "--quiet"});
  EXPECT_EQ(assay(faster).status, 0);
}

TEST_F(ExitStatus, ResumeNeedsAFolder) {
  expect_refused({"run", "--backend", "reference", "--resume"}, "--out");
}

TEST_F(ExitStatus, AFolderInUseIsRefused) {
  Program first(command({"run", "--backend", "reference", "--jobs", "1", "--out", "o"}), folder_.string());
  ASSERT_TRUE(wait_for_records(first, "o", 3));
  expect_refused({"run", "--backend", "reference", "--jobs", "1", "--out", "o"}, "in use");
  expect_refused({"run", "--backend", "reference", "--jobs", "1", "--out", "o", "--resume"}, "in use");
  EXPECT_TRUE(first.running());
}

TEST_F(ExitStatus, AFolderThatCannotBeMade) {
  write("file", "");
  expect_refused({"run", "--backend", "reference", "--filter", kRelu, "--out", "file/o"}, "file/o");
  expect_refused({"run", "--backend", "reference", "--filter", kRelu, "--out", "file"}, "--out file");
  expect_refused({"check", kModel, "--backend", "reference", "--out", "/proc/no/such"}, "/proc/no/such");
  write("run/results.jsonl", "");
  expect_refused({"report", "run", "--html", "file/page.html"}, "file/page.html");
}

TEST_F(ExitStatus, StandardOutputThatCannotBeWritten) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"list", "cases"},
        {"list", "suites", "--json"},
        {"run", "--backend", "reference", "--filter", kRelu, "--out", "o"}}) {
    const ProgramResult r = Program(command(arguments), folder_.string(), "/dev/full").wait();
    EXPECT_EQ(r.status, 4) << r;
    EXPECT_THAT(r.err, HasSubstr("standard output"));
  }
  EXPECT_EQ(records("o").size(), 5U);
}

TEST_F(ExitStatus, AFullDisk) {
  const std::string small = path("small");
  std::filesystem::create_directories(small);
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs is not permitted here: " << std::strerror(errno)
                 << " (RunTest.AFullDiskStopsTheRun covers the same by a file size limit)";
  }
  const ProgramResult r = assay({"run", "--backend", "reference", "--jobs", "1", "--out", "small/o"});
  EXPECT_EQ(r.status, 4) << r;
  EXPECT_THAT(r.err, HasSubstr("results.jsonl"));
  EXPECT_THAT(r.last_line(), MatchesRegex("[0-9]+ passed, [0-9]+ failed, 0 skipped"));
  EXPECT_GT(records("small/o").size(), 0U);  // whole lines only
  ::umount(small.c_str());
}

TEST_F(ExitStatus, AFileSizeLimit) {
  // As on a full disk: writing fails in the middle of the run.
  const ProgramResult r =
      shell("trap '' XFSZ; ulimit -f 24; " + assay_program() + " run --backend reference --jobs 1 --out o");
  EXPECT_EQ(r.status, 4) << r;
  EXPECT_THAT(r.err, HasSubstr("results.jsonl"));
  const auto kept = records("o");
  EXPECT_GT(kept.size(), 0U);
  EXPECT_THAT(r.last_line(), HasSubstr(std::to_string(kept.size()) + " passed"));
}

TEST_F(ExitStatus, WhatLaterVersionsBring) {
  expect_refused({"sweep", "generated:10"}, "not built in this version");
}

TEST_F(ExitStatus, InterruptedRunsSayHowToGoOn) {
  Program run(command({"run", "--backend", "reference", "--jobs", "1", "--out", "o"}), folder_.string());
  ASSERT_TRUE(wait_for_records(run, "o", 3));
  ::kill(run.pid(), SIGTERM);
  const ProgramResult r = run.wait();
  EXPECT_EQ(r.status, 4) << r;
  EXPECT_THAT(r.err, HasSubstr("--resume"));
  EXPECT_THAT(r.last_line(), MatchesRegex("[0-9]+ passed, 0 failed, 0 skipped"));
  EXPECT_GE(records("o").size(), 3U);
}

}  // namespace
}  // namespace assay::cli
