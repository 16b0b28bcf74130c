// Elementwise instructions of the Vector, Scalar and GpSimd engines.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

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
      : machine_(e.machine), pattern_(e.op(k)), row_(e.row(k)), immediate_(immediate) {}
  float at(int p) const {
    if (!pattern_.defined()) return immediate_;
    float value;
    row_.load(machine_.row(pattern_, p), &value);
    return value;
  }

 private:
  Machine& machine_;
  const AccessPattern& pattern_;
  const Row& row_;
  float immediate_;
};

// Whether two patterns of a partition touch different bytes of every period, some stride of the first: halves
// of neighbouring blocks, say.
bool alternate(const AccessPattern& a, const AccessPattern& b) {
  struct Span {
    int64_t first, width;
  };
  const auto span = [](const AccessPattern& x, int64_t period) {
    const auto element = static_cast<int64_t>(size_of(x.dtype));
    Span out{x.offset, element};
    for (std::size_t k = 0; k < x.rank; ++k) {
      const int64_t reach = (x.sizes[k] - 1) * x.strides[k] * element;
      if (x.strides[k] * element % period == 0) continue;
      out.first += std::min<int64_t>(reach, 0);
      out.width += std::abs(reach);
    }
    return out;
  };
  for (std::size_t k = 0; k < a.rank; ++k) {
    const int64_t period = std::abs(a.strides[k]) * static_cast<int64_t>(size_of(a.dtype));
    if (period == 0 || a.sizes[k] == 1) continue;
    const Span x = span(a, period), y = span(b, period);
    const int64_t behind = ((y.first - x.first) % period + period) % period;
    if (behind >= x.width && behind + y.width <= period) return true;
  }
  return false;
}

// Results of one row: written in place where the destination is packed fp32 that no operand overlaps but
// element by element; else through a buffer. `apart`: an operand that is read after results are written.
class Results {
 public:
  Results(const Execution& e, std::initializer_list<std::size_t> sources, std::size_t apart = 0)
      : e_(e), row_(e.row(0)) {
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
    return d.begin < s.end && s.begin < d.end && !alternate(dst, src);
  }

 private:
  const Execution& e_;
  const Row& row_;
  bool in_place_ = false;
};

// Dimensions that patterns of equal sizes share, from the innermost outwards, merged where all of them go on
// in equal steps. Strides are in elements of each.
template <std::size_t kPatterns>
class SharedDims {
 public:
  using Strides = std::array<int64_t, kPatterns>;

  // stride(pattern, dimension)
  template <typename F>
  SharedDims(const AccessPattern& sizes, F stride) {
    for (std::size_t k = sizes.rank; k-- > 0;) {
      const int64_t size = sizes.sizes[k];
      if (size == 1) continue;
      Strides here{};
      for (std::size_t i = 0; i < kPatterns; ++i) here[i] = stride(i, k);
      bool merges = rank_ > 0;
      for (std::size_t i = 0; i < kPatterns && merges; ++i)
        merges = here[i] == strides_[rank_ - 1][i] * sizes_[rank_ - 1];
      if (merges) {
        sizes_[rank_ - 1] *= size;
      } else {
        sizes_[rank_] = size;
        strides_[rank_++] = here;
      }
    }
    for (; rank_ < 2; ++rank_) {
      sizes_[rank_] = 1;
      strides_[rank_].fill(1);
    }
  }

  int64_t size(std::size_t dim) const { return sizes_[dim]; }
  const Strides& strides(std::size_t dim) const { return strides_[dim]; }

  // Calls f with each pattern's place of the elements of the `inner` innermost dimensions.
  template <typename F>
  void each(std::size_t inner, F f) const {
    std::array<int64_t, kMaxRank> index{};
    for (Strides at{};;) {
      f(at);
      std::size_t k = inner;
      for (; k < rank_; ++k) {
        for (std::size_t i = 0; i < kPatterns; ++i) at[i] += strides_[k][i];
        if (++index[k] < sizes_[k]) break;
        for (std::size_t i = 0; i < kPatterns; ++i) at[i] -= strides_[k][i] * sizes_[k];
        index[k] = 0;
      }
      if (k >= rank_) return;
    }
  }

