#include "backend/simulator/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "backend/isa/synchronize.h"
#include "backend/simulator/bench.h"

namespace assay::backend {
namespace {

// Several rounds over the same tiles on all engines and many queues.
void pipeline(Bench& bench) {
  std::vector<double> values;
  for (int i = 0; i < 4 * 64 * 96; ++i) values.push_back(std::sin(i));
  const int32_t in = bench.b.input("x", DType::f32, 4 * 64 * 96);
  bench.bind_input(Tensor::from_doubles(DType::f32, {4 * 64 * 96}, values));
  const int32_t out = bench.b.output("y", DType::f32, 4 * 96 * 96),
                middle = bench.b.scratch("s", DType::bf16, 64 * 96);
  bench.bind_output(DType::f32, {4 * 96 * 96});
  const AccessPattern x = bench.b.sbuf(DType::f32, 64, {96}), e = bench.b.sbuf(DType::f32, 64, {96});
  const AccessPattern narrow = bench.b.sbuf(DType::bf16, 64, {96}),
                      again = bench.b.sbuf(DType::bf16, 64, {96});
  const AccessPattern sum = bench.b.sbuf(DType::f32, 64, {1}), z = bench.b.sbuf(DType::f32, 96, {96});
  const AccessPattern sums = bench.b.psum(DType::f32, 96, {96});
  const int64_t steps[] = {1};
  const AccessPattern index = bench.b.sbuf(DType::i32, 64, {96});
  for (int64_t k = 0; k < 4; ++k) {
    bench.b.set_node("round_" + std::to_string(k));
    bench.b.dma_copy(x, hbm_tile(DType::f32, in, k * 64 * 96, 64, 96, {96}, {1}));
    bench.b.activation(e, x, Activation::exp, {.scale = 1.0f, .bias = {}, .reduce = sum, .slope = 0});
    bench.b.tensor_scalar(narrow, e, AluOp::divide, sum);
    bench.b.dma_copy(hbm_tile(DType::bf16, middle, 0, 64, 96, {96}, {1}), narrow,
                     {.engine = Engine::scalar, .queue = -1, .accumulate = false});
    bench.b.iota(index, k, 1, steps);
    bench.b.tensor_tensor(x, x, index, AluOp::multiply, Engine::gpsimd);
    bench.b.dma_copy(again, hbm_tile(DType::bf16, middle, 0, 64, 96, {96}, {1}));
    bench.b.tensor_copy(narrow, x);
    bench.b.nc_matmul(sums, narrow, again, false);
    bench.b.nc_matmul(sums, again, narrow, true);
    bench.b.tensor_copy(z, sums);
    bench.b.dma_copy(hbm_tile(DType::f32, out, k * 96 * 96, 96, 96, {96}, {1}), z);
  }
}

TEST(ScheduleTest, EveryLegalOrderGivesTheSameBits) {
  Bench bench;
  pipeline(bench);
  bench.finish();
  EXPECT_EQ(find_race(bench.program), std::nullopt);
  const Tensor want = bench.run()[0];
  EXPECT_EQ(bench.counts.instructions, bench.program.instructions.size());
  std::set<std::vector<std::size_t>> orders;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    orders.insert(shuffled_order(bench.program, seed));
    SimulatorOptions options;
    options.shuffle = true;
    options.shuffle_seed = seed;
    options.threads = 1 + static_cast<int>(seed % 2);
    EXPECT_TRUE(bench.run(options)[0].bitwise_equal(want)) << "seed " << seed;
    EXPECT_EQ(bench.counts.instructions, bench.program.instructions.size());
  }
  EXPECT_GT(orders.size(), 25u);  // else the test would show nothing
}

// Without its semaphores the same Program gives something else, or traps, in some order: the test above can
// fail.
TEST(ScheduleTest, WithoutSemaphoresOrdersDiffer) {
  Bench bench;
  pipeline(bench);
  bench.finish();
  const Tensor want = bench.run()[0];
  for (SemaphoreWait& wait : bench.program.waits) wait.at_least = 0;
  int different = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SimulatorOptions options;
    options.shuffle = true;
    options.shuffle_seed = seed;
    try {
      different += !bench.run(options)[0].bitwise_equal(want);
    } catch (const Trap&) {
      ++different;
    }
  }
  EXPECT_GT(different, 5);
}

TEST(ScheduleTest, OrdersKeepEnginesAndQueuesInOrder) {
  Bench bench;
  pipeline(bench);
  bench.finish();
  const Program& p = bench.program;
  const std::vector<std::size_t> order = shuffled_order(p, 5);
  ASSERT_EQ(order.size(), p.instructions.size());
  std::vector<std::size_t> when(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) when[order[i]] = i;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Instruction &a = p.instructions[j], &b = p.instructions[i];
      const bool same_queue =
          is_dma(a.opcode) && is_dma(b.opcode) && a.queue == b.queue && a.engine == b.engine;
      const bool same_engine = !is_dma(a.opcode) && a.engine == b.engine;
      if (same_queue || same_engine) {
        EXPECT_LT(when[j], when[i]);
      }
    }
  }
}

// Two engines that wait for each other: refused by validation, and a trap if that was skipped.
TEST(ScheduleTest, DeadlocksAreFound) {
  Bench bench;
  const AccessPattern x = bench.b.sbuf(DType::f32, 1, {1}), y = bench.b.sbuf(DType::f32, 1, {1});
  bench.b.memset(x, 0.0f, Engine::vector);
  bench.b.memset(y, 0.0f, Engine::gpsimd);
  bench.finish();
  Program& p = bench.program;
  p.semaphores = 2;
  p.waits = {{1, 1}, {0, 1}};
  for (uint32_t i = 0; i < 2; ++i) {
    p.instructions[i].signal = static_cast<int32_t>(i);
    p.instructions[i].waits = i;
    p.instructions[i].wait_count = 1;
  }
  EXPECT_THROW(bench.run(), ProgramError);
  SimulatorOptions options;
  options.validate = false;
  options.shuffle = true;
  try {
    bench.run(options);
    FAIL() << "expected a deadlock";
  } catch (const Trap& trap) {
    EXPECT_EQ(trap.kind(), TrapKind::deadlock);
  }
}

}  // namespace
}  // namespace assay::backend
