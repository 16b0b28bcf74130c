// Gradients of gated linear attention (core/opset/gla.h) by chunks.
#include <algorithm>

#include "backend/kernels/gla.h"

namespace assay::backend {
namespace {

// Gradients, chunk after chunk from the last one; d is the gradient of the state behind the chunk, and do is
// multiplied by the scale when it is loaded:
//   dA = do v^T                   dv = A^T do + (k exp(b_last - b)) d
//   dq_i = sum_j dA_ij k_j exp(b_i - b_j) + exp(b_i) (do_i S^T)
//   dk_j = sum_i dA_ij q_i exp(b_i - b_j) + exp(b_last - b_j) (v_j d^T)
//   dg_t = sum over s >= t of (q_s dq_s - k_s dk_s) within the chunk + rowsum(S_next d)
//   d = exp(b_last) d + (q exp(b))^T do
// States before the chunks are formed first and wait in HBM. Of a chunk of several tiles A and dA have a part
// for each pair of them.
class GlaBackward : public GlaDirection {
 public:
  GlaBackward(KernelContext& ctx, const GlaCall& gla) : GlaDirection(ctx, gla) {
    const int64_t keys = tiles_.key_tiles(), values = value_tiles(), columns = tiles_.columns();
    // Beside the gradient of the state: the state, their product, and both turned.
    const int64_t once = keys * gla.value * 16 + values * gla.key * 8;
    // For each tile of keys five operands, two gradients, a product and three results of the gate, and for
    // each level a product and decays; for each tile of values two turned operands; scores, their two
    // gradients; rows of q and k for each level, of both beside, of v, do and dv; masked parts of a level;
    // scores of half as many pairs as a chunk has other tiles, and their two gradients at one distance.
    const int64_t others = tiles_.tiles_of_chunk() - 1;
    plan_ = tiles_.plan(once, [&](int64_t levels) {
      return (keys * (11 + 2 * levels) + values * 2 + 3) * columns * 4 + gla.key * 4 * (3 + levels) +
             gla.value * 12 + levels * 2 * GlaTiles::kGroup * 4 +
             (others + (others > 0 ? 4 : 0)) * columns * 2;
    });
  }

  void run() {
    const int64_t sizes[] = {gla_.key, gla_.key, gla_.value, gla_.key};
    for (std::size_t i = 0; i < 4; ++i) {
      if (ctx_.outputs.at(i) < 0) continue;
      tiles_.clear_slack(ctx_.outputs[i], ctx_.call.output(static_cast<int>(i)).dtype, sizes[i]);
    }
    int64_t longest = 0;
    for (const GlaSequence& sequence : gla_.sequences) longest = std::max(longest, sequence.length());
    const int64_t chunk = gla_.chunk * tiles_.tiles_of_chunk();
    const int64_t states = (longest + chunk - 1) / chunk + 1;
    states_ = b_.scratch("states", DType::f32, states * gla_.key * gla_.value);
    for (const GlaSequence& sequence : gla_.sequences) {
      for (int64_t h = 0; h < gla_.heads; ++h) {
        const ProgramBuilder::Mark mark = b_.mark();
        const std::vector<GlaSegment> segments = tiles_.segments(sequence, h, plan_.chunks);
        form_states(sequence, h, segments);
        d_ = tiles_.load_state("grad_final_state", sequence, h);
        next_.clear();
        const int64_t last = (sequence.length() + chunk - 1) / chunk;
        for (int64_t t = 0; t < tiles_.key_tiles(); ++t) {
          next_.push_back(b_.sbuf(DType::f32, tiles_.key_partitions(t), {gla_.value}));
          b_.dma_copy(next_.back(), waiting(last, t));
        }
        for (std::size_t i = segments.size(); i-- > 0;) {
          const ProgramBuilder::Mark inner = b_.mark();
          segment(segments[i], static_cast<int64_t>(i) * plan_.chunks / tiles_.tiles_of_chunk());
          b_.release(inner);
        }
        if (ctx_.outputs.at(4) >= 0) tiles_.store_state(ctx_.outputs[4], sequence, h, d_);
        b_.release(mark);
      }
    }
  }

