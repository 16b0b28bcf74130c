#include "backend/simulator/row_batch.h"

#include <gtest/gtest.h>

#include "backend/simulator/bench.h"

namespace assay::backend {
namespace {

// The same whether one worker executes everything or two take turns.
std::vector<Tensor> run_on_threads(Bench& bench) {
  SimulatorOptions options;
  options.threads = 1;
  std::vector<Tensor> want = bench.run(options);
  EXPECT_EQ(bench.counts.instructions, bench.program.instructions.size());
  for (options.threads = 2; options.threads <= 3; ++options.threads) {
    const std::vector<Tensor> got = bench.run(options);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(got[i].bitwise_equal(want[i])) << i;
  }
  return want;
}

// Chains that are longer than a batch, over few partitions and over all, wide enough for several workers.
TEST(RowBatchTest, LongChainsKeepTheirOrder) {
  for (const int64_t partitions : {3, 33, 128}) {
    Bench bench;
    constexpr int64_t kColumns = 600;
    const AccessPattern x = bench.load(DType::f32, {partitions, kColumns}, ramp(partitions * kColumns, 3));
    const AccessPattern y = bench.b.sbuf(DType::f32, static_cast<int>(partitions), {kColumns});
    bench.b.tensor_copy(y, x);
    for (int i = 0; i < 100; ++i) {
      bench.b.tensor_scalar(y, y, AluOp::add, 2.0f);
      bench.b.tensor_tensor(y, y, x, AluOp::subtract, Engine::gpsimd);
      bench.b.scalar_tensor_tensor(y, x, AluOp::multiply, 1.0f, AluOp::add, y);
    }
    bench.store(y);
    const std::vector<double> in = ramp(partitions * kColumns, 3),
                              got = run_on_threads(bench)[0].to_doubles();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], in[i] + 200);
  }
}

// Rows that other partitions read: through HBM, turned on the way, and from tiles that start elsewhere.
TEST(RowBatchTest, RowsThatMeetWait) {
  constexpr int64_t kSide = 128;
  Bench bench;
  const AccessPattern x = bench.load(DType::f32, {kSide, kSide}, ramp(kSide * kSide, 5));
  const int32_t middle = bench.b.scratch("s", DType::f32, kSide * kSide);
  const AccessPattern turned = bench.b.sbuf(DType::f32, kSide, {kSide}),
                      moved = bench.b.sbuf(DType::f32, kSide, {kSide});
  std::vector<double> want = ramp(kSide * kSide, 5);
  for (int round = 0; round < 3; ++round) {
    bench.b.tensor_scalar(x, x, AluOp::add, 1.0f);
    bench.b.dma_copy(hbm_tile(DType::f32, middle, 0, kSide, kSide, {kSide}, {1}), x);
    // Two halves of columns, so that the destination is not packed.
    for (int64_t half = 0; half < 2; ++half) {
      bench.b.dma_copy(turned.reshaped({kSide / 2, 2}).select(1, half),
                       hbm_tile(DType::f32, middle, half * kSide, kSide, 1, {kSide / 2}, {2 * kSide}));
    }
    // The upper half of the partitions comes from the lower one, and the other way round.
    for (const int start : {0, 64})
      bench.b.tensor_copy(moved.partition_slice(64 - start, 64), turned.partition_slice(start, 64));
    bench.b.dma_copy(hbm_tile(DType::f32, middle, 0, kSide, kSide, {kSide}, {1}), moved);
    bench.b.dma_copy(x, hbm_tile(DType::f32, middle, 0, kSide, kSide, {kSide}, {1}));
    std::vector<double> next(want.size());
    for (std::size_t r = 0; r < kSide; ++r) {
      for (std::size_t c = 0; c < kSide; ++c) next[(r + 64) % 128 * kSide + c] = want[c * kSide + r] + 1;
    }
    want = next;
  }
  bench.store(x);
  EXPECT_EQ(run_on_threads(bench)[0].to_doubles(), want);
}

// A trap of an instruction behind those that wait leaves the simulator usable, and none of them to come.
TEST(RowBatchTest, TrapsForgetWhatWaits) {
  FunctionalSimulator simulator(core(Generation::trn2));
  Bench bad;
  const AccessPattern x = bad.load(DType::f32, {4, 8}, ramp(32, 1)), y = bad.b.sbuf(DType::f32, 4, {8});
  bad.b.tensor_scalar(x, x, AluOp::add, 1.0f);
  bad.b.tensor_copy(x, y);
  EXPECT_THROW(bad.run(simulator), Trap);
  Bench good;
  good.store(good.load(DType::f32, {4, 8}, ramp(32, 2)));
  EXPECT_EQ(good.run(simulator)[0].to_doubles(), ramp(32, 2));
}

}  // namespace
}  // namespace assay::backend
