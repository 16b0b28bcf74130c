#include "backend/simulator/timing/clock.h"

#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "backend/isa/builder.h"
#include "backend/simulator/bench.h"

namespace assay::backend {
namespace {

constexpr auto kF32 = DType::f32, kBf16 = DType::bf16;

double floor_s(Generation g = Generation::trn2) { return core(g).kernel_floor_us * 1e-6; }

TimingResult timed(const Program& program, const TimingOptions& options = {}) {
  return Clock(core(program.target), options).time(program);
}
// Nanoseconds without the kernel's floor.
double bare_ns(const Program& program, const TimingOptions& options = {}) {
  return (timed(program, options).seconds - floor_s(program.target)) * 1e9;
}

// Tiles through load, three engines and store, with `buffers` tiles in turn.
Program pipeline(Generation generation, int64_t tiles, int64_t buffers, int64_t columns = 512) {
  ProgramBuilder b(core(generation));
  const int32_t in = b.input("x", kF32, tiles * 128 * columns),
                out = b.output("y", kF32, tiles * 128 * columns);
  std::vector<AccessPattern> loaded, done;
  for (int64_t k = 0; k < buffers; ++k) {
    loaded.push_back(b.sbuf(kF32, 128, {columns}));
    done.push_back(b.sbuf(kF32, 128, {columns}));
  }
  for (int64_t i = 0; i < tiles; ++i) {
    const auto k = static_cast<std::size_t>(i % buffers);
    b.set_node("tile_" + std::to_string(i));
    b.dma_copy(loaded[k], hbm_tile(kF32, in, i * 128 * columns, 128, columns, {columns}, {1}));
    b.activation(loaded[k], loaded[k], Activation::exp);
    b.tensor_scalar(done[k], loaded[k], AluOp::multiply, 2.0f);
    b.dma_copy(hbm_tile(kF32, out, i * 128 * columns, 128, columns, {columns}, {1}), done[k],
               {.engine = Engine::scalar, .queue = -1, .accumulate = false});
  }
  return b.finish();
}

TEST(ClockTest, OneInstructionTakesItsCyclesAndTheFloor) {
  ProgramBuilder b(core(Generation::trn2));
  b.memset(b.sbuf(kF32, 128, {9600}), 1.0f);
  const TimingResult r = timed(b.finish());
  EXPECT_NEAR(r.seconds, floor_s() + 10e-6, 1e-12);  // 9600 cycles at 0.96 GHz
  EXPECT_EQ(r.cycles, static_cast<uint64_t>(std::llround(r.seconds * 1.2e9)));
  EXPECT_NEAR(r.engines[static_cast<std::size_t>(Engine::vector)].active_s, 10e-6, 1e-12);
  EXPECT_EQ(r.instructions, 1u);
  EXPECT_DOUBLE_EQ(timed(Program{}).seconds, floor_s());
}

// Independent instructions of an engine follow each other at once; one that reads what the one before wrote
// waits for the pipeline (fixed overhead and access latency, 160 cycles).
TEST(ClockTest, DependentInstructionsStall) {
  const auto chain = [](bool dependent) {
    ProgramBuilder b(core(Generation::trn2));
    const AccessPattern x = b.sbuf(kF32, 128, {96}), y = b.sbuf(kF32, 128, {96}), z = b.sbuf(kF32, 128, {96});
    b.memset(x, 1.0f);
    b.memset(z, 1.0f);
    b.tensor_copy(y, dependent ? z : x);
    return b.finish();
  };
  EXPECT_NEAR(bare_ns(chain(false)), 300, 1e-6);
  EXPECT_NEAR(bare_ns(chain(true)), 300 + 160 / 0.96, 1e-6);
}

TEST(ClockTest, EnginesRunAtTheSameTimeAndWaitForSemaphores) {
  const auto two = [](bool dependent) {
    ProgramBuilder b(core(Generation::trn2));
    const AccessPattern x = b.sbuf(kF32, 128, {9600}), y = b.sbuf(kF32, 128, {9600});
    b.memset(x, 1.0f, Engine::vector);
    b.activation(y, dependent ? x : y, Activation::exp);
    return b.finish();
  };
  // Reading y uninitialised does not matter to time.
  EXPECT_NEAR(bare_ns(two(false)), 10000, 1e-6);
  const Program program = two(true);
  const TimingResult r = timed(program);
  const double ready = 10000 + 60 / 0.96;  // the result is in memory after the access latency
  EXPECT_NEAR((r.seconds - floor_s()) * 1e9, ready + 8000, 1e-6);
  const EngineTiming& scalar = r.engines[static_cast<std::size_t>(Engine::scalar)];
  EXPECT_NEAR(scalar.waiting_s * 1e9, ready, 1e-6);
  EXPECT_NEAR(scalar.active_s * 1e9, 8000, 1e-6);
  // The wait is charged to the semaphore that Vector raises.
  ASSERT_EQ(r.semaphore_stream.size(), 1u);
  EXPECT_EQ(stream_name(r.semaphore_stream[0]), "vector");
  EXPECT_NEAR(r.waiting_s[static_cast<std::size_t>(Engine::scalar)] * 1e9, ready, 1e-6);
}

TEST(ClockTest, ADmaCostsItsLatencyAndIssuesOneAtATime) {
  const CoreDescription& c = core(Generation::trn2);
  const auto loads = [](int n, bool two_engines) {
    ProgramBuilder b(core(Generation::trn2));
    const int32_t x = b.input("x", kF32, 128);
    for (int k = 0; k < n; ++k) {
      b.dma_copy(b.sbuf(kF32, 1, {1}), hbm_tile(kF32, x, k, 1, 1, {1}, {1}),
                 {.engine = two_engines && k % 2 == 1 ? Engine::scalar : Engine::sync,
                  .queue = -1,
                  .accumulate = false});
    }
    return b.finish();
  };
  const double one = bare_ns(loads(1, false));
  EXPECT_NEAR(one, c.dma_semaphore_ns + 4 / c.dma_bytes_per_ns_per_engine + c.dma_descriptor_ns, 1e-6);
  EXPECT_NEAR(bare_ns(loads(20, false)), one + 19 * c.dma_issue_ns, 1e-6);
  // Every engine that triggers DMAs has a descriptor generator of its own.
  EXPECT_NEAR(bare_ns(loads(20, true)), one + 9 * c.dma_issue_ns, 100);
}

// With one tile everything waits for everything; with several, loads, engines and stores overlap, and time
// comes down to the busiest of them.
TEST(ClockTest, LoadsComputationAndStoresOverlap) {
  const TimingResult serial = timed(pipeline(Generation::trn2, 64, 1));
  const TimingResult overlapped = timed(pipeline(Generation::trn2, 64, 8));
  EXPECT_LT(overlapped.seconds, 0.45 * serial.seconds);
  double busiest = overlapped.dma_active_s;
  for (const EngineTiming& engine : overlapped.engines) busiest = std::max(busiest, engine.active_s);
  EXPECT_GT(overlapped.seconds - floor_s(), busiest);
  EXPECT_LT(overlapped.seconds - floor_s(), 1.25 * busiest);
  EXPECT_EQ(serial.hbm_bytes(), overlapped.hbm_bytes());
}

TEST(ClockTest, CoresShareHbm) {
  // A copy within HBM reads and writes: twice its bytes.
  const auto copy = [] {
    ProgramBuilder b(core(Generation::trn2));
    const int64_t n = 128 * 65536;
    const int32_t x = b.input("x", kF32, n), y = b.output("y", kF32, n);
    b.dma_copy(hbm_tile(kF32, y, 0, 128, 65536, {65536}, {1}),
               hbm_tile(kF32, x, 0, 128, 65536, {65536}, {1}));
    return b.finish();
  };
  const Program program = copy();
  const double bytes = 4.0 * 128 * 65536;
  const auto bytes_per_ns = [&](int cores) {
    return bytes / (bare_ns(program, {.active_cores = cores, .events = false}) - 1300);
  };
  EXPECT_NEAR(bytes_per_ns(1), 2900.0 / 4 / 2, 2);  // a bank of HBM, just below the DMA engines' 16 * 23
  EXPECT_NEAR(bytes_per_ns(8), 2900.0 / 8 / 2, 2);  // the core's share of HBM, for reads and writes
  EXPECT_NEAR(bytes_per_ns(4), 2900.0 / 4 / 2, 2);
  EXPECT_THROW(Clock(core(Generation::trn2), {.active_cores = 9, .events = false}), Error);
  EXPECT_THROW(Clock(core(Generation::trn2), {.active_cores = 0, .events = false}), Error);
  EXPECT_NO_THROW(Clock(core(Generation::trn1), {.active_cores = 2, .events = false}));
}

// NeuronCore-v2: Vector and GpSimd share the port to SBUF, Vector and Scalar that to PSUM.
TEST(ClockTest, SharedPortsSerialise) {
  const auto both = [](Generation g) {
    ProgramBuilder b(core(g));
    b.memset(b.sbuf(kF32, 128, {4000}), 1.0f, Engine::vector);
    b.memset(b.sbuf(kF32, 128, {4000}), 1.0f, Engine::gpsimd);
    return b.finish();
  };
  EXPECT_NEAR(bare_ns(both(Generation::trn2)), 4000 / 0.96, 1e-6);
  const TimingResult v2 = timed(both(Generation::trn1));
  EXPECT_NEAR((v2.seconds - floor_s(Generation::trn1)) * 1e9, 4000 / 1.12 + 4150 / 1.4, 1e-6);
  EXPECT_NEAR(v2.engines[static_cast<std::size_t>(Engine::gpsimd)].contended_s * 1e9, 4000 / 1.12, 1e-6);
  EXPECT_EQ(v2.engines[static_cast<std::size_t>(Engine::gpsimd)].waiting_s, 0);
}

// More work, slower memory or more latency never make a Program faster.
TEST(ClockTest, TimeIsMonotone) {
  double last = 0;
  for (int64_t tiles : {1, 2, 3, 8, 32}) {
    const double now = timed(pipeline(Generation::trn2, tiles, 4)).seconds;
    EXPECT_GT(now, last) << tiles;
    last = now;
  }
  last = 0;
  for (int64_t columns : {1, 16, 100, 512, 2048}) {
    const double now = timed(pipeline(Generation::trn2, 8, 4, columns)).seconds;
    EXPECT_GE(now, last) << columns;
    last = now;
  }
  const Program program = pipeline(Generation::trn2, 24, 4);
  const double plain = timed(program).seconds;
  Sourced<double> CoreDescription::*const slower[] = {
      &CoreDescription::dma_issue_ns,          &CoreDescription::dma_semaphore_ns,
      &CoreDescription::dma_descriptor_ns,     &CoreDescription::kernel_floor_us,
      &CoreDescription::access_latency_cycles, &CoreDescription::instruction_overhead_cycles};
  for (const auto member : slower) {
    CoreDescription what_if = core(Generation::trn2);
    (what_if.*member).value *= 3;
    EXPECT_GE(Clock(what_if).time(program).seconds, plain);
  }
  CoreDescription what_if = core(Generation::trn2);
  what_if.dma_bytes_per_ns_per_engine.value /= 3;
  EXPECT_GT(Clock(what_if).time(program).seconds, plain);
}

TEST(ClockTest, RepeatsAreTimedInFull) {
  const Program body = pipeline(Generation::trn2, 5, 3), other = pipeline(Generation::trn2, 2, 2);
  const Stretch stretches[] = {{&body, 10}, {&other, 0}, {&other, 2}};
  Clock clock(core(Generation::trn2));
  const TimingResult r = clock.time(stretches);
  EXPECT_NEAR(r.seconds, floor_s() + (10 * bare_ns(body) + 2 * bare_ns(other)) * 1e-9, 1e-11);
  EXPECT_EQ(r.instructions, 10 * body.instructions.size() + 2 * other.instructions.size());
  EXPECT_EQ(r.transfers, 10u * 10 + 2u * 4);
  EXPECT_NEAR(std::accumulate(r.critical_path_s.begin(), r.critical_path_s.end(), 0.0), r.seconds, 1e-12);
  // Reuse changes nothing.
  EXPECT_EQ(clock.time(stretches).seconds, r.seconds);
  const Stretch negative[] = {{&body, -1}};
  EXPECT_THROW(clock.time(negative), Error);
}

TEST(ClockTest, TheCriticalPathAddsUp) {
  for (const Generation g : {Generation::trn1, Generation::trn2, Generation::trn3}) {
    for (const int64_t buffers : {1, 2, 8}) {
      const TimingResult r = timed(pipeline(g, 20, buffers));
      EXPECT_NEAR(std::accumulate(r.critical_path_s.begin(), r.critical_path_s.end(), 0.0), r.seconds, 1e-12);
      for (const double part : r.critical_path_s) EXPECT_GE(part, -1e-15);
      for (const EngineTiming& engine : r.engines) {
        EXPECT_LE(engine.active_s + engine.waiting_s, r.seconds - floor_s(g) + 1e-12);
      }
    }
  }
  // One tile after another: all three kinds of work are on the path.
  const TimingResult serial = timed(pipeline(Generation::trn2, 20, 1));
  for (const PathPart part :
       {PathPart::vector, PathPart::scalar, PathPart::dma_latency, PathPart::dma_transfer}) {
    EXPECT_GT(serial.critical_path_s[static_cast<std::size_t>(part)], 1e-6) << name_of(part);
  }
}

// Both readings see the same instructions, products and bytes.
TEST(ClockTest, AgreesWithTheFunctionalReading) {
  Bench bench;
  ProgramBuilder& b = bench.b;
  const Tensor x = Tensor::from_doubles(kBf16, {128, 64}, ramp(128 * 64));
  const Tensor y = Tensor::from_doubles(kBf16, {128, 96}, ramp(128 * 96, 2));
  const AccessPattern left = bench.load(x), right = bench.load(y), sums = b.psum(kF32, 64, {96});
  b.nc_matmul(sums, left, right, false);
  const AccessPattern a = b.sbuf(kF32, 64, {96}), c = b.sbuf(kF32, 64, {96});
  b.activation(a, sums, Activation::tanh);
  b.tensor_scalar(c, sums, AluOp::multiply, 0.5f);
  b.tensor_tensor(c, a, c, AluOp::add, Engine::gpsimd);
  bench.store(c);
  bench.store(a);
  bench.run();
  const TimingResult r = timed(bench.program);
  EXPECT_EQ(r.instructions, bench.counts.instructions);
  for (std::size_t e = 0; e < kEngines; ++e) EXPECT_EQ(r.engines[e].instructions, bench.counts.by_engine[e]);
  EXPECT_EQ(r.macs, bench.counts.macs);
  const auto kind = [](HbmKind k) { return static_cast<std::size_t>(k); };
  EXPECT_EQ(r.hbm_read[kind(HbmKind::input)], bench.counts.dma_bytes_read);
  EXPECT_EQ(r.hbm_written[kind(HbmKind::output)], bench.counts.dma_bytes_written);
  EXPECT_EQ(r.hbm_bytes(), bench.counts.dma_bytes_read + bench.counts.dma_bytes_written);
}

// Engines run by themselves: in which order a Program lists instructions of different engines changes
// nothing.
TEST(ClockTest, TheOrderOfListingDoesNotMatter) {
  std::mt19937_64 random(5);
  for (const Generation g : {Generation::trn1, Generation::trn2}) {
    const Program program = pipeline(g, 8, 2);
    const double want = timed(program).seconds;
    std::array<std::vector<Instruction>, kEngines> engines;
    for (const Instruction& i : program.instructions)
      engines[static_cast<std::size_t>(i.engine)].push_back(i);
    for (int k = 0; k < 20; ++k) {
      Program shuffled = program;
      std::array<std::size_t, kEngines> next{};
      std::size_t moved = 0;
      for (std::size_t at = 0; at < shuffled.instructions.size();) {
        const std::size_t e = random() % kEngines;
        if (next[e] == engines[e].size()) continue;
        moved += engines[e][next[e]].operands != program.instructions[at].operands;
        shuffled.instructions[at++] = engines[e][next[e]++];
      }
      EXPECT_GT(moved, 10u);
      EXPECT_EQ(timed(shuffled).seconds, want);
    }
  }
}

TEST(ClockTest, EventsTellWhatHappenedAndWhy) {
  const Program program = pipeline(Generation::trn2, 6, 2);
  const TimingResult r = timed(program, {.active_cores = 1, .events = true});
  std::size_t executed = 0, transferred = 0;
  double active = 0, waiting = 0, end = 0;
  for (const TimingEvent& event : r.events) {
    EXPECT_LE(event.start_s, event.end_s);
    EXPECT_GE(event.start_s, floor_s() - 1e-15);
    end = std::max(end, event.end_s);
    if (event.cause >= 0) {  // a cause ends before its effect ends, and is another event
      const TimingEvent& cause = r.events.at(static_cast<std::size_t>(event.cause));
      EXPECT_LE(cause.end_s, event.end_s + 1e-12);
      EXPECT_NE(cause.kind, EventKind::wait);
    }
    if (event.kind == EventKind::execute) {
      ++executed;
      active += event.end_s - event.start_s;
      EXPECT_EQ(event.track, static_cast<uint8_t>(program.instructions[event.instruction].engine));
    } else if (event.kind == EventKind::transfer) {
      ++transferred;
      EXPECT_EQ(event.track, program.instructions[event.instruction].queue);
    } else {
      waiting += event.end_s - event.start_s;
      EXPECT_GE(event.semaphore, 0);
      EXPECT_GE(event.cause, 0);
    }
  }
  EXPECT_EQ(executed, program.instructions.size());
  EXPECT_EQ(transferred, r.transfers);
  EXPECT_NEAR(end, r.seconds, 1e-12);
  double engines_active = 0, engines_waiting = 0;
  for (const EngineTiming& engine : r.engines) {
    engines_active += engine.active_s;
    engines_waiting += engine.waiting_s;
  }
  EXPECT_NEAR(active, engines_active, 1e-12);
  EXPECT_NEAR(waiting, engines_waiting, 1e-12);
  EXPECT_NEAR(std::accumulate(r.waiting_s.begin(), r.waiting_s.end(), 0.0), engines_waiting, 1e-12);
  EXPECT_TRUE(timed(program).events.empty());
}

TEST(ClockTest, DeadlocksAndForeignProgramsAreErrors) {
  Program p = pipeline(Generation::trn2, 3, 1);
  ASSERT_FALSE(p.waits.empty());
  for (SemaphoreWait& wait : p.waits) wait.at_least += 100;
  try {
    timed(p);
    FAIL() << "a deadlock was timed";
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.error_class(), ProgramErrorClass::semaphore);
    EXPECT_THAT(error.what(), testing::HasSubstr("tile_0"));
  }
  EXPECT_THROW(Clock(core(Generation::trn1)).time(pipeline(Generation::trn2, 1, 1)), Error);
}

// A chain of `count` activations on each of the given cores, with DMA of `tiles` tiles before it.
Program chains(std::initializer_list<int> cores, int64_t count, int64_t tiles = 0) {
  ProgramBuilder b(core(Generation::trn2), 2);
  constexpr int64_t kFree = 16384;
  const int32_t x = b.input("x", kF32, std::max<int64_t>(tiles, 1) * 128 * kFree);
  for (const int c : cores) {
    b.set_core(c);
    const AccessPattern t = b.sbuf(kF32, 128, {kFree});
    for (int64_t i = 0; i < tiles; ++i)
      b.dma_copy(t, hbm_tile(kF32, x, i * 128 * kFree, 128, kFree, {kFree}, {1}));
    if (tiles == 0) b.memset(t, 1.0f);
    for (int64_t i = 0; i < count; ++i) b.activation(t, t, Activation::exp);
  }
  return b.finish();
}

TEST(ClockTest, TwoCoresRunSideBySide) {
  const TimingResult one = timed(chains({0}, 20)), two = timed(chains({0, 1}, 20));
  EXPECT_DOUBLE_EQ(two.seconds, one.seconds);
  EXPECT_EQ(two.instructions, 2 * one.instructions);
  const auto scalar = static_cast<std::size_t>(Engine::scalar);
  EXPECT_DOUBLE_EQ(two.engines[kEngines + scalar].active_s, two.engines[scalar].active_s);
  EXPECT_EQ(one.engines[kEngines + scalar].active_s, 0);
  EXPECT_NEAR(std::accumulate(two.critical_path_s.begin(), two.critical_path_s.end(), 0.0), two.seconds,
              1e-12);
}

// One core cannot draw its bank's 725 bytes a nanosecond with 16 engines of 23; both want 736.
TEST(ClockTest, TwoCoresShareTheirBankOfHbm) {
  constexpr int64_t kTiles = 40;
  const double bytes = kTiles * 128 * 16384 * 4.0;
  const double one = bare_ns(chains({0}, 0, kTiles)), two = bare_ns(chains({0, 1}, 0, kTiles));
  const CoreDescription& c = core(Generation::trn2);
  const double bank = chip(Generation::trn2).hbm_bytes_per_ns * 2 / chip(Generation::trn2).cores;
  EXPECT_LT(bank, 2 * 16 * c.dma_bytes_per_ns_per_engine);
  EXPECT_GT(two, one);
  EXPECT_NEAR(two / one, 2 * 16 * c.dma_bytes_per_ns_per_engine / bank, 0.005);
  EXPECT_GE(two, 2 * bytes / bank);
  const TimingResult r = timed(chains({0, 1}, 0, kTiles));
  EXPECT_EQ(r.dma_engines[0].bytes, r.dma_engines[kDmaQueues].bytes);
}

// Core 1 waits for what core 0 wrote, on chip by DMA and through HBM.
TEST(ClockTest, WaitingForTheOtherCoreTakesTime) {
  const auto handed_over = [](int to) {
    ProgramBuilder b(core(Generation::trn2), 2);
    const AccessPattern t = b.sbuf(kF32, 128, {512});
    b.memset(t, 1.0f);
    b.set_core(to);
    const AccessPattern received = b.sbuf(kF32, 128, {512});
    b.set_core(0);
    b.dma_copy(received, t);
    b.set_core(to);
    b.activation(received, received, Activation::exp);
    return b.finish();
  };
  CoreDescription what_if = core(Generation::trn2);
  const double alone = bare_ns(handed_over(0)), across = bare_ns(handed_over(1));
  EXPECT_NEAR(across - alone, what_if.core_semaphore_ns, 1e-6);
  what_if.core_semaphore_ns.value *= 3;
  EXPECT_NEAR(Clock(what_if).time(handed_over(1)).seconds - Clock(what_if).time(handed_over(0)).seconds,
              what_if.core_semaphore_ns * 1e-9, 1e-12);
  EXPECT_EQ(stream_name(kStreams + static_cast<int>(Engine::vector)), "vector of core 1");
  EXPECT_EQ(stream_name(kStreams + kEngines + 3), "q3 of core 1");
  EXPECT_EQ(stream_name(kEngines + 3), "q3");
}

}  // namespace
}  // namespace assay::backend
