#include "backend/kernels/gla.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace assay::backend {
namespace {

// Pairs of blocks of fewer rows than this share products of kGroup rows by kGroup rows, of which a mask takes
// what belongs to them.
constexpr int kMasks = 6;  // pairs of blocks of 1, 2, 4, 8 and 16 rows, and the diagonal
constexpr int kDiagonal = 5;
constexpr int64_t kLoading = 16384;  // bytes a partition left to masks and to what is being loaded

// [pairs, h] of the first or the second blocks of h rows; the longer dimension innermost.
AccessPattern half_of_pairs(const AccessPattern& x, int64_t h, int64_t which) {
  const int64_t pairs = x.free_elements() / (2 * h);
  const AccessPattern rows = x.reshaped({pairs, 2, h}).select(1, which);
  return pairs > h ? rows.permuted({1, 0}) : rows;
}

// The first element of the first or the second blocks, as often as half_of_pairs has elements of them.
AccessPattern first_of_pairs(const AccessPattern& x, int64_t h, int64_t which) {
  const int64_t pairs = x.free_elements() / (2 * h);
  return x.reshaped({pairs, 2, h}).select(1, which).select(1, 0).unsqueezed(pairs > h ? 0 : 1, h);
}

bool in_mask(int mask, int64_t j, int64_t i) {
  if (mask == kDiagonal) return i == j;
  const int64_t h = int64_t{1} << mask;
  return i / (2 * h) == j / (2 * h) && j % (2 * h) < h && i % (2 * h) >= h;
}

}  // namespace

int64_t GlaTiles::tiles_of(int64_t chunk) {
  if (chunk > kMaxChunks * kPartitions) return 0;
  const int64_t tiles = (chunk + kPartitions - 1) / kPartitions;
  return chunk % tiles == 0 ? tiles : 0;
}

GlaCall GlaTiles::by_tiles(GlaCall gla) {
  if (const int64_t tiles = tiles_of(gla.chunk); tiles > 1) gla.chunk /= tiles;
  return gla;
}

bool GlaTiles::takes(const KernelContext& ctx, const GlaCall& gla) {
  const DType dtype = ctx.call.input(ctx.call.tensor("q")).dtype;
  const bool narrow = dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
  return narrow && tiles_of(gla.chunk) > 0 && gla.key <= 4 * kPartitions && gla.value <= 1024;
}

GlaTiles::GlaTiles(KernelContext& ctx, const GlaCall& gla)
    : ctx_(ctx),
      b_(ctx.b),
      gla_(by_tiles(gla)),
      together_(tiles_of(gla.chunk)),
      columns_(
          std::max<int64_t>(kGroup, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(gla_.chunk))))) {
  load_masks();
}

GlaPlan GlaTiles::plan(int64_t once, const std::function<int64_t(int64_t levels)>& bytes) const {
  constexpr int64_t kLevels = 2;  // engines overlap; more would take SBUF, and the simulating host's caches
  const auto chunks = [&](int64_t levels) {
    const int64_t fit = std::min(kMaxChunks, (b_.sbuf_free_bytes() - kLoading - once) / bytes(levels));
    return fit / together_ * together_;
  };
  GlaPlan plan{chunks(1), kLevels};
  while (chunks(plan.levels) < plan.chunks) plan.levels /= 2;
  return plan;
}

int GlaTiles::key_partitions(int64_t tile) const {
  return static_cast<int>(std::min(kPartitions, gla_.key - tile * kPartitions));
}

std::vector<GlaSegment> GlaTiles::segments(const GlaSequence& sequence, int64_t head,
                                           int64_t max_chunks) const {
  std::vector<GlaSegment> all;
  for (int64_t row = 0; row < sequence.length(); row += max_chunks * gla_.chunk) {
    const int64_t rows = std::min(max_chunks * gla_.chunk, sequence.length() - row);
    all.push_back({sequence.batch, head, sequence.start + row, rows, (rows + gla_.chunk - 1) / gla_.chunk});
  }
  return all;
}

int GlaTiles::rows_of(const GlaSegment& s, int64_t chunk) const {
  return static_cast<int>(std::min(gla_.chunk, s.rows - chunk * gla_.chunk));
}

