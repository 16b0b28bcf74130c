#include "core/decompose/gla_blocks.h"

#include <limits>

namespace assay {
namespace {

// exp() of it is 0 in the dtype, and it is exact in every float dtype.
double lowest_gate(DType dtype) { return dtype == DType::f64 ? -1024 : -128; }

}  // namespace

GlaBlocks::GlaBlocks(Rewriter& w, const OpCall& call) : w_(w), node_(call), gla_(gla_call(call)) {}

ValueId GlaBlocks::bmm(ValueId a, ValueId b) const {
  return w_.emit("aten::bmm.default", {{"self", ValueArg{a}}, {"mat2", ValueArg{b}}});
}

ValueId GlaBlocks::rows_of(ValueId x, int64_t start, int64_t end) const {
  return start == 0 && end == w_.shape(x)[1] ? x : slice(w_, x, 1, start, end);
}

std::vector<std::vector<GlaSequence>> GlaBlocks::groups() const {
  std::vector<std::vector<GlaSequence>> groups;
  if (gla_.sequences.empty()) return groups;
  if (!gla_.packed) return {gla_.sequences};
  for (const GlaSequence& sequence : gla_.sequences) groups.push_back({sequence});
  return groups;
}

ValueId GlaBlocks::gather(ValueId x, const std::vector<GlaSequence>& group) const {
  const ValueId part = rows_of(x, group[0].start, group[0].end);
  const Shape shape = w_.shape(part);  // a copy: values move as nodes are added
  const ValueId by_head = w_.permute(part, {0, 2, 1, 3});
  return w_.cast(w_.view(by_head, {shape[0] * shape[2], shape[1], shape[3]}), gla_.state);
}

ValueId GlaBlocks::scatter(ValueId rows, const std::vector<GlaSequence>& group) const {
  const Shape shape = w_.shape(rows);
  const auto sequences = static_cast<int64_t>(group.size());
  return w_.permute(w_.view(rows, {sequences, gla_.heads, shape[1], shape[2]}), {0, 2, 1, 3});
}

ValueId GlaBlocks::join(const Ids& parts, Shape shape, DType dtype) const {
  Ids all;
  int64_t rows = 0;
  for (const ValueId part : parts) {
    if (w_.shape(part)[1] == 0) continue;
    rows += w_.shape(part)[1];
    all.push_back(part);
  }
  if (rows < shape[1]) {
    Shape rest = shape;
    rest[1] -= rows;
    all.push_back(w_.full(rest, 0.0, gla_.state));
  }
  if (all.empty()) return w_.full(shape, 0.0, dtype);
  return w_.cast(all.size() == 1 ? all[0] : cat(w_, all, 1), dtype);
}

GlaRows GlaBlocks::rows(const std::vector<GlaSequence>& group) const {
  GlaRows rows;
  rows.length = group[0].length();
  const auto load = [&](std::string_view name) { return gather(value_of(node_, name), group); };
  rows.q = load("q");
  rows.k = load("k");
  rows.v = load("v");
  const ValueId g = load("g");
  const double lowest = lowest_gate(gla_.state);
  rows.gate_in_range = binary(w_, "aten::ge.Scalar", g, lowest);
  rows.g = clamp(w_, g, lowest, NoneArg{});
  return rows;
}

ValueId GlaBlocks::state(std::string_view name, const std::vector<GlaSequence>& group) const {
  const auto sequences = static_cast<int64_t>(group.size());
  const Shape shape{sequences * gla_.heads, gla_.key, gla_.value};
  const auto given = value_of_opt(node_, name);
  if (!given) return w_.full(shape, 0.0, gla_.state);
  const auto all = static_cast<int64_t>(gla_.sequences.size());
  const ValueId part =
      sequences == all ? *given : slice(w_, *given, 0, group[0].number, group[0].number + sequences);
  return w_.view(part, shape);
}

ValueId GlaBlocks::join_states(const Ids& parts) const {
  Ids all;
  for (const ValueId part : parts) {
    all.push_back(w_.view(part, {w_.shape(part)[0] / gla_.heads, gla_.heads, gla_.key, gla_.value}));
  }
  return all.size() == 1 ? all[0] : cat(w_, all, 0);
}

std::vector<GlaChunk> GlaBlocks::chunks(const GlaRows& rows) const {
  std::vector<GlaChunk> chunks;
  for (int64_t start = 0; start < rows.length; start += gla_.chunk) {
    GlaChunk c;
    c.start = start;
    c.end = std::min(rows.length, start + gla_.chunk);
    c.q = rows_of(rows.q, c.start, c.end);
    c.k = rows_of(rows.k, c.start, c.end);
    c.v = rows_of(rows.v, c.start, c.end);
    c.b = w_.emit("aten::cumsum.default",
                  {{"self", ValueArg{rows_of(rows.g, c.start, c.end)}}, {"dim", int64_t{1}}});
    const ValueId last = rows_of(c.b, c.rows() - 1, c.rows());
    c.from_start = exp(c.b);
    c.to_end = exp(sub(w_, last, ValueArg{c.b}));
    c.whole = turned(w_, rows_of(c.from_start, c.rows() - 1, c.rows()));
    chunks.push_back(c);
  }
  return chunks;
}

std::vector<GlaBlock> GlaBlocks::blocks(const GlaChunk& chunk) const {
  std::vector<GlaBlock> blocks;
  for (int64_t start = 0; start < chunk.rows(); start += kBlock) {
    GlaBlock block;
    block.start = start;
    block.end = std::min(chunk.rows(), start + kBlock);
    const int64_t m = block.end - start;
    const ValueId b = rows_of(chunk.b, start, block.end);
    if (start > 0) {
      const ValueId first = rows_of(chunk.b, start, start + 1);
      block.own_decay = exp(sub(w_, b, ValueArg{first}));
      block.before_decay = exp(sub(w_, first, ValueArg{rows_of(chunk.b, 0, start)}));
    }
    // exp(-inf) = 0 above the diagonal, whatever the gates are.
    const ValueId apart = sub(w_, unsqueeze(w_, b, 2), ValueArg{unsqueeze(w_, b, 1)});
    const ValueId row = w_.view(numbers(w_, m), {m, 1, 1}), column = w_.view(numbers(w_, m), {1, m, 1});
    const ValueId lower = binary(w_, "aten::ge.Tensor", row, ValueArg{column});
    const ValueId nothing = w_.scalar_like(apart, -std::numeric_limits<double>::infinity());
    block.inside = exp(where(w_, lower, apart, nothing));
    blocks.push_back(block);
  }
  return blocks;
}

ValueId GlaBlocks::scores(const GlaChunk& chunk, const GlaBlock& block) const {
  const ValueId q = rows_of(chunk.q, block.start, block.end), k = rows_of(chunk.k, block.start, block.end);
  const ValueId products = times(unsqueeze(w_, q, 2), unsqueeze(w_, k, 1));
  const ValueId own = sum(w_, times(products, block.inside), {3});
  if (block.start == 0) return scaled(own);
  const ValueId before = times(rows_of(chunk.k, 0, block.start), block.before_decay);
  return scaled(cat(w_, {bmm(times(q, block.own_decay), turned(w_, before)), own}, 2));
}

ValueId GlaBlocks::next_state(const GlaChunk& chunk, ValueId state) const {
  const ValueId writes = bmm(turned(w_, times(chunk.k, chunk.to_end)), chunk.v);
  return add(w_, times(chunk.whole, state), ValueArg{writes});
}

}  // namespace assay
