#include "suites/attention/attention_suite.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "suites/attention/flex_functions.h"

namespace assay::suites {
namespace {

TEST(AttentionSuite, CasesHaveUniqueIdsGraphsAndRecipesForEveryInput) {
  std::set<std::string> ids;
  std::map<std::string, int> groups;
  make_attention_suite()->make_cases(0, [&](const Case& c) {
    EXPECT_TRUE(ids.insert(c.id).second) << "twice: " << c.id;
    EXPECT_EQ(c.id.rfind("attention/", 0), 0u) << c.id;
    ASSERT_TRUE(c.graph) << c.id;
    EXPECT_EQ(c.inputs.size(), c.graph->inputs.size()) << c.id;
    const std::size_t start = std::string("attention/").size();
    groups[c.id.substr(start, c.id.find('/', start) - start)]++;
    if (c.id.find("/block-size/") != std::string::npos) groups["block-size"]++;
  });
  EXPECT_GE(groups["sdpa"], 500);
  EXPECT_GE(groups["regression"], 16);
  EXPECT_GE(groups["flex"], 300);
  EXPECT_EQ(groups["block-size"], 96);
}

TEST(AttentionSuite, FlexFunctionsAreReadOnceAndFound) {
  EXPECT_EQ(&score_function("alibi"), &score_function("alibi"));
  EXPECT_EQ(mask_function("document").buffers.size(), 1u);
  EXPECT_ANY_THROW(score_function("nobody"));
}

}  // namespace
}  // namespace assay::suites
