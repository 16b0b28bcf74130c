// What the sockets of PyTorch 2.13 carried for reductions over 4 ranks (docs/distributed.md, "Bytes").
#include "harness/ranks/gloo_traffic.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(GlooTraffic, ReduceIsAsMeasured) {
  EXPECT_EQ(gloo_reduce_bytes(1001, 4, 4, 1), 15008);
  EXPECT_EQ(gloo_reduce_bytes(int64_t{5} << 20, 4, 4, 1),
            91226112);  // segments of 1 MiB: more than a ring needs
  EXPECT_EQ(gloo_reduce_bytes(0, 4, 4, 0), 0);
  EXPECT_EQ(gloo_reduce_bytes(1001, 4, 1, 0), 0);
}

// Parts that nobody has are not sent.
TEST(GlooTraffic, FewerElementsThanRanks) {
  EXPECT_EQ(gloo_reduce_bytes(1, 4, 4, 0), 12);
  EXPECT_EQ(gloo_reduce_bytes(1, 4, 4, 3), 16);
}

}  // namespace
}  // namespace assay
