#include <gtest/gtest.h>

#include <array>

#include <random>

#include <algorithm>
#include <cmath>
#include <functional>

#include "backend/simulator/alu.h"
#include "backend/simulator/bench.h"

namespace assay::backend {
namespace {

constexpr int64_t kRows = 40, kColumns = 50;

float rounded(double value) { return static_cast<float>(value); }

// One tile in, one out, both f32 unless told otherwise.
std::vector<double> one(const std::vector<double>& in, DType from, DType to,
                        const std::function<void(ProgramBuilder&, AccessPattern, AccessPattern)>& f,
                        const SimulatorOptions& options = {}) {
  Bench bench;
  const auto columns = static_cast<int64_t>(in.size()) / kRows;
  const AccessPattern x = bench.load(from, {kRows, columns}, in);
  const AccessPattern y = bench.b.sbuf(to, kRows, {columns});
  f(bench.b, y, x);
  bench.store(y);
  return bench.run(options)[0].to_doubles();
}

TEST(VectorEngineTest, TensorTensorFollowsTheTable) {
  const std::vector<double> a = ramp(kRows * kColumns, 1), b = ramp(kRows * kColumns, 2);
  const std::vector<std::pair<AluOp, std::function<double(float, float)>>> table = {
      {AluOp::none, [](float x, float) { return x; }},
      {AluOp::add, [](float x, float y) { return x + y; }},
      {AluOp::subtract, [](float x, float y) { return x - y; }},
      {AluOp::multiply, [](float x, float y) { return x * y; }},
      {AluOp::divide, [](float x, float y) { return x / y; }},
      {AluOp::max, [](float x, float y) { return std::max(x, y); }},
      {AluOp::min, [](float x, float y) { return std::min(x, y); }},
      {AluOp::abs_max, [](float x, float y) { return std::max(std::abs(x), std::abs(y)); }},
      {AluOp::abs_min, [](float x, float y) { return std::min(std::abs(x), std::abs(y)); }},
      {AluOp::is_eq, [](float x, float y) { return x == y; }},
      {AluOp::is_ne, [](float x, float y) { return x != y; }},
      {AluOp::is_gt, [](float x, float y) { return x > y; }},
      {AluOp::is_ge, [](float x, float y) { return x >= y; }},
      {AluOp::is_lt, [](float x, float y) { return x < y; }},
      {AluOp::is_le, [](float x, float y) { return x <= y; }},
      {AluOp::logical_and, [](float x, float y) { return x != 0 && y != 0; }},
      {AluOp::logical_or, [](float x, float y) { return x != 0 || y != 0; }},
      {AluOp::logical_xor, [](float x, float y) { return (x != 0) != (y != 0); }},
      {AluOp::abs, [](float x, float) { return std::abs(x); }},
      {AluOp::square, [](float x, float) { return x * x; }},
      {AluOp::relu, [](float x, float) { return x > 0 ? x : 0; }},
      {AluOp::reciprocal, [](float x, float) { return 1.0f / x; }},
      {AluOp::logical_not, [](float x, float) { return x == 0; }},
      {AluOp::mod, [](float x, float y) { return x - y * std::floor(x / y); }},  // exact on this grid
      {AluOp::pow, [](float x, float y) { return rounded(std::pow(double{x}, double{y})); }},
      {AluOp::rsqrt, [](float x, float) { return rounded(1 / std::sqrt(double{x})); }},
  };
  for (const auto& [op, f] : table) {
    Bench bench;
    const AccessPattern x = bench.load(DType::f32, {kRows, kColumns}, a),
                        y = bench.load(DType::f32, {kRows, kColumns}, b);
    const AccessPattern z = bench.b.sbuf(DType::f32, kRows, {kColumns});
    bench.b.tensor_tensor(z, x, y, op);
    bench.store(z);
    const std::vector<double> got = bench.run()[0].to_doubles();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double want = f(static_cast<float>(a[i]), static_cast<float>(b[i]));
      if (op == AluOp::mod && b[i] == 0) {
        EXPECT_TRUE(std::isnan(got[i]));
      } else {
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got[i]) : got[i] == want)
            << name_of(op) << "(" << a[i] << ", " << b[i] << ") = " << got[i] << ", not " << want;
      }
    }
  }
}

TEST(VectorEngineTest, MaximumKeepsNan) {
  const float x[] = {NAN, 1.0f, 0.0f}, y[] = {1.0f, NAN, -0.0f};
  float out[3];
  alu(AluOp::max, x, y, out, 3);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  EXPECT_FALSE(std::signbit(out[2]));
  alu(AluOp::min, x, y, out, 3);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  EXPECT_TRUE(std::signbit(out[2]));
}

