#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/simulator/bench.h"

namespace assay::backend {
namespace {

TEST(ReductionsTest, TensorReduceFoldsTrailingDimensions) {
  const int64_t p = 33, a = 3, b = 4, c = 5;
  const std::vector<double> in = ramp(p * a * b * c, 1);
  for (AluOp op :
       {AluOp::add, AluOp::max, AluOp::min, AluOp::abs_max, AluOp::logical_and, AluOp::logical_or}) {
    for (int dims : {1, 2, 3}) {
      Bench bench;
      const AccessPattern x = bench.load(DType::f32, {p, a, b, c}, in);
      const int64_t length = dims == 1 ? c : dims == 2 ? b * c : a * b * c;
      const int64_t kept = a * b * c / length;
      const AccessPattern y = bench.b.sbuf(DType::f32, p, {kept});
      bench.b.tensor_reduce(y, x, op, dims, true);
      bench.store(y);
      const std::vector<double> got = bench.run()[0].to_doubles();
      for (int64_t g = 0; g < p * kept; ++g) {
        const auto first = in.begin() + g * length, last = first + length;
        double want = 0;
        switch (op) {
          case AluOp::add:
            want = std::accumulate(first, last, 0.0);
            break;
          case AluOp::max:
            want = *std::max_element(first, last);
            break;
          case AluOp::min:
            want = *std::min_element(first, last);
            break;
          case AluOp::abs_max:
            for (auto it = first; it != last; ++it) want = std::max(want, std::abs(*it));
            break;
          case AluOp::logical_and:
            want = std::all_of(first, last, [](double v) { return v != 0; });
            break;
          default:
            want = std::any_of(first, last, [](double v) { return v != 0; });
            break;
        }
        EXPECT_EQ(got[static_cast<std::size_t>(g)], -want) << name_of(op) << " over " << dims;
      }
    }
  }
}

// Any axis can be reduced: the access pattern puts it last.
TEST(ReductionsTest, PermutedPatternsReduceOtherAxes) {
  const std::vector<double> in = ramp(4 * 3 * 5, 2);
  Bench bench;
  const AccessPattern x = bench.load(DType::f32, {4, 3, 5}, in), y = bench.b.sbuf(DType::f32, 4, {5});
  bench.b.tensor_reduce(y, x.permuted({1, 0}), AluOp::multiply);
  bench.store(y);
  const std::vector<double> got = bench.run()[0].to_doubles();
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(got[p * 5 + k], in[p * 15 + k] * in[p * 15 + 5 + k] * in[p * 15 + 10 + k]);
    }
  }
}

TEST(ReductionsTest, SumsAreAscendingFp32) {
  Bench bench;
  const AccessPattern x = bench.load(DType::f32, {1, 3}, {16777216.0, 1.0, 1.0}),
                      y = bench.b.sbuf(DType::f32, 1, {1});
  bench.b.tensor_reduce(y, x, AluOp::add);
  bench.store(y);
  EXPECT_EQ(bench.run()[0].to_doubles()[0], 16777216.0);
}

TEST(ReductionsTest, ScanCarriesItsResult) {
  const int64_t p = 5, n = 40;
  const std::vector<double> a = ramp(p * n, 3), b = ramp(p * n, 4), start = ramp(p, 5);
  std::vector<double> decay;
  for (double v : a) decay.push_back(v > 0 ? 0.5 : -0.25);
  Bench bench;
  const AccessPattern x = bench.load(DType::f32, {p, n}, decay), y = bench.load(DType::f32, {p, n}, b);
  const AccessPattern s = bench.load(DType::f32, {p, 1}, start), z = bench.b.sbuf(DType::f32, p, {n});
  bench.b.tensor_tensor_scan(z, x, y, s, AluOp::multiply, AluOp::add);
  bench.store(z);
  const std::vector<double> got = bench.run()[0].to_doubles();
  for (std::size_t row = 0; row < static_cast<std::size_t>(p); ++row) {
    auto state = static_cast<float>(start[row]);
    for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
      const std::size_t i = row * static_cast<std::size_t>(n) + j;
      const float product = static_cast<float>(decay[i]) * state;
      state = product + static_cast<float>(b[i]);
      EXPECT_EQ(got[i], static_cast<double>(state));
    }
  }
}

