#include "backend/isa/synchronize.h"

#include <gtest/gtest.h>

#include "backend/isa/builder.h"

namespace assay::backend {
namespace {

// Load, compute on three engines, store; twice with the same tiles, so that all three hazards occur.
Program pipeline() {
  ProgramBuilder b(core(Generation::trn2));
  const int32_t in = b.input("x", DType::f32, 2 * 128 * 64), out = b.output("y", DType::f32, 2 * 64 * 64);
  const AccessPattern x = b.sbuf(DType::f32, 128, {64}), y = b.sbuf(DType::f32, 128, {64});
  const AccessPattern sums = b.psum(DType::f32, 64, {64});
  const AccessPattern z = b.sbuf(DType::f32, 64, {64});
  for (int64_t k = 0; k < 2; ++k) {
    b.dma_copy(x, hbm_tile(DType::f32, in, k * 128 * 64, 128, 64, {64}, {1}));
    b.activation(y, x, Activation::exp);
    b.tensor_scalar(x, x, AluOp::add, 1.0f);
    b.nc_matmul(sums, y, x, false);
    b.tensor_copy(z, sums);
    b.dma_copy(hbm_tile(DType::f32, out, k * 64 * 64, 64, 64, {64}, {1}), z);
  }
  return b.finish();
}

TEST(SynchronizeTest, NoRaceIsLeft) {
  const Program program = pipeline();
  EXPECT_GT(program.semaphores, 3);
  EXPECT_EQ(find_race(program), std::nullopt);
}

TEST(SynchronizeTest, EveryWaitIsNeeded) {
  const Program program = pipeline();
  for (std::size_t index = 0; index < program.instructions.size(); ++index) {
    for (uint16_t w = 0; w < program.instructions[index].wait_count; ++w) {
      Program weaker = program;
      weaker.waits[weaker.instructions[index].waits + w].at_least = 0;
      EXPECT_NE(find_race(weaker), std::nullopt) << program.describe(index) << " wait " << w;
    }
  }
}

TEST(SynchronizeTest, IndependentTilesDoNotWait) {
  ProgramBuilder b(core(Generation::trn2));
  const AccessPattern x = b.sbuf(DType::f32, 128, {64}), y = b.sbuf(DType::f32, 128, {64});
  b.memset(x, 0.0f, Engine::vector);
  b.memset(y, 0.0f, Engine::gpsimd);
  b.memset(x.slice(0, 0, 32), 1.0f, Engine::vector);
  const Program program = b.finish();
  EXPECT_EQ(program.semaphores, 0);
  EXPECT_TRUE(program.waits.empty());
}

// Instruction 3 stores beside what instruction 2 does; one column further to the left they overlap.
void expect_neighbours(Program program) {
  EXPECT_EQ(program.instructions[3].wait_count, 1);  // for its memset only
  EXPECT_EQ(find_race(program), std::nullopt);
  program.operands[program.instructions[3].operands].offset -= 4;
  synchronize(program);
  EXPECT_EQ(program.instructions[3].wait_count, 2);
  EXPECT_EQ(find_race(program), std::nullopt);
}

// Column blocks of one matrix in HBM: their byte ranges overlap, their bytes do not.
TEST(SynchronizeTest, ColumnBlocksInHbmAreIndependent) {
  ProgramBuilder b(core(Generation::trn2));
  const int32_t out = b.output("y", DType::f32, 128 * 64);
  const AccessPattern x = b.sbuf(DType::f32, 128, {32}), y = b.sbuf(DType::f32, 128, {32});
  b.memset(x, 0.0f);
  b.memset(y, 0.0f);
  b.dma_copy(hbm_tile(DType::f32, out, 0, 128, 64, {32}, {1}), x);
  b.dma_copy(hbm_tile(DType::f32, out, 32, 128, 64, {32}, {1}), y);
  expect_neighbours(b.finish());
}

// The same where each block consists of chunks of rows: heads of a sequence.
TEST(SynchronizeTest, ColumnBlocksOfChunksAreIndependent) {
  ProgramBuilder b(core(Generation::trn2));
  constexpr int64_t kColumns = 64, kChunk = 128 * kColumns;
  const int32_t out = b.output("y", DType::f32, 2 * kChunk);
  const AccessPattern x = b.sbuf(DType::f32, 128, {2, 32}), y = b.sbuf(DType::f32, 128, {2, 32});
  b.memset(x, 0.0f);
  b.memset(y, 0.0f);
  b.dma_copy(hbm_tile(DType::f32, out, 0, 128, kColumns, {2, 32}, {kChunk, 1}), x);
  b.dma_copy(hbm_tile(DType::f32, out, 32, 128, kColumns, {2, 32}, {kChunk, 1}), y);
  expect_neighbours(b.finish());
}

TEST(SynchronizeTest, PartialWritersDependOnWhatTheyKeep) {
  ProgramBuilder b(core(Generation::trn2));
  const AccessPattern x = b.sbuf(DType::f32, 128, {8}), mask = b.sbuf(DType::u8, 128, {8});
  b.memset(x, 0.0f, Engine::gpsimd);
  b.memset(mask, 1.0f, Engine::vector);
  b.copy_predicated(x, x, mask, Engine::vector);
  b.tensor_scalar(x, x, AluOp::add, 1.0f, false, AluOp::none, 0.0f, false, Engine::gpsimd);
  const Program program = b.finish();
  EXPECT_EQ(find_race(program), std::nullopt);
  EXPECT_EQ(program.instructions[2].wait_count, 1);
  EXPECT_EQ(program.instructions[3].wait_count, 1);
}

}  // namespace
}  // namespace assay::backend