TEST(VectorEngineTest, ArithmeticOnIntegersIsFp32) {
  const std::vector<double> in(kRows, 16777217.0);  // 2^24 + 1
  const auto got = one(in, DType::i32, DType::i32, [](ProgramBuilder& b, AccessPattern y, AccessPattern x) {
    b.tensor_scalar(y, x, AluOp::add, 0.0f);
  });
  EXPECT_EQ(got[0], 16777216.0);
}

TEST(VectorEngineTest, BitwiseWorksOnRawBits) {
  std::vector<double> in(kRows * 2, -8.0);
  in[1] = 0x0f0f0f;
  const auto run = [&](AluOp op, int64_t operand) {
    return one(in, DType::i32, DType::i32, [&](ProgramBuilder& b, AccessPattern y, AccessPattern x) {
      b.tensor_scalar_int(y, x, op, operand, false, AluOp::none, 0, false, Engine::vector);
    });
  };
  EXPECT_EQ(run(AluOp::bitwise_and, 0xff)[1], 0x0f);
  EXPECT_EQ(run(AluOp::bitwise_or, 0xf0)[1], 0x0f0fff);
  EXPECT_EQ(run(AluOp::bitwise_xor, -1)[0], 7.0);
  EXPECT_EQ(run(AluOp::bitwise_not, 0)[0], 7.0);
  EXPECT_EQ(run(AluOp::shift_left, 2)[0], -32.0);
  EXPECT_EQ(run(AluOp::shift_right, 28)[0], 15.0) << "logical, at the width of the dtype";
}

TEST(VectorEngineTest, TensorScalarChainsAndReverses) {
  const std::vector<double> in = ramp(kRows * kColumns, 3);
  Bench bench;
  const AccessPattern x = bench.load(DType::bf16, {kRows, kColumns}, in);
  const std::vector<double> scale = ramp(kRows, 4);
  const AccessPattern s = bench.load(DType::f32, {kRows, 1}, scale);
  const AccessPattern y = bench.b.sbuf(DType::f32, kRows, {kColumns}),
                      z = bench.b.sbuf(DType::f32, kRows, {kColumns});
  bench.b.tensor_scalar(y, x, AluOp::subtract, 2.0f, true, AluOp::multiply, s);             // (2 - x) * s
  bench.b.scalar_tensor_tensor(z, x, AluOp::multiply, s, AluOp::subtract, y, false, true);  // y - x * s
  bench.store(y);
  bench.store(z);
  const std::vector<Tensor> got = bench.run();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double factor = scale[i / kColumns], want = (2 - in[i]) * factor;
    EXPECT_EQ(got[0].to_doubles()[i], want);
    EXPECT_EQ(got[1].to_doubles()[i], want - in[i] * factor);
    if (i > 200) break;  // to_doubles copies everything
  }
}

TEST(VectorEngineTest, ActivationScalesBiasesAndReduces) {
  const std::vector<double> in = ramp(kRows * kColumns, 5), scale = ramp(kRows, 6), bias = ramp(kRows, 7);
  Bench bench;
  const AccessPattern x = bench.load(DType::f32, {kRows, kColumns}, in);
  const AccessPattern s = bench.load(DType::f32, {kRows, 1}, scale),
                      c = bench.load(DType::f32, {kRows, 1}, bias);
  const AccessPattern y = bench.b.sbuf(DType::bf16, kRows, {kColumns}),
                      sum = bench.b.sbuf(DType::f32, kRows, {1});
  bench.b.activation(y, x, Activation::exp, {.scale = s, .bias = c, .reduce = sum, .slope = 0});
  bench.store(y);
  bench.store(sum);
  const std::vector<Tensor> got = bench.run();
  const std::vector<double> values = got[0].to_doubles(), sums = got[1].to_doubles();
  for (std::size_t p = 0; p < kRows; ++p) {
    float total = 0;
    for (std::size_t j = 0; j < kColumns; ++j) {
      const float want = rounded(std::exp(in[p * kColumns + j] * scale[p] + bias[p]));
      EXPECT_EQ(values[p * kColumns + j], round_to(DType::bf16, static_cast<double>(want)));
      total = j == 0 ? want : total + want;  // of the results before they are rounded to bf16
    }
    EXPECT_EQ(sums[p], static_cast<double>(total));
  }
}

