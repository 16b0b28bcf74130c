// Every operation on every number of ranks: what is computed is what the operation means.
#include <gtest/gtest.h>

#include "backend/collectives/collectives_cases_test.h"
#include "backend/collectives/measurements.h"

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

// Measurements made with known constants: the fit finds those again, and a row that is left out is predicted
// by the others.
TEST(CollectiveMeasurements, FitFindsTheConstantsThatMadeTheRows) {
  NeuronLinkDescription made = neuron_link(Generation::trn2);
  made.collective_launch_us.value = 5;
  made.step_us.value = 2;
  made.stream_bytes_per_ns.value = 60;
  made.hbm_efficiency.value = 0.5;
  const Topology topology = Topology::of("trn2.48xlarge");
  std::vector<CollectiveMeasurement> rows;
  const auto add = [&](CollectiveOp op, int ranks, int64_t n, Role role) {
    CollectiveMeasurement row;
    row.id = std::to_string(rows.size());
    row.collective = equal_parts(op, ranks, DType::f32, n);
    row.instance = "trn2.48xlarge";
    row.lnc = 2;
    row.role = role;
    row.source = "test";
    const Group group = first_cores(topology, ranks);
    const Schedule schedule = make_plan(row.collective, group).schedule;
    row.measured_us =
        collective_time(step_loads(schedule, group), row.collective, topology, made).seconds * 1e6;
    rows.push_back(row);
  };
  for (const int64_t n : {int64_t{1}, int64_t{1} << 14, int64_t{1} << 20}) {
    add(CollectiveOp::permute, 2, n, Role::fit);
    add(CollectiveOp::permute, 4, n * 64, Role::fit);
    add(CollectiveOp::all_gather, 64, n, Role::fit);
    add(CollectiveOp::reduce_scatter, 64, n * 3, Role::fit);
    add(CollectiveOp::all_reduce, 64, n * 64, Role::check);
  }
  const CollectiveReport report = calibrate_collectives(rows);
  ASSERT_EQ(report.constants.size(), 4u);
  EXPECT_NEAR(report.constants[0].value, 5, 0.01);
  EXPECT_NEAR(report.constants[1].value, 2, 0.01);
  EXPECT_NEAR(report.constants[2].value, 60, 0.1);
  EXPECT_NEAR(report.constants[3].value, 0.5, 0.001);
  EXPECT_LT(*report.fit_error, 1e-3);
  EXPECT_LT(*report.left_out_error, 1e-2);
  EXPECT_LT(*report.check_error, 1e-3);
  rows[0].measured_us *= 1.5;
  const CollectiveReport shifted = calibrate_collectives(rows);
  EXPECT_LT(*shifted.rows[0].left_out_error, -0.3);  // the others say what it was before
}

}  // namespace
}  // namespace assay::backend
