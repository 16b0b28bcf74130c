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
// States before the chunks are formed first and wait in HBM.
class GlaBackward : public GlaDirection {
 public:
  GlaBackward(KernelContext& ctx, const GlaCall& gla) : GlaDirection(ctx, gla) {
    const int64_t keys = tiles_.key_tiles(), values = value_tiles(), columns = tiles_.columns();
    // Beside the gradient of the state: two states, and both turned.
    const int64_t once = keys * gla.value * 16 + values * gla.key * 8;
    // For each tile of keys five operands, two products, two gradients, a product and three results of the
    // gate; for each tile of values two turned operands; scores, their two gradients and masked parts; rows
    // of q and k, of v, do and dv.
    max_chunks_ = tiles_.chunks_that_fit(
        once, (keys * 12 + values * 2 + 4) * columns * 4 + gla.key * 16 + gla.value * 12);
  }

  void run() {
    const int64_t sizes[] = {gla_.key, gla_.key, gla_.value, gla_.key};
    for (std::size_t i = 0; i < 4; ++i) {
      if (ctx_.outputs.at(i) < 0) continue;
      tiles_.clear_slack(ctx_.outputs[i], ctx_.call.output(static_cast<int>(i)).dtype, sizes[i]);
    }
    int64_t longest = 0;
    for (const GlaSequence& sequence : gla_.sequences) longest = std::max(longest, sequence.length());
    const int64_t states = (longest + gla_.chunk - 1) / gla_.chunk + 1;
    states_ = b_.scratch("states", DType::f32, states * gla_.key * gla_.value);
    for (const GlaSequence& sequence : gla_.sequences) {
      for (int64_t h = 0; h < gla_.heads; ++h) {
        const ProgramBuilder::Mark mark = b_.mark();
        const std::vector<GlaSegment> segments = tiles_.segments(sequence, h, max_chunks_);
        form_states(sequence, h, segments);
        d_ = tiles_.load_state("grad_final_state", sequence, h);
        for (std::size_t i = segments.size(); i-- > 0;) {
          const ProgramBuilder::Mark inner = b_.mark();
          segment(segments[i], static_cast<int64_t>(i) * max_chunks_);
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
    const auto store = [&] {
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
        for (int64_t h = 1; h < tiles_.columns(); h *= 2) tiles_.join_blocks(keys.back(), h);
        tiles_.from_start(keys.back());
        b_.tensor_tensor(keys.back().k, keys.back().k, keys.back().ahead, AluOp::multiply, Engine::gpsimd);
        writes.push_back(keys.back().k);
      }
      const AccessPattern k = tiles_.turn_back(writes, gla_.key);
      for (int64_t c = 0; c < s.chunks; ++c) {
        const int rows = tiles_.rows_of(s, c);
        for (int64_t w = 0; w < gla_.value; w += GlaTiles::kWidth) {
          const int64_t width = std::min(GlaTiles::kWidth, gla_.value - w);
          add_products(state, s, c, w, width, keys, k, v.partition_slice(0, rows).select(0, c));
        }
        store();
      }
      b_.release(inner);
    }
    b_.release(mark);
  }

  // sum[keys, w..] = decay over the chunk * sum + left[rows, keys]^T right[rows, w..]
  void add_products(const std::vector<AccessPattern>& sum, const GlaSegment& s, int64_t c, int64_t w,
                    int64_t width, const std::vector<GlaKeys>& keys, const AccessPattern& left,
                    const AccessPattern& right) {
    const ProgramBuilder::Mark mark = b_.mark();
    const int rows = tiles_.rows_of(s, c);
    std::vector<AccessPattern> products;
    for (const GlaKeys& tile : keys) {
      products.push_back(b_.psum(DType::f32, tile.partitions, {width}));
      b_.nc_matmul(products.back(),
                   left.partition_slice(0, rows).select(0, c).slice(0, tile.first, tile.partitions),
                   right.slice(0, w, width), false);
    }
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const AccessPattern part = sum[t].slice(0, w, width);
      b_.scalar_tensor_tensor(part, part, AluOp::multiply,
                              keys[t].own.select(0, c).slice(0, tiles_.columns() - 1, 1), AluOp::add,
                              products[t]);
    }
    b_.release(mark);
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

  // a^T b over the values, for each chunk: [columns, chunks, columns].
  AccessPattern over_values(const GlaSegment& s, const std::vector<AccessPattern>& a,
                            const std::vector<AccessPattern>& b) {
    const auto columns = tiles_.columns();
    const AccessPattern out = b_.sbuf(DType::f32, static_cast<int>(columns), {s.chunks, columns});
    const ProgramBuilder::Mark mark = b_.mark();
    const AccessPattern sums = b_.psum(DType::f32, static_cast<int>(columns), {s.chunks, columns});
    for (int64_t c = 0; c < s.chunks; ++c) {
      for (std::size_t t = 0; t < a.size(); ++t)
        b_.nc_matmul(sums.select(0, c), a[t].select(0, c), b[t].select(0, c), t > 0);
    }
    b_.tensor_copy(out, sums, Engine::scalar);
    b_.release(mark);
    return out;
  }

  // Adds what one level of scores gives to dq (or, with keys' rows on partitions, to dk): decays times the
  // sum over the other rows of dA and what they brought into the product.
  //   weights: dA [other rows, chunk, own rows]; operands: [other rows, chunk, keys]
  void add_level(const GlaSegment& s, const GlaLevel& level, const AccessPattern& weights,
                 const AccessPattern& operands, GlaRowsOn other, const std::vector<GlaKeys>& keys,
                 const std::vector<AccessPattern>& sums) {
    const ProgramBuilder::Mark mark = b_.mark();
    const bool masked = level.mask >= 0, of_queries = other == GlaRowsOn::keys;
    const auto count = static_cast<int>(masked ? GlaTiles::kGroup : level.h);
    const std::vector<int> firsts = masked ? tiles_.groups() : tiles_.pairs(level);
    AccessPattern part;
    if (masked) {
      part = b_.sbuf(DType::f32, weights.partitions, {s.chunks, count});
      b_.memset(part, 0.0f, Engine::gpsimd);
      for (const int first : firsts) {
        b_.copy_predicated(part.partition_slice(first, count),
                           weights.partition_slice(first, count).slice(1, first, count),
                           tiles_.mask(level, other, s.chunks).partition_slice(first, count));
      }
    }
    // Keys come first in a pair.
    const int from = masked || of_queries ? 0 : count, to = masked ? 0 : count - from;
    const auto blocks = static_cast<int64_t>(firsts.size());
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const ProgramBuilder::Mark inner = b_.mark();
      const GlaKeys& tile = keys[t];
      const AccessPattern product = b_.psum(DType::f32, tile.partitions, {s.chunks, blocks, count});
      for (int64_t c = 0; c < s.chunks; ++c) {
        for (int64_t i = 0; i < blocks; ++i) {
          const int first = firsts[static_cast<std::size_t>(i)];
          const AccessPattern moving =
              masked ? part.partition_slice(first, count).select(0, c)
                     : weights.partition_slice(first + from, count).select(0, c).slice(0, first + to, count);
          b_.nc_matmul(product.select(0, c).select(0, i),
                       operands.partition_slice(first + from, count)
                           .select(0, c)
                           .slice(0, tile.first, tile.partitions),
                       moving, false);
        }
      }
      // The rows that the products belong to: [keys, chunks, blocks, count].
      const auto rows_of = [&](const AccessPattern& x) {
        const int64_t step = std::max(masked ? count : 2 * count, 1);
        return x.reshaped({s.chunks, tiles_.columns() / step, step}).slice(1, 0, blocks).slice(2, to, count);
      };
      if (level.h == 0) {
        b_.tensor_copy(rows_of(sums[t]), product, Engine::scalar);
      } else {
        const AccessPattern decayed = b_.sbuf(DType::f32, tile.partitions, {s.chunks, blocks, count});
        b_.tensor_tensor(decayed, product, rows_of(of_queries ? tile.own : tile.ahead), AluOp::multiply);
        b_.tensor_tensor(rows_of(sums[t]), rows_of(sums[t]), decayed, AluOp::add, Engine::gpsimd);
      }
      b_.release(inner);
    }
    b_.release(mark);
  }

  void segment(const GlaSegment& s, int64_t first_chunk) {
    const auto scale = static_cast<float>(gla_.scale);
    const auto rows = static_cast<int>(std::min(gla_.chunk, s.rows));
    const AccessPattern grad = tiles_.natural("grad_output", s, gla_.value, scale);
    const AccessPattern dv = b_.sbuf(dtype_, rows, {s.chunks, gla_.value});
    const std::vector<AccessPattern> v_turned = turned_values("v", s, 1),
                                     grad_turned = turned_values("grad_output", s, scale);
    const AccessPattern of_keys = over_values(s, grad_turned, v_turned);     // dA [i, chunk, j]
    const AccessPattern of_queries = over_values(s, v_turned, grad_turned);  // dA [j, chunk, i]
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
    tiles_.each_level(s, keys, [&](const GlaLevel& level) {
      tiles_.add_scores(scores, s, level, GlaRowsOn::queries);
      const ProgramBuilder::Mark mark = b_.mark();
      add_level(s, level, of_queries, tiles_.turn_back(level.k, gla_.key), GlaRowsOn::keys, keys, dq);
      b_.release(mark);
      add_level(s, level, of_keys, tiles_.turn_back(level.q, gla_.key), GlaRowsOn::queries, keys, dk);
      b_.release(mark);
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

  // [keys, V] by tiles of keys to [values, K] by tiles of values.
  std::vector<AccessPattern> turned_state(const std::vector<AccessPattern>& state) {
    std::vector<AccessPattern> tiles;
    for (int64_t w = 0; w < value_tiles(); ++w) {
      const int values = value_partitions(w);
      tiles.push_back(b_.sbuf(DType::f32, values, {gla_.key}));
      const ProgramBuilder::Mark mark = b_.mark();
      const AccessPattern sums = b_.psum(DType::f32, values, {gla_.key});
      for (std::size_t t = 0; t < state.size(); ++t) {
        b_.nc_transpose(sums.slice(0, static_cast<int64_t>(t) * kPartitions, state[t].partitions),
                        state[t].slice(0, w * kPartitions, values));
      }
      b_.tensor_copy(tiles.back(), sums, Engine::scalar);
      b_.release(mark);
    }
    return tiles;
  }

  // sums[keys, c, rows] += decay * (state[values, keys]^T rows[values, c, rows])
  void add_read(const GlaSegment& s, int64_t c, const std::vector<AccessPattern>& state,
                const std::vector<AccessPattern>& rows, const std::vector<GlaKeys>& keys, bool own,
                const std::vector<AccessPattern>& sums) {
    const int count = tiles_.rows_of(s, c);
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const ProgramBuilder::Mark mark = b_.mark();
      const GlaKeys& tile = keys[t];
      const AccessPattern product = b_.psum(DType::f32, tile.partitions, {count});
      for (std::size_t w = 0; w < state.size(); ++w) {
        b_.nc_matmul(product, state[w].slice(0, tile.first, tile.partitions),
                     rows[w].select(0, c).slice(0, 0, count), w > 0);
      }
      const AccessPattern decayed = b_.sbuf(DType::f32, tile.partitions, {count});
      b_.tensor_tensor(decayed, product, (own ? tile.own : tile.ahead).select(0, c).slice(0, 0, count),
                       AluOp::multiply);
      const AccessPattern sum = sums[t].select(0, c).slice(0, 0, count);
      b_.tensor_tensor(sum, sum, decayed, AluOp::add, Engine::gpsimd);
      b_.release(mark);
    }
  }

  // The part of the gradients that goes through states; leaves in at_end_ rowsum(S_next d) of each chunk.
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
    const AccessPattern q = tiles_.turn_back(reads, gla_.key);
    for (int64_t c = s.chunks; c-- > 0;) {
      const ProgramBuilder::Mark mark = b_.mark();
      const int rows = tiles_.rows_of(s, c);
      std::vector<AccessPattern> state;
      for (std::size_t t = 0; t < keys.size(); ++t) {
        state.push_back(b_.sbuf(DType::f32, keys[t].partitions, {gla_.value}));
        b_.dma_copy(state.back(), waiting(first_chunk + c + 1, static_cast<int64_t>(t)));
        b_.tensor_tensor(state.back(), state.back(), d_[t], AluOp::multiply);
        b_.tensor_reduce(at_end_[t].slice(0, c, 1), state.back(), AluOp::add);
        b_.dma_copy(state.back(), waiting(first_chunk + c, static_cast<int64_t>(t)));
      }
      add_read(s, c, turned_state(state), grad_turned, keys, true, dq);
      add_read(s, c, turned_state(d_), v_turned, keys, false, dk);
      const AccessPattern of_rows = grad.partition_slice(0, rows).select(0, c);
      for (int64_t w = 0; w < gla_.value; w += GlaTiles::kWidth) {
        const ProgramBuilder::Mark inner = b_.mark();
        const int64_t width = std::min(GlaTiles::kWidth, gla_.value - w);
        const AccessPattern sum = b_.psum(DType::f32, rows, {width});
        b_.nc_matmul(sum, scores.partition_slice(0, rows).select(0, c).slice(0, 0, rows),
                     of_rows.slice(0, w, width), false);
        for (std::size_t t = 0; t < keys.size(); ++t) {
          b_.nc_matmul(sum, writes[t].select(0, c).slice(0, 0, rows), d_[t].slice(0, w, width), true);
        }
        b_.tensor_copy(dv.partition_slice(0, rows).select(0, c).slice(0, w, width), sum, Engine::scalar);
        add_products(d_, s, c, w, width, keys, q, of_rows);
        b_.release(inner);
      }
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
      for (int64_t c = 0; c < s.chunks; ++c) {
        b_.tensor_tensor_scan(result[t].select(0, c).slice(0, columns - 1, columns, -1), ones,
                              steps.select(0, c).slice(0, columns - 1, columns, -1),
                              at_end_[t].slice(0, c, 1), AluOp::multiply, AluOp::add);
      }
      b_.scalar_tensor_tensor(result[t], tile.gate, AluOp::is_gt, 0.0f, AluOp::multiply, result[t]);
      b_.release(mark);
    }
    return result;
  }

  int32_t states_ = -1;
  std::vector<AccessPattern> d_;       // by tile of keys: [keys, V]
  std::vector<AccessPattern> at_end_;  // by tile of keys: [keys, chunks]
};

}  // namespace

void register_gla_backward(KernelTable& table) {
  table.add("assay::gla_chunk_backward.default", gla_by_chunks<GlaBackward>);
}

}  // namespace assay::backend