 private:
  std::size_t rank_ = 0;  // at least 2 in the end
  std::array<int64_t, kMaxRank> sizes_{};
  std::array<Strides, kMaxRank> strides_{};
};

bool same_sizes(const AccessPattern& a, const AccessPattern& b) {
  return a.rank == b.rank && a.sizes == b.sizes;
}

// The two innermost dimensions of out, x and y as blocks of neighbours a few elements apart; of y each block
// may have one element. Their order does not matter.
struct SmallBlocks {
  static constexpr int64_t kMostStride = 256;  // in longer rows calls cost nothing
  bool found = false, one = false;
  LaneBlocks blocks{};

  explicit SmallBlocks(const SharedDims<3>& dims) {
    const bool neighbours_first = dims.strides(0)[0] == 1 && dims.size(1) > 1;
    const std::size_t apart = neighbours_first ? 1 : 0, near = 1 - apart;
    const std::array<int64_t, 3>&steps = dims.strides(apart), within = dims.strides(near);
    const int64_t stride = steps[0], width = dims.size(near);
    one = width > 1 && within[2] == 0;
    const bool small = stride == 2 || stride == 4 || stride == 8 || stride == 16;
    const bool vectors = stride > 16 && stride <= kMostStride && width % 16 == 0;
    found = (small || vectors) && steps[1] == stride && steps[2] == stride && within[0] == 1 &&
            within[1] == 1 && (one || within[2] == 1) && width <= stride;
    blocks = {dims.size(apart), static_cast<int>(stride), static_cast<int>(width)};
  }
};