// Rows that are scanned side by side, some of them left over, in either direction.
TEST(ReductionsTest, ScansOfManyPartitions) {
  constexpr int64_t kRows = 21, kColumns = 40;
  Bench bench;
  const std::vector<double> a = ramp(kRows * kColumns, 8), b = ramp(kRows * kColumns, 9),
                            start = ramp(kRows, 4);
  std::vector<double> factors;
  for (const double v : a) factors.push_back(v > 0 ? 1 : -0.5);
  const AccessPattern x = bench.load(DType::f32, {kRows, kColumns}, factors),
                      y = bench.load(DType::f32, {kRows, kColumns}, b),
                      initial = bench.load(DType::f32, {kRows, 1}, start);
  const AccessPattern forwards = bench.b.sbuf(DType::f32, kRows, {kColumns}),
                      backwards = bench.b.sbuf(DType::f32, kRows, {kColumns});
  bench.b.tensor_tensor_scan(forwards, x, y, initial, AluOp::multiply, AluOp::add);
  bench.b.tensor_tensor_scan(backwards.slice(0, kColumns - 1, kColumns, -1), x,
                             y.slice(0, kColumns - 1, kColumns, -1), 0.5f, AluOp::multiply, AluOp::add);
  bench.store(forwards);
  bench.store(backwards);
  const std::vector<Tensor> got = bench.run();
  for (std::size_t r = 0; r < kRows; ++r) {
    auto there = static_cast<float>(start[r]), back = 0.5f;
    for (std::size_t j = 0; j < kColumns; ++j) {
      const std::size_t at = r * kColumns + j, from_end = r * kColumns + kColumns - 1 - j;
      volatile float product = static_cast<float>(factors[at]) * there;
      there = product + static_cast<float>(b[at]);
      ASSERT_EQ(got[0].to_doubles()[at], static_cast<double>(there)) << r << " " << j;
      product = static_cast<float>(factors[at]) * back;
      back = product + static_cast<float>(b[from_end]);
      ASSERT_EQ(got[1].to_doubles()[from_end], static_cast<double>(back)) << r << " " << j;
    }
  }
}

TEST(ReductionsTest, BatchNormStatistics) {
  const int64_t p = 7, n = 301;
  const std::vector<double> in = ramp(p * n, 6);
  Bench bench;
  const AccessPattern x = bench.load(DType::f32, {p, n}, in);
  const AccessPattern stats = bench.b.sbuf(DType::f32, p, {12}), out = bench.b.sbuf(DType::f32, p, {2});
  bench.b.bn_stats(stats.slice(0, 0, 6), x.slice(0, 0, 200));
  bench.b.bn_stats(stats.slice(0, 6, 6), x.slice(0, 200, 101));
  bench.b.bn_aggr(out, stats);
  bench.store(out);
  bench.store(stats);
  const std::vector<Tensor> got = bench.run();
  for (std::size_t row = 0; row < static_cast<std::size_t>(p); ++row) {
    const auto first = in.begin() + static_cast<int64_t>(row) * n;
    const double mean = std::accumulate(first, first + n, 0.0) / static_cast<double>(n);
    double variance = 0;
    for (auto it = first; it != first + n; ++it)
      variance += (*it - mean) * (*it - mean) / static_cast<double>(n);
    EXPECT_NEAR(got[0].to_doubles()[row * 2], mean, 1e-6);
    EXPECT_NEAR(got[0].to_doubles()[row * 2 + 1], variance, 1e-5);
    EXPECT_EQ(got[1].to_doubles()[row * 12 + 6], 51.0);  // even elements of the second part
    EXPECT_EQ(got[1].to_doubles()[row * 12 + 9], 50.0);
  }
}