int64_t GlaTiles::place_of(const GlaSegment& s, int64_t chunk, int64_t size) const {
  return ((s.batch * gla_.length + s.row + chunk * gla_.chunk) * gla_.heads + s.head) * size;
}

AccessPattern GlaTiles::turned(std::string_view name, const GlaSegment& s, int64_t size, int64_t first,
                               int partitions) {
  const View x = ctx_.input(name);
  const AccessPattern tile = b_.sbuf(x.dtype, partitions, {s.chunks, columns_});
  const int64_t row = gla_.heads * size, full = s.rows / gla_.chunk, rest = s.rows % gla_.chunk;
  if (rest > 0 || gla_.chunk < columns_) b_.memset(tile, 0.0f);
  const auto load = [&](int64_t chunk, int64_t chunks, int64_t rows) {
    b_.dma_copy(tile.slice(0, chunk, chunks).slice(1, 0, rows),
                hbm_tile(x.dtype, x.tensor, place_of(s, chunk, size) + first, partitions, 1, {chunks, rows},
                         {gla_.chunk * row, row}));
  };
  if (full > 0) load(0, full, gla_.chunk);
  if (rest > 0) load(full, 1, rest);
  return tile;
}

AccessPattern GlaTiles::rows_hbm(int32_t tensor, DType dtype, const GlaSegment& s, int64_t chunk,
                                 int64_t chunks, int rows, int64_t size) const {
  const int64_t row = gla_.heads * size;
  return hbm_tile(dtype, tensor, place_of(s, chunk, size), rows, row, {chunks, size}, {gla_.chunk * row, 1});
}

AccessPattern GlaTiles::natural(std::string_view name, const GlaSegment& s, int64_t size, float factor) {
  const View x = ctx_.input(name);
  const auto rows = static_cast<int>(std::min(gla_.chunk, s.rows));
  const AccessPattern out = b_.sbuf(DType::f32, rows, {s.chunks, size});
  const ProgramBuilder::Mark mark = b_.mark();
  const AccessPattern tile = x.dtype == DType::f32 ? out : b_.sbuf(x.dtype, rows, {s.chunks, size});
  const int64_t full = s.rows / gla_.chunk;
  const auto rest = static_cast<int>(s.rows % gla_.chunk);
  if (rest > 0) b_.memset(tile, 0.0f);
  if (full > 0) b_.dma_copy(tile.slice(0, 0, full), rows_hbm(x.tensor, x.dtype, s, 0, full, rows, size));
  if (rest > 0) {
    b_.dma_copy(tile.partition_slice(0, rest).slice(0, full, 1),
                rows_hbm(x.tensor, x.dtype, s, full, 1, rest, size));
  }
  if (factor != 1) {
    b_.tensor_scalar(out, tile, AluOp::multiply, factor);
  } else if (x.dtype != DType::f32) {
    b_.tensor_copy(out, tile);
  }
  b_.release(mark);
  return out;
}

GlaKeys GlaTiles::keys(const GlaSegment& s, int64_t tile, bool with_q) {
  GlaKeys keys;
  keys.first = tile * kPartitions;
  keys.partitions = key_partitions(tile);
  const auto load = [&](std::string_view name) {
    return turned(name, s, gla_.key, keys.first, keys.partitions);
  };
  for (AccessPattern* x : {&keys.k, &keys.gate, &keys.own, &keys.ahead, &keys.q}) {
    if (x != &keys.q || with_q) *x = b_.sbuf(DType::f32, keys.partitions, {s.chunks, columns_});
  }
  const ProgramBuilder::Mark mark = b_.mark();
  if (with_q) b_.tensor_copy(keys.q, load("q"));
  b_.tensor_copy(keys.k, load("k"), Engine::gpsimd);
  b_.activation(keys.gate, load("g"), Activation::exp, {.no_nan = true});
  b_.release(mark);
  b_.memset(keys.own, 1.0f);
  b_.tensor_copy(keys.ahead.slice(1, 0, columns_ - 1), keys.gate.slice(1, 1, columns_ - 1));
  b_.memset(keys.ahead.slice(1, columns_ - 1, 1), 1.0f);
  return keys;
}

void GlaTiles::join_blocks(GlaKeys& keys, int64_t h) {
  const AccessPattern own = half_of_pairs(keys.own, h, 1);
  b_.tensor_tensor(own, own, first_of_pairs(keys.ahead, h, 0), AluOp::multiply);
  join_ahead(keys, h);
}

