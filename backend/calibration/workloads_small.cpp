// Workloads of a few kinds of instruction: vector addition, one copy, a chain, a product.
#include <algorithm>
#include <array>

#include "backend/calibration/parameters.h"
#include "backend/isa/builder.h"

namespace assay::backend {

// The loop's iterations are independent (an affine range): loads run ahead of additions and stores, as far
// as half of the buffers allow. All DMAs are triggered by one engine.
BuiltWorkload vector_add(const CoreDescription& core, WorkloadParameters& p) {
  const int64_t n = p.integer("n");
  const auto rows = static_cast<int>(p.integer("partitions", 1, 128));
  const int64_t columns = p.integer("columns", 1, 1);
  const DType dtype = p.dtype("dtype", DType::f32);
  p.finish();
  const int64_t tile = rows * columns;
  if (rows > 128 || n % tile != 0)
    p.fail("n must be a multiple of partitions * columns, partitions at most 128");
  const int64_t iterations = n / tile;

  ProgramBuilder b(core);
  const int32_t x = b.input("x", dtype, n), y = b.input("y", dtype, n), z = b.output("z", dtype, n);
  const int64_t buffers = std::min<int64_t>(8, iterations), ahead = buffers / 2;
  std::vector<std::array<AccessPattern, 3>> tiles;
  for (int64_t k = 0; k < buffers; ++k) {
    tiles.push_back(
        {b.sbuf(dtype, rows, {columns}), b.sbuf(dtype, rows, {columns}), b.sbuf(dtype, rows, {columns})});
  }
  // [128, n / 128] where rows are long, else consecutive rows.
  const bool split = columns > 1;
  const auto hbm = [&](int32_t tensor, int64_t i) {
    return hbm_tile(dtype, tensor, split ? i * columns : i * tile, rows, split ? n / rows : columns,
                    {columns}, {1});
  };
  const auto at = [&](int64_t i) -> std::array<AccessPattern, 3>& {
    return tiles[static_cast<std::size_t>(i % buffers)];
  };
  for (int64_t step = 0; step < iterations + ahead; ++step) {
    if (step < iterations) {
      b.dma_copy(at(step)[0], hbm(x, step));
      b.dma_copy(at(step)[1], hbm(y, step));
    }
    if (const int64_t i = step - ahead; i >= 0) {
      b.tensor_tensor(at(i)[2], at(i)[0], at(i)[1], AluOp::add);
      b.dma_copy(hbm(z, i), at(i)[2]);
    }
  }
  return {b.finish(), iterations};
}

BuiltWorkload copy_in(const CoreDescription& core, WorkloadParameters& p) {
  const auto rows = static_cast<int>(p.integer("partitions"));
  const int64_t columns = p.integer("columns");
  const DType dtype = p.dtype("dtype", DType::bf16);
  p.finish();
  ProgramBuilder b(core);
  const int32_t x = b.input("x", dtype, rows * columns);
  b.dma_copy(b.sbuf(dtype, rows, {columns}), hbm_tile(dtype, x, 0, rows, columns, {columns}, {1}));
  return {b.finish(), 1};
}

BuiltWorkload activation_chain(const CoreDescription& core, WorkloadParameters& p) {
  const int64_t count = p.integer("count"), columns = p.integer("columns", 1, 1);
  p.finish();
  ProgramBuilder b(core);
  const AccessPattern tile = b.sbuf(DType::f32, 128, {columns});
  b.memset(tile, 1.0f);
  for (int64_t i = 0; i < count; ++i) b.activation(tile, tile, Activation::tanh);
  return {b.finish(), count};
}

// x is stored [k, m], as its stationary tiles are read.
BuiltWorkload matrix_product(const CoreDescription& core, WorkloadParameters& p) {
  constexpr int64_t kTile = 128, kColumns = 512;
  const int64_t m = p.integer("m"), k = p.integer("k"), n = p.integer("n");
  const DType dtype = p.dtype("dtype", DType::bf16);
  p.finish();
  if (m % kTile != 0 || k % kTile != 0) p.fail("m and k must be multiples of 128");
  const int64_t steps = k / kTile;
  ProgramBuilder b(core);
  const int32_t x = b.input("x", dtype, k * m), w = b.input("w", dtype, k * n),
                y = b.output("y", dtype, m * n);
  const int64_t width = std::min(n, kColumns);
  std::array<AccessPattern, 2> left, right, sum, out;
  for (std::size_t turn = 0; turn < 2; ++turn) {
    left[turn] = b.sbuf(dtype, kTile, {steps, kTile});
    right[turn] = b.sbuf(dtype, kTile, {steps, width});
    sum[turn] = b.psum(DType::f32, kTile, {width});
    out[turn] = b.sbuf(dtype, kTile, {width});
  }
  std::size_t turn = 0, side = 0;
  for (int64_t n0 = 0; n0 < n; n0 += kColumns, side ^= 1) {
    const int64_t nn = std::min(kColumns, n - n0);
    const AccessPattern columns = right[side].slice(1, 0, nn);
    b.dma_copy(columns, hbm_tile(dtype, w, n0, kTile, n, {steps, nn}, {kTile * n, 1}));
    for (int64_t m0 = 0; m0 < m; m0 += kTile, turn ^= 1) {
      b.dma_copy(left[turn], hbm_tile(dtype, x, m0, kTile, m, {steps, kTile}, {kTile * m, 1}));
      const AccessPattern s = sum[turn].slice(0, 0, nn), o = out[turn].slice(0, 0, nn);
      for (int64_t t = 0; t < steps; ++t)
        b.nc_matmul(s, left[turn].select(0, t), columns.select(0, t), t > 0);
      b.tensor_copy(o, s);
      b.dma_copy(hbm_tile(dtype, y, m0 * n + n0, kTile, n, {nn}, {1}), o,
                 {.engine = Engine::scalar, .queue = -1, .accumulate = false});
    }
  }
  return {b.finish(), 1};
}

}  // namespace assay::backend
