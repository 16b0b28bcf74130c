#include "backend/simulator/alu.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backend/simulator/lanes.h"

namespace assay::backend {
namespace {

template <typename T, typename F>
void each(const T* x, const T* y, T* out, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
}

float truth(bool value) { return value ? 1.0f : 0.0f; }

// The sign of the divisor, as Python's %.
template <typename T>
T floor_mod(T a, T b) {
  T r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r == 0 ? std::copysign(r, b) : r;
}

uint64_t u(int64_t v) { return static_cast<uint64_t>(v); }
int64_t s(uint64_t v) { return static_cast<int64_t>(v); }
int64_t magnitude(int64_t v) { return v < 0 ? s(0 - u(v)) : v; }

int64_t divide_trunc(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return s(0 - u(a));
  return a / b;
}
int64_t mod_trunc(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
int64_t divide_floor(int64_t a, int64_t b) {
  const int64_t q = divide_trunc(a, b);
  return mod_trunc(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t mod_floor(int64_t a, int64_t b) {
  const int64_t r = mod_trunc(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
  uint64_t result = 1, factor = u(base);
  for (uint64_t e = u(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return s(result);
}
bool shift_in_range(int64_t by) { return by >= 0 && by < 64; }

}  // namespace

void alu(AluOp op, const float* x, const float* y, float* out, int64_t n) {
  if (lanes().pairs(op, x, y, out, n)) return;
  switch (op) {
    case AluOp::none:
      return each(x, y, out, n, [](float a, float) { return a; });
    case AluOp::pow:
      return each(x, y, out, n, [](float a, float b) {
        return static_cast<float>(std::pow(static_cast<double>(a), static_cast<double>(b)));
      });
    case AluOp::abs_max:
      return each(x, y, out, n, [](float a, float b) { return maximum_of(std::fabs(a), std::fabs(b)); });
    case AluOp::abs_min:
      return each(x, y, out, n, [](float a, float b) { return minimum_of(std::fabs(a), std::fabs(b)); });
    case AluOp::mod:
      return each(x, y, out, n, floor_mod<float>);
    case AluOp::logical_and:
      return each(x, y, out, n, [](float a, float b) { return truth(a != 0 && b != 0); });
    case AluOp::logical_or:
      return each(x, y, out, n, [](float a, float b) { return truth(a != 0 || b != 0); });
    case AluOp::logical_xor:
      return each(x, y, out, n, [](float a, float b) { return truth((a != 0) != (b != 0)); });
    case AluOp::abs:
      return each(x, y, out, n, [](float a, float) { return std::fabs(a); });
    case AluOp::square:
      return each(x, y, out, n, [](float a, float) { return a * a; });
    case AluOp::relu:
      return each(x, y, out, n, [](float a, float) { return a < 0.0f ? 0.0f : a; });
    case AluOp::rsqrt:
      return each(x, y, out, n,
                  [](float a, float) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); });
    case AluOp::reciprocal:
      return each(x, y, out, n, [](float a, float) { return 1.0f / a; });
    case AluOp::logical_not:
      return each(x, y, out, n, [](float a, float) { return truth(a == 0); });
    default:
      return each(x, y, out, n, [](float, float) { return std::numeric_limits<float>::quiet_NaN(); });
  }
}

void alu(AluOp op, const float* x, float number, bool reverse, float* out, float* buffer, int64_t n) {
  if (lanes().number(op, x, number, reverse, out, n)) return;
  std::fill_n(buffer, n, number);
  reverse ? alu(op, buffer, x, out, n) : alu(op, x, buffer, out, n);
}

void alu(AluOp op, const int64_t* x, const int64_t* y, int64_t* out, int64_t n) {
  using I = int64_t;
  switch (op) {
    case AluOp::none:
      return each(x, y, out, n, [](I a, I) { return a; });
    case AluOp::add:
      return each(x, y, out, n, [](I a, I b) { return s(u(a) + u(b)); });
    case AluOp::subtract:
      return each(x, y, out, n, [](I a, I b) { return s(u(a) - u(b)); });
    case AluOp::multiply:
      return each(x, y, out, n, [](I a, I b) { return s(u(a) * u(b)); });
    case AluOp::max:
      return each(x, y, out, n, [](I a, I b) { return a > b ? a : b; });
    case AluOp::min:
      return each(x, y, out, n, [](I a, I b) { return a < b ? a : b; });
    case AluOp::pow:
      return each(x, y, out, n, power);
    case AluOp::abs_max:
      return each(x, y, out, n,
                  [](I a, I b) { return magnitude(a) > magnitude(b) ? magnitude(a) : magnitude(b); });
    case AluOp::abs_min:
      return each(x, y, out, n,
                  [](I a, I b) { return magnitude(a) < magnitude(b) ? magnitude(a) : magnitude(b); });
    case AluOp::mod:
      return each(x, y, out, n, mod_floor);
    case AluOp::is_eq:
      return each(x, y, out, n, [](I a, I b) { return I{a == b}; });
    case AluOp::is_ne:
      return each(x, y, out, n, [](I a, I b) { return I{a != b}; });
    case AluOp::is_gt:
      return each(x, y, out, n, [](I a, I b) { return I{a > b}; });
    case AluOp::is_ge:
      return each(x, y, out, n, [](I a, I b) { return I{a >= b}; });
    case AluOp::is_lt:
      return each(x, y, out, n, [](I a, I b) { return I{a < b}; });
    case AluOp::is_le:
      return each(x, y, out, n, [](I a, I b) { return I{a <= b}; });
    case AluOp::logical_and:
      return each(x, y, out, n, [](I a, I b) { return I{a != 0 && b != 0}; });
    case AluOp::logical_or:
      return each(x, y, out, n, [](I a, I b) { return I{a != 0 || b != 0}; });
    case AluOp::logical_xor:
      return each(x, y, out, n, [](I a, I b) { return I{(a != 0) != (b != 0)}; });
    case AluOp::abs:
      return each(x, y, out, n, [](I a, I) { return magnitude(a); });
    case AluOp::square:
      return each(x, y, out, n, [](I a, I) { return s(u(a) * u(a)); });
    case AluOp::relu:
      return each(x, y, out, n, [](I a, I) { return a < 0 ? 0 : a; });
    case AluOp::logical_not:
      return each(x, y, out, n, [](I a, I) { return I{a == 0}; });
    case AluOp::bitwise_and:
      return each(x, y, out, n, [](I a, I b) { return a & b; });
    case AluOp::bitwise_or:
      return each(x, y, out, n, [](I a, I b) { return a | b; });
    case AluOp::bitwise_xor:
      return each(x, y, out, n, [](I a, I b) { return a ^ b; });
    case AluOp::bitwise_not:
      return each(x, y, out, n, [](I a, I) { return ~a; });
    case AluOp::shift_left:
      return each(x, y, out, n, [](I a, I b) { return shift_in_range(b) ? s(u(a) << b) : 0; });
    case AluOp::shift_right:
      return each(x, y, out, n, [](I a, I b) { return shift_in_range(b) ? s(u(a) >> b) : 0; });
    case AluOp::divide_trunc:
      return each(x, y, out, n, divide_trunc);
    case AluOp::divide_floor:
      return each(x, y, out, n, divide_floor);
    case AluOp::mod_trunc:
      return each(x, y, out, n, mod_trunc);
    case AluOp::shift_right_arithmetic:
      return each(x, y, out, n, [](I a, I b) { return shift_in_range(b) ? a >> b : (a < 0 ? I{-1} : I{0}); });
    default:
      return each(x, y, out, n, [](I, I) { return I{0}; });
  }
}

void alu_through_fp32(AluOp op, const int64_t* x, const int64_t* y, int64_t* out, int64_t n) {
  const auto narrow = [](int64_t v) {
    const float f = static_cast<float>(v);
    return f >= 0x1p63f ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(f);
  };
  for (int64_t i = 0; i < n; ++i) {
    const int64_t a = narrow(x[i]), b = narrow(y[i]);
    alu(op, &a, &b, &out[i], 1);
    out[i] = narrow(out[i]);
  }
}

void sum_each(std::span<const float* const> rows, int64_t n, float* sums) {
  std::size_t k = 0;
  const auto by = [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>) {
    for (; k + kWidth <= rows.size(); k += kWidth) {
      std::array<const float*, kWidth> x{};
      std::array<float, kWidth> sum{};
      for (std::size_t r = 0; r < kWidth; ++r) {
        x[r] = rows[k + r];
        sum[r] = x[r][0];
      }
      for (int64_t j = 1; j < n; ++j) {
        for (std::size_t r = 0; r < kWidth; ++r) sum[r] += x[r][j];
      }
      std::copy(sum.begin(), sum.end(), sums + k);
    }
  };
  by(std::integral_constant<std::size_t, kSumsAtOnce>{});
  by(std::integral_constant<std::size_t, 4>{});
  by(std::integral_constant<std::size_t, 1>{});
}

float identity(AluOp op) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (op) {
    case AluOp::multiply:
    case AluOp::logical_and:
      return 1.0f;
    case AluOp::max:
      return -kInfinity;
    case AluOp::min:
      return kInfinity;
    default:
      return 0.0f;
  }
}

int64_t integer_identity(AluOp op) {
  switch (op) {
    case AluOp::multiply:
    case AluOp::logical_and:
      return 1;
    case AluOp::bitwise_and:
      return -1;
    case AluOp::max:
      return std::numeric_limits<int64_t>::min();
    case AluOp::min:
      return std::numeric_limits<int64_t>::max();
    default:
      return 0;
  }
}

}  // namespace assay::backend
