#include "suites/witness/witness_suite.h"

#include <gtest/gtest.h>

#include <set>

namespace assay::suites {
namespace {

TEST(WitnessSuite, EverySampleIsACaseWithInputsAndExpectedOutputs) {
  std::set<std::string> ids, entries;
  make_witness_suite()->make_cases(0, [&](const Case& c) {
    EXPECT_TRUE(ids.insert(c.id).second) << "twice: " << c.id;
    ASSERT_TRUE(c.id.starts_with("witness/")) << c.id;
    const std::string entry = c.id.substr(8, c.id.rfind('/') - 8);
    entries.insert(entry);
    ASSERT_TRUE(c.graph) << c.id << ": " << c.graph_error;
    for (const auto& [name, recipe] : c.inputs)
      EXPECT_TRUE(std::holds_alternative<Tensor>(recipe.source)) << c.id << ": " << name << " is drawn";
    const bool writes = c.id.starts_with("witness/writes.");
    EXPECT_EQ(c.expected_source, writes ? "golden:writes.jsonl.zst" : "golden:opinfo.jsonl.zst");
    EXPECT_FALSE(c.load_expected().empty()) << c.id;
  });
  EXPECT_GE(ids.size(), 1300u);
  EXPECT_TRUE(ids.contains("witness/writes.cache_slice/4"));
  EXPECT_GE(entries.size(), 500u);
}

}  // namespace
}  // namespace assay::suites
