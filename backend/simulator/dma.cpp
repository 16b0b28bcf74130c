// DMA: strided copies between SBUF, PSUM and HBM, and gathers and scatters of HBM rows.
#include <algorithm>
#include <cstring>
#include <string>

#include "backend/simulator/machine.h"
#include "backend/simulator/turn.h"

namespace assay::backend {
namespace {

int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// One row to one row of as many elements.
void move_row(const Execution& e, const Row& to, const Row& from, std::byte* dst, const std::byte* src, int p,
              Scratch& s) {
  Machine& m = e.machine;
  const int64_t n = to.count(), element = static_cast<int64_t>(size_of(e.op(0).dtype));
  if (e.instruction.accumulate) {
    if (is_integral(e.op(0).dtype) && is_integral(e.op(1).dtype) && !m.options.quirks.integers_through_fp32) {
      int64_t *x = s.ints(0, n), *y = s.ints(1, n);
      to.load(dst, x);
      from.load(src, y);
      for (int64_t j = 0; j < n; ++j) x[j] = wrapping_add(x[j], y[j]);
      to.store(dst, x);
      return;
    }
    float *x = s.floats(0, n), *y = s.floats(1, n);
    to.load(dst, x);
    from.load(src, y);
    for (int64_t j = 0; j < n; ++j) x[j] += y[j];
    to.store(dst, x);
    return;
  }
  if (e.op(0).dtype != e.op(1).dtype) {
    const float* x = from.view(src, s.floats(0, n));
    e.store(to, 0, p, x);
    return;
  }
  // Packed on one side: straight through, without a buffer between.
  const std::byte* packed = src + e.op(1).offset;
  const bool same_tensor =
      e.op(0).space == Space::hbm && e.op(1).space == Space::hbm && e.op(0).tensor == e.op(1).tensor;
  if (!from.contiguous() || same_tensor) {
    if (to.contiguous() && !same_tensor) return from.load_raw(src, dst + e.op(0).offset);
    std::byte* buffer = s.bytes(0, n * element);
    from.load_raw(src, buffer);
    packed = buffer;
  }
  to.store_raw(dst, packed);
}

// Rows that begin at neighbouring elements of HBM, each of elements far apart, to packed rows.
void copy_turned_rows(const Execution& e) {
  constexpr int kRows = 32;
  Machine& m = e.machine;
  const AccessPattern &d = e.op(0), &a = e.op(1);
  const auto element = static_cast<int64_t>(size_of(d.dtype));
  const int64_t tiles = a.rank == 2 ? a.sizes[0] : 1, count = a.sizes[a.rank - 1u];
  const int64_t tile_stride = a.rank == 2 ? a.strides[0] : 0, stride = a.strides[a.rank - 1u];
  const int64_t to_pitch = d.space == Space::hbm ? d.partition_stride * element
                                                 : (d.space == Space::sbuf ? m.sbuf : m.psum).pitch();
  std::byte* to = m.row(d, 0) + d.offset;
  const std::byte* from = m.row(a, 0) + a.offset;
  m.for_rows((d.partitions + kRows - 1) / kRows, d.elements(), [&](int block, Scratch&) {
    const int first = block * kRows, rows = std::min(d.partitions - first, kRows);
    for (int64_t t = 0; t < tiles; ++t) {
      turn(from + (first + t * tile_stride) * element, stride * element,
           to + first * to_pitch + t * count * element, to_pitch, count, rows, element);
    }
  });
}

bool is_turned(const AccessPattern& a) {
  return a.space == Space::hbm && a.partitions > 1 && a.partition_stride == 1 &&
         (a.rank == 1 || a.rank == 2) && a.sizes[a.rank - 1u] > 1 && a.strides[a.rank - 1u] > 1;
}

// A copy within one HBM tensor may overlap itself: then it goes row by row, in order.
bool within_one_tensor(const Execution& e) {
  const AccessPattern &d = e.op(0), &a = e.op(1);
  return d.space == Space::hbm && a.space == Space::hbm && d.tensor == a.tensor;
}

// Whether the copy is copy_turned_rows.
bool turns_rows(const Execution& e) {
  const AccessPattern &d = e.op(0), &a = e.op(1);
  return is_turned(a) && d.partitions == a.partitions && !within_one_tensor(e) && !e.instruction.accumulate &&
         d.dtype == a.dtype && Row(d).contiguous();
}

void copy(const Execution& e) {
  if (turns_rows(e)) return copy_turned_rows(e);
  Machine& m = e.machine;
  const AccessPattern &d = e.op(0), &a = e.op(1);
  const Row to = m.make_row(d), from = m.make_row(a);
  const int64_t total = d.elements();
  if (to.count() == from.count()) {
    for (int p = 0; p < d.partitions; ++p) move_row(e, to, from, m.row(d, p), m.row(a, p), p, m.scratch[0]);
    return;
  }
  const int64_t work = within_one_tensor(e) ? 0 : total;
  // Rows of other lengths: through a packed buffer in row-major order.
  const bool raw = d.dtype == a.dtype;
  const auto element = static_cast<int64_t>(size_of(d.dtype));
  if (raw) {
    std::byte* packed = m.scratch[0].bytes(5, total * element);
    m.for_rows(a.partitions, work,
               [&](int p, Scratch&) { from.load_raw(m.row(a, p), packed + p * from.count() * element); });
    m.for_rows(d.partitions, work,
               [&](int p, Scratch&) { to.store_raw(m.row(d, p), packed + p * to.count() * element); });
    return;
  }
  float* packed = m.scratch[0].floats(5, total);
  m.for_rows(a.partitions, work, [&](int p, Scratch&) { from.load(m.row(a, p), packed + p * from.count()); });
  m.for_rows(d.partitions, work, [&](int p, Scratch&) { e.store(to, 0, p, packed + p * to.count()); });
}

// Sequential: indices may repeat, and the order of rows decides then.
void indirect(const Execution& e) {
  Machine& m = e.machine;
  const bool gather = e.instruction.opcode == Opcode::dma_gather;
  const AccessPattern &d = e.op(0), &a = e.op(1), &index = e.op(2);
  const Row index_row = m.make_row(index);
  const auto element = static_cast<int64_t>(size_of(d.dtype));
  const int64_t stride = e.integers()[0] * element, bound = e.integers()[1];
  // The leading dimensions are those of the indices; the others move as a block.
  const std::size_t lead = index.free_elements() == 1 ? 0 : index.rank;
  const auto block_of = [&](AccessPattern p) {
    p.offset = 0;
    for (std::size_t k = lead; k < p.rank; ++k) {
      p.sizes[k - lead] = p.sizes[k];
      p.strides[k - lead] = p.strides[k];
    }
    p.rank = static_cast<uint8_t>(p.rank - lead);
    return m.make_row(p);
  };
  const Row to = block_of(d), from = block_of(a);
  const int64_t count = index_row.count();
  Scratch& s = m.scratch[0];
  int64_t* indices = s.ints(4, count);
  std::byte* buffer = s.bytes(4, to.count() * element);
  for (int p = 0; p < d.partitions; ++p) {
    index_row.load(m.row(index, p), indices);
    std::array<int64_t, kMaxRank> at{};
    for (int64_t j = 0; j < count; ++j) {
      int64_t d_at = d.offset, a_at = a.offset;
      for (std::size_t k = 0; k < lead; ++k) {
        d_at += at[k] * d.strides[k] * element;
        a_at += at[k] * a.strides[k] * element;
      }
      for (std::size_t k = lead; k-- > 0;) {
        if (++at[k] < d.sizes[k]) break;
        at[k] = 0;
      }
      if (indices[j] < 0 || indices[j] >= bound) {
        if (e.instruction.skip_out_of_bounds) continue;
        e.trap(TrapKind::index_out_of_bounds, "index " + std::to_string(indices[j]) + " in row " +
                                                  std::to_string(p) + ", element " + std::to_string(j) +
                                                  "; legal are 0 to " + std::to_string(bound - 1));
      }
      (gather ? a_at : d_at) += indices[j] * stride;
      std::byte* dst = m.row(d, p) + d_at;
      const std::byte* src = m.row(a, p) + a_at;
      if (!e.instruction.accumulate) {
        from.load_raw(src, buffer);
        to.store_raw(dst, buffer);
      } else if (is_integral(d.dtype) && !m.options.quirks.integers_through_fp32) {
        int64_t *x = s.ints(0, to.count()), *y = s.ints(1, to.count());
        to.load(dst, x);
        from.load(src, y);
        for (int64_t k = 0; k < to.count(); ++k) x[k] = wrapping_add(x[k], y[k]);
        to.store(dst, x);
      } else {
        float *x = s.floats(0, to.count()), *y = s.floats(1, to.count());
        to.load(dst, x);
        from.load(src, y);
        for (int64_t k = 0; k < to.count(); ++k) x[k] += y[k];
        to.store(dst, x);
      }
    }
  }
}

}  // namespace

bool dma_by_rows(const Execution& e) {
  return e.instruction.opcode == Opcode::dma_copy && e.op(0).partitions == e.op(1).partitions &&
         !within_one_tensor(e) && !turns_rows(e);
}

void execute_dma_rows(const Execution& e) {
  Machine& m = e.machine;
  const Row &to = e.row(0), &from = e.row(1);
  // Rows of HBM are far from each other and, mostly, from the cache.
  constexpr int kAhead = 2;
  const bool reads = e.op(1).space == Space::hbm, writes = e.op(0).space == Space::hbm;
  const auto prefetch = [&](int p) {
    if (p >= e.end) return;
    if (reads) from.prefetch(m.row(e.op(1), p), false);
    if (writes) to.prefetch(m.row(e.op(0), p), true);
  };
  for (int p = e.first; p < e.first + kAhead; ++p) prefetch(p);
  e.for_rows([&](int p, Scratch& s) {
    prefetch(p + kAhead);
    move_row(e, to, from, m.row(e.op(0), p), m.row(e.op(1), p), p, s);
  });
}

void execute_dma(const Execution& e) {
  if (e.instruction.opcode == Opcode::dma_copy) return copy(e);
  indirect(e);
}

}  // namespace assay::backend
