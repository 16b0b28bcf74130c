#include "backend/simulator/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace assay::backend {
namespace {

constexpr AluOp kOfLanes[] = {AluOp::add,   AluOp::subtract, AluOp::multiply, AluOp::divide,
                              AluOp::max,   AluOp::min,      AluOp::is_eq,    AluOp::is_ne,
                              AluOp::is_gt, AluOp::is_ge,    AluOp::is_lt,    AluOp::is_le};

float of_lanes(AluOp op, float a, float b) {
  switch (op) {
    case AluOp::add:
      return a + b;
    case AluOp::subtract:
      return a - b;
    case AluOp::multiply:
      return a * b;
    case AluOp::divide:
      return a / b;
    case AluOp::max:
      return maximum_of(a, b);
    case AluOp::min:
      return minimum_of(a, b);
    case AluOp::is_eq:
      return a == b ? 1 : 0;
    case AluOp::is_ne:
      return a != b ? 1 : 0;
    case AluOp::is_gt:
      return a > b ? 1 : 0;
    case AluOp::is_ge:
      return a >= b ? 1 : 0;
    case AluOp::is_lt:
      return a < b ? 1 : 0;
    default:
      return a <= b ? 1 : 0;
  }
}

bool same_value(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// All exponents and signs, and what is special; as long as no vector divides.
std::vector<float> lane_values() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x{0.0f,       -0.0f,         1.0f,           -1.0f,    kInfinity,
                       -kInfinity, std::nanf(""), -std::nanf(""), 0x1p-149f};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 8388593)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (x.size() % 2 == 0) x.push_back(3.5f);
  return x;
}

constexpr VectorWidth kWidths[] = {VectorWidth::best, VectorWidth::avx2, VectorWidth::portable};

TEST(Lanes, OperatorsOfPairsAndOfOneNumber) {
  const std::vector<float> x = lane_values();
  const auto n = static_cast<int64_t>(x.size());
  for (const VectorWidth width : kWidths) {
    for (const AluOp op : kOfLanes) {
      for (std::size_t turn : {std::size_t{0}, std::size_t{1}, std::size_t{5}, x.size() / 3}) {
        std::vector<float> y, out = x;
        for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[(i + turn) % x.size()]);
        ASSERT_TRUE(lanes(width).pairs(op, out.data(), y.data(), out.data(), n));
        for (std::size_t i = 0; i < x.size(); ++i)
          ASSERT_TRUE(same_value(out[i], of_lanes(op, x[i], y[i])))
              << int(op) << ": " << x[i] << ", " << y[i];
        for (const bool reverse : {false, true}) {
          out = x;
          ASSERT_TRUE(lanes(width).number(op, out.data(), x[turn], reverse, out.data(), n));
          for (std::size_t i = 0; i < x.size(); ++i) {
            ASSERT_TRUE(
                same_value(out[i], reverse ? of_lanes(op, x[turn], x[i]) : of_lanes(op, x[i], x[turn])))
                << int(op) << ": " << x[i] << ", " << x[turn];
          }
        }
      }
    }
    float untouched = 7;
    EXPECT_FALSE(lanes(width).pairs(AluOp::pow, &untouched, &untouched, &untouched, 1));
    EXPECT_FALSE(lanes(width).number(AluOp::mod, &untouched, 2, false, &untouched, 1));
    EXPECT_EQ(untouched, 7);
  }
}

TEST(Lanes, ScaleAndShiftRoundTwice) {
  const std::vector<float> x = lane_values();
  for (const VectorWidth width : kWidths) {
    std::vector<float> out(x.size());
    lanes(width).scale_and_shift(x.data(), 1.1f, -0.3f, out.data(), static_cast<int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      volatile float scaled = x[i] * 1.1f;
      ASSERT_TRUE(same_value(out[i], scaled + -0.3f)) << x[i];
    }
  }
}

TEST(Lanes, ProductsAreAddedAfterRounding) {
  const std::vector<float> x = lane_values();
  std::vector<float> y(x.rbegin(), x.rend());
  for (const VectorWidth width : kWidths) {
    std::vector<float> out = y;
    lanes(width).multiply_and_add(x.data(), 1.1f, out.data(), out.data(), static_cast<int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      volatile float product = x[i] * 1.1f;
      ASSERT_TRUE(same_value(out[i], product + y[i])) << x[i];
    }
  }
}