 private:
  int64_t value_tiles() const { return (gla_.value + kPartitions - 1) / kPartitions; }
  int value_partitions(int64_t tile) const {
    return static_cast<int>(std::min(kPartitions, gla_.value - tile * kPartitions));
  }

  AccessPattern waiting(int64_t number, int64_t tile) const {
    const int64_t at = (number * gla_.key + tile * kPartitions) * gla_.value;
    return hbm_tile(DType::f32, states_, at, tiles_.key_partitions(tile), gla_.value, {gla_.value}, {1});
  }

  void form_states(const GlaSequence& sequence, int64_t head, const std::vector<GlaSegment>& segments) {
    const ProgramBuilder::Mark mark = b_.mark();
    const std::vector<AccessPattern> state = tiles_.load_state("initial_state", sequence, head);
    int64_t number = 0;
    const std::function<void()> store = [&] {
      for (std::size_t t = 0; t < state.size(); ++t)
        b_.dma_copy(waiting(number, static_cast<int64_t>(t)), state[t]);
      ++number;
    };
    store();
    for (const GlaSegment& s : segments) {
      const ProgramBuilder::Mark inner = b_.mark();
      const AccessPattern v = tiles_.natural("v", s, gla_.value);
      std::vector<GlaKeys> keys;
      std::vector<AccessPattern> writes;
      for (int64_t t = 0; t < tiles_.key_tiles(); ++t) {
        keys.push_back(tiles_.keys(s, t, false));
        tiles_.join_all_ahead(keys.back());
        tiles_.from_start(keys.back());
        b_.tensor_tensor(keys.back().k, keys.back().k, keys.back().ahead, AluOp::multiply, Engine::gpsimd);
        writes.push_back(keys.back().k);
      }
      tiles_.each_distance(s, keys, {writes}, nullptr);
      tiles_.from_whole_start(s, keys, {}, false);
      const AccessPattern k = tiles_.turn_back(writes, gla_.key);
      PsumRounds rounds(b_);
      for (const GlaWhole& whole : tiles_.wholes(s)) {
        for (int64_t w = 0; w < gla_.value; w += GlaTiles::kWidth) {
          const int64_t width = std::min(GlaTiles::kWidth, gla_.value - w);
          add_products(rounds, state, s, whole, w, width, keys, k, v,
                       w + width < gla_.value ? std::function<void()>() : store);
        }
      }
      rounds.finish();
      b_.release(inner);
    }
    b_.release(mark);
  }

  // sum[keys, w..] = decay over the chunk * sum + left[rows, keys]^T right[rows, w..], when the round ends;
  // then `then`.
  void add_products(PsumRounds& rounds, const std::vector<AccessPattern>& sum, const GlaSegment& s,
                    const GlaWhole& whole, int64_t w, int64_t width, const std::vector<GlaKeys>& keys,
                    const AccessPattern& left, const AccessPattern& right,
                    const std::function<void()>& then = {}) {
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const GlaKeys& tile = keys[t];
      const AccessPattern part = sum[t].slice(0, w, width), decay = tiles_.decay_of(tile, whole);
      const bool last = t + 1 == keys.size();
      rounds.add(
          DType::f32, tile.partitions, {width},
          [&](const AccessPattern& product) {
            for (int64_t c = whole.first; c < whole.end; ++c) {
              const int rows = tiles_.rows_of(s, c);
              b_.nc_matmul(product,
                           left.partition_slice(0, rows).select(0, c).slice(0, tile.first, tile.partitions),
                           right.partition_slice(0, rows).select(0, c).slice(0, w, width), c > whole.first);
            }
          },
          [this, part, decay, last, then](const AccessPattern& product) {
            b_.scalar_tensor_tensor(part, part, AluOp::multiply, decay, AluOp::add, product);
            if (last && then) then();
          });
    }
  }

