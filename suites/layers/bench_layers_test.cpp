#include "suites/layers/bench_layers.h"

#include <gtest/gtest.h>

namespace assay::suites {
namespace {

TEST(BenchLayers, SmallCasesHaveTheOperatorsOfTheLargeOnes) {
  const std::vector<Case> large = bench_layer_cases(false), small = bench_layer_cases(true);
  ASSERT_EQ(large.size(), 16U);
  ASSERT_EQ(small.size(), large.size());
  for (std::size_t k = 0; k < large.size(); ++k) {
    EXPECT_EQ(small[k].id, large[k].id);
    ASSERT_EQ(small[k].graph->nodes.size(), large[k].graph->nodes.size()) << large[k].id;
    for (std::size_t n = 0; n < large[k].graph->nodes.size(); ++n)
      EXPECT_EQ(small[k].graph->nodes[n].op, large[k].graph->nodes[n].op) << large[k].id;
  }
}

}  // namespace
}  // namespace assay::suites
