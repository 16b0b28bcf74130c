// Gated linear attention by chunks on 128 partitions: what its forward and backward kernels share.
//
// Keys lie on partitions and rows along the free dimension, so that decays of all heads' keys are formed by
// whole-tile instructions. A chunk takes a power of two of columns; columns beyond its rows hold q = k = 0
// and a gate of 1, which leave the state alone.
//
// Decays are products of the gates exp(g) <= 1 in fp32, never quotients, so that no gate overflows and a
// closed one (g = -inf) is 0. With blocks of h rows, and s the first row of the block of row i:
//     own_h[i] = exp(g_{s+1}) ... exp(g_i)                   (the block's first row to row i)
//     ahead_h[j] = exp(g_{j+1}) ... exp(g_{s+h})             (row j to the next block's first row)
// Of two neighbouring blocks the rows i of the second meet the rows j of the first in one product of
// (q own_h) and (k ahead_h) over the keys; blocks of 64, 32, ... 1 rows and the diagonal make up the triangle
// of scores. own_2h and ahead_2h follow from own_h and ahead_h by one multiplication. With h the whole chunk
// and a gate of 1 behind it, own exp(g_first) is the decay since the chunk's start and ahead that to its end.
//
// A chunk of more than 128 rows is cut into tiles of equal rows, each of which is all that is said above of a
// chunk. Its tiles then meet pair by pair, a later one's (q own) and an earlier one's (k ahead), which takes
// in the decays of the tiles between them as the distance grows: behind the largest distance ahead is the
// decay to the chunk's end. Only there is the state formed.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/kernels/composed.h"
#include "backend/kernels/tiles.h"
#include "core/opset/gla.h"

namespace assay::backend {

// Neighbouring chunks of one head of one sequence. Below, "chunks" of a segment, of which tiles hold
// [partitions, chunks, ...], are the tiles of longer ones.
struct GlaSegment {
  int64_t batch = 0, head = 0;
  int64_t row = 0;   // first, of a whole chunk
  int64_t rows = 0;  // of all chunks; the last one may be short
  int64_t chunks = 0;
};

// The tiles [first, end) of a segment that are one chunk.
struct GlaWhole {
  int64_t first = 0, end = 0;
};
// Two tiles of one chunk, the second `distance` behind the first.
struct GlaPair {
  int64_t first = 0, second = 0;
};

// One tile of up to 128 keys, fp32 [keys, chunks, columns].
struct GlaKeys {
  int64_t first = 0;
  int partitions = 0;
  AccessPattern q, k;
  AccessPattern gate;  // exp(g)
  AccessPattern own, ahead;
};

// Pairs of neighbouring blocks of h rows, or the diagonal (h = 0): what meets in their products, turned.
struct GlaLevel {
  int64_t h = 0;
  // Pairs of few rows share products of 32 rows by 32 rows, of which mask number `mask` takes what belongs to
  // them; -1: each pair has a product of its own.
  int mask = -1;
  // By tile of keys. Of pairs these are the same tiles: the second block's rows hold q own_h, the first's k
  // ahead_h.
  std::vector<AccessPattern> q, k;
  // Of pairs, if asked for: own_h of the second block's rows, ahead_h of the first's.
  std::vector<AccessPattern> decay;
};

// How a call is cut: chunks of a segment, and levels whose tiles are kept at a time.
struct GlaPlan {
  int64_t chunks = 0, levels = 1;
};

// Writes what uses PSUM in rounds: as many tiles as there are banks are written before the first is read, so
// that engines do not wait for each other tile by tile.
class PsumRounds {
 public:
  using Body = std::function<void(const AccessPattern&)>;

  explicit PsumRounds(ProgramBuilder& b) : b_(b), banks_(b.mark().psum_banks) {}
  // Calls write(tile) now and read(tile) when the round ends.
  void add(DType dtype, int partitions, std::initializer_list<int64_t> sizes, const Body& write, Body read);
  void finish();

 private:
  ProgramBuilder& b_;
  int banks_;
  std::vector<std::pair<AccessPattern, Body>> reads_;
};

// Whose rows lie on partitions.
enum class GlaRowsOn { keys, queries };

class GlaTiles {
 public:
  static constexpr int64_t kGroup = 32;     // rows of a product that pairs share
  static constexpr int64_t kMaxChunks = 4;  // of a segment
  static constexpr int64_t kWidth = 512;    // values of one product: a PSUM bank

