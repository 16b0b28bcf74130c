#include <gtest/gtest.h>

#include <cmath>

#include "backend/simulator/bench.h"

namespace assay::backend {
namespace {

// The grid of `ramp` is so coarse that every order of summation is exact: plain loops give the bits.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, int64_t k, int64_t m,
                            int64_t n) {
  std::vector<double> out(static_cast<std::size_t>(m * n), 0.0);
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t c = 0; c < n; ++c) {
        out[static_cast<std::size_t>(r * n + c)] +=
            a[static_cast<std::size_t>(i * m + r)] * b[static_cast<std::size_t>(i * n + c)];
      }
    }
  }
  return out;
}

class MatmulTest : public testing::TestWithParam<std::tuple<DType, DType>> {};

TEST_P(MatmulTest, EqualsLoops) {
  const auto [left, right] = GetParam();
  const Generation generation = left == DType::f8e4m3fn ? Generation::trn3 : Generation::trn2;
  for (auto [k, m, n] : {std::array<int64_t, 3>{128, 128, 512}, {33, 17, 65}, {1, 1, 1}}) {
    // fp8 has three significand bits: halves of small integers are exact.
    std::vector<double> a = ramp(k * m, 3), b = ramp(k * n, 4);
    for (auto* v : {&a, &b}) {
      for (double& x : *v) x = std::trunc(x) / 2;
    }
    Bench bench(generation);
    const AccessPattern x = bench.load(left, {k, m}, a), y = bench.load(right, {k, n}, b);
    const AccessPattern sums = bench.b.psum(DType::f32, static_cast<int>(m), {n});
    bench.b.nc_matmul(sums, x, y, false);
    bench.b.nc_matmul(sums, x, y, true);
    bench.store(sums);
    const Tensor got = bench.run()[0];
    std::vector<double> want = product(a, b, k, m, n);
    for (double& value : want) value *= 2;
    EXPECT_EQ(got.to_doubles(), want) << k << " " << m << " " << n;
    EXPECT_EQ(bench.counts.macs, static_cast<uint64_t>(2 * k * m * n));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, MatmulTest,
    testing::Values(std::tuple{DType::bf16, DType::bf16}, std::tuple{DType::f32, DType::f32},
                    std::tuple{DType::f16, DType::bf16}, std::tuple{DType::f8e5m2, DType::bf16},
                    std::tuple{DType::f8e4m3, DType::f8e4m3}, std::tuple{DType::f8e4m3fn, DType::f8e4m3fn}));

TEST(TensorEngineTest, OperandsMayBeStridedViews) {
  const int64_t k = 64, m = 12, n = 20;
  Bench bench;
  const std::vector<double> a = ramp(k * 2 * m, 5), b = ramp(k * 4 * n, 6);
  const AccessPattern x = bench.load(DType::bf16, {k, m, 2}, a), y = bench.load(DType::f32, {k, 4, n}, b);
  const AccessPattern narrow = bench.b.sbuf(DType::bf16, k, {4, n});
  bench.b.tensor_copy(narrow, y);
  const AccessPattern sums = bench.b.psum(DType::f32, m, {n, 2});
  bench.b.memset(sums, 0.0f);
  bench.b.nc_matmul(sums.select(1, 1), x.select(1, 1), narrow.select(0, 2).slice(0, n - 1, n, -1), false);
  bench.store(sums);
  const std::vector<double> got = bench.run()[0].to_doubles();
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        sum += a[static_cast<std::size_t>((i * m + r) * 2 + 1)] *
               b[static_cast<std::size_t>((i * 4 + 2) * n + n - 1 - c)];
      }
      EXPECT_EQ(got[static_cast<std::size_t>((r * n + c) * 2 + 1)], sum);
      EXPECT_EQ(got[static_cast<std::size_t>((r * n + c) * 2)], 0.0);
    }
  }
}

