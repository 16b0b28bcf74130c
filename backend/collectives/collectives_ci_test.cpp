// Every operation on every number of ranks: what is computed is what the operation means.
#include <gtest/gtest.h>

#include "backend/collectives/collectives_cases_test.h"

namespace assay::backend {
namespace {

TEST(CollectiveSweep, EveryOperationOnOneToSixtyFourRanks) {
  const Topology topology = Topology::of("trn2.48xlarge"), trn1 = Topology::of("trn1.32xlarge");
  int64_t plans = 0;
  for (int ranks = 1; ranks <= 64; ++ranks) {
    for (int op_number = 0; op_number < kCollectiveOps; ++op_number) {
      const auto op = static_cast<CollectiveOp>(op_number);
      for (const Algorithm algorithm : algorithms_of(op)) {
        const auto check = [&](const Collective& c, const Topology& on) {
          if (ranks > on.cores()) return;
          const Plan plan = make_plan(c, first_cores(on, ranks), {.algorithm = algorithm});
          ASSERT_EQ(wrong(plan), "") << describe(plan);
          ++plans;
        };
        const int root = (ranks * 3) / 4;
        for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{ranks - 1}, int64_t{ranks + 3}}) {
          if (op == CollectiveOp::all_to_all && n > 1 && ranks > 24) continue;  // large, and nothing new
          check(equal_parts(op, ranks, DType::i32, n, Reduction::sum, root), topology);
        }
        check(equal_parts(op, ranks, DType::bf16, 5, Reduction::max, root), trn1);
        if (op == CollectiveOp::all_gather || op == CollectiveOp::gather || op == CollectiveOp::scatter ||
            op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all) {
          check(uneven(op, ranks, DType::i16, Reduction::sum, root), topology);
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(plans, 6500);
}

}  // namespace
}  // namespace assay::backend
