#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "backend/simulator/bench.h"
#include "backend/simulator/tile_memory.h"

namespace assay::backend {
namespace {

void expect_trap(TrapKind kind, std::size_t instruction, const std::string& part, Bench& bench) {
  bench.finish();
  for (int threads : {1, 2}) {
    SimulatorOptions options;
    options.threads = threads;
    try {
      bench.run(options);
      ADD_FAILURE() << "expected " << name_of(kind);
    } catch (const Trap& trap) {
      EXPECT_EQ(trap.kind(), kind) << trap.what();
      EXPECT_EQ(trap.instruction(), instruction) << trap.what();
      EXPECT_EQ(trap.node(), "node_7");
      EXPECT_THAT(trap.what(), testing::HasSubstr(part));
      EXPECT_THAT(trap.what(), testing::HasSubstr("node_7"));
    }
  }
}

TEST(TrapsTest, UninitialisedSbuf) {
  Bench bench;
  bench.b.set_node("node_7");
  const AccessPattern x = bench.b.sbuf(DType::bf16, 64, {10}), y = bench.b.sbuf(DType::bf16, 64, {10});
  bench.b.memset(x, 1.0f);
  bench.b.tensor_copy(y.slice(0, 0, 9), x.slice(0, 0, 9));
  bench.b.tensor_copy(x, y);  // the last element of y
  expect_trap(TrapKind::uninitialized_sbuf, 2, "byte 82 of partition 0", bench);
}

TEST(TrapsTest, OnlyTheReadBytesMatter) {
  Bench bench;
  const AccessPattern x = bench.b.sbuf(DType::f32, 4, {6}), y = bench.b.sbuf(DType::f32, 4, {3});
  bench.b.memset(x.slice(0, 0, 3, 2), 2.0f);
  bench.b.tensor_copy(y, x.slice(0, 0, 3, 2));
  bench.store(y);
  EXPECT_EQ(bench.run()[0].to_doubles()[0], 2.0);
}

TEST(TrapsTest, EveryPartitionCounts) {
  Bench bench;
  bench.b.set_node("node_7");
  const AccessPattern x = bench.b.sbuf(DType::f32, 96, {4}), y = bench.b.sbuf(DType::f32, 96, {4});
  bench.b.memset(x.partition_slice(0, 64), 1.0f);
  bench.b.tensor_copy(y, x);
  expect_trap(TrapKind::uninitialized_sbuf, 1, "of partition 64", bench);
}

TEST(TrapsTest, UninitialisedPsum) {
  Bench bench;
  bench.b.set_node("node_7");
  const AccessPattern x = bench.b.sbuf(DType::f32, 8, {4});
  bench.b.tensor_copy(x, bench.b.psum(DType::f32, 8, {4}));
  expect_trap(TrapKind::uninitialized_psum, 0, "was never written", bench);
}

TEST(TrapsTest, AccumulationNeedsAMatmulBefore) {
  for (bool initialise : {false, true}) {
    Bench bench;
    bench.b.set_node("node_7");
    const AccessPattern x = bench.b.sbuf(DType::bf16, 8, {4}), sums = bench.b.psum(DType::f32, 4, {4});
    bench.b.memset(x, 1.0f);
    if (initialise) bench.b.memset(sums, 0.0f);
    bench.b.nc_matmul(sums, x, x, true);
    if (initialise) {
      expect_trap(TrapKind::psum_accumulate, 2, "not written by a matmul", bench);
    } else {
      expect_trap(TrapKind::uninitialized_psum, 1, "was never written", bench);
    }
  }
}

// A write by another engine ends the right to accumulate; v4 has no such rule.
TEST(TrapsTest, AccumulationAfterAnotherWrite) {
  for (Generation generation : {Generation::trn2, Generation::trn3}) {
    Bench bench(generation);
    bench.b.set_node("node_7");
    const AccessPattern x = bench.b.sbuf(DType::bf16, 8, {4}), sums = bench.b.psum(DType::f32, 4, {4});
    bench.b.memset(x, 1.0f);
    bench.b.nc_matmul(sums, x, x, false);
    bench.b.nc_matmul(sums, x, x, true);
    bench.b.memset(sums.slice(0, 2, 1), 5.0f);
    bench.b.nc_matmul(sums, x, x, true);
    bench.store(sums);
    if (generation == Generation::trn2) {
      expect_trap(TrapKind::psum_accumulate, 4, "byte 8 of partition 0", bench);
    } else {
      EXPECT_EQ(bench.run()[0].to_doubles(),
                (std::vector<double>{24, 24, 13, 24, 24, 24, 13, 24, 24, 24, 13, 24, 24, 24, 13, 24}));
    }
  }
}

// Off, a device that has just been switched on reads NaN, later what an earlier Program left.
TEST(TrapsTest, WithoutTrapsStaleMemoryIsRead) {
  SimulatorOptions options;
  options.traps = false;
  FunctionalSimulator simulator(core(Generation::trn2), options);
  Bench stale;
  stale.store(stale.b.sbuf(DType::f32, 2, {2}));
  EXPECT_TRUE(std::isnan(stale.run(simulator)[0].to_doubles()[0]));
  Bench earlier;
  earlier.store(earlier.load(DType::f32, {2, 2}, {1, 2, 3, 4}));
  earlier.run(simulator);
  EXPECT_EQ(stale.run(simulator)[0].to_doubles(), (std::vector<double>{1, 2, 3, 4}));
}

// What kernels that forget to initialise, or clear PSUM with the wrong engine, run into.
TEST(TrapsTest, QuirksOfKernelsTrap) {
  Bench bench;
  const AccessPattern x = bench.b.sbuf(DType::bf16, 8, {4}), sums = bench.b.psum(DType::f32, 4, {4});
  bench.b.memset(x, 1.0f);
  bench.b.nc_matmul(sums, x, x, false);
  bench.store(sums);
  EXPECT_EQ(bench.run()[0].to_doubles()[0], 8.0);
  const auto trap_of = [&](bool Quirks::*quirk) -> std::string {
    SimulatorOptions options;
    options.quirks.*quirk = true;
    try {
      bench.run(options);
    } catch (const Trap& trap) {
      return std::string(name_of(trap.kind()));
    }
    return "none";
  };
  EXPECT_EQ(trap_of(&Quirks::uninitialized_sbuf), "uninitialized_sbuf");
  EXPECT_EQ(trap_of(&Quirks::psum_accumulate), "psum_accumulate");
}

TEST(TrapsTest, IndicesOutOfBounds) {
  Bench bench;
  bench.b.set_node("node_7");
  const AccessPattern index = bench.load(Tensor::from_ints(DType::i32, {3, 1}, {0, 9, 10}));
  const int32_t hbm = bench.b.input("table", DType::f32, 40);
  bench.bind_input(Tensor(DType::f32, {40}));
  const AccessPattern rows = bench.b.sbuf(DType::f32, 3, {4});
  bench.b.dma_gather(rows, hbm_tile(DType::f32, hbm, 0, 3, 0, {4}, {1}), index,
                     {.index_stride = 4, .bound = 10, .skip_out_of_bounds = false, .dma = {}});
  expect_trap(TrapKind::index_out_of_bounds, 1, "index 10 in row 2", bench);
}

TEST(TrapsTest, LocalIndicesOutOfBounds) {
  Bench bench;
  bench.b.set_node("node_7");
  const AccessPattern index = bench.load(Tensor::from_ints(DType::i64, {2, 2}, {0, 1, 1, -1}));
  const AccessPattern x = bench.load(DType::f32, {2, 2}, {1, 2, 3, 4}), y = bench.b.sbuf(DType::f32, 2, {2});
  bench.b.local_gather(y, x, index);
  expect_trap(TrapKind::index_out_of_bounds, 2, "index -1 in row 1, element 1", bench);
}

TEST(TrapsTest, NanWhereAKernelTakesNone) {
  std::vector<double> values = ramp(12);
  values[7] = std::nan("");
  for (const bool refused : {false, true}) {
    Bench bench;
    bench.b.set_node("node_7");
    const AccessPattern x = bench.load(DType::f32, {3, 4}, values), y = bench.b.sbuf(DType::f32, 3, {4});
    bench.b.activation(y, x, Activation::exp, {.no_nan = refused});
    bench.store(y);
    if (!refused) {
      EXPECT_TRUE(std::isnan(bench.run()[0].to_doubles()[7]));
      continue;
    }
    expect_trap(TrapKind::nan_operand, 1, "element 3 of row 1 of its source is NaN", bench);
  }
}

TEST(TrapsTest, ASimulatorSurvivesItsTraps) {
  FunctionalSimulator simulator(core(Generation::trn2));
  Bench bad;
  const AccessPattern x = bad.b.sbuf(DType::bf16, 128, {128}), sums = bad.b.psum(DType::f32, 128, {128});
  bad.b.memset(x, 1.0f);
  bad.b.nc_matmul(sums, x, x, false);
  bad.b.tensor_copy(x, bad.b.psum(DType::f32, 128, {128}));
  EXPECT_THROW(bad.run(simulator), Trap);
  Bench good;
  const AccessPattern y = good.load(DType::f32, {2, 2}, {1, 2, 3, 4});
  good.store(y);
  EXPECT_EQ(good.run(simulator)[0].to_doubles(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_THROW(bad.run(simulator), Trap);
  // What the last run left in SBUF is uninitialised in the next.
  Bench stale;
  const AccessPattern z = stale.b.sbuf(DType::f32, 2, {2}), w = stale.b.sbuf(DType::f32, 2, {2});
  stale.b.tensor_copy(w, z);
  good.run(simulator);
  EXPECT_THROW(stale.run(simulator), Trap);
}

TEST(TrapsTest, BindingsMustFit) {
  FunctionalSimulator simulator(core(Generation::trn2));
  Bench bench;
  bench.store(bench.load(DType::f32, {2, 2}, {1, 2, 3, 4}));
  bench.finish();
  std::byte bytes[16];
  const HbmBinding good{bytes, 16}, bad{bytes, 12};
  EXPECT_THROW(simulator.run(bench.program, {{bad}}, {{good}}), Error);
  EXPECT_THROW(simulator.run(bench.program, {{good, good}}, {{good}}), Error);
  EXPECT_THROW(simulator.run(bench.program, {}, {{good}}), Error);
  FunctionalSimulator other(core(Generation::trn1));
  EXPECT_THROW(other.run(bench.program, {{good}}, {{good}}), Error);
}

// Against one flag a byte.
TEST(TileMemoryTest, MasksAreExact) {
  TileMemory memory(2, 4096, false);
  std::vector<bool> flags(4096, false);
  ByteMask mask;
  for (int i = 0; i < 60; ++i) {
    const int64_t offset = (i * 997) % 3000, stride = i % 5 - 2;
    AccessPattern a =
        sbuf_tile(i % 2 ? DType::i16 : DType::u8, 1, 1, offset / 2 * 2 + 200, {1 + i % 4, 1 + i % 7});
    a.strides[1] = stride;
    mask.assign(a);
    std::vector<std::size_t> touched;
    for (int64_t r = 0; r < a.sizes[0]; ++r) {
      for (int64_t c = 0; c < a.sizes[1]; ++c) {
        const auto element = static_cast<int64_t>(size_of(a.dtype));
        const int64_t at = a.offset + element * (r * a.strides[0] + c * stride);
        for (int64_t b = 0; b < element; ++b) touched.push_back(static_cast<std::size_t>(at + b));
      }
    }
    bool all = true;
    for (std::size_t b : touched) all = all && flags[b];
    EXPECT_EQ(memory.first_uninitialized(a, mask, false), all ? -1 : 1) << to_string(a);
    memory.mark(a, mask, false);
    for (std::size_t b : touched) flags[b] = true;
    EXPECT_EQ(memory.first_uninitialized(a, mask, false), -1);
  }
}

}  // namespace
}  // namespace assay::backend
