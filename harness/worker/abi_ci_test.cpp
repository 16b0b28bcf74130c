// The shared test program on good and bad plug-ins.
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdlib>

#include "core/error.h"
#include "harness/worker/abi_test.h"
#include "harness/worker/locate.h"
#include "harness/worker/plugin.h"

namespace assay {
namespace {

void expect_all_pass(const std::string& name) {
  for (const AbiCheck& check : run_abi_test(find_plugin(name))) {
    EXPECT_TRUE(check.passed) << name << ": " << check.name << ": " << check.detail;
  }
}

TEST(AbiTest, TheNullBackendIsAGoodPlugin) { expect_all_pass("null"); }
TEST(AbiTest, TheReferenceIsAGoodPlugin) { expect_all_pass("reference"); }

// It checks no handle and no size: it dies of some checks, and the others still run.
TEST(AbiTest, ABadPluginFailsCheckByCheck) {
  setenv("ASSAY_TEST_MISBEHAVIOUR", "", 1);
  int passed = 0, failed = 0, died = 0;
  for (const AbiCheck& check : run_abi_test(ASSAY_BINARY_DIR "/lib/assay_misbehaving.so", 20)) {
    ++(check.passed ? passed : failed);
    died += check.detail.find("was killed by") != std::string::npos;
    if (check.name == "handles: null" || check.name == "buffers: size mismatch" ||
        check.name == "describe: short struct") {
      EXPECT_FALSE(check.passed) << check.name;
    }
  }
  EXPECT_GT(passed, 5);
  EXPECT_GT(failed, 3);
  EXPECT_GT(died, 0);
}

TEST(AbiTest, WhatIsNoPluginIsAnError) {
  EXPECT_THROW(run_abi_test("/etc/hostname"), Error);
  EXPECT_THROW(run_abi_test("/no/such/file.so"), Error);
}

// Tables that a plug-in may give: read no further than struct_size, nothing taken on trust.
TEST(PluginTable, IsCheckedMemberByMember) {
  const auto plugin = Plugin::load(find_plugin("null"));
  const assay_api good = plugin->api();
  EXPECT_NO_THROW(Plugin::from_table(&good, "table"));
  EXPECT_THROW(Plugin::from_table(nullptr, "table"), Error);

  assay_api table = good;
  table.abi_major = ASSAY_ABI_MAJOR + 1;
  EXPECT_THROW(Plugin::from_table(&table, "table"), Error);
  table = good;
  table.abi_minor = -1;
  EXPECT_THROW(Plugin::from_table(&table, "table"), Error);
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, offsetof(assay_api, create),
                                 offsetof(assay_api, execute_eager), std::size_t{1} << 40}) {
    table = good;
    table.struct_size = size;
    EXPECT_THROW(Plugin::from_table(&table, "table"), Error) << size;
  }
  table = good;
  table.copy_to_host = nullptr;
  EXPECT_THROW(Plugin::from_table(&table, "table"), Error);
  table = good;
  table.execute = nullptr;
  EXPECT_THROW(Plugin::from_table(&table, "table"), Error);

  // A newer minor with a longer table, and an older one with a shorter.
  struct {
    assay_api api;
    void* appended[4];
  } longer{good, {}};
  longer.api.struct_size = sizeof longer;
  longer.api.abi_minor = ASSAY_ABI_MINOR + 1;
  EXPECT_NO_THROW(Plugin::from_table(&longer.api, "table"));
  table = good;
  table.struct_size = offsetof(assay_api, compile);
  const auto older = Plugin::from_table(&table, "table");
  EXPECT_FALSE(older->has_compile());
  EXPECT_EQ(older->api().counters, nullptr);
}

}  // namespace
}  // namespace assay