// A source of `strided` below: where it lies, or packed.
struct StridedSource {
  const AccessPattern* pattern;
  const Row* row;
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
    if (!same_sizes(s, d)) return false;
    const bool direct =
        s.dtype == DType::f32 && s.offset % 4 == 0 && !(in_place && Results::overlaps(d, s, true));
    sources[k] = {&s, &e.row(k + 1), !direct};
  }
  std::array<int64_t, kMaxRank> packed{};  // strides of what goes through a buffer
  int64_t below = 1;
  for (std::size_t k = d.rank; k-- > 0; below *= d.sizes[k]) packed[k] = below;
  const SharedDims<3> dims(d, [&](std::size_t pattern, std::size_t k) {
    if (pattern == 0) return in_place ? d.strides[k] : packed[k];
    const StridedSource& source = sources[pattern - 1];
    return source.packed ? packed[k] : source.pattern->strides[k];
  });
  const SmallBlocks small(dims);
  const int64_t count = d.free_elements();
  const Row& to = e.row(0);
  const auto run = [&](auto f) {
    e.for_rows([&](int p, Scratch& scratch) {
      std::array<const float*, 2> x{};
      for (std::size_t k = 0; k < 2; ++k) {
        const std::byte* base = m.row(*sources[k].pattern, p);
        if (sources[k].packed) {
          float* buffer = scratch.floats(k, count);
          sources[k].row->load(base, buffer);
          x[k] = buffer;
        } else {
          x[k] = reinterpret_cast<const float*>(base + sources[k].pattern->offset);
        }
      }
      float* z = in_place ? reinterpret_cast<float*>(m.row(d, p) + d.offset) : scratch.floats(2, count);
      if (small.found) {
        dims.each(2, [&](const std::array<int64_t, 3>& at) {
          lanes().blocks(op, x[0] + at[1], x[1] + at[2], small.one, z + at[0], small.blocks);
        });
      } else {
        const int64_t n = dims.size(0), dz = dims.strides(0)[0], dx = dims.strides(0)[1],
                      dy = dims.strides(0)[2];
        dims.each(1, [&](const std::array<int64_t, 3>& at) {
          const float *a = x[0] + at[1], *b = x[1] + at[2];
          float* out = z + at[0];
          if (dz == 1 && dx == 1 && dy == 1) {
            lanes().pairs(op, a, b, out, n);
          } else if (dz == 1 && dx == 1 && dy == 0) {
            lanes().number(op, a, *b, false, out, n);
          } else {
            for (int64_t j = 0; j < n; ++j) out[j * dz] = f(a[j * dx], b[j * dy]);
          }
        });
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

// Of an instruction that takes no NaN (no_nan), which is executed by several workers.
void note_nan(const Execution& e, int row, const float* x, int64_t n) {
  const float* found = std::find_if(x, x + n, [](float value) { return std::isnan(value); });
  if (found == x + n) return;
  const RefusedNan here{static_cast<uint32_t>(e.index), static_cast<uint16_t>(row),
                        static_cast<uint16_t>(found - x)};
  std::atomic<RefusedNan>& first = e.machine.refused_nan;
  RefusedNan before = first.load();
  while (here < before && !first.compare_exchange_weak(before, here)) {
  }
}

void activation(const Execution& e) {
  Machine& m = e.machine;
  const Instruction& i = e.instruction;
  const Results results(e, {1});
  const Row& src = e.row(1);
  const Scalars bias(e, 2, 0.0f), scale(e, 3, i.immediate[0]);
  const bool reduce = e.op(4).defined();
  const Row& sum_row = e.row(4);
  const int64_t n = src.count();
  const int at_once = reduce ? static_cast<int>(kSumsAtOnce) : 1;
  Scratch& s = *e.scratch;
  std::array<const float*, kSumsAtOnce> rows{};
  float *const loaded = s.floats(0, n), *const buffers = s.floats(1, n * at_once);
  for (int first = e.first; first < e.end; first += at_once) {
    const int count = std::min(e.end - first, at_once);
    for (int k = 0; k < count; ++k) {
      const int p = first + k;
      const float* x = src.view(m.row(e.op(1), p), loaded);
      if (i.no_nan) note_nan(e, p, x, n);
      float* y = results.at(p, buffers + k * n);
      lanes().scale_and_shift(x, scale.at(p), bias.at(p), y, n);
      backend::activation(i.function, y, i.immediate[2], m.options.quirks.activation_range, y, n);
      results.store(p, y);
      rows[static_cast<std::size_t>(k)] = y;
    }
    if (!reduce) continue;
    std::array<float, kSumsAtOnce> sums{};
    sum_each({rows.data(), static_cast<std::size_t>(count)}, n, sums.data());
    for (int k = 0; k < count; ++k) e.store(sum_row, 4, first + k, &sums[static_cast<std::size_t>(k)]);
  }
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
  const Row &dst = e.row(0), &a = e.row(1), &b = e.row(2);
  const Results results(e, {1, 2});
  const int64_t n = dst.count();
  e.for_rows([&](int p, Scratch& s) {
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
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = dst.count();
  if (i.integer_count == 2) {
    const std::array<int64_t, 2> scalars{e.integers()[0], e.integers()[1]};
    e.for_rows([&](int p, Scratch& s) {
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
  e.for_rows([&](int p, Scratch& s) {
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
  const Row &src = e.row(1), &tensor = e.row(3);
  const Scalars scalar(e, 2, i.immediate[0]);
  const int64_t n = src.count();
  if (i.op0 == AluOp::multiply && i.op1 == AluOp::add) {  // in one step, in either order of operands
    const Results results(e, {1, 3});
    return e.for_rows([&](int p, Scratch& s) {
      const float* x = src.view(m.row(e.op(1), p), s.floats(0, n));
      const float* t = tensor.view(m.row(e.op(3), p), s.floats(3, n));
      float* z = results.at(p, s.floats(2, n));
      lanes().multiply_and_add(x, scalar.at(p), t, z, n);
      results.store(p, z);
    });
  }
  const Results results(e, {1, 3}, 3);
  e.for_rows([&](int p, Scratch& s) {
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

// copy_predicated of words by bytes, where they lie. False if the patterns ask for the general way.
bool copied_where(const Execution& e) {
  Machine& m = e.machine;
  const AccessPattern &d = e.op(0), &x = e.op(1), &c = e.op(2);
  const auto words = [](const AccessPattern& a) { return size_of(a.dtype) == 4 && a.offset % 4 == 0; };
  if (!words(d) || d.dtype != x.dtype || !words(x) || size_of(c.dtype) != 1 || is_float(c.dtype))
    return false;
  if (!same_sizes(d, x) || !same_sizes(d, c)) return false;
  if (Results::overlaps(d, x, true) || Results::overlaps(d, c, false)) return false;
  const std::array<const AccessPattern*, 3> patterns{&d, &x, &c};
  const SharedDims<3> dims(d,
                           [&](std::size_t pattern, std::size_t k) { return patterns[pattern]->strides[k]; });
  if (dims.strides(0) != std::array<int64_t, 3>{1, 1, 1}) return false;
  e.for_rows([&](int p, Scratch&) {
    auto* to = reinterpret_cast<uint32_t*>(m.row(d, p) + d.offset);
    const auto* from = reinterpret_cast<const uint32_t*>(m.row(x, p) + x.offset);
    const auto* choice = reinterpret_cast<const uint8_t*>(m.row(c, p) + c.offset);
    dims.each(1, [&](const std::array<int64_t, 3>& at) {
      lanes().copy_where(choice + at[2], from + at[1], to + at[0], dims.size(0));
    });
  });
  return true;
}

// dst = predicate ? on_true : on_false. Equal dtypes move raw bits; integers of different widths move exactly
// on GpSimd; all else goes through fp32.
void select(const Execution& e) {
  Machine& m = e.machine;
  const bool predicated_copy = e.instruction.opcode == Opcode::copy_predicated;
  if (predicated_copy && copied_where(e)) return;
  const std::size_t t = predicated_copy ? 1 : 2, f = predicated_copy ? 0 : 3, c = predicated_copy ? 2 : 1;
  const bool immediate = !e.op(f).defined();
  const Row &dst = e.row(0), &on_true = e.row(t), &condition = e.row(c);
  const Row& on_false = e.row(f);
  const int64_t n = dst.count(), element = static_cast<int64_t>(size_of(e.op(0).dtype));
  const bool raw = !immediate && e.op(t).dtype == e.op(0).dtype && e.op(f).dtype == e.op(0).dtype;
  const bool integers = e.instruction.engine == Engine::gpsimd && is_integral(e.op(0).dtype) &&
                        is_integral(e.op(t).dtype) && (immediate || is_integral(e.op(f).dtype));
  e.for_rows([&](int p, Scratch& s) {
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
  const Row& dst = e.row(0);
  const int64_t n = dst.count();
  const bool integer = e.instruction.integer_count == 1;
  const Results results(e, {});
  e.for_rows([&](int p, Scratch& s) {
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

// Words in small blocks, where they lie. False if the patterns ask for the general way.
bool copied_blocks(const Execution& e) {
  Machine& m = e.machine;
  const AccessPattern &d = e.op(0), &x = e.op(1);
  if (size_of(d.dtype) != 4 || d.offset % 4 != 0 || x.offset % 4 != 0 || !same_sizes(d, x)) return false;
  const SharedDims<3> dims(
      d, [&](std::size_t pattern, std::size_t k) { return (pattern == 0 ? d : x).strides[k]; });
  const SmallBlocks small(dims);
  if (!small.found || small.one) return false;
  e.for_rows([&](int p, Scratch&) {
    auto* to = reinterpret_cast<float*>(m.row(d, p) + d.offset);
    const auto* from = reinterpret_cast<const float*>(m.row(x, p) + x.offset);
    dims.each(2, [&](const std::array<int64_t, 3>& at) {
      lanes().blocks(AluOp::none, from + at[1], from + at[2], false, to + at[0], small.blocks);
    });
  });
  return true;
}

void tensor_copy(const Execution& e) {
  Machine& m = e.machine;
  const Row &dst = e.row(0), &src = e.row(1);
  const int64_t n = dst.count(), element = static_cast<int64_t>(size_of(e.op(0).dtype));
  const bool raw = e.op(0).dtype == e.op(1).dtype;
  const bool integers = e.instruction.engine == Engine::gpsimd && is_integral(e.op(1).dtype);
  const bool apart = raw && !Results::overlaps(e.op(0), e.op(1), false);
  if (apart && copied_blocks(e)) return;
  e.for_rows([&](int p, Scratch& s) {
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
