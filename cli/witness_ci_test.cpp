// The suite `witness`, and packs named on the command line.
#include <gmock/gmock.h>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kPack = ASSAY_SOURCE_DIR "/suites/witness/data/opinfo.jsonl.zst";

class Witness : public ProgramTest {};

TEST_F(Witness, TheReferenceAgreesWithPyTorch) {
  const auto run = assay({"run", "witness", "--backend", "reference", "--out", "out"});
  EXPECT_EQ(run.status, 0) << run;
  const auto found = records("out");
  EXPECT_GE(found.size(), 1300u);
  std::map<std::string, int> witnesses;
  for (const auto& [key, record] : found) {
    EXPECT_EQ(record.status, Status::pass) << key << ": " << record.detail;
    ++witnesses[record.witness];
  }
  EXPECT_GE(witnesses["golden:opinfo.jsonl.zst"], 1300);
}

// What is stored counts, whatever the seed: the inputs are stored too.
TEST_F(Witness, APackIsCheckedAsTheSuiteIs) {
  for (const std::string seed : {"0", "7"}) {
    const auto run = assay({"check", kPack, "--backend", "reference", "--filter", "nn.functional.gelu/*",
                            "--seed", seed, "--out", "out" + seed});
    EXPECT_EQ(run.status, 0) << run;
    const auto found = records("out" + seed);
    ASSERT_GE(found.size(), 1u);
    for (const auto& [key, record] : found) {
      EXPECT_EQ(record.witness, "golden:opinfo.jsonl.zst") << key;
      EXPECT_THAT(record.repro, HasSubstr("assay check ")) << key;
      EXPECT_THAT(record.repro, HasSubstr("opinfo.jsonl.zst")) << key;
    }
  }
}

TEST_F(Witness, WhatIsNoPackIsRefused) {
  auto run = assay({"check", kPack, "--inputs", "x.safetensors", "--out", "a"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("is a pack"));
  std::ofstream(folder_ / "bad.jsonl.zst") << "no frame";
  run = assay({"check", "bad.jsonl.zst", "--out", "b"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("bad.jsonl.zst"));
}

}  // namespace
}  // namespace assay::cli
