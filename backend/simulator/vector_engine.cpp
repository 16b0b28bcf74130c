// Elementwise instructions of the Vector, Scalar and GpSimd engines.
#include <algorithm>
#include <array>

#include "backend/simulator/alu.h"
#include "backend/simulator/lanes.h"
#include "backend/simulator/machine.h"
#include "backend/simulator/words.h"

namespace assay::backend {
namespace {

// A [P,1] operand or an immediate.
class Scalars {
 public:
  Scalars(const Execution& e, std::size_t k, float immediate)
      : machine_(e.machine), pattern_(e.op(k)), row_(e.machine.make_row(pattern_)), immediate_(immediate) {}
  float at(int p) const {
    if (!pattern_.defined()) return immediate_;
    float value;
    row_.load(machine_.row(pattern_, p), &value);
    return value;
  }

 private:
  Machine& machine_;
  const AccessPattern& pattern_;
  Row row_;
  float immediate_;
};

// Results of one row: written in place where the destination is packed fp32 that no operand overlaps but
// element by element; else through a buffer. `apart`: an operand that is read after results are written.
class Results {
 public:
  Results(const Execution& e, std::initializer_list<std::size_t> sources, std::size_t apart = 0)
      : e_(e), row_(e.machine.make_row(e.op(0))) {
    in_place_ = row_.dtype() == DType::f32 && row_.contiguous() &&
                std::all_of(sources.begin(), sources.end(),
                            [&](std::size_t k) { return !overlaps(e.op(0), e.op(k), k != apart); });
  }
  float* at(int p, float* buffer) const {
    if (!in_place_) return buffer;
    return reinterpret_cast<float*>(e_.machine.row(e_.op(0), p) + e_.op(0).offset);
  }
  void store(int p, const float* values) const {
    if (!in_place_) e_.store(row_, 0, p, values);
  }

  // Whether writing elements of `dst` in order may change elements of `src` that are still to be read.
  static bool overlaps(const AccessPattern& dst, const AccessPattern& src, bool same_is_legal) {
    if (!src.defined() || src.space != dst.space) return false;
    const bool partitions = src.partition_start < dst.partition_start + dst.partitions &&
                            dst.partition_start < src.partition_start + src.partitions;
    if (!partitions || (same_is_legal && src == dst)) return false;
    const AccessPattern::Extent d = dst.extent(), s = src.extent();
    return d.begin < s.end && s.begin < d.end;
  }