// A tile's packed form is reused only while its bytes in SBUF are unchanged.
TEST(TensorEngineTest, OverwrittenOperandsArePackedAgain) {
  Bench bench;
  const std::vector<double> ones(64 * 64, 1.0);
  const AccessPattern x = bench.load(DType::bf16, {64, 64}, ones),
                      y = bench.load(DType::bf16, {64, 64}, ones);
  const AccessPattern sums = bench.b.psum(DType::f32, 64, {64});
  bench.b.nc_matmul(sums, x, y, false);
  bench.b.memset(y.slice(0, 63, 1), 3.0f);
  bench.b.nc_matmul(sums, x, y, true);
  bench.b.memset(x.partition_slice(0, 32), 2.0f);
  bench.b.nc_matmul(sums, x, y, true);
  bench.store(sums);
  const std::vector<double> got = bench.run()[0].to_doubles();
  EXPECT_EQ(got[0], 64 + 64 + (32 * 2 + 32));
  EXPECT_EQ(got[63], 64 + 3 * 64 + 3 * (32 * 2 + 32));
}

// Products and transposes that wait together, of one bank and of several, keep their order.
TEST(TensorEngineTest, TransposesWaitWithProducts) {
  constexpr int64_t kSide = 128;
  const std::vector<double> a = ramp(kSide * kSide, 8), b = ramp(kSide * kSide, 9);
  std::vector<std::vector<Tensor>> results;
  for (const int threads : {1, 2}) {
    Bench bench;
    const AccessPattern x = bench.load(DType::f32, {kSide, kSide}, a),
                        y = bench.load(DType::f32, {kSide, kSide}, b);
    const AccessPattern banks = bench.b.psum(DType::f32, kSide, {8, kSide});
    for (int64_t k = 0; k < 8; ++k) {
      bench.b.nc_transpose(banks.select(0, k), k % 2 == 0 ? x : y);
      bench.b.nc_matmul(banks.select(0, k), x, y, false);
    }
    for (int64_t k = 0; k < 8; k += 2) bench.b.nc_transpose(banks.select(0, k), k % 4 == 0 ? y : x);
    bench.store(banks);
    SimulatorOptions options;
    options.threads = threads;
    results.push_back(bench.run(options));
    const std::vector<double> got = results.back()[0].to_doubles(), sums = product(a, b, kSide, kSide, kSide);
    for (std::size_t r = 0; r < kSide; ++r) {
      for (std::size_t k = 0; k < 8; ++k) {
        for (std::size_t c = 0; c < kSide; ++c) {
          const double turned = (k % 4 == 0 ? b : a)[c * kSide + r];
          ASSERT_EQ(got[(r * 8 + k) * kSide + c], k % 2 == 0 ? turned : sums[r * kSide + c]) << r << " " << k;
        }
      }
    }
  }
  EXPECT_TRUE(results[0][0].bitwise_equal(results[1][0]));
}

// More operands than the packed forms that are kept.
TEST(TensorEngineTest, ManyOperandsInOneRun) {
  Bench bench;
  constexpr int64_t kTiles = 900;
  std::vector<double> values = ramp(16 * kTiles, 7);
  const AccessPattern x = bench.load(DType::f32, {16, kTiles}, values);
  const AccessPattern sums = bench.b.psum(DType::f32, 1, {512});
  for (int64_t i = 0; i < kTiles; ++i) {
    bench.b.nc_matmul(sums.slice(0, i % 512, 1), x.slice(0, i, 1), x.slice(0, kTiles - 1 - i, 1), i >= 512);
  }
  bench.store(sums);
  const std::vector<double> got = bench.run()[0].to_doubles();
  std::vector<double> want(512, 0.0);
  for (int64_t i = 0; i < kTiles; ++i) {
    for (int64_t k = 0; k < 16; ++k) {
      want[static_cast<std::size_t>(i % 512)] +=
          values[static_cast<std::size_t>(k * kTiles + i)] *
          values[static_cast<std::size_t>(k * kTiles + kTiles - 1 - i)];
    }
  }
  EXPECT_EQ(got, want);
}

