#include "backend/simulator/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace assay::backend {
namespace {

TEST(WorkerPoolTest, EveryTaskRunsOnce) {
  for (int threads : {1, 2, 4}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    std::vector<std::atomic<int>> runs(97);
    for (int round = 1; round <= 300; ++round) {
      const int count = round % 97 + 1;
      for (std::atomic<int>& r : runs) r = 0;
      pool.run(count, [&](int number, int worker) {
        EXPECT_TRUE(worker >= 0 && worker < threads);
        ++runs[static_cast<std::size_t>(number)];
      });
      for (int i = 0; i < 97; ++i)
        ASSERT_EQ(runs[static_cast<std::size_t>(i)], i < count) << "round " << round;
    }
  }
}

TEST(WorkerPoolTest, WritesOfTasksAreVisibleAfterwards) {
  WorkerPool pool(3);
  std::vector<int> values(64, 0);
  for (int round = 0; round < 200; ++round) {
    pool.run(64, [&](int number, int) { values[static_cast<std::size_t>(number)] += number; });
  }
  for (int i = 0; i < 64; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 200 * i);
}

}  // namespace
}  // namespace assay::backend
