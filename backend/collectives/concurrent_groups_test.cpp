#include <gtest/gtest.h>

#include <vector>

#include "backend/collectives/cost.h"
#include "core/error.h"

namespace assay::backend {
namespace {

// Ranks of a grid of 4 by 16 on a trn2.48xlarge, the 4 on one chip.
std::vector<Group> groups_of(const Topology& topology, bool within_chip) {
  std::vector<Group> groups(within_chip ? 16 : 4, Group{&topology, {}});
  for (int core = 0; core < topology.cores(); ++core) {
    groups[static_cast<std::size_t>(within_chip ? core / 4 : core % 4)].cores.push_back(core);
  }
  return groups;
}

TEST(ConcurrentGroups, OnChipsOfTheirOwnTheyDoNotDisturbOneAnother) {
  const Topology topology = Topology::of("trn2.48xlarge", 2);
  const std::vector<Group> groups = groups_of(topology, true);
  for (const int64_t n : {64, 1 << 20, 1 << 24}) {
    const Collective c = equal_parts(CollectiveOp::all_reduce, 4, DType::bf16, n);
    const double alone = concurrent_time(c, {groups.data(), 1}).seconds;
    EXPECT_DOUBLE_EQ(alone, collective_time(make_plan(c, groups[0]).schedule, groups[0]).seconds);
    EXPECT_DOUBLE_EQ(concurrent_time(c, groups).seconds, alone) << n;
  }
}

// Every link and every chip has four times the work, since each group has one rank on every chip.
TEST(ConcurrentGroups, AcrossChipsTheyShareLinksAndMemory) {
  const Topology topology = Topology::of("trn2.48xlarge", 2);
  const std::vector<Group> groups = groups_of(topology, false);
  for (const int64_t n : {int64_t{64}, int64_t{1} << 18, int64_t{1} << 24}) {
    const Collective c = equal_parts(CollectiveOp::all_gather, 16, DType::bf16, n);
    std::vector<Schedule> schedules;
    for (const Group& group : groups)
      schedules.push_back(make_schedule(c, group, choose_algorithm(c, group)));
    const std::vector<StepLoad> one = step_loads(schedules[0], groups[0]),
                                all = step_loads(schedules, groups);
    ASSERT_EQ(one.size(), all.size());
    for (std::size_t k = 0; k < one.size(); ++k) {
      EXPECT_NEAR(all[k].link_ns, 4 * one[k].link_ns, 1e-9 * all[k].link_ns) << n;
      EXPECT_EQ(all[k].hbm_bytes, 4 * one[k].hbm_bytes) << n;
      EXPECT_EQ(all[k].stream_bytes, one[k].stream_bytes) << n;
    }
    EXPECT_GT(concurrent_time(c, groups).seconds, concurrent_time(c, {groups.data(), 1}).seconds);
  }
}

TEST(ConcurrentGroups, RefusesWhatDoesNotGoTogether) {
  const Topology topology = Topology::of("trn2.48xlarge", 2);
  const Collective c = equal_parts(CollectiveOp::all_reduce, 4, DType::bf16, 8);
  EXPECT_THROW(concurrent_time(c, {}), Error);
  const std::vector<Group> uneven{first_cores(topology, 4), first_cores(topology, 8)};
  EXPECT_THROW(concurrent_time(c, uneven), Error);
}

}  // namespace
}  // namespace assay::backend
