#include "backend/simulator/tensor_engine.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/simulator/turn.h"

namespace assay::backend {
namespace {

constexpr std::size_t kSets = 128, kWays = 4;
constexpr std::size_t kMaxProducts = 256;
constexpr int kMinChunk = 32;                       // partitions of PSUM that one task computes, at least
constexpr int64_t kMinColumns = 4 * kPanelColumns;  // or columns
constexpr int64_t kPanelBytes = kPanelColumns * 4;
constexpr int64_t kSmallMoving = int64_t{1} << 16;  // bytes of a bank's moving operands
constexpr int64_t kSmallWork = int64_t{1} << 18;    // multiply-accumulates that are not worth a second thread

std::size_t hash(const AccessPattern& a, int panel) {
  uint64_t h = static_cast<uint64_t>(a.offset) * 0x9e3779b97f4a7c15u;
  h ^= static_cast<uint64_t>(a.partition_start * 131 + a.partitions * 17 + panel) * 0xc2b2ae3d27d4eb4fu;
  for (std::size_t k = 0; k < a.rank; ++k) h = (h ^ static_cast<uint64_t>(a.sizes[k])) * 0x100000001b3u;
  return static_cast<std::size_t>(h >> 40) % kSets;
}

TileFormat format_of(DType a, DType b) {
  const auto wide = [](DType d) { return d == DType::f32 || d == DType::f16; };
  return wide(a) || wide(b) ? TileFormat::singles : TileFormat::pairs;
}

}  // namespace

TensorEngine::TensorEngine(Machine& machine, const TileKernel& kernel)
    : machine_(machine), kernel_(kernel), entries_(kSets * kWays) {
  products_.reserve(kMaxProducts);
  to_pack_.reserve(2 * kMaxProducts);
}

TensorEngine::Operand TensorEngine::operand(const AccessPattern& source, TileFormat format, int panel,
                                            bool pack) {
  constexpr TileOperand kPacked{nullptr, 0, 0};
  const bool whole = !pack && format == TileFormat::singles && source.dtype == DType::f32 &&
                     source.offset % 4 == 0 && source.free_elements() % panel == 0 &&
                     machine_.make_row(source).contiguous();
  if (!whole) return {packed(source, format, panel), kPacked};
  const auto* rows = reinterpret_cast<const float*>(machine_.row(source, 0) + source.offset);
  return {0, unpacked_operand(rows, machine_.sbuf.pitch() / 4, panel)};
}

TileOperand TensorEngine::words_of(const Operand& operand) const {
  if (operand.unpacked.words != nullptr) return operand.unpacked;
  const Packed& entry = entries_[operand.entry];
  return packed_operand(entry.words.data(), steps_of(entry.format, entry.source.partitions), entry.panel);
}

std::size_t TensorEngine::packed(const AccessPattern& source, TileFormat format, int panel) {
  const uint64_t last_write = machine_.sbuf.last_write(source);
  const std::size_t set = hash(source, panel) * kWays;
  std::size_t victim = set;
  bool outdated = false;  // the victim is the operand as it was before its bytes changed
  for (std::size_t i = set; i < set + kWays; ++i) {
    Packed& entry = entries_[i];
    if (entry.used < first_flush_) entry.used = 0;
    const bool same =
        entry.used != 0 && entry.panel == panel && entry.format == format && entry.source == source;
    if (same && entry.last_write == last_write) {
      entry.used = flushes_;
      return i;
    }
    // Its words are in the cache.
    if (same && entry.used != flushes_) {
      victim = i;
      outdated = true;
    }
    if (!outdated && entry.used < entries_[victim].used) victim = i;
  }
  if (entries_[victim].used == flushes_) {  // every way is waited for
    flush();
    victim = set;
  }
  Packed& entry = entries_[victim];
  entry.source = source;
  entry.format = format;
  entry.panel = panel;
  entry.last_write = last_write;
  entry.used = flushes_;
  entry.stale = true;
  to_pack_.push_back(victim);
  return victim;
}

void TensorEngine::pack(Packed& entry, Scratch& scratch) {
  const AccessPattern& a = entry.source;
  const int depth = a.partitions, columns = static_cast<int>(a.free_elements());
  const auto words =
      static_cast<std::size_t>(panels(columns, entry.panel) * steps_of(entry.format, depth) * entry.panel);
  if (entry.words.size() < words) entry.words.resize(words);
  const Row row = machine_.make_row(a);
  entry.stale = false;
  if (entry.format == TileFormat::pairs) {
    if (row.dtype() == DType::bf16 && row.contiguous()) {
      const auto* rows = reinterpret_cast<const uint16_t*>(machine_.row(a, 0) + a.offset);
      pack_pairs(rows, machine_.sbuf.pitch() / 2, depth, columns, entry.panel, entry.words.data());
      return;
    }
    auto* rows = reinterpret_cast<uint16_t*>(scratch.bytes(2, int64_t{depth} * columns * 2));
    float* wide = scratch.floats(3, columns);
    for (int k = 0; k < depth; ++k) {
      uint16_t* out = rows + int64_t{k} * columns;
      if (row.dtype() == DType::bf16) {
        row.load_raw(machine_.row(a, k), reinterpret_cast<std::byte*>(out));
        continue;
      }
      row.load(machine_.row(a, k), wide);  // fp8 is exact in bf16
      for (int c = 0; c < columns; ++c)
        out[c] = static_cast<uint16_t>(std::bit_cast<uint32_t>(wide[c]) >> 16);
    }
    pack_pairs(rows, columns, depth, columns, entry.panel, entry.words.data());
    return;
  }
  if (row.dtype() == DType::f32 && row.contiguous()) {
    const auto* rows = reinterpret_cast<const float*>(machine_.row(a, 0) + a.offset);
    pack_singles(rows, machine_.sbuf.pitch() / 4, depth, columns, entry.panel, entry.words.data());
    return;
  }
  float* rows = scratch.floats(3, int64_t{depth} * columns);
  for (int k = 0; k < depth; ++k) row.load(machine_.row(a, k), rows + int64_t{k} * columns);
  pack_singles(rows, columns, depth, columns, entry.panel, entry.words.data());
}

int TensorEngine::bank_of(const AccessPattern& psum) const {
  const AccessPattern::Extent extent = psum.extent();
  const int64_t bytes = machine_.core.psum_bank_bytes, bank = extent.begin / bytes;
  return (extent.end - 1) / bytes == bank ? static_cast<int>(bank) : -1;
}

void TensorEngine::matmul(const Execution& e) {
  const AccessPattern &dst = e.op(0), &stationary = e.op(1), &moving = e.op(2);
  if (products_.size() == kMaxProducts) flush();
  const TileFormat format = format_of(stationary.dtype, moving.dtype);
  // Each panel of moving columns reads all of the stationary operand: for a whole bank of them it is packed.
  const bool often = moving.free_elements() >= machine_.core.psum_bank_bytes / 4;
  Operand a = operand(stationary, format, kPanelRows, often);
  const uint64_t before = flushes_;
  Operand b = operand(moving, format, kPanelColumns, false);
  if (flushes_ != before) {  // looking up the second flushed, so the first may have been replaced
    a = operand(stationary, format, kPanelRows, often);
    b = operand(moving, format, kPanelColumns, false);
  }
  const bool accumulate = e.instruction.accumulate || machine_.clears_psum_first(e.instruction);
  products_.push_back(
      {dst, a, b, format, stationary.partitions, accumulate, e.index, bank_of(dst), splits_by_columns(dst)});
  pending_work_ += int64_t{stationary.partitions} * dst.elements();
}

bool TensorEngine::splits_by_columns(const AccessPattern& dst) const {
  return dst.dtype == DType::f32 && !machine_.options.quirks.matmul_truncates && bank_of(dst) >= 0 &&
         dst.offset % machine_.core.psum_bank_bytes % kPanelBytes == 0 &&
         dst.free_elements() >= 2 * kMinColumns && machine_.make_row(dst).contiguous();
}

// Operands of few columns that are read where they lie: each of their rows is on a page of its own, and what
// another worker wrote is in its cache.
void TensorEngine::prefetch(const Product& product, const Part& part) const {
  constexpr int64_t kMostColumns = 128, kLine = 16;  // words
  const AccessPattern& dst = product.dst;
  const int begin = std::max(part.first - dst.partition_start, 0);
  const int end = std::min(part.end - dst.partition_start, dst.partitions);
  if (begin >= end || product.transposed != nullptr) return;
  const auto rows = [&](const TileOperand& operand, int64_t begin_column, int64_t end_column) {
    if (operand.words == nullptr || end_column - begin_column > kMostColumns) return;
    for (int k = 0; k < product.depth; ++k) {
      for (int64_t c = begin_column; c < end_column; c += kLine)
        __builtin_prefetch(operand.words + k * operand.step + c);
    }
  };
  rows(product.stationary.unpacked, begin, end);
  rows(product.moving.unpacked, 0, dst.free_elements());
}

TensorEngine::Columns TensorEngine::columns_of(const Product& product, const Part& part) const {
  const int64_t in_bank = product.dst.offset % machine_.core.psum_bank_bytes,
                all = product.dst.free_elements();
  if (!product.by_columns) return {0, all};
  return {std::max<int64_t>((part.first_byte - in_bank) / 4, 0),
          std::min((part.end_byte - in_bank) / 4, all)};
}

// What of a product lies in a part of PSUM.
void TensorEngine::compute(const Product& product, const Product* following, const Part& part,
                           Scratch& scratch) {
  const AccessPattern& dst = product.dst;
  const int begin = std::max(part.first - dst.partition_start, 0);
  const int end = std::min(part.end - dst.partition_start, dst.partitions);
  if (begin >= end) return;
  if (product.transposed != nullptr) {
    const AccessPattern& src = *product.transposed;
    const auto element = static_cast<int64_t>(size_of(src.dtype));
    turn(machine_.row(src, 0) + src.offset + begin * element, machine_.sbuf.pitch(),
         machine_.row(dst, begin) + dst.offset, machine_.psum.pitch(), src.partitions, end - begin, element);
    return;
  }
  const auto [first_column, end_column] = columns_of(product, part);
  if (first_column >= end_column) return;
  TileOperand moving = words_of(product.moving), next_moving{};
  moving.words += first_column / kPanelColumns * moving.panel;
  const uint32_t* next_stationary = nullptr;
  const TileOperand stationary = words_of(product.stationary);
  if (following != nullptr && following->by_columns && product.by_columns &&
      following->format == product.format && following->depth == product.depth &&
      following->dst.partition_start == dst.partition_start && following->dst.partitions == dst.partitions) {
    next_moving = words_of(following->moving);
    next_moving.words += columns_of(*following, part).first / kPanelColumns * next_moving.panel;
    const TileOperand next = words_of(following->stationary);
    if (next.panel == stationary.panel && next.words != stationary.words) next_stationary = next.words;
  }
  compute_tile(product,
               {.format = product.format,
                .steps = steps_of(product.format, product.depth),
                .stationary = stationary,
                .moving = moving,
                .rows = dst.partitions,
                .columns = static_cast<int>(end_column - first_column),
                .row_begin = begin,
                .row_end = end,
                .out = reinterpret_cast<float*>(machine_.row(dst, 0) + dst.offset) + first_column,
                .out_stride = machine_.psum.pitch() / 4,
                .accumulate = product.accumulate,
                .next_stationary = next_stationary,
                .next_moving = next_moving},
               scratch);
}

// `tile` is right for a packed fp32 destination.
void TensorEngine::compute_tile(const Product& product, const TileProduct& tile, Scratch& scratch) {
  const TileFunction run = kernel_.of(product.format);
  const AccessPattern& dst = product.dst;
  const Row row = machine_.make_row(dst);
  const bool truncates = machine_.options.quirks.matmul_truncates;
  if (row.dtype() == DType::f32 && row.contiguous() && !truncates) return run(tile);
  // Strided or bf16 destinations: the sums first, then PSUM's addition and rounding, row by row.
  const int columns = tile.columns;
  float* sums = scratch.floats(4, int64_t{dst.partitions} * columns);
  float* old = scratch.floats(5, columns);
  TileProduct t = tile;
  t.out = sums;
  t.out_stride = columns;
  t.accumulate = false;
  run(t);
  for (int m = tile.row_begin; m < tile.row_end; ++m) {
    float* sum = sums + int64_t{m} * columns;
    if (truncates) {
      for (int n = 0; n < columns; ++n)
        sum[n] = std::bit_cast<float>(std::bit_cast<uint32_t>(sum[n]) & 0xffff0000u);
    }
    std::byte* out = machine_.row(dst, m);
    if (product.accumulate) {
      row.load(out, old);
      for (int n = 0; n < columns; ++n) {
        const float total = old[n] + sum[n];
        sum[n] = std::isnan(total) ? std::bit_cast<float>(0x7fc00000u) : total;
      }
    }
    const uint64_t seed = machine_.options.seed;
    const StochasticRounding rounding{{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
                                      product.index * kMaxOperands,
                                      static_cast<uint64_t>(int64_t{m} * columns)};
    row.store(out, sum, machine_.options.stochastic_rounding ? &rounding : nullptr);
  }
}

void TensorEngine::flush() {
  if (products_.empty() && to_pack_.empty()) return;
  if (pending_work_ < kSmallWork) {
    for (std::size_t i : to_pack_) pack(entries_[i], machine_.scratch[0]);
    const Part all{0, machine_.core.partitions, 0, machine_.core.psum_bank_bytes};
    for (const Product& product : products_) compute(product, nullptr, all, machine_.scratch[0]);
  } else {
    machine_.pool.run(static_cast<int>(to_pack_.size()), [&](int task, int worker) {
      pack(entries_[to_pack_[static_cast<std::size_t>(task)]],
           machine_.scratch[static_cast<std::size_t>(worker)]);
    });
    run_parts();
  }
  discard();
}

// A task is a PSUM bank times some columns, where all products are so wide: then the moving operand, which is
// the larger one, is read by one worker each time. Else times some partitions; also where the moving operands
// are small beside the sums, which will be read by partitions. As many as leave each worker two tasks.
void TensorEngine::run_parts() {
  WorkerPool& pool = machine_.pool;
  const int partitions = machine_.core.partitions;
  const int64_t bank_bytes = machine_.core.psum_bank_bytes;
  const bool by_bank = std::all_of(products_.begin(), products_.end(),
                                   [](const Product& product) { return product.bank >= 0; });
  uint32_t used = 1;
  if (by_bank) {
    used = 0;
    for (const Product& product : products_) used |= 1u << product.bank;
  }
  const int banks = std::popcount(used), wanted = pool.size() == 1 ? 1 : 2 * pool.size();
  int64_t moving_bytes = 0;
  for (const Product& product : products_) moving_bytes += product.depth * product.dst.free_elements() * 2;
  const bool small = pool.size() > 1 && moving_bytes <= banks * kSmallMoving;
  const bool by_columns = !small && std::all_of(products_.begin(), products_.end(),
                                                [](const Product& product) { return product.by_columns; });
  int rows = partitions;
  int64_t bytes = bank_bytes;
  while (by_columns && bytes > kMinColumns * 4 && banks * (bank_bytes / bytes) < wanted) bytes /= 2;
  const int wanted_chunks = small ? pool.size() : (wanted + banks - 1) / banks;
  while (!by_columns && rows > kMinChunk && partitions / rows < wanted_chunks) rows /= 2;
  const int chunks = by_columns ? static_cast<int>(bank_bytes / bytes) : partitions / rows;
  // Banks of the same partitions, or columns, are neighbours: who takes them takes these partitions' rows
  // elsewhere, too, and multiplies the same columns the next time.
  pool.run(banks * chunks, [&](int task, int worker) {
    const int chunk = task / banks;
    const Part part = by_columns ? Part{0, partitions, chunk * bytes, (chunk + 1) * bytes}
                                 : Part{chunk * rows, (chunk + 1) * rows, 0, bank_bytes};
    uint32_t left = used;
    for (int k = task % banks; k > 0; --k) left &= left - 1;
    const int bank = std::countr_zero(left);
    const auto next = [&](std::size_t i) {
      while (i < products_.size() && by_bank && products_[i].bank != bank) ++i;
      return i;
    };
    for (std::size_t i = next(0); i < products_.size();) {
      const std::size_t at = next(i + 1);
      const Product* following = at < products_.size() ? &products_[at] : nullptr;
      if (following != nullptr) prefetch(*following, part);
      compute(products_[i], following, part, machine_.scratch[static_cast<std::size_t>(worker)]);
      i = at;
    }
  });
}

void TensorEngine::begin() {
  discard();
  first_flush_ = flushes_;
}

void TensorEngine::discard() {
  for (std::size_t i : to_pack_) {
    if (entries_[i].stale) entries_[i].panel = 0;  // never packed: matches nothing
  }
  to_pack_.clear();
  products_.clear();
  pending_work_ = 0;
  ++flushes_;
}

bool TensorEngine::collects(const Execution& e) const {
  if (e.instruction.opcode == Opcode::nc_matmul) return true;
  if (e.instruction.opcode != Opcode::nc_transpose) return false;
  const AccessPattern &dst = e.op(0), &src = e.op(1);
  return is_exact(e) && dst.space == Space::psum && src.space == Space::sbuf && dst.dtype == src.dtype &&
         machine_.make_row(dst).contiguous() && machine_.make_row(src).contiguous();
}

// Whether bits are moved; else the transpose is a product with the identity.
bool TensorEngine::is_exact(const Execution& e) const {
  return e.instruction.engine != Engine::tensor ||
         (machine_.core.exact_transpose && !machine_.options.quirks.transpose_spreads_nan);
}

void TensorEngine::transpose(const Execution& e) {
  constexpr int64_t kWork = 8;  // multiply-accumulates that take as long as an element
  const AccessPattern &dst = e.op(0), &src = e.op(1);
  if (collects(e)) {
    if (products_.size() == kMaxProducts) flush();
    Product product{};
    product.dst = dst;
    product.transposed = &src;
    product.index = e.index;
    product.bank = bank_of(dst);
    products_.push_back(product);
    pending_work_ += dst.elements() * kWork;
    return;
  }
  return is_exact(e) ? move_transposed(e) : multiply_by_identity(e);
}

// src^T = src^T * identity: a NaN or infinity spreads, as it does on the device.
void TensorEngine::multiply_by_identity(const Execution& e) {
  const AccessPattern &dst = e.op(0), &src = e.op(1);
  const int rows = src.partitions, columns = dst.partitions;
  const auto side = static_cast<std::size_t>(rows);
  Scratch& scratch = machine_.scratch[0];
  const TileFormat format = format_of(src.dtype, src.dtype);
  turned_.source = src;
  turned_.format = format;
  turned_.panel = kPanelRows;
  pack(turned_, scratch);
  const int steps = steps_of(format, rows);
  identity_.resize(static_cast<std::size_t>(panels(rows, kPanelColumns) * steps * kPanelColumns));
  const auto ones = [&]<typename T>(T* matrix, T one) {
    std::fill_n(matrix, side * side, T{0});
    for (std::size_t k = 0; k < side; ++k) matrix[k * side + k] = one;
    return matrix;
  };
  if (format == TileFormat::pairs) {
    auto* narrow = reinterpret_cast<uint16_t*>(scratch.bytes(4, int64_t{2} * rows * rows));
    pack_pairs(ones(narrow, uint16_t{0x3f80}), rows, rows, rows, kPanelColumns, identity_.data());
  } else {
    pack_singles(ones(scratch.floats(4, int64_t{rows} * rows), 1.0f), rows, rows, rows, kPanelColumns,
                 identity_.data());
  }
  float* out = scratch.floats(5, int64_t{columns} * rows);
  kernel_.of(format)(
      packed_product(format, steps, turned_.words.data(), identity_.data(), columns, rows, out, rows, false));
  const Row to = machine_.make_row(dst);
  for (int c = 0; c < columns; ++c) e.store(to, 0, c, out + int64_t{c} * rows);
}

// Raw bits. Columns of the source are rows of the destination, written where they lie if they are packed.
void TensorEngine::move_transposed(const Execution& e) {
  const AccessPattern &dst = e.op(0), &src = e.op(1);
  const int rows = src.partitions, columns = dst.partitions;
  const Row from = machine_.make_row(src), to = machine_.make_row(dst);
  const auto element = static_cast<int64_t>(size_of(src.dtype));
  const int64_t work = int64_t{rows} * columns * 4;
  const std::byte* x = machine_.row(src, 0) + src.offset;
  int64_t pitch = machine_.row(src, 1) - machine_.row(src, 0);
  if (!from.contiguous()) {
    pitch = columns * element;
    std::byte* packed = machine_.scratch[0].bytes(5, rows * pitch);
    machine_.for_rows(rows, work,
                      [&](int p, Scratch&) { from.load_raw(machine_.row(src, p), packed + p * pitch); });
    x = packed;
  }
  constexpr int kBlock = 32;
  machine_.for_rows((columns + kBlock - 1) / kBlock, work, [&](int block, Scratch& scratch) {
    const int first = block * kBlock, count = std::min(kBlock, columns - first);
    if (to.contiguous()) {
      turn(x + first * element, pitch, machine_.row(dst, first) + dst.offset,
           machine_.row(dst, 1) - machine_.row(dst, 0), rows, count, element);
      return;
    }
    std::byte* out = scratch.bytes(3, int64_t{kBlock} * rows * element);
    turn(x + first * element, pitch, out, rows * element, rows, count, element);
    for (int c = 0; c < count; ++c) to.store_raw(machine_.row(dst, first + c), out + c * rows * element);
  });
}

}  // namespace assay::backend
