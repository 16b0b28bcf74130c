#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/simulator/bench.h"
#include "core/philox.h"

namespace assay::backend {
namespace {

constexpr int64_t kBig = (int64_t{1} << 53) + 1;  // neither fp32 nor fp64 holds it

Tensor ints(DType dtype, Shape shape, const std::vector<int64_t>& values) {
  return Tensor::from_ints(dtype, std::move(shape), values);
}

std::vector<int64_t> binary(DType dtype, const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                            AluOp op, const SimulatorOptions& options = {}) {
  Bench bench;
  const auto n = static_cast<int64_t>(a.size());
  const AccessPattern x = bench.load(ints(dtype, {1, n}, a)), y = bench.load(ints(dtype, {1, n}, b));
  const AccessPattern z = bench.b.sbuf(dtype, 1, {n});
  bench.b.tensor_tensor(z, x, y, op, Engine::gpsimd);
  bench.store(z);
  return bench.run(options)[0].to_ints();
}

using Ints = std::vector<int64_t>;

TEST(GpSimdTest, IntegerArithmeticIsExact) {
  const Ints a{kBig, -7, 7, INT64_MIN, 5, -1}, b{1, 2, -2, -1, 0, 3};
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::add), (Ints{kBig + 1, -5, 5, INT64_MAX, 5, 2}));
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::subtract), (Ints{kBig - 1, -9, 9, INT64_MIN + 1, 5, -4}));
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::multiply), (Ints{kBig, -14, -14, INT64_MIN, 0, -3}));
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::divide_trunc), (Ints{kBig, -3, -3, INT64_MIN, 0, 0}));
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::divide_floor), (Ints{kBig, -4, -4, INT64_MIN, 0, -1}));
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::mod), (Ints{0, 1, -1, 0, 0, 2}));
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::mod_trunc), (Ints{0, -1, 1, 0, 0, -1}));
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::max), (Ints{kBig, 2, 7, -1, 5, 3}));
  EXPECT_EQ(binary(DType::i64, a, b, AluOp::is_gt), (Ints{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(binary(DType::i64, {kBig, 3}, {kBig - 1, 3}, AluOp::is_eq), (Ints{0, 1}));
  EXPECT_EQ(binary(DType::i64, {3, -2, 2}, {4, 3, -1}, AluOp::pow), (Ints{81, -8, 0}));
  EXPECT_EQ(binary(DType::i64, {-8, 1}, {1, 70}, AluOp::shift_right_arithmetic), (Ints{-4, 0}));
  EXPECT_EQ(binary(DType::i32, {2147483647}, {1}, AluOp::add), (Ints{-2147483648}));
  EXPECT_EQ(binary(DType::u8, {200}, {100}, AluOp::add), (Ints{44}));
  EXPECT_EQ(binary(DType::i32, {-1}, {28}, AluOp::shift_right), (Ints{15}));
}

TEST(GpSimdTest, IntegersThroughFp32Quirk) {
  SimulatorOptions options;
  options.quirks.integers_through_fp32 = true;
  EXPECT_EQ(binary(DType::i32, {16777216}, {1}, AluOp::add, options)[0], 16777216);
  EXPECT_EQ(binary(DType::i32, {16777215}, {1}, AluOp::add, options)[0], 16777216);
}

TEST(GpSimdTest, IntegerImmediatesReductionsAndScans) {
  Bench bench;
  const AccessPattern x = bench.load(ints(DType::i64, {2, 3}, {kBig, 1, 2, 3, 4, -5}));
  const AccessPattern y = bench.b.sbuf(DType::i64, 2, {3}), sum = bench.b.sbuf(DType::i64, 2, {1});
  const AccessPattern sums = bench.b.sbuf(DType::i64, 2, {3}), flags = bench.b.sbuf(DType::boolean, 2, {3});
  bench.b.tensor_scalar_int(y, x, AluOp::subtract, kBig, true, AluOp::multiply, 2);  // (kBig - x) * 2
  bench.b.tensor_reduce(sum, x, AluOp::add, 1, false, Engine::gpsimd);
  bench.b.scan(sums, x, AluOp::add);
  bench.b.tensor_scalar_int(flags, x, AluOp::is_ge, 3);
  for (const AccessPattern& tile : {y, sum, sums, flags}) bench.store(tile);
  const std::vector<Tensor> got = bench.run();
  EXPECT_EQ(got[0].to_ints(),
            (Ints{0, 2 * kBig - 2, 2 * kBig - 4, 2 * kBig - 6, 2 * kBig - 8, 2 * kBig + 10}));
  EXPECT_EQ(got[1].to_ints(), (Ints{kBig + 3, 2}));
  EXPECT_EQ(got[2].to_ints(), (Ints{kBig, kBig + 1, kBig + 3, 3, 7, 2}));
  EXPECT_EQ(got[3].to_ints(), (Ints{1, 0, 0, 1, 1, 0}));
}

TEST(GpSimdTest, Casts) {
  Bench bench;
  const AccessPattern x = bench.load(ints(DType::i64, {1, 3}, {kBig, -1, 300}));
  const AccessPattern f = bench.load(DType::f32, {1, 3}, {-1.75, 3e9, 0.25});
  const AccessPattern as_i32 = bench.b.sbuf(DType::i32, 1, {3}), as_f32 = bench.b.sbuf(DType::f32, 1, {3});
  const AccessPattern as_i64 = bench.b.sbuf(DType::i64, 1, {3}),
                      as_bool = bench.b.sbuf(DType::boolean, 1, {3});
  bench.b.cast(as_i32, x);
  bench.b.cast(as_f32, x);
  bench.b.cast(as_i64, f);
  bench.b.cast(as_bool, f);
  for (const AccessPattern& tile : {as_i32, as_f32, as_i64, as_bool}) bench.store(tile);
  const std::vector<Tensor> got = bench.run();
  EXPECT_EQ(got[0].to_ints(), (Ints{1, -1, 300}));
  EXPECT_EQ(got[1].to_doubles(), (std::vector<double>{0x1p53, -1.0, 300.0}));
  EXPECT_EQ(got[2].to_ints(), (Ints{-1, 3000000000, 0}));
  EXPECT_EQ(got[3].to_ints(), (Ints{1, 1, 1}));
}

// All comparisons, two dimensions, numbers within 32 bits and beyond them.
TEST(GpSimdTest, AffineSelectComparesExactly) {
  constexpr int64_t kRows = 5, kOuter = 3, kInner = 37;
  const std::vector<double> in = ramp(kRows * kOuter * kInner, 2);
  const auto holds = [](AluOp op, int64_t v) {
    switch (op) {
      case AluOp::is_eq:
        return v == 0;
      case AluOp::is_ne:
        return v != 0;
      case AluOp::is_gt:
        return v > 0;
      case AluOp::is_ge:
        return v >= 0;
      case AluOp::is_lt:
        return v < 0;
      default:
        return v <= 0;
    }
  };
  for (const int64_t scale : {int64_t{1}, int64_t{1} << 33}) {
    for (const AluOp op :
         {AluOp::is_eq, AluOp::is_ne, AluOp::is_gt, AluOp::is_ge, AluOp::is_lt, AluOp::is_le}) {
      Bench bench;
      const AccessPattern x = bench.load(DType::f32, {kRows, kOuter, kInner}, in);
      const AccessPattern z = bench.b.sbuf(DType::f32, kRows, {kOuter, kInner});
      const int64_t base = -3 * scale, by_row = 2 * scale, steps[] = {-7 * scale, scale};
      bench.b.affine_select(z, x, op, base, by_row, steps, -9.0f);
      bench.store(z);
      const std::vector<double> got = bench.run()[0].to_doubles();
      for (int64_t p = 0; p < kRows; ++p) {
        for (int64_t i = 0; i < kOuter; ++i) {
          for (int64_t j = 0; j < kInner; ++j) {
            const auto at = static_cast<std::size_t>((p * kOuter + i) * kInner + j);
            const int64_t v = base + by_row * p + steps[0] * i + steps[1] * j;
            ASSERT_EQ(got[at], holds(op, v) ? in[at] : -9.0) << static_cast<int>(op) << " " << at;
          }
        }
      }
    }
  }
}

TEST(GpSimdTest, IotaAndAffineSelect) {
  Bench bench;
  const AccessPattern y = bench.b.sbuf(DType::i64, 4, {3, 5}), z = bench.b.sbuf(DType::f32, 4, {6});
  const AccessPattern x = bench.load(DType::f32, {4, 6}, ramp(24));
  const int64_t steps[] = {100, -7}, diagonal[] = {-1};
  bench.b.iota(y, kBig, 1000, steps);
  bench.b.affine_select(z, x, AluOp::is_ge, 1, 1, diagonal, -9.0f);  // 1 + p - j >= 0
  bench.store(y);
  bench.store(z);
  const std::vector<Tensor> got = bench.run();
  for (int64_t p = 0; p < 4; ++p) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        EXPECT_EQ(got[0].to_ints()[static_cast<std::size_t>((p * 3 + i) * 5 + j)],
                  kBig + 1000 * p + 100 * i - 7 * j);
      }
    }
    for (int64_t j = 0; j < 6; ++j) {
      const auto at = static_cast<std::size_t>(p * 6 + j);
      EXPECT_EQ(got[1].to_doubles()[at], 1 + p - j >= 0 ? ramp(24)[at] : -9.0);
    }
  }
}