void GlaTiles::join_ahead(GlaKeys& keys, int64_t h) {
  const AccessPattern ahead = half_of_pairs(keys.ahead, h, 0);
  b_.tensor_tensor(ahead, ahead, first_of_pairs(keys.ahead, h, 1), AluOp::multiply, Engine::gpsimd);
}

void GlaTiles::join_all_ahead(GlaKeys& keys) {
  const AccessPattern last = keys.own.slice(1, columns_ - 1, 1);
  for (int64_t h = 1; h < columns_; h *= 2) {
    b_.tensor_tensor(last, last, keys.ahead.slice(1, columns_ - 2 * h, 1), AluOp::multiply);
    join_ahead(keys, h);
  }
}

void GlaTiles::from_start(GlaKeys& keys) {
  b_.tensor_tensor(keys.own, keys.own, keys.gate.slice(1, 0, 1).broadcast(1, columns_), AluOp::multiply);
}

std::vector<GlaWhole> GlaTiles::wholes(const GlaSegment& s) const {
  std::vector<GlaWhole> all;
  for (int64_t first = 0; first < s.chunks; first += together_)
    all.push_back({first, std::min(first + together_, s.chunks)});
  return all;
}

std::vector<GlaPair> GlaTiles::pairs_at(const GlaSegment& s, int64_t distance) const {
  std::vector<GlaPair> pairs;
  for (const GlaWhole& whole : wholes(s)) {
    for (int64_t first = whole.first; first + distance < whole.end; ++first)
      pairs.push_back({first, first + distance});
  }
  return pairs;
}

int64_t GlaTiles::pairs_of(const GlaSegment& s) const {
  std::size_t count = 0;
  for (int64_t distance = 1; distance < together_; ++distance) count += pairs_at(s, distance).size();
  return static_cast<int64_t>(count);
}

void GlaTiles::each_distance(const GlaSegment& s, const std::vector<GlaKeys>& keys,
                             const std::vector<std::vector<AccessPattern>>& to_end,
                             const std::function<void(int64_t, const std::vector<GlaPair>&)>& body) {
  for (int64_t distance = 1; distance < together_; ++distance) {
    const std::vector<GlaPair> pairs = pairs_at(s, distance);
    if (pairs.empty()) return;
    if (body) body(distance, pairs);
    for (const GlaPair& pair : pairs) {
      for (std::size_t t = 0; t < keys.size(); ++t) {
        const AccessPattern over =
            keys[t].own.select(0, pair.second).slice(0, columns_ - 1, 1).broadcast(0, columns_);
        for (const std::vector<AccessPattern>& x : to_end) {
          const AccessPattern rows = x[t].select(0, pair.first);
          b_.tensor_tensor(rows, rows, over, AluOp::multiply);
        }
      }
    }
  }
}

void GlaTiles::from_whole_start(const GlaSegment& s, const std::vector<GlaKeys>& keys,
                                const std::vector<AccessPattern>& from, bool all_rows) {
  for (const GlaWhole& whole : wholes(s)) {
    for (int64_t c = whole.first + 1; c < whole.end; ++c) {
      for (std::size_t t = 0; t < keys.size(); ++t) {
        const AccessPattern before = keys[t].own.select(0, c - 1).slice(0, columns_ - 1, 1);
        const auto decay = [&](const AccessPattern& x) {
          b_.tensor_tensor(x, x, before.broadcast(0, x.sizes[0]), AluOp::multiply);
        };
        if (!from.empty()) decay(from[t].select(0, c));
        decay(all_rows ? keys[t].own.select(0, c) : keys[t].own.select(0, c).slice(0, columns_ - 1, 1));
      }
    }
  }
}

void GlaTiles::pair_products(PsumRounds& rounds, const std::vector<GlaPair>& pairs,
                             const std::vector<AccessPattern>& a, const std::vector<AccessPattern>& b,
                             const AccessPattern& out) {
  rounds.add(
      DType::f32, static_cast<int>(columns_), {static_cast<int64_t>(pairs.size()), columns_},
      [&](const AccessPattern& sums) {
        for (std::size_t i = 0; i < pairs.size(); ++i) {
          for (std::size_t t = 0; t < a.size(); ++t) {
            b_.nc_matmul(sums.select(0, static_cast<int64_t>(i)), a[t].select(0, pairs[i].first),
                         b[t].select(0, pairs[i].second), t > 0);
          }
        }
      },
      [this, out](const AccessPattern& sums) { b_.tensor_copy(out, sums, Engine::scalar); });
}