TEST(TensorEngineTest, BitsDoNotDependOnThreadsOrKernel) {
  Bench bench;
  std::vector<double> a, b;
  for (int64_t i = 0; i < 128 * 96; ++i) a.push_back(std::sin(static_cast<double>(i)));
  for (int64_t i = 0; i < 128 * 300; ++i) b.push_back(std::cos(static_cast<double>(i)));
  const AccessPattern x = bench.load(DType::bf16, {128, 96}, a), y = bench.load(DType::bf16, {128, 300}, b);
  const AccessPattern wide_x = bench.load(DType::f32, {128, 96}, a),
                      wide_y = bench.load(DType::f32, {128, 300}, b);
  const AccessPattern sums = bench.b.psum(DType::f32, 96, {300}), wide = bench.b.psum(DType::f32, 96, {300});
  for (int repeat = 0; repeat < 3; ++repeat) {
    bench.b.nc_matmul(sums, x, y, repeat > 0);
    bench.b.nc_matmul(wide, wide_x, wide_y, repeat > 0);
  }
  bench.store(sums);
  bench.store(wide);
  SimulatorOptions portable;
  portable.threads = 1;
  portable.matmul = MatmulKernel::portable;
  const std::vector<Tensor> want = bench.run(portable);
  for (int threads : {1, 2, 3}) {
    for (MatmulKernel kernel : {MatmulKernel::automatic, MatmulKernel::avx2, MatmulKernel::avx512}) {
      SimulatorOptions options;
      options.threads = threads;
      options.matmul = kernel;
      std::vector<Tensor> got;
      try {
        got = bench.run(options);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        continue;  // this CPU lacks the instructions
      }
      EXPECT_TRUE(got[0].bitwise_equal(want[0])) << threads;
      EXPECT_TRUE(got[1].bitwise_equal(want[1])) << threads;
    }
  }
}

// Wide products are divided among workers by columns of their bank: whole banks, ones that begin inside of
// it, tails, and parts of what was written before, which stay in order.
TEST(TensorEngineTest, PartsOfABankDoNotDependOnThreads) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    Bench bench;
    std::vector<double> a, b;
    for (int64_t i = 0; i < 128 * 128; ++i) a.push_back(std::sin(static_cast<double>(i)));
    for (int64_t i = 0; i < 128 * 512; ++i) b.push_back(std::cos(static_cast<double>(i)));
    const AccessPattern x = bench.load(dtype, {128, 128}, a), y = bench.load(dtype, {128, 512}, b);
    const AccessPattern first = bench.b.psum(DType::f32, 128, {512}),
                        second = bench.b.psum(DType::f32, 128, {512});
    bench.b.nc_matmul(first, x, y, false);
    bench.b.nc_matmul(second, x, y, false);
    const auto add = [&](const AccessPattern& bank, int64_t begin, int64_t count) {
      bench.b.nc_matmul(bank.slice(0, begin, count), x, y.slice(0, 512 - count, count), true);
    };
    add(first, 32, 480);
    add(first, 0, 301);
    add(first, 224, 256);
    add(second, 96, 333);  // and in one flush with it, where it is not panels of the bank:
    add(second, 17, 300);
    bench.store(first);
    bench.store(second);
    // Panels of the bank alone.
    const AccessPattern third = bench.b.psum(DType::f32, 100, {512});
    for (int64_t k = 0; k < 3; ++k) bench.b.nc_matmul(third, x.slice(0, k, 100), y, k > 0);
    bench.b.nc_matmul(third.slice(0, 160, 352), x.slice(0, 9, 100), y.slice(0, 3, 352), true);
    bench.b.nc_matmul(third.slice(0, 64, 257), x.slice(0, 28, 100), y.slice(0, 255, 257), true);
    bench.store(third);
    SimulatorOptions portable;
    portable.threads = 1;
    portable.matmul = MatmulKernel::portable;
    const std::vector<Tensor> want = bench.run(portable);
    for (int threads : {1, 2, 3, 8}) {
      SimulatorOptions options;
      options.threads = threads;
      const std::vector<Tensor> got = bench.run(options);
      for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(got[i].bitwise_equal(want[i])) << threads << " " << i;
    }
  }
}

TEST(TensorEngineTest, Bf16PsumAddsInFp32AndRoundsOnce) {
  Bench bench(Generation::trn3);
  const AccessPattern one = bench.load(DType::bf16, {1, 1}, {1.0}),
                      small = bench.load(DType::bf16, {1, 1}, {0x1p-8});
  const AccessPattern sums = bench.b.psum(DType::bf16, 1, {1});
  bench.b.nc_matmul(sums, one, one, false);
  bench.b.nc_matmul(sums, small, one, true);  // 1 + 2^-8 lies half way: to even
  bench.store(sums);
  EXPECT_EQ(bench.run()[0].to_doubles()[0], 1.0);
}