  // Values on partitions, multiplied by `factor`, by tiles.
  std::vector<AccessPattern> turned_values(std::string_view name, const GlaSegment& s, float factor) {
    std::vector<AccessPattern> tiles;
    for (int64_t t = 0; t < value_tiles(); ++t) {
      tiles.push_back(b_.sbuf(DType::f32, value_partitions(t), {s.chunks, tiles_.columns()}));
      const ProgramBuilder::Mark mark = b_.mark();
      const AccessPattern raw = tiles_.turned(name, s, gla_.value, t * kPartitions, value_partitions(t));
      b_.tensor_scalar(tiles.back(), raw, AluOp::multiply, factor);
      b_.release(mark);
    }
    return tiles;
  }

  // a^T b over the values, for each chunk: [columns, chunks, columns], when the round ends.
  AccessPattern over_values(PsumRounds& rounds, const GlaSegment& s, const std::vector<AccessPattern>& a,
                            const std::vector<AccessPattern>& b) {
    const auto columns = tiles_.columns();
    const AccessPattern out = b_.sbuf(DType::f32, static_cast<int>(columns), {s.chunks, columns});
    rounds.add(
        DType::f32, static_cast<int>(columns), {s.chunks, columns},
        [&](const AccessPattern& sums) {
          for (int64_t c = 0; c < s.chunks; ++c) {
            for (std::size_t t = 0; t < a.size(); ++t)
              b_.nc_matmul(sums.select(0, c), a[t].select(0, c), b[t].select(0, c), t > 0);
          }
        },
        [this, out](const AccessPattern& sums) { b_.tensor_copy(out, sums, Engine::scalar); });
    return out;
  }

  // [j, chunk, i] of x [i, chunk, j], as many i as j, when the round ends.
  AccessPattern turned_chunks(PsumRounds& rounds, const AccessPattern& x) {
    const int64_t chunks = x.sizes[0];
    const AccessPattern out = b_.sbuf(DType::f32, x.partitions, {chunks, x.partitions});
    rounds.add(
        DType::f32, x.partitions, {chunks, x.partitions},
        [&](const AccessPattern& sums) {
          for (int64_t c = 0; c < chunks; ++c) b_.nc_transpose(sums.select(0, c), x.select(0, c));
        },
        [this, out](const AccessPattern& sums) { b_.tensor_copy(out, sums, Engine::scalar); });
    return out;
  }

  // What of dA [other rows, chunk, own rows] belongs to a level that has a mask: [other rows, chunk, 32].
  AccessPattern masked_part(const GlaSegment& s, const GlaLevel& level, const AccessPattern& weights,
                            GlaRowsOn other) {
    const auto count = static_cast<int>(GlaTiles::kGroup);
    const AccessPattern part = b_.sbuf(DType::f32, weights.partitions, {s.chunks, count});
    b_.memset(part, 0.0f, Engine::gpsimd);
    for (const int first : tiles_.groups()) {
      b_.copy_predicated(part.partition_slice(first, count),
                         weights.partition_slice(first, count).slice(1, first, count),
                         tiles_.mask(level, other, s.chunks).partition_slice(first, count));
    }
    return part;
  }