GlaLevel GlaTiles::pairs_of_blocks(const GlaSegment& s, const std::vector<GlaKeys>& keys, int64_t h,
                                   bool with_decays) {
  GlaLevel level;
  level.h = h;
  level.mask = h < kGroup ? std::countr_zero(static_cast<uint64_t>(h)) : -1;
  for (const GlaKeys& tile : keys) {
    const AccessPattern rows = b_.sbuf(DType::f32, tile.partitions, {s.chunks, columns_});
    const auto half = [&](const AccessPattern& x, int64_t which) { return half_of_pairs(x, h, which); };
    b_.tensor_tensor(half(rows, 1), half(tile.q, 1), half(tile.own, 1), AluOp::multiply);
    b_.tensor_tensor(half(rows, 0), half(tile.k, 0), half(tile.ahead, 0), AluOp::multiply, Engine::gpsimd);
    level.q.push_back(rows);
    level.k.push_back(rows);
    if (!with_decays) continue;
    level.decay.push_back(b_.sbuf(DType::f32, tile.partitions, {s.chunks, columns_}));
    b_.tensor_copy(half(level.decay.back(), 1), half(tile.own, 1), Engine::scalar);
    b_.tensor_copy(half(level.decay.back(), 0), half(tile.ahead, 0), Engine::scalar);
  }
  return level;
}

void GlaTiles::each_levels(const GlaSegment& s, std::vector<GlaKeys>& keys, int64_t at_once, bool with_decays,
                           const std::function<void(std::span<const GlaLevel>)>& body) {
  const ProgramBuilder::Mark mark = b_.mark();
  std::vector<GlaLevel> levels(1);
  levels.front().mask = kDiagonal;
  for (const GlaKeys& tile : keys) {
    levels.front().q.push_back(tile.q);
    levels.front().k.push_back(tile.k);
  }
  const auto visit = [&] {
    body(levels);
    levels.clear();
    b_.release(mark);
  };
  for (int64_t h = 1; h < columns_; h *= 2) {
    if (h < gla_.chunk) {
      if (static_cast<int64_t>(levels.size()) == at_once) visit();
      levels.push_back(pairs_of_blocks(s, keys, h, with_decays));
    }
    for (GlaKeys& tile : keys) join_blocks(tile, h);
  }
  visit();
}

void GlaTiles::load_masks() {
  std::vector<uint8_t> bytes(static_cast<std::size_t>(2 * kPartitions * kMasks * kGroup));
  std::size_t at = 0;
  for (int64_t p = 0; p < kPartitions; ++p) {
    for (const bool keys : {true, false}) {
      for (int mask = 0; mask < kMasks; ++mask) {
        for (int64_t f = 0; f < kGroup; ++f) {
          const int64_t row = p % kGroup;
          bytes[at++] = (keys ? in_mask(mask, row, f) : in_mask(mask, f, row)) ? 1 : 0;
        }
      }
    }
  }
  const int32_t tensor = b_.constant("pairs of blocks", DType::u8, std::as_bytes(std::span(bytes)));
  const int64_t kind = kMasks * kGroup;
  masks_ = b_.sbuf(DType::u8, static_cast<int>(kPartitions), {2, kMasks, kGroup});
  b_.dma_copy(masks_, hbm_tile(DType::u8, tensor, 0, static_cast<int>(kPartitions), 2 * kind,
                               {2, kMasks, kGroup}, {kind, kGroup, 1}));
}

AccessPattern GlaTiles::mask(const GlaLevel& level, GlaRowsOn rows, int64_t chunks) const {
  return masks_.select(0, rows == GlaRowsOn::keys ? 0 : 1).select(0, level.mask).unsqueezed(0, chunks);
}

std::vector<int> GlaTiles::pairs(const GlaLevel& level) const {
  std::vector<int> firsts;
  for (int64_t first = 0; first + level.h < gla_.chunk; first += 2 * level.h)
    firsts.push_back(static_cast<int>(first));
  return firsts;
}