TEST(VectorEngineTest, ActivationsAreTheirFunctions) {
  std::vector<double> in;
  for (int64_t i = 0; i < kRows * 4; ++i) in.push_back(std::round((static_cast<double>(i) - 80) * 8) / 64);
  const auto derivative = [](const std::function<double(double)>& f, double x) {
    const double h = 1e-6;
    return (f(x + h) - f(x - h)) / (2 * h);
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto gelu = [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); };
  const auto gelu_tanh = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  const auto gelu_sigmoid = [&](double x) { return x * sigmoid(1.702 * x); };
  const auto silu = [&](double x) { return x * sigmoid(x); };
  const std::vector<std::tuple<Activation, std::function<double(double)>, double>> table = {
      {Activation::copy, [](double x) { return x; }, 0},
      {Activation::square, [](double x) { return x * x; }, 0},
      {Activation::sigmoid, sigmoid, 1e-7},
      {Activation::relu, [](double x) { return std::max(x, 0.0); }, 0},
      {Activation::prelu, [](double x) { return x > 0 ? x : 0.25 * x; }, 0},
      {Activation::gelu, gelu, 1e-6},
      {Activation::gelu_dx, [&](double x) { return derivative(gelu, x); }, 1e-6},
      {Activation::gelu_apprx_tanh, gelu_tanh, 1e-6},
      {Activation::gelu_apprx_tanh_dx, [&](double x) { return derivative(gelu_tanh, x); }, 1e-6},
      {Activation::gelu_apprx_sigmoid, gelu_sigmoid, 1e-6},
      {Activation::gelu_apprx_sigmoid_dx, [&](double x) { return derivative(gelu_sigmoid, x); }, 1e-6},
      {Activation::silu, silu, 1e-6},
      {Activation::silu_dx, [&](double x) { return derivative(silu, x); }, 1e-6},
      {Activation::tanh, [](double x) { return std::tanh(x); }, 1e-7},
      {Activation::tanh_dx, [](double x) { return 1 / std::pow(std::cosh(x), 2); }, 1e-7},
      {Activation::softplus, [](double x) { return std::log(1 + std::exp(x)); }, 1e-6},
      {Activation::mish, [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }, 1e-6},
      {Activation::erf, [](double x) { return std::erf(x); }, 1e-7},
      {Activation::erf_dx, [](double x) { return 2 / std::sqrt(M_PI) * std::exp(-x * x); }, 1e-7},
      {Activation::exp, [](double x) { return std::exp(x); }, 1e-2},
      {Activation::log, [](double x) { return std::log(x); }, 1e-6},
      {Activation::sin, [](double x) { return std::sin(x); }, 1e-7},
      {Activation::arctan, [](double x) { return std::atan(x); }, 1e-6},
      {Activation::sqrt, [](double x) { return std::sqrt(x); }, 1e-6},
      {Activation::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1e-5},
      {Activation::reciprocal, [](double x) { return 1 / x; }, 1e-6},
      {Activation::sign, [](double x) { return x > 0   ? 1.0
                                               : x < 0 ? -1.0
                                                       : 0.0; }, 0},
      {Activation::abs, [](double x) { return std::abs(x); }, 0},
  };
  ASSERT_EQ(table.size(), static_cast<std::size_t>(kActivations));
  for (const auto& [function, f, tolerance] : table) {
    const auto got =
        one(in, DType::f32, DType::f32, [&](ProgramBuilder& b, AccessPattern y, AccessPattern x) {
          b.activation(y, x, function, {.scale = 1.0f, .bias = {}, .reduce = {}, .slope = 0.25f});
        });
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double want = f(in[i]);
      if (std::isnan(want) || std::isinf(want)) {
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got[i]) : got[i] == want)
            << name_of(function) << " " << in[i];
      } else {
        EXPECT_NEAR(got[i], want, tolerance) << name_of(function) << " " << in[i];
      }
    }
  }
}

TEST(VectorEngineTest, ActivationExtremes) {
  std::vector<double> in(kRows, 0.0);
  in[0] = INFINITY;
  in[1] = -INFINITY;
  in[2] = NAN;
  in[3] = 1e30;
  in[4] = -1e30;
  for (Activation f : {Activation::gelu, Activation::gelu_apprx_tanh, Activation::silu, Activation::mish}) {
    const auto got = one(in, DType::f32, DType::f32,
                         [&](ProgramBuilder& b, AccessPattern y, AccessPattern x) { b.activation(y, x, f); });
    EXPECT_EQ(got[0], INFINITY) << name_of(f);
    EXPECT_TRUE(std::isnan(got[2])) << name_of(f);
    EXPECT_EQ(got[3], static_cast<double>(1e30f)) << name_of(f);
    EXPECT_EQ(got[4], 0.0) << name_of(f);
  }
}

TEST(VectorEngineTest, ActivationRangeQuirk) {
  std::vector<double> in(kRows, 9.0);
  in[1] = 1.0;
  const auto sine = [](ProgramBuilder& b, AccessPattern y, AccessPattern x) {
    b.activation(y, x, Activation::sin);
  };
  EXPECT_NEAR(one(in, DType::f32, DType::f32, sine)[0], std::sin(9.0), 1e-6);
  SimulatorOptions quirky;
  quirky.quirks.activation_range = true;
  const auto got = one(in, DType::f32, DType::f32, sine, quirky);
  EXPECT_GT(std::abs(got[0]), 10.0);
  EXPECT_NEAR(got[1], std::sin(1.0), 1e-6);
}

