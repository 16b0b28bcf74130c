// Gated linear attention by chunks (formulas: core/opset/gla.h, core/decompose/gla_blocks.h).
#include "core/decompose/gla_blocks.h"

namespace assay {
namespace {

// o = A v + scale (q exp(b)) S, chunk after chunk.
Ids gla_chunk(Rewriter& w, const OpCall& node) {
  const GlaBlocks gla(w, node);
  Ids outputs, states;
  for (const auto& group : gla.groups()) {
    ValueId state = gla.state("initial_state", group);
    const GlaRows rows = gla.rows(group);
    Ids parts;
    for (const GlaChunk& chunk : gla.chunks(rows)) {
      Ids within;
      for (const GlaBlock& block : gla.blocks(chunk)) {
        within.push_back(gla.bmm(gla.scores(chunk, block), gla.rows_of(chunk.v, 0, block.end)));
      }
      const ValueId inside = within.size() == 1 ? within[0] : cat(w, within, 1);
      const ValueId before = gla.scaled(gla.bmm(gla.times(chunk.q, chunk.from_start), state));
      parts.push_back(add(w, inside, ValueArg{before}));
      state = gla.next_state(chunk, state);
    }
    if (!parts.empty()) {
      outputs.push_back(gla.scatter(parts.size() == 1 ? parts[0] : cat(w, parts, 1), group));
    }
    states.push_back(state);
  }
  const ValueId v = value_of(node, "v");
  if (gla.call().sequences.empty()) {
    return {w.full(w.shape(v), 0.0, w.dtype(v)), w.full(gla.call().state_shape(), 0.0, gla.call().state)};
  }
  return {gla.join(outputs, w.shape(v), w.dtype(v)), gla.join_states(states)};
}

// Gradients of one chunk: what its blocks give to rows of the chunk.
struct ChunkGradients {
  ValueId q = -1, k = -1, v = -1;  // [S, L, K], [S, L, V]
};

// [S, m, D] set into zeros of [S, rows, D] from row `start` on.
ValueId padded(Rewriter& w, ValueId x, int64_t start, int64_t rows) {
  const int64_t m = w.shape(x)[1];
  return padded(w, x, {0, 0, start, rows - start - m});
}

// d = gradient of the state behind the chunk; A and its gradient row block by row block:
//   dA = scale do v^T             dv = A^T do + (k exp(b_last - b)) d
//   dq_i = sum_j dA_ij k_j exp(b_i - b_j) + scale exp(b_i) (do_i S^T)
//   dk_j = sum_i dA_ij q_i exp(b_i - b_j) + exp(b_last - b_j) (v_j d^T)
ChunkGradients chunk_gradients(Rewriter& w, const GlaBlocks& gla, const GlaChunk& chunk, ValueId grad,
                               ValueId state, ValueId d) {
  const int64_t rows = chunk.rows();
  Ids dq, dk, score_rows;
  for (const GlaBlock& block : gla.blocks(chunk)) {
    const ValueId of_rows = gla.rows_of(grad, block.start, block.end);
    const ValueId scores = gla.scores(chunk, block);
    score_rows.push_back(padded(w, scores, {0, rows - block.end}));
    const ValueId of_scores = gla.scaled(gla.bmm(of_rows, turned(w, gla.rows_of(chunk.v, 0, block.end))));
    // Within the block: [S, m, m, K] element by element.
    const ValueId own = block.start == 0 ? of_scores : slice(w, of_scores, 2, block.start, block.end);
    const ValueId weights = gla.times(unsqueeze(w, own, 3), block.inside);
    const ValueId q = gla.rows_of(chunk.q, block.start, block.end);
    const ValueId k = gla.rows_of(chunk.k, block.start, block.end);
    ValueId to_q = sum(w, gla.times(weights, unsqueeze(w, k, 1)), {2});
    const ValueId to_k = sum(w, gla.times(weights, unsqueeze(w, q, 2)), {1});
    dk.push_back(padded(w, to_k, block.start, rows));
    if (block.start > 0) {
      const ValueId before = slice(w, of_scores, 2, 0, block.start);
      const ValueId decayed_k = gla.times(gla.rows_of(chunk.k, 0, block.start), block.before_decay);
      to_q = add(w, to_q, ValueArg{gla.times(gla.bmm(before, decayed_k), block.own_decay)});
      const ValueId decayed_q = gla.times(q, block.own_decay);
      const ValueId to_before = gla.times(gla.bmm(turned(w, before), decayed_q), block.before_decay);
      dk.push_back(padded(w, to_before, 0, rows));
    }
    dq.push_back(to_q);
  }
  ChunkGradients result;
  const ValueId scores = score_rows.size() == 1 ? score_rows[0] : cat(w, score_rows, 1);
  const ValueId through_state = gla.bmm(gla.times(chunk.k, chunk.to_end), d);
  result.v = add(w, gla.bmm(turned(w, scores), grad), ValueArg{through_state});
  const ValueId from_state = gla.times(gla.scaled(gla.bmm(grad, turned(w, state))), chunk.from_start);
  result.q = add(w, dq.size() == 1 ? dq[0] : cat(w, dq, 1), ValueArg{from_state});
  result.k = gla.times(gla.bmm(chunk.v, turned(w, d)), chunk.to_end);
  for (const ValueId part : dk) result.k = add(w, result.k, ValueArg{part});
  return result;
}

// dg_t = sum over s >= t of (q_s dq_s - k_s dk_s), within the chunk, + rowsum(S d) at its end: needs the
// unrounded dq and dk, and the gradient of the final state through d.
ValueId gate_gradient(Rewriter& w, const GlaBlocks& gla, const GlaChunk& chunk, const ChunkGradients& grads,
                      ValueId end_state, ValueId d) {
  const ValueId steps = sub(w, gla.times(chunk.q, grads.q), ValueArg{gla.times(chunk.k, grads.k)});
  const ValueId sums =
      w.emit("aten::cumsum.default", {{"self", ValueArg{flip(w, steps, {1})}}, {"dim", int64_t{1}}});
  const ValueId at_end = unsqueeze(w, sum(w, gla.times(end_state, d), {2}), 1);
  return add(w, flip(w, sums, {1}), ValueArg{at_end});
}

Ids gla_chunk_backward(Rewriter& w, const OpCall& node) {
  const GlaBlocks gla(w, node);
  const char* names[] = {"q", "k", "v", "g"};
  std::vector<Ids> joined(4);
  Ids states;
  for (const auto& group : gla.groups()) {
    const GlaRows rows = gla.rows(group);
    const ValueId grad = gla.gather(value_of(node, "grad_output"), group);
    const std::vector<GlaChunk> chunks = gla.chunks(rows);
    Ids before{gla.state("initial_state", group)};  // the state before each chunk and behind the last
    for (const GlaChunk& chunk : chunks) before.push_back(gla.next_state(chunk, before.back()));
    ValueId d = gla.state("grad_final_state", group);
    std::vector<Ids> parts(4);
    for (std::size_t n = chunks.size(); n-- > 0;) {
      const GlaChunk& chunk = chunks[n];
      const ValueId of_rows = gla.rows_of(grad, chunk.start, chunk.end);
      const ChunkGradients grads = chunk_gradients(w, gla, chunk, of_rows, before[n], d);
      const ValueId gate = gate_gradient(w, gla, chunk, grads, before[n + 1], d);
      const ValueId results[] = {grads.q, grads.k, grads.v, gate};
      for (std::size_t i = 0; i < 4; ++i) parts[i].insert(parts[i].begin(), results[i]);
      const ValueId reads = gla.scaled(gla.bmm(turned(w, gla.times(chunk.q, chunk.from_start)), of_rows));
      d = add(w, gla.times(chunk.whole, d), ValueArg{reads});
    }
    states.push_back(d);
    if (chunks.empty()) continue;
    for (std::size_t i = 0; i < 4; ++i) {
      ValueId all = parts[i].size() == 1 ? parts[i][0] : cat(w, parts[i], 1);
      // Gates beyond exp's range pass nothing on.
      if (i == 3) all = where(w, rows.gate_in_range, all, w.scalar_like(all, 0.0));
      joined[i].push_back(gla.scatter(all, group));
    }
  }
  Ids results;
  for (std::size_t i = 0; i < 4; ++i) {
    const ValueId argument = value_of(node, names[i]);
    results.push_back(gla.join(joined[i], w.shape(argument), w.dtype(argument)));
  }
  results.push_back(gla.call().sequences.empty() ? w.full(gla.call().state_shape(), 0.0, gla.call().state)
                                                 : gla.join_states(states));
  return results;
}

// One row: the recurrence itself.
Ids gla_recurrent_step(Rewriter& w, const OpCall& node) {
  const GlaCall gla = gla_step_call(node);
  const DType dtype = gla.state == DType::f64 ? DType::f64 : DType::f32;
  const ValueId v = value_of(node, "v"), state = value_of(node, "state");
  const auto load = [&](std::string_view name) { return w.cast(value_of(node, name), dtype); };
  const ValueId decay = unsqueeze(w, unary(w, "aten::exp.default", load("g")), -1);
  const ValueId write = mul(w, unsqueeze(w, load("k"), -1), ValueArg{unsqueeze(w, load("v"), -2)});
  const ValueId next = add(w, mul(w, decay, ValueArg{w.cast(state, dtype)}), ValueArg{write});
  const int64_t rows = gla.batch * gla.heads;
  const ValueId read =
      w.emit("aten::bmm.default", {{"self", ValueArg{w.view(load("q"), {rows, 1, gla.key})}},
                                   {"mat2", ValueArg{w.view(next, {rows, gla.key, gla.value})}}});
  const ValueId output = w.view(mul(w, read, gla.scale), w.shape(v));
  return {w.cast(output, w.dtype(v)), w.cast(next, gla.state)};
}

}  // namespace

void register_gla(DecomposeTable& table) {
  table.add("assay::gla_chunk.default", gla_chunk);
  table.add("assay::gla_chunk_backward.default", gla_chunk_backward);
  table.add("assay::gla_recurrent_step.default", gla_recurrent_step);
}

}  // namespace assay