std::vector<int> GlaTiles::groups() const {
  std::vector<int> firsts;
  for (int64_t first = 0; first < gla_.chunk; first += kGroup) firsts.push_back(static_cast<int>(first));
  return firsts;
}

AccessPattern GlaTiles::no_scores(const GlaSegment& s) {
  const AccessPattern a = b_.sbuf(DType::f32, static_cast<int>(columns_), {s.chunks, columns_});
  b_.memset(a, 0.0f, Engine::gpsimd);
  return a;
}

void GlaTiles::add_scores(const AccessPattern& scores, const GlaSegment& s, std::span<const GlaLevel> levels,
                          GlaRowsOn rows) {
  const bool keys = rows == GlaRowsOn::keys;
  PsumRounds rounds(b_);
  for (const GlaLevel& level : levels) {
    const bool masked = level.mask >= 0;
    const auto count = static_cast<int>(masked ? kGroup : level.h);
    const auto& stationary = keys ? level.k : level.q;
    const auto& moving = keys ? level.q : level.k;
    // Keys come first in a pair.
    const int own = masked || keys ? 0 : count, other = masked ? 0 : count - own;
    const std::vector<int> firsts = masked ? groups() : pairs(level);
    rounds.add(
        DType::f32, static_cast<int>(columns_), {s.chunks, count},
        [&](const AccessPattern& sums) {
          for (int64_t c = 0; c < s.chunks; ++c) {
            for (const int first : firsts) {
              const AccessPattern to = sums.partition_slice(first + own, count).select(0, c);
              for (std::size_t t = 0; t < level.q.size(); ++t) {
                b_.nc_matmul(to, stationary[t].select(0, c).slice(0, first + own, count),
                             moving[t].select(0, c).slice(0, first + other, count), t > 0);
              }
            }
          }
        },
        [this, &level, &scores, &s, rows, masked, count, own, other, firsts](const AccessPattern& sums) {
          for (const int first : firsts) {
            const AccessPattern to =
                scores.partition_slice(first + own, count).slice(1, first + other, count);
            const AccessPattern from = sums.partition_slice(first + own, count);
            if (masked) {
              b_.copy_predicated(to, from, mask(level, rows, s.chunks).partition_slice(first, count));
            } else {
              b_.tensor_copy(to, from, Engine::scalar);
            }
          }
        });
  }
  rounds.finish();
}

AccessPattern GlaTiles::turn_back(PsumRounds& rounds, const std::vector<AccessPattern>& x, int64_t size,
                                  DType dtype) {
  const int64_t chunks = x.at(0).sizes[0];
  const AccessPattern out = b_.sbuf(dtype, static_cast<int>(columns_), {chunks, size});
  for (std::size_t t = 0; t < x.size(); ++t) {
    const int64_t first = static_cast<int64_t>(t) * kPartitions, count = x[t].partitions;
    rounds.add(
        DType::f32, static_cast<int>(columns_), {chunks, kPartitions},
        [&](const AccessPattern& sums) {
          for (int64_t c = 0; c < chunks; ++c)
            b_.nc_transpose(sums.select(0, c).slice(0, 0, count), x[t].select(0, c));
        },
        [this, out, first, count](const AccessPattern& sums) {
          b_.tensor_copy(out.slice(1, first, count), sums.slice(1, 0, count), Engine::scalar);
        });
  }
  return out;
}

AccessPattern GlaTiles::turn_back(const std::vector<AccessPattern>& x, int64_t size, DType dtype) {
  PsumRounds rounds(b_);
  const AccessPattern out = turn_back(rounds, x, size, dtype);
  rounds.finish();
  return out;
}

void PsumRounds::add(DType dtype, int partitions, std::initializer_list<int64_t> sizes, const Body& write,
                     Body read) {
  int64_t bytes = static_cast<int64_t>(size_of(dtype));
  for (const int64_t size : sizes) bytes *= size;
  if ((bytes + kPsumBankBytes - 1) / kPsumBankBytes > b_.psum_free_banks()) finish();
  const AccessPattern tile = b_.psum(dtype, partitions, sizes);
  write(tile);
  reads_.emplace_back(tile, std::move(read));
}

