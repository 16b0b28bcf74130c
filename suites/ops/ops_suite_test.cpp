#include "suites/ops/ops_suite.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/decompose/decompose.h"

namespace assay::suites {
namespace {

TEST(OpsSuite, CasesHaveUniqueIdsGraphsAndRecipesForEveryInput) {
  std::set<std::string> ids;
  make_ops_suite()->make_cases(0, [&](const Case& c) {
    EXPECT_TRUE(ids.insert(c.id).second) << "twice: " << c.id;
    ASSERT_TRUE(c.graph) << c.id;
    // Views, if any, come before the operator.
    ASSERT_FALSE(c.graph->nodes.empty()) << c.id;
    // An operator that is defined by its decomposition stands as its parts.
    if (decompose_rules().find(c.subject) == nullptr) {
      EXPECT_EQ(c.graph->nodes.back().op, c.subject) << c.id;
    }
    EXPECT_EQ(c.inputs.size(), c.graph->inputs.size()) << c.id;
    EXPECT_EQ(materialise_inputs(c, 7).size(), c.graph->inputs.size()) << c.id;
    if (!c.checks.negative) {
      EXPECT_NO_THROW(validate(*c.graph)) << c.id;
    }
  });
  EXPECT_GT(ids.size(), 20'000u);
}

// The statistical gates need 256 to 4,096 exchangeable outputs (NUMERICS §3).
TEST(OpsSuite, DrawnCasesAreLargeEnoughForTheStatisticalGates) {
  make_ops_suite()->make_cases(0, [&](const Case& c) {
    if (!c.graph || !c.checks.suite_drawn) return;
    const Value& first = c.graph->values.at(static_cast<std::size_t>(c.graph->outputs.at(0).value));
    if (element_count(first.shape) < 256) {
      // Convolutions of odd geometry may be small: the gate then does not apply, which is no error.
      EXPECT_NE(c.subject.find("convolution"), std::string::npos) << c.id;
    }
  });
}

TEST(OpsSuite, SeedsChangeTheDraws) {
  make_ops_suite()->make_cases(0, [&](const Case& c) {
    if (c.id != "ops/mm/f32/drawn-k16") return;
    EXPECT_FALSE(materialise_inputs(c, 0).at(0).bitwise_equal(materialise_inputs(c, 1).at(0)));
    EXPECT_TRUE(materialise_inputs(c, 1).at(0).bitwise_equal(materialise_inputs(c, 1).at(0)));
  });
}

}  // namespace
}  // namespace assay::suites
