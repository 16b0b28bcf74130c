#include "backend/compiler/core_split.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>
#include "backend/compiler/run_graph_test.h"
#include "backend/isa/builder.h"
#include "backend/isa/synchronize.h"
#include "backend/isa/validate.h"
#include "backend/simulator/timing/clock.h"
#include "core/opset/shapes.h"

namespace assay::backend {
namespace {

Program compiled(const std::string& op, const std::vector<TensorMeta>& inputs,
                 const std::vector<NamedArgument>& arguments, int lnc) {
  CompileOptions options;
  options.lnc = lnc;
  const OpCall call(op, inputs, arguments, *infer(OpCall(op, inputs, arguments)));
  return compile_call(call, core(Generation::trn2), options).program;
}
Program product(int64_t m, int64_t k, int64_t n, int lnc) {
  return compiled("aten::mm.default", {{DType::bf16, {m, k}}, {DType::bf16, {k, n}}},
                  {{"self", ValueArg{0}}, {"mat2", ValueArg{1}}}, lnc);
}
Program unary(const std::string& op, const Shape& shape, int lnc) {
  return compiled(op, {{DType::f32, shape}}, {{"self", ValueArg{0}}}, lnc);
}
std::array<std::size_t, 2> instructions(const Program& program) {
  std::array<std::size_t, 2> out{};
  for (const Instruction& i : program.instructions) ++out[i.core];
  return out;
}
double seconds(const Program& program) { return Clock(core(Generation::trn2)).time(program).seconds; }
uint64_t macs(const Program& program) { return Clock(core(Generation::trn2)).time(program).macs; }

// Columns where there is one block of rows, even a single row; rows and columns else.
TEST(CoreSplitTest, ProductsAreDividedByTiles) {
  for (const std::array<int64_t, 3>& s :
       {std::array<int64_t, 3>{1, 4096, 448}, {128, 4096, 512}, {128, 2048, 768}, {1024, 1024, 1024}}) {
    const Program one = product(s[0], s[1], s[2], 1), two = product(s[0], s[1], s[2], 2);
    EXPECT_EQ(two.cores, 2);
    EXPECT_EQ(macs(one), macs(two)) << s[0] << ": no product is computed twice";
    std::array<double, 2> tensor_s{};
    const TimingResult timing = Clock(core(Generation::trn2)).time(two);
    for (std::size_t c = 0; c < 2; ++c) tensor_s[c] = timing.engines[c * kEngines].active_s;
    EXPECT_GT(tensor_s[0], 0);
    EXPECT_NEAR(tensor_s[1] / tensor_s[0], 1, 0.35) << s[0];
    EXPECT_LT(seconds(two), 0.8 * seconds(one)) << s[0];
  }
}

TEST(CoreSplitTest, TilesOfElementsAndRowsAreDivided) {
  for (const Shape& shape : {Shape{512, 1024}, Shape{300, 4000}}) {
    for (const char* op : {"aten::exp.default", "aten::gelu.default"}) {
      const Program one = unary(op, shape, 1), two = unary(op, shape, 2);
      EXPECT_LT(seconds(two), seconds(one)) << op;
      EXPECT_GT(instructions(two)[1], 0U) << op;
    }
    const std::vector<NamedArgument> rows{
        {"self", ValueArg{0}}, {"dim", int64_t{-1}}, {"half_to_float", false}};
    const Program one = compiled("aten::_softmax.default", {{DType::f32, shape}}, rows, 1),
                  two = compiled("aten::_softmax.default", {{DType::f32, shape}}, rows, 2);
    EXPECT_LT(seconds(two), seconds(one));
    EXPECT_GT(instructions(two)[1], 0U);
  }
}

// Little work, and a sum over everything that has one result.
TEST(CoreSplitTest, WhatASecondCoreCannotSpeedUpStaysOnOne) {
  EXPECT_EQ(instructions(unary("aten::exp.default", {8, 24}, 2))[1], 0U);
  const Program small = unary("aten::exp.default", {8, 24}, 2);
  EXPECT_EQ(small.cores, 2);
  EXPECT_EQ(seconds(small), seconds(unary("aten::exp.default", {8, 24}, 1)));
}

// A kernel whose second part reads what all of its first part stored: both parts are divided, and a core
// waits for what the other wrote.
TEST(CoreSplitTest, StagesAreDividedOneByOne) {
  const CoreDescription& device = core(Generation::trn2);
  ProgramBuilder b(device);
  constexpr int kTiles = 8;
  constexpr int64_t kFree = 2048, kElements = kPartitions * kFree;
  const int32_t x = b.input("x", DType::f32, kTiles * kElements);
  const int32_t between = b.scratch("between", DType::f32, kTiles * kElements);
  const int32_t y = b.output("y", DType::f32, kTiles * kElements);
  const auto at = [&](int32_t tensor, int64_t tile) {
    return hbm_tile(DType::f32, tensor, tile * kElements, kPartitions, kFree, {kFree}, {1});
  };
  for (int stage = 0; stage < 2; ++stage) {
    for (int tile = 0; tile < kTiles; ++tile) {
      const ProgramBuilder::Mark mark = b.mark();
      const AccessPattern t = b.sbuf(DType::f32, kPartitions, {kFree});
      // The second stage reads tiles in the opposite order: every one was written by the other core.
      b.dma_copy(t, at(stage == 0 ? x : between, stage == 0 ? tile : kTiles - 1 - tile));
      b.activation(t, t, Activation::exp);
      b.dma_copy(at(stage == 0 ? between : y, tile), t);
      b.release(mark);
    }
  }
  Program two = split_over_cores(b.program(), device);
  synchronize(two);
  validate(two, device);
  EXPECT_EQ(find_race(two), std::nullopt);
  EXPECT_EQ(instructions(two)[0], instructions(two)[1]);
  int across = 0;
  for (const Instruction& i : two.instructions) {
    for (const SemaphoreWait& wait : two.waits_of(i)) {
      const auto raiser =
          std::find_if(two.instructions.begin(), two.instructions.end(),
                       [&](const Instruction& other) { return other.signal == wait.semaphore; });
      across += raiser->core != i.core;
    }
  }
  EXPECT_GE(across, 2);  // each core waits; once, where that implies the rest
  const std::vector<Tensor> inputs{drawn(DType::f32, {kTiles * kElements}, "x")};
  const std::vector<TensorMeta> results{{DType::f32, {kTiles * kElements}}};
  const Tensor want = run_program(b.finish(), inputs, results)[0];
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SimulatorOptions options;
    options.shuffle = seed > 0;
    options.shuffle_seed = seed;
    EXPECT_TRUE(run_program(two, inputs, results, options)[0].bitwise_equal(want)) << seed;
  }
}

}  // namespace
}  // namespace assay::backend