void PsumRounds::finish() {
  for (const auto& [tile, read] : reads_) read(tile);
  reads_.clear();
  b_.release({b_.mark().sbuf_bytes, banks_});
}

void GlaTiles::store(int32_t tensor, const GlaSegment& s, const AccessPattern& tile, int64_t size) {
  const DType dtype = tile.dtype;
  const int64_t full = s.rows / gla_.chunk;
  const auto rest = static_cast<int>(s.rows % gla_.chunk);
  if (full > 0) {
    const auto rows = static_cast<int>(gla_.chunk);
    b_.dma_copy(rows_hbm(tensor, dtype, s, 0, full, rows, size),
                tile.partition_slice(0, rows).slice(0, 0, full));
  }
  if (rest > 0) {
    b_.dma_copy(rows_hbm(tensor, dtype, s, full, 1, rest, size),
                tile.partition_slice(0, rest).slice(0, full, 1));
  }
}

AccessPattern GlaTiles::state(int32_t tensor, int64_t sequence, int64_t head, int64_t first,
                              int partitions) const {
  const int64_t at = ((sequence * gla_.heads + head) * gla_.key + first) * gla_.value;
  return hbm_tile(DType::f32, tensor, at, partitions, gla_.value, {gla_.value}, {1});
}

std::vector<AccessPattern> GlaTiles::load_state(std::string_view name, const GlaSequence& sequence,
                                                int64_t head) {
  std::vector<AccessPattern> tiles;
  const auto given = ctx_.call.tensor_opt(name);
  for (int64_t t = 0; t < key_tiles(); ++t) {
    const int partitions = key_partitions(t);
    tiles.push_back(b_.sbuf(DType::f32, partitions, {gla_.value}));
    if (given) {
      b_.dma_copy(tiles.back(), state(ctx_.inputs.at(static_cast<std::size_t>(*given)), sequence.number, head,
                                      t * kPartitions, partitions));
    } else {
      b_.memset(tiles.back(), 0.0f);
    }
  }
  return tiles;
}

void GlaTiles::store_state(int32_t tensor, const GlaSequence& sequence, int64_t head,
                           const std::vector<AccessPattern>& tiles) {
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    b_.dma_copy(
        state(tensor, sequence.number, head, static_cast<int64_t>(t) * kPartitions, tiles[t].partitions),
        tiles[t]);
  }
}

void GlaTiles::clear_slack(int32_t tensor, DType dtype, int64_t size) {
  if (!gla_.packed) return;
  const int64_t end = gla_.sequences.empty() ? 0 : gla_.sequences.back().end;
  const int64_t row = gla_.heads * size;
  for (int64_t at = end; at < gla_.length; at += kPartitions) {
    const ProgramBuilder::Mark mark = b_.mark();
    const auto rows = static_cast<int>(std::min(kPartitions, gla_.length - at));
    // Heads in turn keep the tile small.
    const AccessPattern zeros = b_.sbuf(dtype, rows, {size});
    b_.memset(zeros, 0.0f);
    for (int64_t h = 0; h < gla_.heads; ++h) {
      b_.dma_copy(hbm_tile(dtype, tensor, at * row + h * size, rows, row, {size}, {1}), zeros);
    }
    b_.release(mark);
  }
}

void refuse_nan_gates(KernelContext& ctx, const GlaCall& gla) {
  constexpr int64_t kWidth = 2048;
  const View g = ctx.input("g");
  const int64_t rows = !gla.packed             ? gla.batch * gla.length
                       : gla.sequences.empty() ? 0
                                               : gla.sequences.back().end;
  const int64_t count = rows * gla.heads * gla.key;
  for (int64_t at = 0; at < count;) {
    const int64_t left = count - at, width = std::min(left, kWidth);
    const auto partitions = static_cast<int>(std::min(left / width, kPartitions));
    const ProgramBuilder::Mark mark = ctx.b.mark();
    const AccessPattern tile = ctx.b.sbuf(g.dtype, partitions, {width});
    ctx.b.dma_copy(tile, hbm_tile(g.dtype, g.tensor, at, partitions, width, {width}, {1}));
    ctx.b.activation(tile, tile, Activation::copy, {.no_nan = true});
    ctx.b.release(mark);
    at += partitions * width;
  }
}

}  // namespace assay::backend
