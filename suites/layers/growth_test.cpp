#include "suites/layers/growth.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::suites {
namespace {

TEST(Growth, GraphsHaveTheNodesOfTheirNames) {
  const std::vector<Case> cases = growth_cases();
  ASSERT_EQ(cases.size(), 4U);
  for (const Case& c : cases) EXPECT_EQ("growth/" + std::to_string(c.graph->nodes.size()), c.id);
  EXPECT_EQ(cases.back().graph->nodes.size(), 20'000U);
}

}  // namespace
}  // namespace assay::suites