TEST(ReductionsTest, TopEight) {
  std::vector<double> in = ramp(3 * 61, 7);
  in[10] = in[20] = in[30] = 9.0;
  Bench bench;
  const AccessPattern x = bench.load(DType::f32, {3, 61}, in);
  const AccessPattern best = bench.b.sbuf(DType::f32, 3, {8}), at = bench.b.sbuf(DType::i32, 3, {8});
  const AccessPattern rest = bench.b.sbuf(DType::f32, 3, {61});
  bench.b.max8(best, x);
  bench.b.find_index8(at, x, best);
  bench.b.match_replace8(rest, x, best, -100.0f);
  bench.store(best);
  bench.store(at);
  bench.store(rest);
  const std::vector<Tensor> got = bench.run();
  const std::vector<double> values = got[0].to_doubles(), replaced = got[2].to_doubles();
  const std::vector<int64_t> indices = got[1].to_ints();
  for (std::size_t p = 0; p < 3; ++p) {
    std::vector<std::size_t> order(61);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return in[p * 61 + a] > in[p * 61 + b]; });
    std::vector<double> want(in.begin() + static_cast<int64_t>(p) * 61,
                             in.begin() + static_cast<int64_t>(p + 1) * 61);
    for (std::size_t k = 0; k < 8; ++k) {
      EXPECT_EQ(values[p * 8 + k], in[p * 61 + order[k]]);
      EXPECT_EQ(indices[p * 8 + k], static_cast<int64_t>(order[k]));
      want[order[k]] = -100.0;
    }
    EXPECT_EQ(std::vector<double>(replaced.begin() + static_cast<int64_t>(p) * 61,
                                  replaced.begin() + static_cast<int64_t>(p + 1) * 61),
              want);
  }
}

// Sums of several partitions go side by side; each is its own ascending sum, whoever its neighbours are.
TEST(ReductionsTest, SumsOfPartitionsDoNotDependOnTheirNeighbours) {
  constexpr int64_t kLength = 37;
  std::vector<double> values;
  for (int64_t i = 0; i < 19 * kLength; ++i)
    values.push_back(static_cast<double>(static_cast<float>(std::sin(static_cast<double>(i)) * 3)));
  for (const int64_t partitions : {1, 7, 8, 19}) {
    Bench bench;
    const std::vector<double> part(values.begin(), values.begin() + partitions * kLength);
    const AccessPattern x = bench.load(DType::f32, {partitions, kLength}, part);
    const auto rows = static_cast<int>(partitions);
    const AccessPattern reduced = bench.b.sbuf(DType::f32, rows, {1}),
                        beside = bench.b.sbuf(DType::f32, rows, {1});
    const AccessPattern copy = bench.b.sbuf(DType::bf16, rows, {kLength});
    bench.b.tensor_reduce(reduced, x, AluOp::add);
    ActivationOptions options;
    options.reduce = beside;
    bench.b.activation(copy, x, Activation::copy, options);
    bench.store(reduced);
    bench.store(beside);
    const std::vector<Tensor> got = bench.run();
    for (int64_t p = 0; p < partitions; ++p) {
      float sum = static_cast<float>(part[static_cast<std::size_t>(p * kLength)]);
      for (int64_t j = 1; j < kLength; ++j)
        sum += static_cast<float>(part[static_cast<std::size_t>(p * kLength + j)]);
      EXPECT_EQ(got[0].to_doubles()[static_cast<std::size_t>(p)], static_cast<double>(sum)) << p;
      EXPECT_EQ(got[1].to_doubles()[static_cast<std::size_t>(p)], static_cast<double>(sum)) << p;
    }
  }
}

}  // namespace
}  // namespace assay::backend
