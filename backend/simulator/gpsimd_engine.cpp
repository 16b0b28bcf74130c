// iota, affine_select and the software routines of the GpSimd engine (isa/gpsimd.md).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "backend/simulator/alu.h"
#include "backend/simulator/lanes.h"
#include "backend/simulator/machine.h"

namespace assay::backend {
namespace {

// base + multiplier * p + sum of step[k] * i_k over the first `rank` dimensions, in row-major order, for row
// p.
void affine(const Execution& e, int p, std::size_t rank, int64_t* out) {
  const AccessPattern& a = e.op(0);
  const std::span<const int64_t> values = e.integers();
  const auto u = [](int64_t v) { return static_cast<uint64_t>(v); };
  std::array<int64_t, kMaxRank> index{};
  uint64_t at = u(values[0]) + u(values[1]) * static_cast<uint64_t>(p);
  int64_t n = 1;
  for (std::size_t d = 0; d < rank; ++d) n *= a.sizes[d];
  for (int64_t j = 0; j < n; ++j) {
    out[j] = static_cast<int64_t>(at);
    for (std::size_t d = rank; d-- > 0;) {
      at += u(values[2 + d]);
      if (++index[d] < a.sizes[d]) break;
      at -= u(values[2 + d]) * static_cast<uint64_t>(a.sizes[d]);
      index[d] = 0;
    }
  }
}

int64_t last_size(const AccessPattern& a) { return a.sizes[static_cast<std::size_t>(a.rank - 1)]; }

void iota(const Execution& e) {
  Machine& m = e.machine;
  const Row& dst = e.row(0);
  const int64_t n = dst.count();
  e.for_rows([&](int p, Scratch& s) {
    int64_t* x = s.ints(0, n);
    affine(e, p, e.op(0).rank, x);
    dst.store(m.row(e.op(0), p), x);
  });
}

// Whether `n` numbers first, first + step, ... fit into 32 bits.
bool fits_32_bits(int64_t first, int64_t step, int64_t n) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (step < -kMost || step > kMost || first < -kMost || first > kMost) return false;
  const int64_t last = first + step * (n - 1);
  return last >= -kMost && last <= kMost;
}

void affine_select(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1);
  const AccessPattern& a = e.op(0);
  const int64_t n = dst.count(), inner = a.rank > 0 ? last_size(a) : 1;
  const int64_t step = a.rank > 0 ? e.integers()[2 + a.rank - 1u] : 0;
  const float other = e.instruction.immediate[0];
  e.for_rows([&](int p, Scratch& s) {
    const float* x = src.view(m.row(e.op(1), p), s.floats(0, n));
    float* y = s.floats(1, n);
    int64_t* numbers = s.ints(0, n);
    int64_t* zero = nullptr;
    affine(e, p, std::max<std::size_t>(a.rank, 1) - 1, numbers);
    for (int64_t j = 0; j < n; j += inner) {
      const int64_t first = numbers[j / inner];
      if (fits_32_bits(first, step, inner) &&
          lanes().select_affine(e.instruction.op0, static_cast<int32_t>(first), static_cast<int32_t>(step),
                                x + j, other, y + j, inner)) {
        continue;
      }
      if (zero == nullptr) std::fill_n(zero = s.ints(1, inner), inner, 0);
      int64_t* out = s.ints(2, inner);
      for (int64_t k = 0; k < inner; ++k)
        out[k] = static_cast<int64_t>(static_cast<uint64_t>(first) +
                                      static_cast<uint64_t>(step) * static_cast<uint64_t>(k));
      alu(e.instruction.op0, out, zero, out, inner);
      for (int64_t k = 0; k < inner; ++k) y[j + k] = out[k] != 0 ? x[j + k] : other;
    }
    e.store(dst, 0, p, y);
  });
}

