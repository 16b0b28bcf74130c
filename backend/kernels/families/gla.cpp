// Gated linear attention (core/opset/gla.h), chunk after chunk: o = scale (A v + (q exp(b)) S), A the scores
// within the chunk, then S = exp(b_last) S + (k exp(b_last - b))^T v. Of a chunk of several tiles A has a
// part for each pair of them.
#include "backend/kernels/gla.h"

#include <algorithm>

namespace assay::backend {
namespace {

class GlaForward : public GlaDirection {
 public:
  GlaForward(KernelContext& ctx, const GlaCall& gla) : GlaDirection(ctx, gla) {
    const int64_t keys = tiles_.key_tiles(), columns = tiles_.columns();
    // Five operands for each tile of keys and a product for each level, scores, those of half as many pairs
    // as a chunk has other tiles, turned keys, values and results.
    plan_ = tiles_.plan(keys * gla.value * 4, [&](int64_t levels) {
      return (keys * (6 + levels) + 1) * columns * 4 + (tiles_.tiles_of_chunk() - 1) * columns * 2 +
             gla.key * 4 + gla.value * 12;
    });
  }

  void run() {
    const int32_t out = ctx_.outputs.at(0), final_state = ctx_.outputs.at(1);
    if (out >= 0) tiles_.clear_slack(out, dtype_, gla_.value);
    for (const GlaSequence& sequence : gla_.sequences) {
      for (int64_t h = 0; h < gla_.heads; ++h) {
        const ProgramBuilder::Mark mark = b_.mark();
        state_ = tiles_.load_state("initial_state", sequence, h);
        for (const GlaSegment& s : tiles_.segments(sequence, h, plan_.chunks)) {
          const ProgramBuilder::Mark inner = b_.mark();
          segment(s);
          b_.release(inner);
        }
        if (final_state >= 0) tiles_.store_state(final_state, sequence, h, state_);
        b_.release(mark);
      }
    }
  }

 private:
  void segment(const GlaSegment& s) {
    const auto rows = static_cast<int>(std::min(gla_.chunk, s.rows));
    const AccessPattern out = b_.sbuf(dtype_, rows, {s.chunks, gla_.value});
    const AccessPattern v = tiles_.natural("v", s, gla_.value);
    std::vector<GlaKeys> keys;
    for (int64_t t = 0; t < tiles_.key_tiles(); ++t) keys.push_back(tiles_.keys(s, t));
    const AccessPattern scores = tiles_.no_scores(s);
    tiles_.each_levels(s, keys, plan_.levels, false, [&](std::span<const GlaLevel> levels) {
      tiles_.add_scores(scores, s, levels, GlaRowsOn::keys);
    });
    // What reads the state, and what is written to it, in place.
    std::vector<AccessPattern> reads, writes;
    for (GlaKeys& tile : keys) {
      tiles_.from_start(tile);
      b_.tensor_tensor(tile.q, tile.q, tile.own, AluOp::multiply);
      b_.tensor_tensor(tile.k, tile.k, tile.ahead, AluOp::multiply, Engine::gpsimd);
      reads.push_back(tile.q);
      writes.push_back(tile.k);
    }
    const std::vector<PairScores> of_pairs = pair_scores(s, keys, reads, writes);
    tiles_.from_whole_start(s, keys, reads, false);
    const AccessPattern k = tiles_.turn_back(writes, gla_.key);
    for (const GlaWhole& whole : tiles_.wholes(s)) {
      for (int64_t w = 0; w < gla_.value; w += GlaTiles::kWidth) {
        const ProgramBuilder::Mark mark = b_.mark();
        chunk(s, whole, w, std::min(GlaTiles::kWidth, gla_.value - w), keys, scores, of_pairs, k, v, out);
        b_.release(mark);
      }
    }
    if (ctx_.outputs.at(0) >= 0) tiles_.store(ctx_.outputs[0], s, out, gla_.value);
  }