TEST(GpSimdTest, LocalGatherAndScatter) {
  Bench bench;
  const AccessPattern x = bench.load(ints(DType::i64, {2, 4}, {10, 11, 12, kBig, 20, 21, 22, 23}));
  const AccessPattern at = bench.load(ints(DType::i32, {2, 3}, {3, 0, 3, 1, 1, 2}));
  const AccessPattern y = bench.b.sbuf(DType::i64, 2, {3});
  bench.b.local_gather(y, x, at);
  bench.store(y);
  const AccessPattern z = bench.b.sbuf(DType::i64, 2, {4});
  bench.b.memset_int(z, -1, Engine::gpsimd);
  bench.b.local_scatter(z, y, at);
  bench.store(z);
  const std::vector<Tensor> got = bench.run();
  EXPECT_EQ(got[0].to_ints(), (Ints{kBig, 10, kBig, 21, 21, 22}));
  EXPECT_EQ(got[1].to_ints(), (Ints{10, -1, -1, kBig, -1, 21, 22, -1}));
}

TEST(GpSimdTest, SortIsStableAndPutsNanLast) {
  for (bool descending : {false, true}) {
    Bench bench;
    std::vector<double> values = ramp(2 * 70, 3);  // with repetitions
    values[4] = NAN;
    values[9] = INFINITY;
    const AccessPattern x = bench.load(DType::f32, {2, 70}, values), y = bench.b.sbuf(DType::f32, 2, {70});
    const AccessPattern at = bench.b.sbuf(DType::i64, 2, {70});
    bench.b.sort(y, at, x, descending);
    bench.store(y);
    bench.store(at);
    const std::vector<Tensor> got = bench.run();
    for (std::size_t p = 0; p < 2; ++p) {
      std::vector<int64_t> order(70);
      std::iota(order.begin(), order.end(), int64_t{0});
      const auto key = [&](int64_t i) {
        const double v = values[p * 70 + static_cast<std::size_t>(i)];
        return std::isnan(v) ? std::pair{1, 0.0} : std::pair{0, v};
      };
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return descending ? key(a) > key(b) : key(a) < key(b); });
      for (std::size_t j = 0; j < 70; ++j) {
        EXPECT_EQ(got[1].to_ints()[p * 70 + j], order[j]);
        const double want = values[p * 70 + static_cast<std::size_t>(order[j])],
                     value = got[0].to_doubles()[p * 70 + j];
        EXPECT_TRUE(std::isnan(want) ? std::isnan(value) : value == want);
      }
    }
  }
}