  // Adds what one level of scores gives to dq (or, with keys' rows on partitions, to dk): decays times the
  // sum over the other rows of dA and what they brought into the product.
  //   weights: dA [other rows, chunk, own rows], or masked_part of it; operands: [other rows, chunk, keys]
  void add_level(PsumRounds& rounds, const GlaSegment& s, const GlaLevel& level, const AccessPattern& weights,
                 const AccessPattern& operands, GlaRowsOn other, const std::vector<GlaKeys>& keys,
                 const std::vector<AccessPattern>& sums) {
    const bool masked = level.mask >= 0, of_queries = other == GlaRowsOn::keys;
    const auto count = static_cast<int>(masked ? GlaTiles::kGroup : level.h);
    const std::vector<int> firsts = masked ? tiles_.groups() : tiles_.pairs(level);
    // Keys come first in a pair.
    const int from = masked || of_queries ? 0 : count, to = masked ? 0 : count - from;
    const auto blocks = static_cast<int64_t>(firsts.size());
    // The rows that the products belong to: [keys, chunks, blocks, count].
    const auto rows_of = [&](const AccessPattern& x) {
      const int64_t step = std::max(masked ? count : 2 * count, 1);
      return x.reshaped({s.chunks, tiles_.columns() / step, step}).slice(1, 0, blocks).slice(2, to, count);
    };
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const GlaKeys& tile = keys[t];
      const AccessPattern sum = rows_of(sums[t]), decay = level.h == 0 ? sum : rows_of(level.decay[t]);
      const int64_t chunks = s.chunks;
      rounds.add(
          DType::f32, tile.partitions, {chunks, blocks, count},
          [&](const AccessPattern& product) {
            for (int64_t c = 0; c < chunks; ++c) {
              for (int64_t i = 0; i < blocks; ++i) {
                const int first = firsts[static_cast<std::size_t>(i)];
                const AccessPattern moving = masked ? weights.partition_slice(first, count).select(0, c)
                                                    : weights.partition_slice(first + from, count)
                                                          .select(0, c)
                                                          .slice(0, first + to, count);
                b_.nc_matmul(product.select(0, c).select(0, i),
                             operands.partition_slice(first + from, count)
                                 .select(0, c)
                                 .slice(0, tile.first, tile.partitions),
                             moving, false);
              }
            }
          },
          [this, sum, decay, diagonal = level.h == 0, chunks, blocks, count](const AccessPattern& product) {
            if (diagonal) return b_.tensor_copy(sum, product, Engine::scalar);
            const ProgramBuilder::Mark mark = b_.mark();
            const AccessPattern decayed = b_.sbuf(DType::f32, product.partitions, {chunks, blocks, count});
            b_.tensor_tensor(decayed, product, decay, AluOp::multiply);
            b_.tensor_tensor(sum, sum, decayed, AluOp::add, Engine::gpsimd);
            b_.release(mark);
          });
    }
  }