TEST(VectorEngineTest, SelectMemsetCopy) {
  Bench bench;
  const std::vector<double> a = ramp(kRows * kColumns, 1), b = ramp(kRows * kColumns, 2);
  std::vector<double> mask;
  for (int64_t i = 0; i < kRows * kColumns; ++i) mask.push_back(i % 3 == 0);
  const AccessPattern x = bench.load(DType::bf16, {kRows, kColumns}, a),
                      y = bench.load(DType::bf16, {kRows, kColumns}, b);
  const AccessPattern m = bench.load(DType::boolean, {kRows, kColumns}, mask);
  const AccessPattern z = bench.b.sbuf(DType::bf16, kRows, {kColumns}),
                      w = bench.b.sbuf(DType::f32, kRows, {kColumns});
  bench.b.select(z, m, x, y);
  bench.b.select(w, m, x, -1.5f);
  bench.b.copy_predicated(y, x, m);
  bench.store(z);
  bench.store(w);
  bench.store(y);
  const std::vector<Tensor> got = bench.run();
  const std::vector<double> g0 = got[0].to_doubles(), g1 = got[1].to_doubles(), g2 = got[2].to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(g0[i], mask[i] != 0 ? a[i] : b[i]);
    EXPECT_EQ(g1[i], mask[i] != 0 ? a[i] : -1.5);
    EXPECT_EQ(g2[i], g0[i]);
  }
}

TEST(VectorEngineTest, NonOcpFp8Quirk) {
  Bench bench(Generation::trn3);
  const AccessPattern x = bench.load(DType::f32, {1, 2}, {300.0, 1.5});
  const AccessPattern y = bench.b.sbuf(DType::f8e4m3fn, 1, {2});
  bench.b.tensor_copy(y, x);
  bench.store(y);
  EXPECT_EQ(bench.run()[0].to_doubles(), (std::vector<double>{288.0, 1.5}));
  SimulatorOptions options;
  options.quirks.non_ocp_fp8 = true;
  EXPECT_NE(bench.run(options)[0].to_doubles()[0], 288.0);
}

TEST(VectorEngineTest, StochasticRoundingIsKeyedByInstructionNotOrder) {
  Bench bench;
  std::vector<double> values(128 * 64, 1.0 + 0x1p-10);
  const AccessPattern x = bench.load(DType::f32, {128, 64}, values), y = bench.b.sbuf(DType::bf16, 128, {64});
  bench.b.tensor_copy(y, x);
  bench.store(y);
  SimulatorOptions options;
  options.stochastic_rounding = true;
  const Tensor first = bench.run(options)[0];
  options.threads = 1;
  EXPECT_TRUE(bench.run(options)[0].bitwise_equal(first));
  options.seed = 1;
  EXPECT_FALSE(bench.run(options)[0].bitwise_equal(first));
}

// Parts of blocks of one tile, with and without a common element, neighbours first or blocks first: all
// operands count as they were before.
TEST(VectorEngineTest, PartsOfBlocksOfOneTile) {
  std::mt19937 random(11);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    const int64_t block = int64_t{2} << below(7), blocks = 1 + below(9), width = 1 + below(block);
    Bench bench;
    std::vector<double> values;
    for (int64_t i = 0; i < 4 * blocks * block; ++i)
      values.push_back(1 + static_cast<double>(below(64)) / 64);
    const AccessPattern tile = bench.load(DType::f32, {4, blocks, block}, values);
    const bool turned = below(2) == 0;
    std::array<int64_t, 3> firsts{};
    std::array<AccessPattern, 3> parts;  // the destination and two operands; the last may have one element
    const bool one = below(2) == 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool single = k == 2 && one;
      firsts[k] = k == 1 && below(2) == 0 ? firsts[0] : below(block - (single ? 1 : width) + 1);
      parts[k] = tile.slice(1, firsts[k], single ? 1 : width);
      if (single) parts[k] = parts[k].broadcast(1, width);
      if (turned) parts[k] = parts[k].permuted({1, 0});
    }
    bench.b.tensor_tensor(parts[0], parts[1], parts[2], AluOp::subtract);
    bench.store(tile);
    std::vector<double> want = values;
    for (int64_t b = 0; b < 4 * blocks; ++b) {
      for (int64_t j = 0; j < width; ++j) {
        const auto at = [&](std::size_t k, int64_t i) {
          return static_cast<std::size_t>(b * block + firsts[k] + i);
        };
        want[at(0, j)] = values[at(1, j)] - values[at(2, one ? 0 : j)];
      }
    }
    ASSERT_EQ(bench.run()[0].to_doubles(), want) << "round " << round;
  }
}

}  // namespace
}  // namespace assay::backend