TEST(GpSimdTest, SortsAndArgumentsOfBigIntegers) {
  Bench bench;
  const AccessPattern x = bench.load(ints(DType::i64, {1, 4}, {kBig, kBig - 1, kBig + 1, kBig}));
  const AccessPattern y = bench.b.sbuf(DType::i64, 1, {4}), most = bench.b.sbuf(DType::i64, 1, {1});
  const AccessPattern least = bench.b.sbuf(DType::i32, 1, {1});
  bench.b.sort(y, std::nullopt, x, false);
  bench.b.arg_max(most, x);
  bench.b.arg_min(least, x);
  for (const AccessPattern& tile : {y, most, least}) bench.store(tile);
  const std::vector<Tensor> got = bench.run();
  EXPECT_EQ(got[0].to_ints(), (Ints{kBig - 1, kBig, kBig, kBig + 1}));
  EXPECT_EQ(got[1].to_ints(), Ints{2});
  EXPECT_EQ(got[2].to_ints(), Ints{1});
}

TEST(GpSimdTest, ArgMaxPrefersTheFirstAndNan) {
  Bench bench;
  const AccessPattern x = bench.load(DType::f32, {3, 4}, {1, 5, 5, 2, 3, NAN, 7, NAN, -1, -2, -1, -2});
  const AccessPattern most = bench.b.sbuf(DType::i64, 3, {1}), least = bench.b.sbuf(DType::i64, 3, {1});
  bench.b.arg_max(most, x);
  bench.b.arg_min(least, x);
  bench.store(most);
  bench.store(least);
  const std::vector<Tensor> got = bench.run();
  EXPECT_EQ(got[0].to_ints(), (Ints{1, 1, 0}));
  EXPECT_EQ(got[1].to_ints(), (Ints{0, 1, 1}));
}