  // The parts of dq and dk that come from some levels of scores.
  void add_levels(const GlaSegment& s, std::span<const GlaLevel> levels, const AccessPattern& of_keys,
                  const AccessPattern& of_queries, const std::vector<GlaKeys>& keys,
                  const std::vector<AccessPattern>& dq, const std::vector<AccessPattern>& dk) {
    struct Rows {
      AccessPattern q, k, of_queries, of_keys;
    };
    std::vector<Rows> rows;
    PsumRounds turning(b_);
    for (const GlaLevel& level : levels) {
      Rows r;
      r.k = tiles_.turn_back(turning, level.k, gla_.key);
      r.q = level.h == 0 ? tiles_.turn_back(turning, level.q, gla_.key) : r.k;
      rows.push_back(r);
    }
    turning.finish();
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const bool masked = levels[i].mask >= 0;
      rows[i].of_queries = masked ? masked_part(s, levels[i], of_queries, GlaRowsOn::keys) : of_queries;
      rows[i].of_keys = masked ? masked_part(s, levels[i], of_keys, GlaRowsOn::queries) : of_keys;
    }
    PsumRounds rounds(b_);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      add_level(rounds, s, levels[i], rows[i].of_queries, rows[i].k, GlaRowsOn::keys, keys, dq);
      add_level(rounds, s, levels[i], rows[i].of_keys, rows[i].q, GlaRowsOn::queries, keys, dk);
    }
    rounds.finish();
  }

  void segment(const GlaSegment& s, int64_t first_chunk) {
    const auto scale = static_cast<float>(gla_.scale);
    const auto rows = static_cast<int>(std::min(gla_.chunk, s.rows));
    const AccessPattern grad = tiles_.natural("grad_output", s, gla_.value, scale);
    const AccessPattern dv = b_.sbuf(dtype_, rows, {s.chunks, gla_.value});
    const std::vector<AccessPattern> v_turned = turned_values("v", s, 1),
                                     grad_turned = turned_values("grad_output", s, scale);
    PsumRounds rounds(b_);
    const AccessPattern of_keys = over_values(rounds, s, grad_turned, v_turned);  // dA [i, chunk, j]
    rounds.finish();
    // dA [j, chunk, i]: turned, unless a NaN would spread on the way.
    const AccessPattern of_queries = b_.core().exact_transpose
                                         ? turned_chunks(rounds, of_keys)
                                         : over_values(rounds, s, v_turned, grad_turned);
    rounds.finish();
    const AccessPattern scores = tiles_.no_scores(s);
    std::vector<GlaKeys> keys;
    std::vector<AccessPattern> dq, dk;
    for (int64_t t = 0; t < tiles_.key_tiles(); ++t) {
      keys.push_back(tiles_.keys(s, t));
      for (std::vector<AccessPattern>* sums : {&dq, &dk}) {
        sums->push_back(b_.sbuf(DType::f32, keys.back().partitions, {s.chunks, tiles_.columns()}));
        b_.memset(sums->back(), 0.0f, Engine::gpsimd);
      }
    }
    tiles_.each_levels(s, keys, plan_.levels, true, [&](std::span<const GlaLevel> levels) {
      tiles_.add_scores(scores, s, levels, GlaRowsOn::queries);
      add_levels(s, levels, of_keys, of_queries, keys, dq, dk);
    });
    for (GlaKeys& tile : keys) tiles_.from_start(tile);
    through_state(s, first_chunk, keys, scores, v_turned, grad, grad_turned, dq, dk, dv);
    if (ctx_.outputs.at(2) >= 0) tiles_.store(ctx_.outputs[2], s, dv, gla_.value);
    store_keys(s, 0, dq);
    store_keys(s, 1, dk);
    store_keys(s, 3, gate_gradient(s, keys, dq, dk));
  }

  void store_keys(const GlaSegment& s, int output, const std::vector<AccessPattern>& x) {
    const int32_t tensor = ctx_.outputs.at(static_cast<std::size_t>(output));
    if (tensor < 0) return;
    const ProgramBuilder::Mark mark = b_.mark();
    tiles_.store(tensor, s, tiles_.turn_back(x, gla_.key, ctx_.call.output(output).dtype), gla_.key);
    b_.release(mark);
  }

  // [keys, V] by tiles of keys to [values, K] by tiles of values, when the round ends.
  std::vector<AccessPattern> turned_state(PsumRounds& rounds, const std::vector<AccessPattern>& state) {
    std::vector<AccessPattern> tiles;
    for (int64_t w = 0; w < value_tiles(); ++w) {
      const int values = value_partitions(w);
      const AccessPattern tile = b_.sbuf(DType::f32, values, {gla_.key});
      rounds.add(
          DType::f32, values, {gla_.key},
          [&](const AccessPattern& sums) {
            for (std::size_t t = 0; t < state.size(); ++t) {
              b_.nc_transpose(sums.slice(0, static_cast<int64_t>(t) * kPartitions, state[t].partitions),
                              state[t].slice(0, w * kPartitions, values));
            }
          },
          [this, tile](const AccessPattern& sums) { b_.tensor_copy(tile, sums, Engine::scalar); });
      tiles.push_back(tile);
    }
    return tiles;
  }

  // sum[keys, rows] += decay * product, which `write` writes now, when the round ends.
  void add_decayed(PsumRounds& rounds, const AccessPattern& sum, const AccessPattern& decay,
                   const PsumRounds::Body& write) {
    const int64_t count = sum.sizes[0];
    rounds.add(DType::f32, sum.partitions, {count}, write,
               [this, sum, decay, count](const AccessPattern& product) {
                 const ProgramBuilder::Mark mark = b_.mark();
                 const AccessPattern decayed = b_.sbuf(DType::f32, product.partitions, {count});
                 b_.tensor_tensor(decayed, product, decay, AluOp::multiply);
                 b_.tensor_tensor(sum, sum, decayed, AluOp::add, Engine::gpsimd);
                 b_.release(mark);
               });
  }

  // sums[keys, c, rows] += decay * (state[values, keys]^T rows[values, c, rows]), when the round ends.
  void add_read(PsumRounds& rounds, const GlaSegment& s, int64_t c, const std::vector<AccessPattern>& state,
                const std::vector<AccessPattern>& rows, const std::vector<GlaKeys>& keys, bool own,
                const std::vector<AccessPattern>& sums) {
    const int count = tiles_.rows_of(s, c);
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const GlaKeys& tile = keys[t];
      add_decayed(rounds, sums[t].select(0, c).slice(0, 0, count),
                  (own ? tile.own : tile.ahead).select(0, c).slice(0, 0, count),
                  [&](const AccessPattern& product) {
                    for (std::size_t w = 0; w < state.size(); ++w) {
                      b_.nc_matmul(product, state[w].slice(0, tile.first, tile.partitions),
                                   rows[w].select(0, c).slice(0, 0, count), w > 0);
                    }
                  });
    }
  }

  struct PairScores {
    GlaPair pair;
    AccessPattern scores;  // [rows of the second tile, rows of the first]
  };
  // Adds what pairs of a chunk's tiles give to dq and dk; their scores. Leaves `writes`, and ahead, decayed
  // to the chunk's end.
  std::vector<PairScores> add_pairs(const GlaSegment& s, const std::vector<GlaKeys>& keys,
                                    const std::vector<AccessPattern>& reads,
                                    const std::vector<AccessPattern>& writes,
                                    const std::vector<AccessPattern>& v_turned,
                                    const std::vector<AccessPattern>& grad_turned,
                                    const std::vector<AccessPattern>& dq,
                                    const std::vector<AccessPattern>& dk) {
    std::vector<PairScores> all;
    const int64_t columns = tiles_.columns(), total = tiles_.pairs_of(s);
    if (total == 0) return all;
    const auto partitions = static_cast<int>(columns);
    const AccessPattern scores = b_.sbuf(DType::f32, partitions, {total, columns});
    const ProgramBuilder::Mark mark = b_.mark();
    const AccessPattern q = tiles_.turn_back(reads, gla_.key);
    std::vector<AccessPattern> ahead;
    for (const GlaKeys& tile : keys) ahead.push_back(tile.ahead);
    tiles_.each_distance(s, keys, {writes, ahead}, [&](int64_t, const std::vector<GlaPair>& pairs) {
      const ProgramBuilder::Mark inner = b_.mark();
      const auto count = static_cast<int64_t>(pairs.size());
      std::vector<GlaPair> turned;
      for (const GlaPair& pair : pairs) {
        turned.push_back({pair.second, pair.first});
        all.push_back({pair, scores.select(0, static_cast<int64_t>(all.size()))});
      }
      const AccessPattern of_keys = b_.sbuf(DType::f32, partitions, {count, columns}),  // dA [i, pair, j]
          of_queries = b_.sbuf(DType::f32, partitions, {count, columns});               // dA [j, pair, i]
      PsumRounds rounds(b_);
      tiles_.pair_products(rounds, turned, reads, writes,
                           scores.slice(0, static_cast<int64_t>(all.size()) - count, count));
      tiles_.pair_products(rounds, turned, grad_turned, v_turned, of_keys);
      tiles_.pair_products(rounds, pairs, v_turned, grad_turned, of_queries);
      const AccessPattern k = tiles_.turn_back(rounds, writes, gla_.key);
      rounds.finish();
      for (int64_t i = 0; i < count; ++i) {
        const auto [first, second] = pairs[static_cast<std::size_t>(i)];
        const int before = tiles_.rows_of(s, first), behind = tiles_.rows_of(s, second);
        for (std::size_t t = 0; t < keys.size(); ++t) {
          const GlaKeys& tile = keys[t];
          add_decayed(
              rounds, dq[t].select(0, second).slice(0, 0, behind),
              tile.own.select(0, second).slice(0, 0, behind), [&](const AccessPattern& product) {
                b_.nc_matmul(
                    product,
                    k.partition_slice(0, before).select(0, first).slice(0, tile.first, tile.partitions),
                    of_queries.partition_slice(0, before).select(0, i).slice(0, 0, behind), false);
              });
          add_decayed(
              rounds, dk[t].select(0, first).slice(0, 0, before),
              tile.ahead.select(0, first).slice(0, 0, before), [&](const AccessPattern& product) {
                b_.nc_matmul(
                    product,
                    q.partition_slice(0, behind).select(0, second).slice(0, tile.first, tile.partitions),
                    of_keys.partition_slice(0, behind).select(0, i).slice(0, 0, before), false);
              });
        }
      }
      rounds.finish();
      b_.release(inner);
    });
    b_.release(mark);
    return all;
  }

  // The part of the gradients that goes through states, and between tiles of a chunk; leaves in at_end_
  // rowsum(S_next d) of each chunk, at its last tile.
  void through_state(const GlaSegment& s, int64_t first_chunk, const std::vector<GlaKeys>& keys,
                     const AccessPattern& scores, const std::vector<AccessPattern>& v_turned,
                     const AccessPattern& grad, const std::vector<AccessPattern>& grad_turned,
                     const std::vector<AccessPattern>& dq, const std::vector<AccessPattern>& dk,
                     const AccessPattern& dv) {
    at_end_.clear();
    std::vector<AccessPattern> reads, writes;
    for (const GlaKeys& tile : keys) {
      at_end_.push_back(b_.sbuf(DType::f32, tile.partitions, {s.chunks}));
      reads.push_back(b_.sbuf(DType::f32, tile.partitions, {s.chunks, tiles_.columns()}));
      writes.push_back(b_.sbuf(DType::f32, tile.partitions, {s.chunks, tiles_.columns()}));
      b_.tensor_tensor(reads.back(), tile.q, tile.own, AluOp::multiply);
      b_.tensor_tensor(writes.back(), tile.k, tile.ahead, AluOp::multiply, Engine::gpsimd);
    }
    const std::vector<PairScores> of_pairs = add_pairs(s, keys, reads, writes, v_turned, grad_turned, dq, dk);
    tiles_.from_whole_start(s, keys, reads, true);
    const AccessPattern q = tiles_.turn_back(reads, gla_.key);
    const std::vector<GlaWhole> wholes = tiles_.wholes(s);
    for (std::size_t n = wholes.size(); n-- > 0;) {
      const GlaWhole& whole = wholes[n];
      const ProgramBuilder::Mark mark = b_.mark();
      for (std::size_t t = 0; t < keys.size(); ++t) {
        const AccessPattern product = b_.sbuf(DType::f32, keys[t].partitions, {gla_.value});
        b_.tensor_tensor(product, next_[t], d_[t], AluOp::multiply);
        b_.tensor_reduce(at_end_[t].slice(0, whole.end - 1, 1), product, AluOp::add);
        b_.dma_copy(next_[t], waiting(first_chunk + static_cast<int64_t>(n), static_cast<int64_t>(t)));
      }
      PsumRounds turning(b_);
      const std::vector<AccessPattern> turned = turned_state(turning, next_),
                                       turned_d = turned_state(turning, d_);
      turning.finish();
      PsumRounds rounds(b_);
      const auto each_width = [&](const auto& body) {
        for (int64_t w = 0; w < gla_.value; w += GlaTiles::kWidth)
          body(w, std::min(GlaTiles::kWidth, gla_.value - w));
      };
      for (int64_t c = whole.first; c < whole.end; ++c) {
        const int rows = tiles_.rows_of(s, c);
        add_read(rounds, s, c, turned, grad_turned, keys, true, dq);
        add_read(rounds, s, c, turned_d, v_turned, keys, false, dk);
        each_width([&](int64_t w, int64_t width) {
          const auto grad_of = [&](int64_t tile) {
            return grad.partition_slice(0, tiles_.rows_of(s, tile)).select(0, tile).slice(0, w, width);
          };
          const AccessPattern to = dv.partition_slice(0, rows).select(0, c).slice(0, w, width);
          rounds.add(
              DType::f32, rows, {width},
              [&](const AccessPattern& sum) {
                b_.nc_matmul(sum, scores.partition_slice(0, rows).select(0, c).slice(0, 0, rows), grad_of(c),
                             false);
                for (const PairScores& of : of_pairs) {
                  if (of.pair.first != c) continue;
                  b_.nc_matmul(
                      sum, of.scores.partition_slice(0, tiles_.rows_of(s, of.pair.second)).slice(0, 0, rows),
                      grad_of(of.pair.second), true);
                }
                for (std::size_t t = 0; t < keys.size(); ++t)
                  b_.nc_matmul(sum, writes[t].select(0, c).slice(0, 0, rows), d_[t].slice(0, w, width), true);
              },
              [this, to](const AccessPattern& sum) { b_.tensor_copy(to, sum, Engine::scalar); });
        });
      }
      // Behind all that reads d.
      each_width(
          [&](int64_t w, int64_t width) { add_products(rounds, d_, s, whole, w, width, keys, q, grad); });
      rounds.finish();
      b_.release(mark);
    }
  }

  // Running sums of q dq - k dk from each chunk's end; a gate that is closed (exp(g) = 0) gets 0.
  std::vector<AccessPattern> gate_gradient(const GlaSegment& s, const std::vector<GlaKeys>& keys,
                                           const std::vector<AccessPattern>& dq,
                                           const std::vector<AccessPattern>& dk) {
    std::vector<AccessPattern> result;
    const int64_t columns = tiles_.columns();
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const GlaKeys& tile = keys[t];
      const AccessPattern steps = b_.sbuf(DType::f32, tile.partitions, {s.chunks, columns});
      result.push_back(b_.sbuf(DType::f32, tile.partitions, {s.chunks, columns}));
      const ProgramBuilder::Mark mark = b_.mark();
      const AccessPattern of_k = b_.sbuf(DType::f32, tile.partitions, {s.chunks, columns});
      const AccessPattern ones = b_.sbuf(DType::f32, tile.partitions, {columns});
      b_.memset(ones, 1.0f);
      b_.tensor_tensor(steps, tile.q, dq[t], AluOp::multiply);
      b_.tensor_tensor(of_k, tile.k, dk[t], AluOp::multiply, Engine::gpsimd);
      b_.tensor_tensor(steps, steps, of_k, AluOp::subtract);
      for (const GlaWhole& whole : tiles_.wholes(s)) {
        for (int64_t c = whole.end; c-- > whole.first;) {
          const AccessPattern from =
              c + 1 == whole.end ? at_end_[t].slice(0, c, 1) : result[t].select(0, c + 1).slice(0, 0, 1);
          b_.tensor_tensor_scan(result[t].select(0, c).slice(0, columns - 1, columns, -1), ones,
                                steps.select(0, c).slice(0, columns - 1, columns, -1), from, AluOp::multiply,
                                AluOp::add);
        }
      }
      b_.scalar_tensor_tensor(result[t], tile.gate, AluOp::is_gt, 0.0f, AluOp::multiply, result[t]);
      b_.release(mark);
    }
    return result;
  }

  int32_t states_ = -1;
  std::vector<AccessPattern> d_;       // by tile of keys: [keys, V]
  std::vector<AccessPattern> next_;    // the state behind the chunk, then that before it: [keys, V]
  std::vector<AccessPattern> at_end_;  // by tile of keys: [keys, chunks]
};

}  // namespace

void register_gla_backward(KernelTable& table) {
  table.add("assay::gla_chunk_backward.default", gla_by_chunks<GlaBackward>);
}

}  // namespace assay::backend