  // Tiles that a chunk of so many rows is cut into; 0: it is not, being too long or no multiple of them.
  static int64_t tiles_of(int64_t chunk);
  // The call with chunks that are tiles; as it is where they are not cut.
  static GlaCall by_tiles(GlaCall gla);
  // Whether the kernels take the call: f32, bf16 or f16, chunks of tiles and sizes that fit.
  static bool takes(const KernelContext& ctx, const GlaCall& gla);

  GlaTiles(KernelContext& ctx, const GlaCall& gla);

  // What fits into SBUF: `once` bytes a partition, and for each chunk bytes(levels). No chunks if not even
  // one (all tiles of it) fits.
  GlaPlan plan(int64_t once, const std::function<int64_t(int64_t levels)>& bytes) const;

  int64_t columns() const { return columns_; }
  int64_t tiles_of_chunk() const { return together_; }
  // Of a segment, in order.
  std::vector<GlaWhole> wholes(const GlaSegment& s) const;
  std::vector<GlaPair> pairs_at(const GlaSegment& s, int64_t distance) const;
  int64_t pairs_of(const GlaSegment& s) const;  // at all distances
  int64_t key_tiles() const { return (gla_.key + kPartitions - 1) / kPartitions; }
  int key_partitions(int64_t tile) const;
  // A head's rows cut into segments.
  std::vector<GlaSegment> segments(const GlaSequence& sequence, int64_t head, int64_t max_chunks) const;
  int rows_of(const GlaSegment& s, int64_t chunk) const;

  // Argument `name`, [B, T, H, size], its elements first .. first + partitions - 1 on partitions:
  // [partitions, chunks, columns] of its dtype.
  AccessPattern turned(std::string_view name, const GlaSegment& s, int64_t size, int64_t first,
                       int partitions);
  // Its rows on partitions: [rows of a chunk, chunks, size] fp32, multiplied by `factor`.
  AccessPattern natural(std::string_view name, const GlaSegment& s, int64_t size, float factor = 1);
  // q (if wanted), k, gates and blocks of one row of a tile of keys.
  GlaKeys keys(const GlaSegment& s, int64_t tile, bool with_q = true);
  // Blocks of h rows become blocks of 2h rows.
  void join_blocks(GlaKeys& keys, int64_t h);
  // From blocks of one row to those of a whole chunk: of own the last row alone.
  void join_all_ahead(GlaKeys& keys);
  // Visits the diagonal and all sizes of blocks, up to `at_once` of them together; leaves `keys` with blocks
  // of a whole chunk.
  void each_levels(const GlaSegment& s, std::vector<GlaKeys>& keys, int64_t at_once, bool with_decays,
                   const std::function<void(std::span<const GlaLevel>)>& body);
  // own becomes the decay since the chunk's start.
  void from_start(GlaKeys& keys);

  // Of chunks of several tiles, behind from_start. Visits their pairs by distance; `to_end` (by tile of keys:
  // [keys, chunks, columns], rows decayed to their tile's end) is, when body(distance, pairs) is called,
  // decayed to the start of the second tile, and in the end to the chunk's end.
  void each_distance(const GlaSegment& s, const std::vector<GlaKeys>& keys,
                     const std::vector<std::vector<AccessPattern>>& to_end,
                     const std::function<void(int64_t, const std::vector<GlaPair>&)>& body);
  // Behind that: of own the last row (or all of them) becomes the decay since the whole chunk's start, and
  // what `from` holds, decayed since its tile's start, is decayed since that.
  void from_whole_start(const GlaSegment& s, const std::vector<GlaKeys>& keys,
                        const std::vector<AccessPattern>& from, bool all_rows);
  // The decay over a whole chunk, [keys, 1].
  AccessPattern decay_of(const GlaKeys& keys, const GlaWhole& whole) const {
    return keys.own.select(0, whole.end - 1).slice(0, columns_ - 1, 1);
  }
  // Products of pairs of tiles, a[first]^T b[second] over the partitions of all a and b: [columns, pairs,
  // columns], when the round ends.
  void pair_products(PsumRounds& rounds, const std::vector<GlaPair>& pairs,
                     const std::vector<AccessPattern>& a, const std::vector<AccessPattern>& b,
                     const AccessPattern& out);