TEST(GpSimdTest, MathFunctions) {
  const std::vector<std::pair<MathFunction, double (*)(double)>> table = {
      {MathFunction::floor, std::floor}, {MathFunction::ceil, std::ceil},
      {MathFunction::trunc, std::trunc}, {MathFunction::round, std::nearbyint},
      {MathFunction::cos, std::cos},     {MathFunction::tan, std::tan},
      {MathFunction::asin, std::asin},   {MathFunction::acos, std::acos},
      {MathFunction::sinh, std::sinh},   {MathFunction::cosh, std::cosh},
      {MathFunction::asinh, std::asinh}, {MathFunction::acosh, std::acosh},
      {MathFunction::atanh, std::atanh}, {MathFunction::exp2, std::exp2},
      {MathFunction::expm1, std::expm1}, {MathFunction::log2, std::log2},
      {MathFunction::log10, std::log10}, {MathFunction::log1p, std::log1p},
      {MathFunction::erfc, std::erfc},   {MathFunction::lgamma, std::lgamma},
  };
  std::vector<double> in = ramp(100, 9);
  in[0] = 2.5;
  in[1] = -0.0;
  for (const auto& [function, f] : table) {
    Bench bench;
    const AccessPattern x = bench.load(DType::f32, {1, 100}, in), y = bench.b.sbuf(DType::f32, 1, {100});
    bench.b.math(y, x, function);
    bench.store(y);
    const std::vector<double> got = bench.run()[0].to_doubles();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double want = static_cast<double>(static_cast<float>(f(in[i])));
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got[i]) : got[i] == want)
          << name_of(function) << " " << in[i];
    }
  }
}

// Against identities, since the C library has neither.
TEST(GpSimdTest, InverseErrorFunctionAndDigamma) {
  Bench bench;
  const std::vector<double> in{-0.999, -0.5, 0.0, 0.125, 0.75, 0.9999};
  const AccessPattern x = bench.load(DType::f32, {1, 6}, in), y = bench.b.sbuf(DType::f32, 1, {6});
  const AccessPattern p = bench.load(DType::f32, {1, 4}, {1.0, 0.5, 10.0, -0.5}),
                      q = bench.b.sbuf(DType::f32, 1, {4});
  bench.b.math(y, x, MathFunction::erfinv);
  bench.b.math(q, p, MathFunction::digamma);
  bench.store(y);
  bench.store(q);
  const std::vector<Tensor> got = bench.run();
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_NEAR(std::erf(got[0].to_doubles()[i]), static_cast<double>(static_cast<float>(in[i])), 1e-7);
  }
  constexpr double kGamma = 0.57721566490153286061;
  const std::vector<double> psi = got[1].to_doubles();
  EXPECT_NEAR(psi[0], -kGamma, 1e-7);
  EXPECT_NEAR(psi[1], -kGamma - 2 * std::log(2.0), 1e-6);
  EXPECT_NEAR(psi[2], 7129.0 / 2520 - kGamma, 1e-6);
  EXPECT_NEAR(psi[3], 2 - kGamma - 2 * std::log(2.0), 1e-6);
}

TEST(GpSimdTest, BinaryMath) {
  Bench bench;
  const AccessPattern a = bench.load(DType::f32, {1, 3}, {-7.5, 7.5, 3.0}),
                      b = bench.load(DType::f32, {1, 3}, {2, -2, 4});
  std::vector<std::vector<double>> want = {{-1.5, 1.5, 3}, {0.5, -0.5, 3}, {0, 0, 5}};
  for (MathFunction f : {MathFunction::fmod, MathFunction::remainder, MathFunction::hypot}) {
    const AccessPattern y = bench.b.sbuf(DType::f32, 1, {3});
    bench.b.math(y, a, b, f);
    bench.store(y);
  }
  const std::vector<Tensor> got = bench.run();
  EXPECT_EQ(got[0].to_doubles(), want[0]);
  EXPECT_EQ(got[1].to_doubles(), want[1]);
  EXPECT_EQ(got[2].to_doubles()[2], 5.0);
}

TEST(GpSimdTest, PhiloxWordsAreCores) {
  Bench bench;
  const AccessPattern x = bench.b.sbuf(DType::i32, 3, {5});
  bench.b.philox(x, 0x1234567890abcdefu, 42, 7);
  bench.store(x);
  const std::vector<int64_t> got = bench.run()[0].to_ints();
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(static_cast<uint32_t>(got[i]), draw_word({0x90abcdefu, 0x12345678u}, 42, 7 + i));
  }
}

}  // namespace
}  // namespace assay::backend
