// What must hold between runs: each case returns the values and the difference of two ways to them.
#include "suites/gla/gla_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

using models::Emitter;
using models::GlaOperands;
using models::GlaResult;

constexpr int64_t kKey = 8, kValue = 12;

GlaOperands operands(GraphCase& c, int64_t length, DType dtype, int64_t batch = 1) {
  GlaOperands x;
  x.q = c.draw("q", dtype, {batch, length, 2, kKey});
  x.k = c.draw("k", dtype, {batch, length, 2, kKey});
  x.v = c.draw("v", dtype, {batch, length, 2, kValue});
  x.g = c.draw("g", DType::f32, {batch, length, 2, kKey}, -0.2, 0.2);
  return x;
}

GlaOperands rows(Emitter& e, const GlaOperands& x, int64_t start, int64_t end) {
  GlaOperands part = x;
  for (ValueId GlaOperands::*field : {&GlaOperands::q, &GlaOperands::k, &GlaOperands::v, &GlaOperands::g}) {
    part.*field = e.slice(x.*field, 1, start, end);
  }
  return part;
}

Case finished(GraphCase& c, const GlaResult& one, const GlaResult& other, bool parts) {
  Emitter& e = c.emit();
  c.output(one.output);
  c.output(one.state);
  c.output(e.sub(one.output, other.output));
  c.output(e.sub(one.state, other.state));
  return c.build(parts);
}

std::string id_of(const char* kind, DType dtype, const std::string& variant, bool parts) {
  return std::string("gla/") + kind + (parts ? "-parts/" : "/") + dtype_name(dtype) + "/" + variant;
}

// Rows [0, a) and, from their state, [a, T), against all at once.
void split(const CaseSink& sink) {
  constexpr int64_t kLength = 130;
  for (const bool parts : {false, true}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const int64_t a : {0, 1, 15, 16, 63, 64, 65, 127, 128, 129, 130}) {
        if ((parts || dtype == DType::bf16) && a != 1 && a != 64) continue;
        GraphCase c(id_of("split", dtype, "at-" + std::to_string(a), parts), "assay::gla_chunk.default");
        Emitter& e = c.emit();
        const GlaOperands x = operands(c, kLength, dtype);
        const GlaResult all = gla_attention(e, x, 128);
        const GlaResult first = gla_attention(e, rows(e, x, 0, a), 128);
        GlaOperands rest = rows(e, x, a, kLength);
        rest.state = first.state;
        const GlaResult second = gla_attention(e, rest, 128);
        sink(finished(c, {e.cat({first.output, second.output}, 1), second.state}, all, parts));
      }
    }
  }
}

// Prefill, then one row at a time, against prefill of all. The state keeps its size.
void decode(const CaseSink& sink) {
  for (const bool parts : {false, true}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const int64_t prefill : {0, 1, 63, 64, 65, 127, 128, 129}) {
        if (parts && prefill != 64) continue;
        const int64_t length = prefill + 4;
        GraphCase c(id_of("decode", dtype, "after-" + std::to_string(prefill), parts),
                    "assay::gla_recurrent_step.default");
        Emitter& e = c.emit();
        const GlaOperands x = operands(c, length, dtype, 2);
        const GlaResult all = gla_attention(e, x, 128);
        GlaResult last = gla_attention(e, rows(e, x, 0, prefill), 128);
        std::vector<ValueId> outputs{last.output};
        for (int64_t t = prefill; t < length; ++t) {
          GlaOperands row = rows(e, x, t, t + 1);
          row.state = last.state;
          last = gla_attention(e, row, 128);
          outputs.push_back(last.output);
        }
        sink(finished(c, {e.cat(outputs, 1), last.state}, all, parts));
      }
    }
  }
}

