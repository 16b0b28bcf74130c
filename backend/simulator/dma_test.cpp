#include <gtest/gtest.h>

#include "backend/simulator/bench.h"

namespace assay::backend {
namespace {

TEST(DmaTest, PatternsMatchInRowMajorOrder) {
  const std::vector<double> in = ramp(6 * 20, 1);
  Bench bench;
  // The same 120 elements as [6, 20], [8, 15] and [1, 120]; transposed; reversed.
  const int32_t hbm = bench.b.input("x", DType::f32, 120);
  bench.bind_input(Tensor::from_doubles(DType::f32, {120}, in));
  const AccessPattern a = bench.b.sbuf(DType::f32, 6, {20}), b = bench.b.sbuf(DType::f32, 8, {15});
  const AccessPattern c = bench.b.sbuf(DType::f32, 1, {120}), t = bench.b.sbuf(DType::f32, 20, {6});
  bench.b.dma_copy(a, hbm_tile(DType::f32, hbm, 0, 1, 0, {120}, {1}));
  bench.b.dma_copy(b, a);
  bench.b.dma_copy(c, b);
  bench.b.dma_copy(t, hbm_tile(DType::f32, hbm, 0, 20, 1, {6}, {20}));
  bench.store(c);
  bench.store(t);
  const std::vector<Tensor> got = bench.run();
  EXPECT_EQ(got[0].to_doubles(), in);
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(got[1].to_doubles()[i * 6 + j], in[j * 20 + i]);
  }
  EXPECT_EQ(bench.counts.dma_bytes_read, 2u * 480);
  EXPECT_EQ(bench.counts.dma_bytes_written, 2u * 480);
}

TEST(DmaTest, BroadcastsAndStridedDestinations) {
  Bench bench;
  const int32_t hbm = bench.b.input("x", DType::i16, 3);
  bench.bind_input(Tensor::from_ints(DType::i16, {3}, {7, 8, 9}));
  const AccessPattern a = bench.b.sbuf(DType::i16, 4, {3, 2});
  bench.b.memset_int(a, 0);
  bench.b.dma_copy(a.select(1, 1), hbm_tile(DType::i16, hbm, 2, 4, 0, {3}, {-1}));
  bench.store(a);
  const std::vector<int64_t> got = bench.run()[0].to_ints();
  for (std::size_t p = 0; p < 4; ++p) {
    EXPECT_EQ(std::vector<int64_t>(got.begin() + static_cast<int64_t>(p) * 6,
                                   got.begin() + static_cast<int64_t>(p + 1) * 6),
              (std::vector<int64_t>{0, 9, 0, 8, 0, 7}));
  }
}

TEST(DmaTest, CastsGoThroughFp32) {
  Bench bench;
  const AccessPattern x = bench.load(Tensor::from_ints(DType::i32, {1, 2}, {16777217, -3}));
  const AccessPattern y = bench.b.sbuf(DType::i64, 1, {2}), z = bench.b.sbuf(DType::bf16, 2, {1});
  bench.b.dma_copy(y, x);
  bench.b.dma_copy(z, x);  // another shape as well
  bench.store(y);
  bench.store(z);
  const std::vector<Tensor> got = bench.run();
  EXPECT_EQ(got[0].to_ints(), (std::vector<int64_t>{16777216, -3}));
  EXPECT_EQ(got[1].to_doubles(), (std::vector<double>{16777216.0, -3.0}));
}

TEST(DmaTest, Accumulates) {
  Bench bench;
  const AccessPattern x = bench.load(DType::bf16, {4, 8}, ramp(32, 2)),
                      y = bench.load(DType::f32, {4, 8}, ramp(32, 3));
  bench.b.dma_copy(y, x, {.engine = Engine::sync, .queue = -1, .accumulate = true});
  bench.store(y);
  const std::vector<double> got = bench.run()[0].to_doubles();
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], ramp(32, 2)[i] + ramp(32, 3)[i]);
}

TEST(DmaTest, GathersRows) {
  Bench bench;
  const std::vector<double> table = ramp(10 * 6, 4);
  const int32_t hbm = bench.b.input("table", DType::f32, 60);
  bench.bind_input(Tensor::from_doubles(DType::f32, {10, 6}, table));
  const AccessPattern index = bench.load(Tensor::from_ints(DType::i64, {5, 1}, {9, 0, 3, 3, 7}));
  const AccessPattern rows = bench.b.sbuf(DType::f32, 5, {6});
  bench.b.dma_gather(rows, hbm_tile(DType::f32, hbm, 0, 5, 0, {6}, {1}), index,
                     {.index_stride = 6, .bound = 10, .skip_out_of_bounds = false, .dma = {}});
  bench.store(rows);
  const std::vector<double> got = bench.run()[0].to_doubles();
  const std::size_t at[] = {9, 0, 3, 3, 7};
  for (std::size_t p = 0; p < 5; ++p) {
    for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(got[p * 6 + j], table[at[p] * 6 + j]);
  }
}

// One index an element: torch.gather along the last dimension; out of bounds elements may be skipped.
TEST(DmaTest, GathersElements) {
  Bench bench;
  const std::vector<double> table = ramp(3 * 7, 5);
  const int32_t hbm = bench.b.input("table", DType::f32, 21);
  bench.bind_input(Tensor::from_doubles(DType::f32, {3, 7}, table));
  const AccessPattern index = bench.load(Tensor::from_ints(DType::i32, {3, 2}, {6, 0, 1, 1, -1, 7}));
  const AccessPattern out = bench.b.sbuf(DType::f32, 3, {2});
  bench.b.memset(out, 5.5f);
  bench.b.dma_gather(out, hbm_tile(DType::f32, hbm, 0, 3, 7, {2}, {0}), index,
                     {.index_stride = 1, .bound = 7, .skip_out_of_bounds = true, .dma = {}});
  bench.store(out);
  EXPECT_EQ(bench.run()[0].to_doubles(),
            (std::vector<double>{table[6], table[0], table[8], table[8], 5.5, 5.5}));
}

TEST(DmaTest, ScattersAndAccumulatesInOrder) {
  for (bool accumulate : {false, true}) {
    Bench bench;
    const AccessPattern x = bench.load(DType::f32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    const AccessPattern index = bench.load(Tensor::from_ints(DType::i32, {4, 1}, {2, 0, 2, 1}));
    const AccessPattern zero = bench.b.sbuf(DType::f32, 3, {2});
    bench.b.memset(zero, 0.0f);
    const int32_t out = bench.b.output("y", DType::f32, 6);
    bench.bind_output(DType::f32, {3, 2});
    const AccessPattern all = hbm_tile(DType::f32, out, 0, 3, 2, {2}, {1});
    bench.b.dma_copy(all, zero);
    bench.b.dma_scatter(hbm_tile(DType::f32, out, 0, 4, 0, {2}, {1}), x, index,
                        {.index_stride = 2,
                         .bound = 3,
                         .skip_out_of_bounds = false,
                         .dma = {.engine = Engine::sync, .queue = -1, .accumulate = accumulate}});
    const std::vector<double> got = bench.run()[0].to_doubles();
    EXPECT_EQ(got,
              accumulate ? (std::vector<double>{3, 4, 7, 8, 6, 8}) : (std::vector<double>{3, 4, 7, 8, 5, 6}));
  }
}

}  // namespace
}  // namespace assay::backend