void cast(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = dst.count();
  const bool from_integer = is_integral(e.op(1).dtype);
  const bool lossy = m.options.quirks.integers_through_fp32;
  e.for_rows([&](int p, Scratch& s) {
    if (from_integer && !lossy) {
      int64_t* x = s.ints(0, n);
      src.load(m.row(e.op(1), p), x);
      dst.store(m.row(e.op(0), p), x);
    } else {
      e.store(dst, 0, p, src.view(m.row(e.op(1), p), s.floats(0, n)));
    }
  });
}

void scan(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = dst.count(), length = last_size(e.op(1));
  const AluOp op = e.instruction.op0;
  const bool integers = is_integral(e.op(1).dtype) && !m.options.quirks.integers_through_fp32;
  e.for_rows([&](int p, Scratch& s) {
    const auto run = [&](auto* x) {
      for (int64_t g = 0; g < n; g += length) {
        for (int64_t j = g + 1; j < g + length; ++j) alu(op, &x[j - 1], &x[j], &x[j], 1);
      }
    };
    if (integers) {
      int64_t* x = s.ints(0, n);
      src.load(m.row(e.op(1), p), x);
      run(x);
      dst.store(m.row(e.op(0), p), x);
    } else {
      float* x = s.floats(0, n);
      src.load(m.row(e.op(1), p), x);
      run(x);
      e.store(dst, 0, p, x);
    }
  });
}

void local_move(const Execution& e, bool gather) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1), &index = e.row(2);
  const int64_t n = index.count(), element = static_cast<int64_t>(size_of(e.op(0).dtype));
  e.for_rows([&](int p, Scratch& s) {
    int64_t* at = s.ints(0, n);
    index.load(m.row(e.op(2), p), at);
    std::byte *from = s.bytes(0, src.count() * element), *to = s.bytes(1, dst.count() * element);
    src.load_raw(m.row(e.op(1), p), from);
    if (gather) {
      for (int64_t j = 0; j < n; ++j) std::copy_n(from + at[j] * element, element, to + j * element);
    } else {
      dst.load_raw(m.row(e.op(0), p), to);
      for (int64_t j = 0; j < n; ++j) std::copy_n(from + j * element, element, to + at[j] * element);
    }
    dst.store_raw(m.row(e.op(0), p), to);
  });
}

bool less(int64_t a, int64_t b) { return a < b; }
bool less(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; }  // NaN is the largest

void sort(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1), &index = e.row(2);
  const int64_t n = dst.count(), length = last_size(e.op(1)),
                element = static_cast<int64_t>(size_of(e.op(0).dtype));
  const bool integers = is_integral(e.op(1).dtype), descending = e.instruction.descending;
  e.for_rows([&](int p, Scratch& s) {
    int64_t* order = s.ints(1, n);
    const auto arrange = [&](const auto* keys) {
      for (int64_t g = 0; g < n; g += length) {
        std::iota(order + g, order + g + length, int64_t{0});
        std::sort(order + g, order + g + length, [&](int64_t a, int64_t b) {
          const auto x = keys[g + a], y = keys[g + b];
          if (less(x, y)) return !descending;
          if (less(y, x)) return descending;
          return a < b;  // stable
        });
      }
    };
    if (integers) {
      int64_t* keys = s.ints(0, n);
      src.load(m.row(e.op(1), p), keys);
      arrange(keys);
    } else {
      arrange(src.view(m.row(e.op(1), p), s.floats(0, n)));
    }
    std::byte *from = s.bytes(0, n * element), *to = s.bytes(1, n * element);
    src.load_raw(m.row(e.op(1), p), from);
    for (int64_t j = 0; j < n; ++j) {
      std::copy_n(from + (j / length * length + order[j]) * element, element, to + j * element);
    }
    dst.store_raw(m.row(e.op(0), p), to);
    if (e.op(2).defined()) index.store(m.row(e.op(2), p), order);
  });
}