 private:
  const Execution& e_;
  Row row_;
  bool in_place_ = false;
};

// A source of `strided` below: where it lies, or packed.
struct StridedSource {
  const AccessPattern* pattern;
  Row row;
  bool packed;
};

// dst = a op b element by element over dimensions that all three share, without buffers between where they
// are fp32. False if the patterns or the operator ask for the general way.
bool strided(const Execution& e) {
  Machine& m = e.machine;
  const AluOp op = e.instruction.op0;
  const AccessPattern& d = e.op(0);
  if (op != AluOp::add && op != AluOp::subtract && op != AluOp::multiply && op != AluOp::divide) return false;
  const bool in_place = d.dtype == DType::f32 && d.offset % 4 == 0;
  std::array<StridedSource, 2> sources;
  for (std::size_t k = 0; k < 2; ++k) {
    const AccessPattern& s = e.op(k + 1);
    if (s.rank != d.rank || s.sizes != d.sizes) return false;
    const bool direct =
        s.dtype == DType::f32 && s.offset % 4 == 0 && !(in_place && Results::overlaps(d, s, true));
    sources[k] = {&s, m.make_row(s), !direct};
  }
  // Dimensions from the innermost outwards, merged where all three go on in equal steps.
  std::array<int64_t, kMaxRank> sizes{};
  std::array<std::array<int64_t, 3>, kMaxRank> strides{};
  std::size_t rank = 0;
  int64_t below = 1;  // elements of the inner dimensions: the stride of what is packed
  for (std::size_t k = d.rank; k-- > 0; below *= d.sizes[k]) {
    if (d.sizes[k] == 1) continue;
    const auto stride_of = [&](const StridedSource& s) { return s.packed ? below : s.pattern->strides[k]; };
    const std::array<int64_t, 3> here{in_place ? d.strides[k] : below, stride_of(sources[0]),
                                      stride_of(sources[1])};
    bool merges = rank > 0;
    for (std::size_t i = 0; i < 3 && merges; ++i) merges = here[i] == strides[rank - 1][i] * sizes[rank - 1];
    if (merges) {
      sizes[rank - 1] *= d.sizes[k];
    } else {
      sizes[rank] = d.sizes[k];
      strides[rank++] = here;
    }
  }
  if (rank == 0) {
    sizes[0] = rank = 1;
    strides[0] = {1, 1, 1};
  }
  const int64_t count = d.free_elements();
  const Row to = m.make_row(d);
  const auto run = [&](auto f) {
    m.for_rows(d.partitions, count * d.partitions, [&](int p, Scratch& scratch) {
      std::array<const float*, 2> x{};
      for (std::size_t k = 0; k < 2; ++k) {
        const std::byte* base = m.row(*sources[k].pattern, p);
        if (sources[k].packed) {
          float* buffer = scratch.floats(k, count);
          sources[k].row.load(base, buffer);
          x[k] = buffer;
        } else {
          x[k] = reinterpret_cast<const float*>(base + sources[k].pattern->offset);
        }
      }
      float* z = in_place ? reinterpret_cast<float*>(m.row(d, p) + d.offset) : scratch.floats(2, count);
      std::array<int64_t, kMaxRank> index{};
      const int64_t n = sizes[0], dz = strides[0][0], dx = strides[0][1], dy = strides[0][2];
      int64_t at_z = 0, at_x = 0, at_y = 0;
      for (;;) {
        const float *a = x[0] + at_x, *b = x[1] + at_y;
        float* out = z + at_z;
        if (dz == 1 && dx == 1 && dy == 1) {
          lanes().pairs(op, a, b, out, n);
        } else if (dz == 1 && dx == 1 && dy == 0) {
          lanes().number(op, a, *b, false, out, n);
        } else {
          for (int64_t j = 0; j < n; ++j) out[j * dz] = f(a[j * dx], b[j * dy]);
        }
        std::size_t k = 1;
        for (; k < rank; ++k) {
          at_z += strides[k][0];
          at_x += strides[k][1];
          at_y += strides[k][2];
          if (++index[k] < sizes[k]) break;
          at_z -= strides[k][0] * sizes[k];
          at_x -= strides[k][1] * sizes[k];
          at_y -= strides[k][2] * sizes[k];
          index[k] = 0;
        }
        if (k >= rank) break;
      }
      if (!in_place) e.store(to, 0, p, z);
    });
  };
  if (op == AluOp::add) {
    run([](float x, float y) { return x + y; });
  } else if (op == AluOp::subtract) {
    run([](float x, float y) { return x - y; });
  } else if (op == AluOp::multiply) {
    run([](float x, float y) { return x * y; });
  } else {
    run([](float x, float y) { return x / y; });
  }
  return true;
}

void activation(const Execution& e) {
  Machine& m = e.machine;
  const Instruction& i = e.instruction;
  const Results results(e, {1});
  const Row src = m.make_row(e.op(1));
  const Scalars bias(e, 2, 0.0f), scale(e, 3, i.immediate[0]);
  const bool reduce = e.op(4).defined();
  const Row sum_row = m.make_row(e.op(4));
  const int64_t n = src.count();
  const int partitions = e.op(0).partitions, at_once = reduce ? static_cast<int>(kSumsAtOnce) : 1;
  m.for_rows((partitions + at_once - 1) / at_once, n * partitions * 8, [&](int block, Scratch& s) {
    const int first = block * at_once, count = std::min(partitions - first, at_once);
    std::array<const float*, kSumsAtOnce> rows{};
    float *const loaded = s.floats(0, n), *const buffers = s.floats(1, n * at_once);
    for (int k = 0; k < count; ++k) {
      const int p = first + k;
      const float* x = src.view(m.row(e.op(1), p), loaded);
      float* y = results.at(p, buffers + k * n);
      lanes().scale_and_shift(x, scale.at(p), bias.at(p), y, n);
      backend::activation(i.function, y, i.immediate[2], m.options.quirks.activation_range, y, n);
      results.store(p, y);
      rows[static_cast<std::size_t>(k)] = y;
    }
    if (!reduce) return;
    std::array<float, kSumsAtOnce> sums{};
    sum_each({rows.data(), static_cast<std::size_t>(count)}, n, sums.data());
    for (int k = 0; k < count; ++k) e.store(sum_row, 4, first + k, &sums[static_cast<std::size_t>(k)]);
  });
}

// Whether the operator works on integers themselves rather than on fp32: bitwise, or GpSimd's exact
// arithmetic.
bool exact(const Execution& e, AluOp op, std::initializer_list<std::size_t> sources) {
  if (is_bitwise(op)) return true;
  if (e.instruction.engine != Engine::gpsimd) return false;
  return std::all_of(sources.begin(), sources.end(),
                     [&](std::size_t k) { return is_integral(e.op(k).dtype); });
}

void integer_alu(const Execution& e, AluOp op, const int64_t* x, const int64_t* y, int64_t* out, int64_t n) {
  const bool lossy = e.machine.options.quirks.integers_through_fp32 && !is_bitwise(op) && op != AluOp::none;
  (lossy ? alu_through_fp32 : static_cast<decltype(&alu_through_fp32)>(alu))(op, x, y, out, n);
}

// Logical shifts see the bits of the operand's own width.
void clear_high_bits(AluOp op, DType dtype, int64_t* x, int64_t n) {
  const std::size_t bits = size_of(dtype) * 8;
  if (op != AluOp::shift_right || bits == 64) return;
  for (int64_t j = 0; j < n; ++j) x[j] &= (int64_t{1} << bits) - 1;
}

void tensor_tensor(const Execution& e) {
  Machine& m = e.machine;
  const AluOp op = e.instruction.op0;
  const bool integers = exact(e, op, {1, 2});
  if (!integers && strided(e)) return;
  const Row dst = m.make_row(e.op(0)), a = m.make_row(e.op(1)), b = m.make_row(e.op(2));
  const Results results(e, {1, 2});
  const int64_t n = dst.count();
  m.for_rows(e.op(0).partitions, n * e.op(0).partitions * (op == AluOp::pow ? 8 : 1), [&](int p, Scratch& s) {
    if (integers) {
      int64_t *x = s.ints(0, n), *y = s.ints(1, n);
      a.load(m.row(e.op(1), p), x);
      b.load(m.row(e.op(2), p), y);
      clear_high_bits(op, e.op(1).dtype, x, n);
      integer_alu(e, op, x, y, x, n);
      dst.store(m.row(e.op(0), p), x);
      return;
    }
    const float* x = a.view(m.row(e.op(1), p), s.floats(0, n));
    const float* y = b.view(m.row(e.op(2), p), s.floats(1, n));
    float* z = results.at(p, s.floats(2, n));
    alu(op, x, y, z, n);
    results.store(p, z);
  });
}

// (src op0 operand0) op1 operand1
void tensor_scalar(const Execution& e) {
  Machine& m = e.machine;
  const Instruction& i = e.instruction;
  const Row dst = m.make_row(e.op(0)), src = m.make_row(e.op(1));
  const int64_t n = dst.count();
  if (i.integer_count == 2) {
    const std::array<int64_t, 2> scalars{e.integers()[0], e.integers()[1]};
    m.for_rows(e.op(0).partitions, n * e.op(0).partitions, [&](int p, Scratch& s) {
      int64_t *x = s.ints(0, n), *y = s.ints(1, n);
      src.load(m.row(e.op(1), p), x);
      const auto step = [&](AluOp op, int64_t scalar, bool reverse) {
        if (op == AluOp::none) return;
        std::fill_n(y, n, scalar);
        clear_high_bits(op, e.op(1).dtype, reverse ? y : x, n);
        reverse ? integer_alu(e, op, y, x, x, n) : integer_alu(e, op, x, y, x, n);
      };
      step(i.op0, scalars[0], i.reverse0);
      step(i.op1, scalars[1], i.reverse1);
      dst.store(m.row(e.op(0), p), x);
    });
    return;
  }
  const Scalars first(e, 2, i.immediate[0]), second(e, 3, i.immediate[1]);
  const Results results(e, {1});
  const bool slow = i.op0 == AluOp::pow || i.op1 == AluOp::pow;
  m.for_rows(e.op(0).partitions, n * e.op(0).partitions * (slow ? 8 : 1), [&](int p, Scratch& s) {
    const float* x = src.view(m.row(e.op(1), p), s.floats(0, n));
    // Both scalars before results are written: they may lie in the destination.
    const float operand0 = first.at(p), operand1 = second.at(p);
    float *y = s.floats(1, n), *z = results.at(p, s.floats(2, n));
    alu(i.op0, x, operand0, i.reverse0, z, y, n);
    if (i.op1 != AluOp::none) alu(i.op1, z, operand1, i.reverse1, z, y, n);
    results.store(p, z);
  });
}

void scalar_tensor_tensor(const Execution& e) {
  Machine& m = e.machine;
  const Instruction& i = e.instruction;
  const Results results(e, {1, 3}, 3);
  const Row src = m.make_row(e.op(1)), tensor = m.make_row(e.op(3));
  const Scalars scalar(e, 2, i.immediate[0]);
  const int64_t n = src.count();
  m.for_rows(e.op(0).partitions, n * e.op(0).partitions, [&](int p, Scratch& s) {
    const float* x = src.view(m.row(e.op(1), p), s.floats(0, n));
    float *y = s.floats(1, n), *z = results.at(p, s.floats(2, n));
    alu(i.op0, x, scalar.at(p), i.reverse0, z, y, n);
    const float* t = tensor.view(m.row(e.op(3), p), s.floats(3, n));
    i.reverse1 ? alu(i.op1, t, z, z, n) : alu(i.op1, z, t, z, n);
    results.store(p, z);
  });
}

// y = x where the choice is not zero.
void choose_words(const float* choice, const std::byte* x, std::byte* y, int64_t n, int64_t element) {
  with_words(element, [&]<typename T>(T) {
    const auto* from = reinterpret_cast<const T*>(x);
    auto* to = reinterpret_cast<T*>(y);
    for (int64_t j = 0; j < n; ++j) to[j] = choice[j] != 0 ? from[j] : to[j];
  });
}

// dst = predicate ? on_true : on_false. Equal dtypes move raw bits; integers of different widths move exactly
// on GpSimd; all else goes through fp32.
void select(const Execution& e) {
  Machine& m = e.machine;
  const bool predicated_copy = e.instruction.opcode == Opcode::copy_predicated;
  const std::size_t t = predicated_copy ? 1 : 2, f = predicated_copy ? 0 : 3, c = predicated_copy ? 2 : 1;
  const bool immediate = !e.op(f).defined();
  const Row dst = m.make_row(e.op(0)), on_true = m.make_row(e.op(t)), condition = m.make_row(e.op(c));
  const Row on_false = immediate ? Row{} : m.make_row(e.op(f));
  const int64_t n = dst.count(), element = static_cast<int64_t>(size_of(e.op(0).dtype));
  const bool raw = !immediate && e.op(t).dtype == e.op(0).dtype && e.op(f).dtype == e.op(0).dtype;
  const bool integers = e.instruction.engine == Engine::gpsimd && is_integral(e.op(0).dtype) &&
                        is_integral(e.op(t).dtype) && (immediate || is_integral(e.op(f).dtype));
  m.for_rows(e.op(0).partitions, n * e.op(0).partitions, [&](int p, Scratch& s) {
    const float* choose = condition.view(m.row(e.op(c), p), s.floats(0, n));
    std::byte* out = m.row(e.op(0), p);
    if (raw) {
      std::byte *x = s.bytes(0, n * element), *y = s.bytes(1, n * element);
      on_true.load_raw(m.row(e.op(t), p), x);
      on_false.load_raw(m.row(e.op(f), p), y);
      choose_words(choose, x, y, n, element);
      dst.store_raw(out, y);
    } else if (integers) {
      int64_t *x = s.ints(0, n), *y = s.ints(1, n);
      on_true.load(m.row(e.op(t), p), x);
      if (immediate) {
        std::fill_n(y, n, static_cast<int64_t>(e.instruction.immediate[0]));
      } else {
        on_false.load(m.row(e.op(f), p), y);
      }
      for (int64_t j = 0; j < n; ++j) y[j] = choose[j] != 0 ? x[j] : y[j];
      dst.store(out, y);
    } else {
      const float* x = on_true.view(m.row(e.op(t), p), s.floats(1, n));
      float* y = s.floats(2, n);
      if (immediate) {
        std::fill_n(y, n, e.instruction.immediate[0]);
      } else {
        on_false.load(m.row(e.op(f), p), y);
      }
      for (int64_t j = 0; j < n; ++j) y[j] = choose[j] != 0 ? x[j] : y[j];
      e.store(dst, 0, p, y);
    }
  });
}

void memset(const Execution& e) {
  Machine& m = e.machine;
  const Row dst = m.make_row(e.op(0));
  const int64_t n = dst.count();
  const bool integer = e.instruction.integer_count == 1;
  const Results results(e, {});
  m.for_rows(e.op(0).partitions, n * e.op(0).partitions, [&](int p, Scratch& s) {
    if (integer) {
      int64_t* x = s.ints(0, n);
      std::fill_n(x, n, e.integers()[0]);
      dst.store(m.row(e.op(0), p), x);
    } else {
      float* x = results.at(p, s.floats(0, n));
      std::fill_n(x, n, e.instruction.immediate[0]);
      results.store(p, x);
    }
  });
}

void tensor_copy(const Execution& e) {
  Machine& m = e.machine;
  const Row dst = m.make_row(e.op(0)), src = m.make_row(e.op(1));
  const int64_t n = dst.count(), element = static_cast<int64_t>(size_of(e.op(0).dtype));
  const bool raw = e.op(0).dtype == e.op(1).dtype;
  const bool integers = e.instruction.engine == Engine::gpsimd && is_integral(e.op(1).dtype);
  const bool apart = raw && !Results::overlaps(e.op(0), e.op(1), false);
  m.for_rows(e.op(0).partitions, n * e.op(0).partitions, [&](int p, Scratch& s) {
    if (apart && dst.contiguous()) {
      src.load_raw(m.row(e.op(1), p), m.row(e.op(0), p) + e.op(0).offset);
    } else if (apart && src.contiguous()) {
      dst.store_raw(m.row(e.op(0), p), m.row(e.op(1), p) + e.op(1).offset);
    } else if (raw) {
      std::byte* x = s.bytes(0, n * element);
      src.load_raw(m.row(e.op(1), p), x);
      dst.store_raw(m.row(e.op(0), p), x);
    } else if (integers) {
      int64_t* x = s.ints(0, n);
      src.load(m.row(e.op(1), p), x);
      dst.store(m.row(e.op(0), p), x);
    } else {
      e.store(dst, 0, p, src.view(m.row(e.op(1), p), s.floats(0, n)));
    }
  });
}

}  // namespace

void execute_elementwise(const Execution& e) {
  switch (e.instruction.opcode) {
    case Opcode::activation:
      return activation(e);
    case Opcode::tensor_tensor:
      return tensor_tensor(e);
    case Opcode::tensor_scalar:
      return tensor_scalar(e);
    case Opcode::scalar_tensor_tensor:
      return scalar_tensor_tensor(e);
    case Opcode::select:
    case Opcode::copy_predicated:
      return select(e);
    case Opcode::memset:
      return memset(e);
    default:
      return tensor_copy(e);
  }
}

}  // namespace assay::backend
