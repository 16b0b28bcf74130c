#include "backend/simulator/matmul_tile.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#if defined(ASSAY_HAS_ONEDNN)
#include <dnnl.hpp>
#endif

namespace assay::backend {
namespace {

struct Operands {
  int depth, rows, columns;
  std::vector<uint16_t> a16, b16;  // [depth][rows], [depth][columns]
  std::vector<float> a32, b32;
};

enum class Values { normal, wild };

Operands draw(int depth, int rows, int columns, Values values, uint64_t seed) {
  std::mt19937_64 random(seed);
  Operands o{depth, rows, columns, {}, {}, {}, {}};
  const auto bits = [&] {
    const auto w = static_cast<uint32_t>(random());
    if (values == Values::normal) return (w & 0x807fffffu) | ((120u + (w >> 8) % 12) << 23);
    const uint32_t pick = static_cast<uint32_t>(random() % 64);
    if (pick == 0) return w & 0x80000000u;                           // zero
    if (pick == 1) return 0x7f800000u | (w & 0x80000000u);           // infinity
    if (pick < 8) return w & 0x807fffffu;                            // subnormal
    if (pick < 32) return (w & 0x807fffffu) | ((50u + pick) << 23);  // products are subnormal
    return (w & 0x807fffffu) | ((100u + pick % 50) << 23);
  };
  const auto fill = [&](std::vector<uint16_t>& narrow, std::vector<float>& wide, int n) {
    for (int i = 0; i < n; ++i) {
      const uint32_t b = bits();
      narrow.push_back(static_cast<uint16_t>(b >> 16));
      wide.push_back(std::bit_cast<float>(b));
    }
  };
  fill(o.a16, o.a32, depth * rows);
  fill(o.b16, o.b32, depth * columns);
  return o;
}

std::vector<float> multiply(const TileKernel& kernel, TileFormat format, const Operands& o, bool accumulate) {
  const int steps = steps_of(format, o.depth);
  std::vector<uint32_t> a(static_cast<std::size_t>(panels(o.rows, kPanelRows) * steps * kPanelRows),
                          0xdeadbeefu);
  std::vector<uint32_t> b(static_cast<std::size_t>(panels(o.columns, kPanelColumns) * steps * kPanelColumns),
                          0xdeadbeefu);
  if (format == TileFormat::pairs) {
    pack_pairs(o.a16.data(), o.rows, o.depth, o.rows, kPanelRows, a.data());
    pack_pairs(o.b16.data(), o.columns, o.depth, o.columns, kPanelColumns, b.data());
  } else {
    pack_singles(o.a32.data(), o.rows, o.depth, o.rows, kPanelRows, a.data());
    pack_singles(o.b32.data(), o.columns, o.depth, o.columns, kPanelColumns, b.data());
  }
  const int stride = o.columns + 3;  // and a guard that must survive
  std::vector<float> out(static_cast<std::size_t>(o.rows * stride), 1.5f);
  kernel.of(format)(
      packed_product(format, steps, a.data(), b.data(), o.rows, o.columns, out.data(), stride, accumulate));
  std::vector<float> result;
  for (int m = 0; m < o.rows; ++m) {
    for (int n = 0; n < o.columns; ++n)
      result.push_back(out[static_cast<std::size_t>(int64_t{m} * stride + n)]);
    for (int g = 0; g < 3; ++g) EXPECT_EQ(out[static_cast<std::size_t>(m * stride + o.columns + g)], 1.5f);
  }
  return result;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The definition, spelled once more without the kernels' packing.
float pair_sum(const Operands& o, int m, int n) {
  const auto flush = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  const auto at = [&](const std::vector<uint16_t>& v, int k, int width, int i) {
    return k < o.depth
               ? flush(std::bit_cast<float>(
                     static_cast<uint32_t>(v[static_cast<std::size_t>(int64_t{k} * width + i)]) << 16))
               : 0.0f;
  };
  float sum = 0;
  for (int k = 0; k < o.depth; k += 2) {
    for (int j : {k + 1, k}) sum = flush(std::fma(at(o.a16, j, o.rows, m), at(o.b16, j, o.columns, n), sum));
  }
  return sum;
}

TEST(MatmulTileTest, PortablePairsFollowTheDefinition) {
  const Operands o = draw(19, 11, 37, Values::normal, 1);
  const std::vector<float> got = multiply(portable_tile_kernel(), TileFormat::pairs, o, true);
  for (int m = 0; m < o.rows; ++m) {
    for (int n = 0; n < o.columns; ++n) {
      EXPECT_EQ(got[static_cast<std::size_t>(m * o.columns + n)], 1.5f + pair_sum(o, m, n)) << m << " " << n;
    }
  }
}

TEST(MatmulTileTest, PortableSinglesAreAscendingFma) {
  const Operands o = draw(23, 9, 33, Values::normal, 2);
  const std::vector<float> got = multiply(portable_tile_kernel(), TileFormat::singles, o, false);
  for (int m = 0; m < o.rows; ++m) {
    for (int n = 0; n < o.columns; ++n) {
      float sum = 0;
      for (int k = 0; k < o.depth; ++k) {
        sum = std::fma(o.a32[static_cast<std::size_t>(int64_t{k} * o.rows + m)],
                       o.b32[static_cast<std::size_t>(int64_t{k} * o.columns + n)], sum);
      }
      EXPECT_EQ(got[static_cast<std::size_t>(m * o.columns + n)], sum);
    }
  }
}

class FastKernelTest : public testing::TestWithParam<const TileKernel* (*)()> {};

TEST_P(FastKernelTest, GivesThePortableBits) {
  const TileKernel* fast = GetParam()();
  if (fast == nullptr) GTEST_SKIP() << "this CPU lacks the instructions";
  uint64_t seed = 10;
  for (Values values : {Values::normal, Values::wild}) {
    for (auto [depth, rows, columns] : {std::array{128, 24, 64},
                                        {1, 1, 1},
                                        {2, 8, 16},
                                        {7, 9, 17},
                                        {33, 31, 47},
                                        {128, 5, 100},
                                        {64, 16, 31},
                                        {3, 7, 512}}) {
      const Operands o = draw(depth, rows, columns, values, seed++);
      for (TileFormat format : {TileFormat::pairs, TileFormat::singles}) {
        for (bool accumulate : {false, true}) {
          EXPECT_TRUE(same_bits(multiply(*fast, format, o, accumulate),
                                multiply(portable_tile_kernel(), format, o, accumulate)))
              << fast->name << " " << depth << "x" << rows << "x" << columns << " format "
              << static_cast<int>(format);
        }
      }
    }
  }
}

// Singles of whole panels need no packing: rows anywhere, as far apart as they are.
TEST(MatmulTileTest, UnpackedSinglesGiveTheBitsOfPackedOnes) {
  constexpr int kDepth = 37, kRows = 24, kColumns = 96, kGap = 5;
  const Operands o = draw(kDepth, kRows, kColumns, Values::wild, 5);
  const auto apart = [&](const std::vector<float>& rows, int columns) {
    std::vector<float> out;
    for (int k = 0; k < kDepth; ++k) {
      out.insert(out.end(), rows.begin() + k * columns, rows.begin() + (k + 1) * columns);
      out.insert(out.end(), kGap, std::nanf(""));
    }
    return out;
  };
  const std::vector<float> a = apart(o.a32, kRows), b = apart(o.b32, kColumns);
  for (const TileKernel* kernel : {&portable_tile_kernel(), avx2_tile_kernel(), avx512_tile_kernel()}) {
    if (kernel == nullptr) continue;
    std::vector<float> out(kRows * kColumns, 1.5f);
    TileProduct t = packed_product(TileFormat::singles, kDepth, nullptr, nullptr, kRows, kColumns, out.data(),
                                   kColumns, true);
    t.stationary = unpacked_operand(a.data(), kRows + kGap, kPanelRows);
    t.moving = unpacked_operand(b.data(), kColumns + kGap, kPanelColumns);
    kernel->singles(t);
    EXPECT_TRUE(same_bits(out, multiply(portable_tile_kernel(), TileFormat::singles, o, true)))
        << kernel->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, FastKernelTest, testing::Values(avx512_tile_kernel, avx2_tile_kernel));

TEST(MatmulTileTest, SubnormalsAreFlushedInPairsAndKeptInSingles) {
  Operands o = draw(2, 1, 1, Values::normal, 3);
  o.a32 = {0x1p-130f, 0.0f};
  o.b32 = {1.0f, 0.0f};
  o.a16 = {0x0008, 0};  // 2^-130 in bf16
  o.b16 = {0x3f80, 0};
  EXPECT_EQ(multiply(best_tile_kernel(), TileFormat::singles, o, false)[0], 0x1p-130f);
  EXPECT_EQ(multiply(best_tile_kernel(), TileFormat::pairs, o, false)[0], 0.0f);
}

#if defined(ASSAY_HAS_ONEDNN)
// oneDNN's AVX-512 BF16 product of one tile, from zero.
TEST(MatmulTileTest, EqualsOneDnn) {
  if (avx512_tile_kernel() == nullptr)
    GTEST_SKIP() << "oneDNN computes bf16 in another order without AVX-512 BF16";
  // AMX, where the machine has it, sums in another order.
  ASSERT_EQ(dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16), dnnl_success);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  for (auto [depth, rows, columns] : {std::array{128, 128, 512}, {64, 128, 128}, {16, 8, 48}}) {
    const Operands o = draw(depth, rows, columns, Values::normal, 77);
    using Memory = dnnl::memory;
    // oneDNN computes [rows, depth] x [depth, columns]; `ba` reads our stationary transposed.
    const Memory::desc a({rows, depth}, Memory::data_type::bf16, Memory::format_tag::ba);
    const Memory::desc b({depth, columns}, Memory::data_type::bf16, Memory::format_tag::ab);
    const Memory::desc c({rows, columns}, Memory::data_type::f32, Memory::format_tag::ab);
    std::vector<float> out(static_cast<std::size_t>(rows * columns));
    Memory am(a, engine, const_cast<uint16_t*>(o.a16.data())),
        bm(b, engine, const_cast<uint16_t*>(o.b16.data()));
    Memory cm(c, engine, out.data());
    const dnnl::matmul product(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine));
    product.execute(stream, {{DNNL_ARG_SRC, am}, {DNNL_ARG_WEIGHTS, bm}, {DNNL_ARG_DST, cm}});
    stream.wait();
    EXPECT_TRUE(same_bits(out, multiply(best_tile_kernel(), TileFormat::pairs, o, false)))
        << depth << "x" << rows << "x" << columns;
  }
}
#endif

}  // namespace
}  // namespace assay::backend