void arg_extreme(const Execution& e, bool largest) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = src.count(), length = last_size(e.op(1));
  const bool integers = is_integral(e.op(1).dtype);
  e.for_rows([&](int p, Scratch& s) {
    int64_t* best = s.ints(1, n / length);
    const auto search = [&](const auto* x, auto better) {
      for (int64_t g = 0; g < n; g += length) {
        int64_t at = 0;
        for (int64_t j = 1; j < length; ++j) {
          if (better(x[g + j], x[g + at])) at = j;
        }
        best[g / length] = at;
      }
    };
    if (integers) {
      int64_t* x = s.ints(0, n);
      src.load(m.row(e.op(1), p), x);
      search(x, [&](int64_t a, int64_t b) { return largest ? a > b : a < b; });
    } else {
      search(src.view(m.row(e.op(1), p), s.floats(0, n)), [&](float a, float b) {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
        return largest ? a > b : a < b;
      });
    }
    dst.store(m.row(e.op(0), p), best);
  });
}

void math(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &a = e.row(1), &b = e.row(2);
  const int64_t n = dst.count();
  const bool binary = is_binary(e.instruction.math);
  e.for_rows([&](int p, Scratch& s) {
    const float* x = a.view(m.row(e.op(1), p), s.floats(0, n));
    const float* y = binary ? b.view(m.row(e.op(2), p), s.floats(1, n)) : nullptr;
    float* z = s.floats(2, n);
    backend::math(e.instruction.math, x, y, z, n);
    e.store(dst, 0, p, z);
  });
}

void philox(const Execution& e) {
  Machine& m = e.machine;
  const Row& dst = e.row(0);
  const int64_t n = dst.count();
  const auto key = static_cast<uint64_t>(e.integers()[0]), seed = static_cast<uint64_t>(e.integers()[1]);
  const auto first = static_cast<uint64_t>(e.integers()[2]);
  const PhiloxKey words{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  e.for_rows([&](int p, Scratch& s) {
    int64_t* x = s.ints(0, n);
    for (int64_t j = 0; j < n; ++j) x[j] = draw_word(words, seed, first + static_cast<uint64_t>(p * n + j));
    dst.store(m.row(e.op(0), p), x);
  });
}

}  // namespace

// Indices are checked before anything moves, in order, so that the trap does not depend on threads.
void check_indices(const Execution& e) {
  const bool gather = e.instruction.routine == GpSimdRoutine::local_gather;
  Machine& m = e.machine;
  const Row index = m.make_row(e.op(2));
  const int64_t n = index.count(), bound = e.op(gather ? 1 : 0).free_elements();
  int64_t* x = m.scratch[0].ints(0, n);
  for (int p = 0; p < e.op(2).partitions; ++p) {
    index.load(m.row(e.op(2), p), x);
    for (int64_t j = 0; j < n; ++j) {
      if (x[j] < 0 || x[j] >= bound) {
        e.trap(TrapKind::index_out_of_bounds, "index " + std::to_string(x[j]) + " in row " +
                                                  std::to_string(p) + ", element " + std::to_string(j) +
                                                  "; legal are 0 to " + std::to_string(bound - 1));
      }
    }
  }
}

void execute_gpsimd(const Execution& e) {
  if (e.instruction.opcode == Opcode::iota) return iota(e);
  if (e.instruction.opcode == Opcode::affine_select) return affine_select(e);
  switch (e.instruction.routine) {
    case GpSimdRoutine::cast:
      return cast(e);
    case GpSimdRoutine::scan:
      return scan(e);
    case GpSimdRoutine::local_gather:
      return local_move(e, true);
    case GpSimdRoutine::local_scatter:
      return local_move(e, false);
    case GpSimdRoutine::sort:
      return sort(e);
    case GpSimdRoutine::arg_max:
      return arg_extreme(e, true);
    case GpSimdRoutine::arg_min:
      return arg_extreme(e, false);
    case GpSimdRoutine::math:
      return math(e);
    case GpSimdRoutine::philox:
      return philox(e);
  }
}

}  // namespace assay::backend