// Elements between the blocks, and behind the last one, stay as they are.
TEST(Lanes, BlocksOfNeighbours) {
  const std::vector<float> values = lane_values();
  for (const VectorWidth width : kWidths) {
    for (const AluOp op :
         {AluOp::add, AluOp::subtract, AluOp::multiply, AluOp::divide, AluOp::none, AluOp::max}) {
      for (const int stride : {2, 4, 8, 16, 24, 32, 128}) {
        for (const int count : {1, 7, 40}) {
          const bool small = stride <= 16;
          for (int wide = small ? 1 : 16; wide <= stride; wide += !small ? 16 : wide < 4 ? 1 : 4) {
            for (const bool one : {false, true}) {
              const std::size_t n = static_cast<std::size_t>(count) * static_cast<std::size_t>(stride);
              std::vector<float> x(n), y(n), want(n);
              for (std::size_t i = 0; i < n; ++i) {
                x[i] = want[i] = values[i * 5 % values.size()];
                y[i] = values[(i * 3 + 11) % values.size()];
              }
              std::vector<float> out = x;
              const bool done = lanes(width).blocks(op, out.data(), y.data(), one, out.data(),
                                                    {.count = count, .stride = stride, .width = wide});
              ASSERT_EQ(done, op != AluOp::max);
              for (std::size_t i = 0; i < n && done; ++i) {
                const std::size_t in_block = i % static_cast<std::size_t>(stride);
                if (in_block < static_cast<std::size_t>(wide))
                  want[i] = op == AluOp::none ? x[i] : of_lanes(op, x[i], y[one ? i - in_block : i]);
              }
              for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(same_value(out[i], want[i])) << i;
            }
          }
        }
      }
    }
  }
}

TEST(Lanes, WordsAreCopiedWhereTheyAreChosen) {
  for (const VectorWidth width : kWidths) {
    std::vector<uint32_t> from, to, want;
    std::vector<uint8_t> choice;
    for (uint32_t i = 0; i < 77; ++i) {
      from.push_back(0x7f800000u + i);
      to.push_back(i);
      choice.push_back(static_cast<uint8_t>(i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 0x80));
      want.push_back(choice.back() != 0 ? from.back() : i);
    }
    lanes(width).copy_where(choice.data(), from.data(), to.data(), 77);
    EXPECT_EQ(to, want);
  }
}

TEST(Lanes, ExtremesInTheOrderOfBits) {
  const std::vector<float> x = lane_values();
  for (const VectorWidth width : kWidths) {
    for (std::size_t first = 0; first < x.size(); first += 3) {
      for (const std::size_t n : {std::size_t{1}, std::size_t{17}, x.size()}) {
        std::vector<float> part;
        for (std::size_t i = 0; i < n; ++i) part.push_back(x[(first + i) % x.size()]);
        std::vector<int32_t> order, magnitude;
        for (const float v : part) {
          const auto bits = std::bit_cast<int32_t>(v);
          order.push_back(bits >= 0 ? bits : ~(bits & 0x7fffffff));
          magnitude.push_back(bits & 0x7fffffff);
        }
        int32_t least = 0, greatest = 0;
        lanes(width).extremes(part.data(), static_cast<int64_t>(n), least, greatest);
        ASSERT_EQ(least, *std::min_element(order.begin(), order.end()));
        ASSERT_EQ(greatest, *std::max_element(order.begin(), order.end()));
        ASSERT_EQ(lanes(width).greatest_magnitude(part.data(), static_cast<int64_t>(n)),
                  *std::max_element(magnitude.begin(), magnitude.end()));
      }
    }
  }
}

TEST(Lanes, Bf16OfAnyAlignment) {
  std::vector<float> x = lane_values();
  // Ties, both ways, and what becomes infinite.
  for (const uint32_t bits : {0x3f808000u, 0x3f818000u, 0x3f808001u, 0x7f7fffffu, 0x7f800001u, 0xff800001u})
    x.push_back(std::bit_cast<float>(bits));
  const auto n = static_cast<int64_t>(x.size());
  for (const VectorWidth width : kWidths) {
    std::vector<std::byte> bytes(x.size() * 2 + 1);
    std::vector<float> back(x.size());
    lanes(width).to_bf16(x.data(), bytes.data() + 1, n);
    lanes(width).from_bf16(bytes.data() + 1, back.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto bits = std::bit_cast<uint32_t>(x[i]);
      const uint32_t nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
      const uint32_t want = std::isnan(x[i]) ? (bits & 0xffff0000u) | 0x400000u : nearest;
      ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), want) << x[i];
    }
  }
}

}  // namespace
}  // namespace assay::backend
