// How fast Programs are timed, in instructions a second.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "backend/isa/builder.h"
#include "backend/simulator/timing/clock.h"

namespace assay::backend {
namespace {

constexpr int64_t kTile = 128, kColumns = 512;

// A matrix product as a kernel writes it: loads, products, evictions, stores on four engines.
Program product(int64_t m, int64_t k, int64_t n) {
  ProgramBuilder b(core(Generation::trn2));
  const int32_t x = b.input("x", DType::bf16, k * m), w = b.input("w", DType::bf16, k * n);
  const int32_t y = b.output("y", DType::bf16, m * n);
  const AccessPattern sums[2] = {b.psum(DType::f32, kTile, {kColumns}),
                                 b.psum(DType::f32, kTile, {kColumns})};
  const AccessPattern results[2] = {b.sbuf(DType::bf16, kTile, {kColumns}),
                                    b.sbuf(DType::bf16, kTile, {kColumns})};
  const int64_t steps = k / kTile;
  const AccessPattern left[2] = {b.sbuf(DType::bf16, kTile, {steps, kTile}),
                                 b.sbuf(DType::bf16, kTile, {steps, kTile})};
  const AccessPattern right = b.sbuf(DType::bf16, kTile, {steps, kColumns});
  std::size_t turn = 0;
  for (int64_t n0 = 0; n0 < n; n0 += kColumns) {
    b.dma_copy(right, hbm_tile(DType::bf16, w, n0, kTile, n, {steps, kColumns}, {kTile * n, 1}));
    for (int64_t m0 = 0; m0 < m; m0 += kTile) {
      turn ^= 1;
      b.dma_copy(left[turn], hbm_tile(DType::bf16, x, m0, kTile, m, {steps, kTile}, {kTile * m, 1}));
      for (int64_t t = 0; t < steps; ++t) {
        b.nc_matmul(sums[turn], left[turn].select(0, t), right.select(0, t), t > 0);
      }
      b.tensor_copy(results[turn], sums[turn], turn == 0 ? Engine::vector : Engine::scalar);
      b.dma_copy(hbm_tile(DType::bf16, y, m0 * n + n0, kTile, n, {kColumns}, {1}), results[turn]);
    }
  }
  return b.finish();
}

// Elementwise: half of all instructions are transfers.
Program elementwise(int64_t tiles) {
  ProgramBuilder b(core(Generation::trn2));
  const int32_t x = b.input("x", DType::f32, tiles * kTile * kColumns);
  const int32_t y = b.output("y", DType::f32, tiles * kTile * kColumns);
  AccessPattern tile[4];
  for (AccessPattern& t : tile) t = b.sbuf(DType::f32, kTile, {kColumns});
  for (int64_t i = 0; i < tiles; ++i) {
    const AccessPattern& t = tile[i % 4];
    const int64_t first = i * kTile * kColumns;
    b.dma_copy(t, hbm_tile(DType::f32, x, first, kTile, kColumns, {kColumns}, {1}));
    b.activation(t, t, Activation::exp);
    b.tensor_scalar(t, t, AluOp::multiply, 2.0f);
    b.dma_copy(hbm_tile(DType::f32, y, first, kTile, kColumns, {kColumns}, {1}), t);
  }
  return b.finish();
}

void time_program(benchmark::State& state, const Program& program, int64_t repeats) {
  Clock clock(core(Generation::trn2));
  const Stretch stretch{&program, repeats};
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(clock.time({&stretch, 1}));
  state.SetItemsProcessed(state.iterations() * repeats * static_cast<int64_t>(program.instructions.size()));
}

void once_product(benchmark::State& state) { time_program(state, product(2048, 2048, 4096), 1); }
void repeated_product(benchmark::State& state) { time_program(state, product(1024, 1024, 1024), 100); }
void once_elementwise(benchmark::State& state) { time_program(state, elementwise(2000), 1); }
void repeated_elementwise(benchmark::State& state) { time_program(state, elementwise(200), 100); }
BENCHMARK(once_product);
BENCHMARK(repeated_product);
BENCHMARK(once_elementwise);
BENCHMARK(repeated_elementwise);

}  // namespace
}  // namespace assay::backend

BENCHMARK_MAIN();