  struct PairScores {
    GlaPair pair;
    AccessPattern scores;  // [rows of the first tile, rows of the second]
  };
  // Leaves `writes` decayed to their chunk's end.
  std::vector<PairScores> pair_scores(const GlaSegment& s, const std::vector<GlaKeys>& keys,
                                      const std::vector<AccessPattern>& reads,
                                      const std::vector<AccessPattern>& writes) {
    std::vector<PairScores> all;
    const int64_t columns = tiles_.columns();
    if (tiles_.pairs_of(s) == 0) return all;
    const AccessPattern out = b_.sbuf(DType::f32, static_cast<int>(columns), {tiles_.pairs_of(s), columns});
    PsumRounds rounds(b_);
    tiles_.each_distance(s, keys, {writes}, [&](int64_t, const std::vector<GlaPair>& pairs) {
      const auto first = static_cast<int64_t>(all.size()), count = static_cast<int64_t>(pairs.size());
      tiles_.pair_products(rounds, pairs, writes, reads, out.slice(0, first, count));
      for (int64_t i = 0; i < count; ++i)
        all.push_back({pairs[static_cast<std::size_t>(i)], out.select(0, first + i)});
    });
    rounds.finish();
    return all;
  }

  // Values first .. first + width - 1 of a chunk: results, and the state behind it.
  void chunk(const GlaSegment& s, const GlaWhole& whole, int64_t first, int64_t width,
             const std::vector<GlaKeys>& keys, const AccessPattern& scores,
             const std::vector<PairScores>& of_pairs, const AccessPattern& k, const AccessPattern& v,
             const AccessPattern& out) {
    const auto values = [&](int64_t c) {
      return v.partition_slice(0, tiles_.rows_of(s, c)).select(0, c).slice(0, first, width);
    };
    std::vector<AccessPattern> sums;
    for (int64_t c = whole.first; c < whole.end; ++c) {
      const int rows = tiles_.rows_of(s, c);
      const AccessPattern sum = b_.psum(DType::f32, rows, {width});
      sums.push_back(sum);
      b_.nc_matmul(sum, scores.partition_slice(0, rows).select(0, c).slice(0, 0, rows), values(c), false);
      for (const PairScores& of : of_pairs) {
        if (of.pair.second != c) continue;
        const int before = tiles_.rows_of(s, of.pair.first);
        b_.nc_matmul(sum, of.scores.partition_slice(0, before).slice(0, 0, rows), values(of.pair.first),
                     true);
      }
      for (std::size_t t = 0; t < keys.size(); ++t) {
        b_.nc_matmul(sum, keys[t].q.select(0, c).slice(0, 0, rows), state_[t].slice(0, first, width), true);
      }
    }
    std::vector<AccessPattern> written;
    for (const GlaKeys& tile : keys) {
      written.push_back(b_.psum(DType::f32, tile.partitions, {width}));
      for (int64_t c = whole.first; c < whole.end; ++c) {
        b_.nc_matmul(
            written.back(),
            k.partition_slice(0, tiles_.rows_of(s, c)).select(0, c).slice(0, tile.first, tile.partitions),
            values(c), c > whole.first);
      }
    }
    for (int64_t c = whole.first; c < whole.end; ++c) {
      b_.tensor_scalar(out.partition_slice(0, tiles_.rows_of(s, c)).select(0, c).slice(0, first, width),
                       sums[static_cast<std::size_t>(c - whole.first)], AluOp::multiply,
                       static_cast<float>(gla_.scale), false, AluOp::none, 0.0f, false, Engine::scalar);
    }
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const AccessPattern part = state_[t].slice(0, first, width);
      b_.scalar_tensor_tensor(part, part, AluOp::multiply, tiles_.decay_of(keys[t], whole), AluOp::add,
                              written[t]);
    }
  }

  std::vector<AccessPattern> state_;  // by tile of keys: [keys, V]
};

}  // namespace

void register_gla(KernelTable& table) { table.add("assay::gla_chunk.default", gla_by_chunks<GlaForward>); }

}  // namespace assay::backend