// Packed sequences against each by itself.
void separate(const CaseSink& sink) {
  for (const bool parts : {false, true}) {
    GraphCase c(id_of("packed-equals-separate", DType::f32, "3-of-100", parts), "assay::gla_chunk.default");
    Emitter& e = c.emit();
    GlaOperands x = operands(c, 100, DType::f32);
    std::vector<ValueId> outputs, states;
    const std::vector<int64_t> offsets{0, 17, 81, 100};
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const GlaResult one = gla_attention(e, rows(e, x, offsets[i], offsets[i + 1]), 64);
      outputs.push_back(one.output);
      states.push_back(one.state);
    }
    x.offsets = offsets;
    const GlaResult together = gla_attention(e, x, 64);
    sink(finished(c, together, {e.cat(outputs, 1), e.cat(states, 0)}, parts));
  }
}

// Padded rows with k = v = 0 and gate 0 leave the state alone, on either side; a gate that is not masked
// decays it (flash-linear-attention issue 1272).
void padded(const CaseSink& sink) {
  for (const bool parts : {false, true}) {
    for (const bool left : {false, true}) {
      GraphCase c(id_of("padding", DType::f32, left ? "left" : "right", parts), "assay::gla_chunk.default");
      Emitter& e = c.emit();
      const GlaOperands x = operands(c, 50, DType::f32);
      const GlaResult plain = gla_attention(e, x, 128);
      GlaOperands longer = x;
      for (ValueId GlaOperands::*field :
           {&GlaOperands::q, &GlaOperands::k, &GlaOperands::v, &GlaOperands::g}) {
        Shape pad = e.shape(x.*field);
        pad[1] = 78;
        const ValueId zeros = e.full(pad, 0, DType::f32);
        longer.*field = left ? e.cat({zeros, x.*field}, 1) : e.cat({x.*field, zeros}, 1);
      }
      const GlaResult all = gla_attention(e, longer, 128);
      const ValueId output = e.slice(all.output, 1, left ? 78 : 0, left ? 128 : 50);
      sink(finished(c, {output, all.state}, plain, parts));
    }
  }
}

// One row with a state, in every pair of dtypes.
void steps(const CaseSink& sink) {
  for (const bool parts : {false, true}) {
    for (const auto& [dtype, state] : {std::pair{DType::f32, DType::f32},
                                       {DType::bf16, DType::f32},
                                       {DType::bf16, DType::bf16},
                                       {DType::f16, DType::f32}}) {
      const std::string variant = "state-" + dtype_name(state);
      GraphCase c(id_of("step", dtype, variant, parts), "assay::gla_recurrent_step.default");
      const std::vector<NamedArgument> arguments{
          {"q", ValueArg{c.draw("q", dtype, {8, 2, 16})}},
          {"k", ValueArg{c.draw("k", dtype, {8, 2, 16})}},
          {"v", ValueArg{c.draw("v", dtype, {8, 2, 16})}},
          {"g", ValueArg{c.draw("g", DType::f32, {8, 2, 16}, -0.5, 0.5)}},
          {"state", ValueArg{c.draw("state", state, {8, 2, 16, 16})}}};
      for (const ValueId id : c.emit().call_all("assay::gla_recurrent_step.default", arguments)) c.output(id);
      c.checks().suite_drawn = !parts;
      sink(c.build(parts));
    }
  }
}

// The definition, row by row, against the chunked operator.
void recurrences(const CaseSink& sink) {
  for (const bool parts : {false, true}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      GraphCase c(id_of("rows-equal-chunks", dtype, "33", parts), "assay::gla_chunk.default");
      const GlaOperands x = operands(c, 33, dtype);
      const GlaResult by_row = gla_attention(c.emit(), x, 16, true);
      const GlaResult by_chunk = gla_attention(c.emit(), x, 16);
      sink(finished(c, by_row, by_chunk, parts));
    }
  }
}

}  // namespace

void register_gla_states(OpFamilies& table) {
  for (auto* make : {split, decode, separate, padded, steps, recurrences}) table.add(make);
}

}  // namespace assay::suites
