// Speed of matrix products: one tile on one thread, and whole products executed instruction by instruction.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/isa/builder.h"
#include "backend/simulator/matmul_tile.h"
#include "backend/simulator/simulator.h"

namespace assay::backend {
namespace {

void tile(benchmark::State& state, const TileKernel* kernel, TileFormat format) {
  if (kernel == nullptr) {
    state.SkipWithError("this CPU lacks the instructions");
    return;
  }
  constexpr int kDepth = 128, kRows = 128, kColumns = 512;
  const int steps = steps_of(format, kDepth);
  std::vector<uint32_t> a(static_cast<std::size_t>(steps * kRows), 0x3f803f80u);
  std::vector<uint32_t> b(static_cast<std::size_t>(steps * kColumns), 0x3f803f80u);
  std::vector<float> out(kRows * kColumns);
  const TileProduct product =
      packed_product(format, steps, a.data(), b.data(), kRows, kColumns, out.data(), kColumns, true);
  for ([[maybe_unused]] auto _ : state) {
    kernel->of(format)(product);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["flop/s"] =
      benchmark::Counter(2.0 * kDepth * kRows * kColumns, benchmark::Counter::kIsIterationInvariantRate,
                         benchmark::Counter::kIs1000);
}

// C = A B, all [n, n] bf16 and row-major, n a multiple of 512: B stays in SBUF, A is transposed by the Tensor
// engine.
Program product(int64_t n) {
  ProgramBuilder b(core(Generation::trn2));
  const int32_t a_hbm = b.input("a", DType::bf16, n * n), b_hbm = b.input("b", DType::bf16, n * n);
  const int32_t c_hbm = b.output("c", DType::bf16, n * n);
  const int64_t tiles = n / 128, blocks = n / 512;
  const AccessPattern right = b.sbuf(DType::bf16, 128, {tiles, n});  // [k % 128][k / 128, n]
  const AccessPattern left = b.sbuf(DType::bf16, 128, {n});          // [m % 128][k]
  const AccessPattern left_t = b.sbuf(DType::bf16, 128, {tiles, 128});
  const AccessPattern out = b.sbuf(DType::bf16, 128, {n});
  const AccessPattern transposed = b.psum(DType::bf16, 128, {4, 128});
  for (int64_t k = 0; k < tiles; ++k) {
    b.dma_copy(right.select(0, k), hbm_tile(DType::bf16, b_hbm, k * 128 * n, 128, n, {n}, {1}));
  }
  for (int64_t m = 0; m < tiles; ++m) {
    b.dma_copy(left, hbm_tile(DType::bf16, a_hbm, m * 128 * n, 128, n, {n}, {1}));
    for (int64_t k = 0; k < tiles; ++k) {
      b.nc_transpose(transposed.select(0, k % 4), left.slice(0, k * 128, 128));
      if (k % 4 == 3) b.tensor_copy(left_t.slice(0, k - 3, 4), transposed);
    }
    const ProgramBuilder::Mark mark = b.mark();
    for (int64_t j = 0; j < blocks; ++j) {
      if (b.psum_free_banks() == 0) b.release(mark);
      const AccessPattern sums = b.psum(DType::f32, 128, {512});
      for (int64_t k = 0; k < tiles; ++k) {
        b.nc_matmul(sums, left_t.select(0, k), right.select(0, k).slice(0, j * 512, 512), k > 0);
      }
    }
    b.release(mark);
    for (int64_t j = 0; j < blocks; ++j) {
      const AccessPattern sums = b.psum(DType::f32, 128, {512});
      b.tensor_copy(out.slice(0, j * 512, 512), sums);
    }
    b.release(mark);
    b.dma_copy(hbm_tile(DType::bf16, c_hbm, m * 128 * n, 128, n, {n}, {1}), out);
  }
  return b.finish();
}

void whole(benchmark::State& state) {
  const int64_t n = state.range(0);
  SimulatorOptions options;
  options.threads = static_cast<int>(state.range(1));
  FunctionalSimulator simulator(core(Generation::trn2), options);
  const Program program = product(n);
  std::vector<uint16_t> a(static_cast<std::size_t>(n * n)), b(a.size()), c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint16_t>(0x3f00u + i * 2654435761u % 256);
    b[i] = static_cast<uint16_t>(0xbf00u + i * 40503u % 256);
  }
  const auto bytes = [](std::vector<uint16_t>& v) {
    return HbmBinding{reinterpret_cast<std::byte*>(v.data()), v.size() * sizeof(uint16_t)};
  };
  const HbmBinding inputs[] = {bytes(a), bytes(b)}, outputs[] = {bytes(c)};
  ExecutionCounts counts;
  for ([[maybe_unused]] auto _ : state) counts = simulator.run(program, inputs, outputs);
  state.SetLabel(std::string(simulator.matmul_kernel()));
  state.counters["instructions"] = static_cast<double>(counts.instructions);
  state.counters["flop/s"] =
      benchmark::Counter(2.0 * static_cast<double>(n * n * n), benchmark::Counter::kIsIterationInvariantRate,
                         benchmark::Counter::kIs1000);
}

BENCHMARK_CAPTURE(tile, avx512_bf16, avx512_tile_kernel(), TileFormat::pairs);
BENCHMARK_CAPTURE(tile, avx512_f32, avx512_tile_kernel(), TileFormat::singles);
BENCHMARK_CAPTURE(tile, avx2_bf16, avx2_tile_kernel(), TileFormat::pairs);
BENCHMARK_CAPTURE(tile, avx2_f32, avx2_tile_kernel(), TileFormat::singles);
BENCHMARK_CAPTURE(tile, portable_bf16, &portable_tile_kernel(), TileFormat::pairs);
// {size, threads}
BENCHMARK(whole)->Args({1024, 2})->Args({2048, 1})->Args({2048, 2})->UseRealTime()->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace assay::backend

BENCHMARK_MAIN();
