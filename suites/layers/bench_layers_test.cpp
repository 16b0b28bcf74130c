#include "suites/layers/bench_layers.h"

#include <gtest/gtest.h>

namespace assay::suites {
namespace {

TEST(BenchLayers, SmallCasesHaveTheOperatorsOfTheLargeOnes) {
  const std::vector<BenchCase> cases = bench_layer_cases();
  ASSERT_EQ(cases.size(), 16U);
  for (const auto& [large, small] : cases) {
    EXPECT_EQ(small.id, large.id);
    ASSERT_EQ(small.graph->nodes.size(), large.graph->nodes.size()) << large.id;
    for (std::size_t n = 0; n < large.graph->nodes.size(); ++n)
      EXPECT_EQ(small.graph->nodes[n].op, large.graph->nodes[n].op) << large.id;
  }
}

}  // namespace
}  // namespace assay::suites