TEST(TensorEngineTest, TransposesAreExactFromV3On) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    Bench bench;
    std::vector<double> values = ramp(40 * 70, 8);
    values[5] = INFINITY;
    values[100] = NAN;
    const AccessPattern x = bench.load(dtype, {40, 70}, values);
    const AccessPattern out = bench.b.psum(dtype, 70, {40});
    bench.b.nc_transpose(out, x);
    bench.store(out);
    const std::vector<double> got = bench.run()[0].to_doubles();
    for (std::size_t p = 0; p < 40; ++p) {
      for (std::size_t f = 0; f < 70; ++f) {
        const double want = values[p * 70 + f];
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got[f * 40 + p]) : got[f * 40 + p] == want);
      }
    }
  }
}

// On v2 a transpose is a product with the identity: infinity times zero spreads along the row.
TEST(TensorEngineTest, TransposesSpreadNanOnV2) {
  Bench bench(Generation::trn1);
  std::vector<double> values = ramp(8 * 8, 9);
  values[2 * 8 + 5] = INFINITY;
  const AccessPattern x = bench.load(DType::f32, {8, 8}, values);
  const AccessPattern out = bench.b.psum(DType::f32, 8, {8});
  bench.b.nc_transpose(out, x);
  bench.store(out);
  const std::vector<double> got = bench.run()[0].to_doubles();
  for (std::size_t f = 0; f < 8; ++f) {
    for (std::size_t p = 0; p < 8; ++p) {
      if (f != 5) {
        EXPECT_EQ(got[f * 8 + p], values[p * 8 + f]);
      } else if (p == 2) {
        EXPECT_EQ(got[f * 8 + p], INFINITY);
      } else {
        EXPECT_TRUE(std::isnan(got[f * 8 + p]));
      }
    }
  }
}

TEST(TensorEngineTest, VectorTransposesBlocks) {
  Bench bench;
  const std::vector<double> values = ramp(32 * 20, 10);
  const AccessPattern x = bench.load(DType::i16, {32, 20}, values);
  const AccessPattern out = bench.b.sbuf(DType::i16, 20, {32});
  bench.b.nc_transpose(out, x, Engine::vector);
  bench.store(out);
  const std::vector<int64_t> got = bench.run()[0].to_ints();
  for (std::size_t p = 0; p < 32; ++p) {
    for (std::size_t f = 0; f < 20; ++f) EXPECT_EQ(got[f * 32 + p], static_cast<int64_t>(values[p * 20 + f]));
  }
}

TEST(TensorEngineTest, TruncationDefectShows) {
  Bench bench;
  const AccessPattern x = bench.load(DType::bf16, {2, 1}, {1.0, 0x1p-10}),
                      y = bench.load(DType::bf16, {2, 1}, {1.0, 1.0});
  const AccessPattern sums = bench.b.psum(DType::f32, 1, {1});
  bench.b.nc_matmul(sums, x, y, false);
  bench.store(sums);
  EXPECT_EQ(bench.run()[0].to_doubles()[0], 1.0 + 0x1p-10);
  SimulatorOptions options;
  options.quirks.matmul_truncates = true;
  EXPECT_EQ(bench.run(options)[0].to_doubles()[0], 1.0);
}

// As v2 transposes: a product with the identity carries a NaN of one row to all.
TEST(TensorEngineTest, TransposeSpreadsNanQuirk) {
  Bench bench;
  const AccessPattern x = bench.load(DType::bf16, {2, 3}, {1, 2, 3, NAN, 5, 6});
  const AccessPattern turned = bench.b.psum(DType::bf16, 3, {2});
  bench.b.nc_transpose(turned, x);
  bench.store(turned);
  const auto nans = [&](const SimulatorOptions& options) {
    std::vector<bool> out;
    for (const double v : bench.run(options)[0].to_doubles()) out.push_back(std::isnan(v));
    return out;
  };
  EXPECT_EQ(nans({}), (std::vector<bool>{false, true, false, false, false, false}));
  SimulatorOptions options;
  options.quirks.transpose_spreads_nan = true;
  EXPECT_EQ(nans(options), (std::vector<bool>{true, true, false, false, false, false}));
}

}  // namespace
}  // namespace assay::backend
