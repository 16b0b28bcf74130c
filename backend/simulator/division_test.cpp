#include "backend/simulator/division.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backend/simulator/bench.h"
#include "backend/simulator/prepared.h"
#include "core/error.h"

namespace assay::backend {
namespace {

constexpr DivisionLimits kWhateverCanBe{0, 1e9};
constexpr int64_t kColumns = 64;

SimulatorOptions with_threads(int threads) {
  SimulatorOptions options;
  options.threads = threads;
  return options;
}

AccessPattern rows(int32_t tensor, int64_t first) {
  return hbm_tile(DType::f32, tensor, first * kColumns, 128, kColumns, {kColumns}, {1});
}

// Independent blocks of rows, y = exp(x) + w, through the same tiles; w is loaded once.
struct Blocks {
  explicit Blocks(int64_t count) {
    x = b.input("x", DType::f32, count * 128 * kColumns);
    y = b.output("y", DType::f32, count * 128 * kColumns);
    const int32_t w = b.input("w", DType::f32, 128 * kColumns);
    shared = b.sbuf(DType::f32, 128, {kColumns});
    in = b.sbuf(DType::f32, 128, {kColumns});
    out = b.sbuf(DType::f32, 128, {kColumns});
    b.dma_copy(shared, rows(w, 0));
  }
  void block(int64_t k) {
    b.dma_copy(in, rows(x, k * 128));
    b.activation(out, in, Activation::exp);
    b.tensor_tensor(out, out, shared, AluOp::add);
    b.dma_copy(rows(y, k * 128), out);
  }
  ProgramBuilder b{core(Generation::trn2)};
  int32_t x, y;
  AccessPattern shared, in, out;
};

void expect_whole(const Program& program, const Division& division) {
  std::vector<int> first(program.instructions.size(), 0);
  for (const auto& group : division.groups) {
    for (std::size_t k = 0; k < group.size(); ++k) {
      first[group[k].instruction] += group[k].again ? 0 : 1;
      if (k > 0) {
        EXPECT_LT(group[k - 1].instruction, group[k].instruction);
      }
    }
  }
  for (std::size_t k = 0; k < first.size(); ++k) EXPECT_EQ(first[k], 1) << program.describe(k);
}

std::vector<Tensor> run(FunctionalSimulator& simulator, const Program& program, const Division* division) {
  std::vector<Tensor> inputs, outputs;
  std::vector<HbmBinding> in, out;
  for (const HbmTensor& tensor : program.tensors) {
    std::vector<double> values;
    for (int64_t k = 0; k < tensor.elements; ++k) values.push_back(static_cast<double>(k % 37) / 16 - 1);
    if (tensor.kind == HbmKind::input)
      inputs.push_back(Tensor::from_doubles(tensor.dtype, {tensor.elements}, values));
    if (tensor.kind == HbmKind::output) outputs.emplace_back(tensor.dtype, Shape{tensor.elements});
  }
  for (Tensor& t : inputs) in.push_back({t.mutable_data(), t.bytes()});
  for (Tensor& t : outputs) out.push_back({t.mutable_data(), t.bytes()});
  Prepared prepared = simulator.prepare(program);
  if (division != nullptr) prepared.division = *division;
  const ExecutionCounts counts = simulator.run(program, in, out, division != nullptr ? &prepared : nullptr);
  EXPECT_EQ(counts.instructions, program.instructions.size());
  return outputs;
}

void expect_equal_bits(const Program& program, const Division& division) {
  FunctionalSimulator one(core(program.target), with_threads(1));
  const std::vector<Tensor> want = run(one, program, nullptr);
  for (const int threads : {1, 2, 3, 8}) {
    FunctionalSimulator simulator(core(program.target), with_threads(threads));
    for (int again = 0; again < 3; ++again) {
      const std::vector<Tensor> got = run(simulator, program, &division);
      for (std::size_t k = 0; k < want.size(); ++k)
        EXPECT_TRUE(want[k].bitwise_equal(got[k])) << "output " << k << ", " << threads << " threads";
    }
  }
}

TEST(DivisionTest, BlocksAreSharedOutAndWhatTheyShareIsRepeated) {
  Blocks blocks(8);
  for (int64_t k = 0; k < 8; ++k) blocks.block(k);
  const Program program = blocks.b.finish();
  const Division division = divide(program, 4, kWhateverCanBe);
  ASSERT_EQ(division.groups.size(), 4u);
  for (const auto& group : division.groups) {
    EXPECT_EQ(group.size(), 9u);  // the load of w, and two blocks
    EXPECT_EQ(group[0].instruction, 0u);
  }
  expect_whole(program, division);
  expect_equal_bits(program, division);
}

TEST(DivisionTest, WhatIsShortOrCannotBeSharedOutEvenlyIsLeft) {
  Blocks blocks(3);
  for (int64_t k = 0; k < 3; ++k) blocks.block(k);
  const Program program = blocks.b.finish();
  EXPECT_TRUE(divide(program, 2).groups.empty());            // some microseconds
  EXPECT_TRUE(divide(program, 2, {0, 1.1}).groups.empty());  // two thirds are more than a half
  EXPECT_EQ(divide(program, 2, {0, 1.5}).groups.size(), 2u);
  EXPECT_TRUE(divide(program, 1, kWhateverCanBe).groups.empty());
}

// Each block adds to what the one before left in SBUF.
TEST(DivisionTest, AChainIsOnePart) {
  Blocks blocks(4);
  const AccessPattern sum = blocks.b.sbuf(DType::f32, 128, {kColumns});
  blocks.b.memset(sum, 0.0f);
  for (int64_t k = 0; k < 4; ++k) {
    blocks.b.dma_copy(blocks.in, rows(blocks.x, k * 128));
    blocks.b.tensor_tensor(sum, sum, blocks.in, AluOp::add);
    blocks.b.dma_copy(rows(blocks.y, k * 128), sum);
  }
  EXPECT_TRUE(divide(blocks.b.finish(), 2, kWhateverCanBe).groups.empty());
}

// Blocks that write the same rows of an output, or read what another wrote there, stay together and in order.
TEST(DivisionTest, OutputsThatMeetKeepTheirOrder) {
  Blocks blocks(4);
  for (int64_t k = 0; k < 4; ++k) blocks.block(k);
  blocks.b.memset(blocks.out, 7.0f);
  blocks.b.dma_copy(rows(blocks.y, 0), blocks.out);
  blocks.b.dma_copy(blocks.in, rows(blocks.y, 128));
  blocks.b.tensor_scalar(blocks.in, blocks.in, AluOp::multiply, 2.0f);
  blocks.b.dma_copy(rows(blocks.y, 256), blocks.in);
  const Program program = blocks.b.finish();
  const Division division = divide(program, 8, kWhateverCanBe);
  EXPECT_EQ(division.groups.size(), 3u);  // block 0 with the constant; 1 with 2; 3
  expect_whole(program, division);
  expect_equal_bits(program, division);
}

// A buffer in HBM that one block after the other uses is in nobody's way: each worker has its own.
TEST(DivisionTest, ScratchIsEachWorkersOwn) {
  Blocks blocks(6);
  const int32_t buffer = blocks.b.scratch("buffer", DType::f32, 128 * kColumns);
  for (int64_t k = 0; k < 6; ++k) {
    blocks.b.dma_copy(blocks.in, rows(blocks.x, k * 128));
    blocks.b.dma_copy(rows(buffer, 0), blocks.in);
    blocks.b.dma_copy(blocks.out, rows(buffer, 0));
    blocks.b.dma_copy(rows(blocks.y, k * 128), blocks.out);
  }
  const Program program = blocks.b.finish();
  const Division division = divide(program, 3, kWhateverCanBe);
  EXPECT_EQ(division.groups.size(), 3u);
  expect_equal_bits(program, division);
}

// The first trap in program order is reported, as if nothing were divided; afterwards the simulator works.
TEST(DivisionTest, TrapsAreThoseOfTheWholeProgram) {
  const auto with_hole = [](int64_t hole) {
    Blocks blocks(6);
    const AccessPattern never = blocks.b.sbuf(DType::f32, 128, {kColumns});
    for (int64_t k = 0; k < 6; ++k) {
      blocks.b.set_node("block_" + std::to_string(k));
      blocks.block(k);
      if (k < hole) continue;
      blocks.b.tensor_tensor(blocks.out, blocks.out, never, AluOp::add);
      blocks.b.dma_copy(rows(blocks.y, k * 128), blocks.out);
    }
    return blocks.b.finish();
  };
  FunctionalSimulator simulator(core(Generation::trn2), with_threads(2));
  for (const int64_t hole : {0, 3, 5}) {
    const Program program = with_hole(hole);
    const Division division = divide(program, 3, kWhateverCanBe);
    ASSERT_FALSE(division.groups.empty());
    try {
      run(simulator, program, &division);
      ADD_FAILURE() << "no trap";
    } catch (const Trap& trap) {
      EXPECT_EQ(trap.kind(), TrapKind::uninitialized_sbuf);
      EXPECT_EQ(trap.node(), "block_" + std::to_string(hole));
    }
  }
  const Program good = with_hole(6);
  const Division division = divide(good, 3, kWhateverCanBe);
  EXPECT_TRUE(run(simulator, good, &division)[0].bitwise_equal(run(simulator, good, nullptr)[0]));
}

// An instruction whose result nobody reads is executed nevertheless.
TEST(DivisionTest, WhatNobodyReadsStillTraps) {
  Blocks blocks(4);
  for (int64_t k = 0; k < 4; ++k) blocks.block(k);
  const AccessPattern never = blocks.b.sbuf(DType::f32, 128, {4}),
                      unused = blocks.b.sbuf(DType::f32, 128, {4});
  blocks.b.tensor_copy(unused, never);
  const Program program = blocks.b.finish();
  const Division division = divide(program, 2, kWhateverCanBe);
  expect_whole(program, division);
  FunctionalSimulator simulator(core(Generation::trn2), with_threads(2));
  EXPECT_THROW(run(simulator, program, &division), Trap);
}

TEST(DivisionTest, SimulatorsWithARandomOrderOrWithoutTrapsDoNotDivide) {
  Blocks blocks(64);
  for (int64_t k = 0; k < 64; ++k) blocks.block(k);
  const Program program = blocks.b.finish();
  const auto divides = [&](const SimulatorOptions& options) {
    return !FunctionalSimulator(core(Generation::trn2), options).prepare(program).division.groups.empty();
  };
  SimulatorOptions options = with_threads(2);
  EXPECT_TRUE(divides(options));
  EXPECT_FALSE(divides(with_threads(1)));
  options.shuffle = true;
  EXPECT_FALSE(divides(options));
  options.shuffle = options.traps = false;
  EXPECT_FALSE(divides(options));
  options.traps = true;
  EXPECT_TRUE(divides(options));
  options.quirks.uninitialized_sbuf = true;
  EXPECT_FALSE(divides(options));
}

// A process of many ranks does not give each worker of each rank a chip: those who come later execute the
// whole Program together, with the same bits.
TEST(DivisionTest, ManySimulatorsShareAFewChips) {
  Blocks blocks(8);
  for (int64_t k = 0; k < 8; ++k) blocks.block(k);
  const Program program = blocks.b.finish();
  const Division division = divide(program, 4, kWhateverCanBe);
  std::vector<std::unique_ptr<FunctionalSimulator>> ranks;
  for (int rank = 0; rank < 12; ++rank) {
    ranks.push_back(std::make_unique<FunctionalSimulator>(core(program.target), with_threads(4)));
    EXPECT_TRUE(run(*ranks.back(), program, &division)[0].bitwise_equal(run(*ranks[0], program, nullptr)[0]));
  }
}

}  // namespace
}  // namespace assay::backend