  // Zeros [columns, chunks, columns] for scores.
  AccessPattern no_scores(const GlaSegment& s);
  // Writes the levels' scores, sum over keys of q_i k_j decayed for j <= i, without the scale: [j, chunk, i]
  // with keys' rows on partitions, else [i, chunk, j].
  void add_scores(const AccessPattern& scores, const GlaSegment& s, std::span<const GlaLevel> levels,
                  GlaRowsOn rows);
  // The mask of a level for products of 32 rows of `rows` on partitions: [128, chunks, 32].
  AccessPattern mask(const GlaLevel& level, GlaRowsOn rows, int64_t chunks) const;
  // First rows of the first blocks of all pairs of a chunk.
  std::vector<int> pairs(const GlaLevel& level) const;
  std::vector<int> groups() const;

  // Turns x [n, chunks, columns] of all tiles, `size` partitions together, to [columns, chunks, size]. With
  // `rounds`, when these are finished.
  AccessPattern turn_back(const std::vector<AccessPattern>& x, int64_t size, DType dtype = DType::f32);
  AccessPattern turn_back(PsumRounds& rounds, const std::vector<AccessPattern>& x, int64_t size,
                          DType dtype = DType::f32);

  // Writes rows of a tensor [B, T, H, size]: tile [rows of a chunk, chunks, size].
  void store(int32_t tensor, const GlaSegment& s, const AccessPattern& tile, int64_t size);
  // An optional state argument as tiles [keys, V]; zeros where it is None.
  std::vector<AccessPattern> load_state(std::string_view name, const GlaSequence& sequence, int64_t head);
  void store_state(int32_t tensor, const GlaSequence& sequence, int64_t head,
                   const std::vector<AccessPattern>& tiles);
  // Zeros into the rows that belong to no sequence.
  void clear_slack(int32_t tensor, DType dtype, int64_t size);

 private:
  void join_ahead(GlaKeys& keys, int64_t h);
  void load_masks();
  GlaLevel pairs_of_blocks(const GlaSegment& s, const std::vector<GlaKeys>& keys, int64_t h,
                           bool with_decays);
  // Where the segment's chunk begins in a tensor [B, T, H, size].
  int64_t place_of(const GlaSegment& s, int64_t chunk, int64_t size) const;
  AccessPattern rows_hbm(int32_t tensor, DType dtype, const GlaSegment& s, int64_t chunk, int64_t chunks,
                         int rows, int64_t size) const;
  // State [N, H, K, V]: keys first .. first + partitions - 1 of one sequence and head.
  AccessPattern state(int32_t tensor, int64_t sequence, int64_t head, int64_t first, int partitions) const;

  KernelContext& ctx_;
  ProgramBuilder& b_;
  const GlaCall gla_;  // by_tiles
  int64_t together_;   // tiles of a chunk
  int64_t columns_;
  AccessPattern masks_;  // [128, 2 kinds of rows, kinds of pairs, 32]
};

// What the kernels of both directions hold. Each sets plan_ when it is made, and run()s.
class GlaDirection {
 public:
  bool fits() const { return plan_.chunks >= 1; }

 protected:
  GlaDirection(KernelContext& ctx, const GlaCall& gla)
      : ctx_(ctx),
        b_(ctx.b),
        gla_(GlaTiles::by_tiles(gla)),
        tiles_(ctx, gla),
        dtype_(ctx.call.input(ctx.call.tensor("v")).dtype) {}

  KernelContext& ctx_;
  ProgramBuilder& b_;
  const GlaCall gla_;  // by tiles
  GlaTiles tiles_;
  DType dtype_;  // of values and results
  GlaPlan plan_;
};

// Ends the execution where a gate is NaN: as the kernels do, for calls that are decomposed.
void refuse_nan_gates(KernelContext& ctx, const GlaCall& gla);

// The kernel of a direction. Calls that it does not take are decomposed.
template <class Direction>
void gla_by_chunks(KernelContext& ctx) {
  const GlaCall gla = gla_call(ctx.call);
  if (GlaTiles::takes(ctx, gla)) {
    const ProgramBuilder::Mark mark = ctx.b.mark();
    Direction direction(ctx, gla);
    const bool fits = direction.fits();
    if (fits) direction.run();
    ctx.b.release(mark);
    if (fits) return;
  }
  refuse_nan_gates(ctx, gla);
  run_decomposition(ctx);
}

}  // namespace assay::backend
