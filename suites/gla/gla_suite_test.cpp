#include "suites/gla/gla_suite.h"

#include <gtest/gtest.h>

#include <set>

#include "suites/muon/muon_suite.h"

namespace assay::suites {
namespace {

TEST(GlaAndMuonSuites, CasesHaveUniqueIdsValidGraphsAndRecipesForEveryInput) {
  for (const auto& suite : {make_gla_suite(), make_muon_suite()}) {
    std::set<std::string> ids;
    suite->make_cases(0, [&](const Case& c) {
      EXPECT_TRUE(ids.insert(c.id).second) << "twice: " << c.id;
      EXPECT_EQ(c.suite, suite->name());
      EXPECT_TRUE(c.id.starts_with(suite->name() + "/"));
      ASSERT_TRUE(c.graph) << c.id;
      EXPECT_FALSE(c.graph->outputs.empty()) << c.id;
      if (!c.checks.negative) {
        EXPECT_NO_THROW(validate(*c.graph)) << c.id;
      }
      EXPECT_EQ(c.inputs.size(), c.graph->inputs.size()) << c.id;
      EXPECT_EQ(materialise_inputs(c, 7).size(), c.graph->inputs.size()) << c.id;
    });
    EXPECT_GT(ids.size(), 90u);
  }
}

// A state's size depends on no length.
TEST(GlaSuite, StatesOfEveryLengthHaveTheSameBytes) {
  std::set<Shape> states;
  make_gla_suite()->make_cases(0, [&](const Case& c) {
    if (!c.id.starts_with("gla/chunk/f32/length-") || c.id.size() > 24) return;
    const ValueId state = c.graph->outputs.at(1).value;
    states.insert(c.graph->values.at(static_cast<std::size_t>(state)).shape);
  });
  EXPECT_EQ(states.size(), 1u);
}

}  // namespace
}  // namespace assay::suites
