// Instructions of the Vector engine that reduce, scan or search along a row. Order is ascending everywhere.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "backend/simulator/alu.h"
#include "backend/simulator/lanes.h"
#include "backend/simulator/machine.h"

namespace assay::backend {
namespace {

bool greater(float a, float b) { return std::isnan(a) ? !std::isnan(b) : a > b; }  // NaN is the largest
bool equal(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

template <typename T, typename F>
T fold(const T* x, int64_t n, T first, F f) {
  T sum = first;
  for (int64_t j = 1; j < n; ++j) sum = f(sum, x[j]);
  return sum;
}

// The largest or smallest element by numbers that say their order; false if there is a NaN, of which the
// first one counts.
bool extreme_of_numbers(bool largest, const float* x, int64_t n, float& result) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr int32_t kHighest = std::bit_cast<int32_t>(kInfinity),
                    kLowest = ordered_bits(std::bit_cast<int32_t>(-kInfinity));
  int32_t low = 0, high = 0;
  lanes().extremes(x, n, low, high);
  if (high > kHighest || low < kLowest) return false;
  result = std::bit_cast<float>(ordered_bits(largest ? high : low));
  return true;
}

float reduce(AluOp op, const float* x, int64_t n) {
  switch (op) {
    case AluOp::multiply:
      return fold(x, n, x[0], [](float a, float b) { return a * b; });
    case AluOp::abs_max: {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      const int32_t greatest = lanes().greatest_magnitude(x, n);
      if (greatest <= std::bit_cast<int32_t>(kInfinity)) return std::bit_cast<float>(greatest);
      float sum = std::fabs(x[0]);  // there is a NaN: the first one counts
      for (int64_t j = 1; j < n; ++j) alu(op, &sum, &x[j], &sum, 1);
      return sum;
    }
    case AluOp::max:
    case AluOp::min: {
      float sum = x[0];
      if (extreme_of_numbers(op == AluOp::max, x, n, sum)) return sum;
      for (int64_t j = 1; j < n; ++j) alu(op, &sum, &x[j], &sum, 1);
      return sum;
    }
    default: {  // logical
      float sum = x[0] != 0 ? 1.0f : 0.0f;
      for (int64_t j = 1; j < n; ++j) alu(op, &sum, &x[j], &sum, 1);
      return sum;
    }
  }
}

// Sums of rows of `length` elements, as many a partition as `dst` takes: of several partitions at a time.
void sum_partitions(const Execution& e, const Row& dst, const Row& src, int64_t length) {
  Machine& m = e.machine;
  Scratch& s = *e.scratch;
  const int64_t n = src.count(), groups = dst.count();
  const int at_once = static_cast<int>(kSumsAtOnce);
  float *const buffer = s.floats(0, n * at_once), *const sums = s.floats(1, groups * at_once);
  for (int first = e.first; first < e.end; first += at_once) {
    const int count = std::min(e.end - first, at_once);
    std::array<const float*, kSumsAtOnce> loaded{}, rows{};
    for (int k = 0; k < count; ++k)
      loaded[static_cast<std::size_t>(k)] = src.view(m.row(e.op(1), first + k), buffer + k * n);
    // Rows in order of partition and group.
    for (int64_t r = 0; r < count * groups;) {
      std::size_t full = 0;
      float* const to = sums + r;
      for (; full < kSumsAtOnce && r < count * groups; ++full, ++r)
        rows[full] = loaded[static_cast<std::size_t>(r / groups)] + r % groups * length;
      sum_each({rows.data(), full}, length, to);
    }
    for (int64_t r = 0; r < count * groups && e.instruction.negate; ++r) sums[r] = -sums[r];
    for (int k = 0; k < count; ++k) e.store(dst, 0, first + k, sums + k * groups);
  }
}

void tensor_reduce(const Execution& e) {
  Machine& m = e.machine;
  const Instruction& i = e.instruction;
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = src.count(), groups = dst.count(), length = n / groups;
  const bool integers = is_bitwise(i.op0) || (i.engine == Engine::gpsimd && is_integral(e.op(1).dtype));
  const bool lossy = m.options.quirks.integers_through_fp32 && !is_bitwise(i.op0);
  if (!integers && i.op0 == AluOp::add) return sum_partitions(e, dst, src, length);
  e.for_rows([&](int p, Scratch& s) {
    if (integers) {
      int64_t *x = s.ints(0, n), *y = s.ints(1, groups);
      src.load(m.row(e.op(1), p), x);
      for (int64_t g = 0; g < groups; ++g) {
        int64_t sum = integer_identity(i.op0);
        for (int64_t j = 0; j < length; ++j) {
          (lossy ? alu_through_fp32 : static_cast<decltype(&alu_through_fp32)>(alu))(
              i.op0, &sum, &x[g * length + j], &sum, 1);
        }
        y[g] = i.negate ? static_cast<int64_t>(0 - static_cast<uint64_t>(sum)) : sum;
      }
      dst.store(m.row(e.op(0), p), y);
      return;
    }
    const float* x = src.view(m.row(e.op(1), p), s.floats(0, n));
    float* y = s.floats(1, groups);
    for (int64_t g = 0; g < groups; ++g) y[g] = reduce(i.op0, x + g * length, length);
    for (int64_t g = 0; g < groups && i.negate; ++g) y[g] = -y[g];
    e.store(dst, 0, p, y);
  });
}

// r_i = (a_i op0 r_(i-1)) op1 b_i. Rows of several partitions go side by side: each waits for its own results
// only.
void tensor_tensor_scan(const Execution& e) {
  constexpr int kAtOnce = 8;
  Machine& m = e.machine;
  const Instruction& i = e.instruction;
  const Row &dst = e.row(0), &a = e.row(1), &b = e.row(2);
  const Row& initial = e.row(3);
  const int64_t n = dst.count();
  Scratch& s = *e.scratch;
  float *const xs = s.floats(0, n * kAtOnce), *const ys = s.floats(1, n * kAtOnce),
               *const results = s.floats(2, n * kAtOnce);
  const bool linear = i.op0 == AluOp::multiply && i.op1 == AluOp::add;
  for (int first = e.first; first < e.end; first += kAtOnce) {
    const int count = std::min(e.end - first, kAtOnce);
    // What lies behind `count` goes along with the last row, and is not stored.
    std::array<const float*, kAtOnce> x{}, y{};
    std::array<float, kAtOnce> r{};
    for (int k = 0; k < kAtOnce; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const int p = first + std::min(k, count - 1);
      x[at] = k < count ? a.view(m.row(e.op(1), p), xs + k * n) : x[at - 1];
      y[at] = k < count ? b.view(m.row(e.op(2), p), ys + k * n) : y[at - 1];
      r[at] = i.immediate[0];
      if (e.op(3).defined()) initial.load(m.row(e.op(3), p), &r[at]);
    }
    for (int64_t j = 0; j < n && linear; ++j) {
      for (std::size_t k = 0; k < kAtOnce; ++k) {
        const float product = x[k][j] * r[k];
        r[k] = product + y[k][j];
        results[static_cast<int64_t>(k) * n + j] = r[k];
      }
    }
    for (int k = 0; k < count && !linear; ++k) {
      const auto at = static_cast<std::size_t>(k);
      for (int64_t j = 0; j < n; ++j) {
        alu(i.op0, &x[at][j], &r[at], &r[at], 1);
        alu(i.op1, &r[at], &y[at][j], &r[at], 1);
        results[k * n + j] = r[at];
      }
    }
    for (int k = 0; k < count; ++k) e.store(dst, 0, first + k, results + k * n);
  }
}

// (count, mean, count * variance) of the even and of the odd elements: two passes in fp32.
void bn_stats(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = src.count();
  e.for_rows([&](int p, Scratch& s) {
    const float* x = src.view(m.row(e.op(1), p), s.floats(0, n));
    // Both kinds at a time: each waits for its own additions only.
    const int64_t count[2] = {(n + 1) / 2, n / 2};
    float sum[2] = {}, mean[2] = {}, squares[2] = {};
    for (int64_t j = 0; j < count[1]; ++j) {
      sum[0] += x[2 * j];
      sum[1] += x[2 * j + 1];
    }
    if (count[0] > count[1]) sum[0] += x[n - 1];
    for (int k = 0; k < 2; ++k) mean[k] = count[k] > 0 ? sum[k] / static_cast<float>(count[k]) : 0.0f;
    const auto add_square = [&](int k, int64_t j) {
      const float d = x[j] - mean[k], d2 = d * d;
      squares[k] += d2;
    };
    for (int64_t j = 0; j < count[1]; ++j) {
      add_square(0, 2 * j);
      add_square(1, 2 * j + 1);
    }
    if (count[0] > count[1]) add_square(0, n - 1);
    const float out[6] = {static_cast<float>(count[0]), mean[0], squares[0],
                          static_cast<float>(count[1]), mean[1], squares[1]};
    e.store(dst, 0, p, out);
  });
}

// Combines triples pairwise, ascending (Chan, Golub, LeVeque 1979), in fp32.
void bn_aggr(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = src.count();
  e.for_rows([&](int p, Scratch& s) {
    const float* x = src.view(m.row(e.op(1), p), s.floats(0, n));
    float count = 0, mean = 0, squares = 0;
    for (int64_t j = 0; j < n; j += 3) {
      if (x[j] == 0) continue;
      const float total = count + x[j], delta = x[j + 1] - mean, share = x[j] / total;
      const float step = delta * share, spread = delta * delta, weight = count * share;
      mean += step;
      const float between = spread * weight;
      squares += x[j + 2] + between;
      count = total;
    }
    const float out[2] = {mean, count > 0 ? squares / count : 0.0f};
    e.store(dst, 0, p, out);
  });
}

void max8(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = src.count();
  e.for_rows([&](int p, Scratch& s) {
    float* x = s.floats(0, n);
    src.load(m.row(e.op(1), p), x);
    std::partial_sort(x, x + 8, x + n, greater);
    e.store(dst, 0, p, x);
  });
}

// Index of each value's first occurrence; equal values get successive occurrences; absent ones -1.
void find8(const float* x, int64_t n, const float (&values)[8], int64_t (&found)[8]) {
  for (int v = 0; v < 8; ++v) {
    int64_t from = 0;
    for (int w = 0; w < v; ++w) {
      if (equal(values[w], values[v])) from = found[w] < 0 ? n : std::max(from, found[w] + 1);
    }
    found[v] = -1;
    for (int64_t j = from; j < n && found[v] < 0; ++j) {
      if (equal(x[j], values[v])) found[v] = j;
    }
  }
}

void find_index8(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1), &wanted = e.row(2);
  const int64_t n = src.count();
  e.for_rows([&](int p, Scratch& s) {
    float values[8];
    int64_t found[8];
    wanted.load(m.row(e.op(2), p), values);
    find8(src.view(m.row(e.op(1), p), s.floats(0, n)), n, values, found);
    dst.store(m.row(e.op(0), p), found);
  });
}

void match_replace8(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1), &wanted = e.row(2);
  const int64_t n = src.count();
  e.for_rows([&](int p, Scratch& s) {
    float values[8];
    int64_t found[8];
    float* x = s.floats(0, n);
    src.load(m.row(e.op(1), p), x);
    wanted.load(m.row(e.op(2), p), values);
    find8(x, n, values, found);
    for (int64_t at : found) {
      if (at >= 0) x[at] = e.instruction.immediate[0];
    }
    e.store(dst, 0, p, x);
  });
}

}  // namespace

void execute_reduction(const Execution& e) {
  switch (e.instruction.opcode) {
    case Opcode::tensor_reduce:
      return tensor_reduce(e);
    case Opcode::tensor_tensor_scan:
      return tensor_tensor_scan(e);
    case Opcode::bn_stats:
      return bn_stats(e);
    case Opcode::bn_aggr:
      return bn_aggr(e);
    case Opcode::max8:
      return max8(e);
    case Opcode::find_index8:
      return find_index8(e);
    default:
      return match_replace8(e);
  }
}

}  // namespace assay::backend
