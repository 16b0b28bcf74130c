// docs/custom_kernel.md: a kernel of a user's is found, judged and timed as the device's own are.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

const std::string kCustom = ASSAY_BINARY_DIR "/lib/assay_vit_attention.so";
const std::string kBlocks = ASSAY_SOURCE_DIR "/docs/custom_kernel/";

class CustomKernel : public ProgramTest {
 protected:
  nlohmann::json profile(const std::string& backend, const std::string& model, const std::string& out) {
    const ProgramResult r = assay({"profile", kBlocks + model, "--mode", "compile", "--backend", backend,
                                   "--trace", path(out + ".json"), "--out", out});
    EXPECT_EQ(r.status, 0) << r;
    return r.status == 0 ? nlohmann::json::parse(read(out + "/profile.json")) : nlohmann::json();
  }
};

TEST_F(CustomKernel, ItsResultsAreJudged) {
  const ProgramResult r = assay({"check", kBlocks + "vit_block_small.json.zst", "--backend", kCustom,
                                 "--mode", "eager,compile", "--fullgraph", "--out", "o"});
  EXPECT_EQ(r.status, 0) << r;
  const auto found = records("o");
  EXPECT_EQ(found.size(), 2U);
  for (const auto& [key, record] : found) EXPECT_EQ(record.status, Status::pass) << key << record.detail;
}

TEST_F(CustomKernel, ItStandsForItsNodesAndGains) {
  const nlohmann::json own = profile("trainium", "vit_block.json.zst", "own"),
                       custom = profile(kCustom, "vit_block.json.zst", "custom");
  ASSERT_FALSE(own.empty() || custom.empty());
  const auto has = [](const nlohmann::json& profile, const std::string& node) {
    for (const auto& entry : profile["nodes"]) {
      if (entry["node"] == node) return true;
    }
    return false;
  };
  EXPECT_TRUE(has(own, "_softmax"));
  EXPECT_FALSE(has(custom, "_softmax"));
  EXPECT_FALSE(has(custom, "bmm"));
  EXPECT_TRUE(has(custom, "permute_7"));  // the last node, whose name the call keeps
  EXPECT_TRUE(has(custom, "addmm_5"));    // not in the pattern
  EXPECT_EQ(own["summary"]["host_launch_count"], custom["summary"]["host_launch_count"]);
  const double gain = own["total_time"].get<double>() / custom["total_time"].get<double>();
  std::printf("simulated gain %.2fx, published 2.4x\n", gain);
  EXPECT_GT(gain, 1.05);
}

TEST_F(CustomKernel, WithoutFusionTheDevicesOwnKernelsRun) {
  const ProgramResult r = assay({"check", kBlocks + "vit_block_small.json.zst", "--backend", kCustom,
                                 "--mode", "compile", "--option", "fuse=0", "--out", "o"});
  EXPECT_EQ(r.status, 0) << r;
}

}  // namespace
}  // namespace assay::cli
