// Values and gradients over lengths, gates, sizes and packings.
#include <cmath>

#include "suites/gla/gla_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

using models::GlaForm;

GlaSpec spec(std::string variant, int64_t length, DType dtype = DType::f32) {
  GlaSpec s;
  s.variant = std::move(variant);
  s.length = length;
  s.dtype = dtype;
  return s;
}

// Both directions; decomposed too where that is quick.
void everywhere(const CaseSink& sink, const GlaSpec& s, bool parts = true) {
  for (const bool backward : {false, true}) {
    sink(gla_case(s, GlaForm::fused, backward));
    if (parts) sink(gla_case(s, GlaForm::chunked, backward));
  }
}

// Around chunks of 64 and 128 rows, and sub-chunks of 16.
void lengths(const CaseSink& sink) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const int64_t length : {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129}) {
      if (dtype == DType::f16 && length != 65) continue;
      everywhere(sink, spec("length-" + std::to_string(length), length, dtype));
    }
  }
  GlaSpec long_one = spec("length-2048", 2048);
  long_one.key = long_one.value = 16;
  everywhere(sink, long_one, false);
  long_one.dtype = DType::bf16;
  everywhere(sink, long_one, false);
  GlaSpec longer = spec("length-8192", 8192);
  longer.key = longer.value = 8;
  everywhere(sink, longer, false);
  // A run of 43,884 rows of one head gave NaN in a fused kernel (flash-linear-attention issue 122).
  GlaSpec longest = spec("length-43884", 43884);
  longest.key = longest.value = 4;
  sink(gla_case(longest, GlaForm::fused));
}

// Normalisers 16, 1 and 0.1 of ordinary logits, and logits to -100: a chunk of 128 rows decays by up to
// exp(-12800).
void gates(const CaseSink& sink) {
  const std::pair<const char*, double> kinds[] = {
      {"gate-normaliser-16", 0.7 / 16}, {"gate-normaliser-1", 0.7},
      {"gate-normaliser-0.1", 7},       {"gate-logits-100-by-16", 50.0 / 16},
      {"gate-logits-100-by-1", 50},     {"gate-logits-100-by-0.1", 500},
      {"gate-to-minus-5", 2.5}};
  for (const auto& [name, gate] : kinds) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      GlaSpec s = spec(name, 128, dtype);
      s.gate = gate;
      everywhere(sink, s, dtype == DType::f32);
    }
  }
  // Sums of positive numbers hide errors by about a factor of 10; they are what is usually tested.
  for (const DType dtype : {DType::f32, DType::bf16}) {
    GlaSpec positive = spec("positive-operands", 128, dtype);
    positive.center = 1;
    everywhere(sink, positive, false);
  }
  GlaSpec narrow_gate = spec("gate-in-bf16", 65, DType::bf16);
  narrow_gate.gate_dtype = DType::bf16;
  everywhere(sink, narrow_gate);
  GlaSpec in_f64 = spec("length-33", 33, DType::f64);
  in_f64.gate_dtype = DType::f64;
  everywhere(sink, in_f64, false);  // its parts say nothing about a device without f64
}

void sizes(const CaseSink& sink) {
  struct Size {
    const char* name;
    int64_t batch, heads, key, value;
  };
  for (const Size& size : {Size{"heads-of-3-and-5", 1, 1, 3, 5}, Size{"heads-of-1", 1, 2, 1, 1},
                           Size{"batch-2-heads-3", 2, 3, 8, 12}, Size{"key-160-value-40", 1, 1, 160, 40},
                           Size{"key-20-value-130", 1, 1, 20, 130}}) {
    GlaSpec s = spec(size.name, 40);
    s.batch = size.batch;
    s.heads = size.heads;
    s.key = size.key;
    s.value = size.value;
    everywhere(sink, s);
  }
  for (const int64_t chunk : {1, 16, 17, 32, 64, 512}) {
    GlaSpec s = spec("chunk-" + std::to_string(chunk), 70);
    s.chunk = chunk;
    everywhere(sink, s, chunk != 1);
  }
  // Of several tiles of 128 partitions, the last chunk short.
  for (const int64_t chunk : {256, 384, 512}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      GlaSpec s = spec("chunk-" + std::to_string(chunk) + "-of-700-rows", 700, dtype);
      s.chunk = chunk;
      s.gate = 0.7;
      everywhere(sink, s, false);
    }
  }
  // scale enters the output, dq and the state's gradient once each (flash-linear-attention issue 47).
  for (const double scale : {2.0, 0.3, -1.0, 1.0}) {
    GlaSpec s = spec("scale-" + std::to_string(scale).substr(0, scale < 0 ? 4 : 3), 33);
    s.scale = scale;
    everywhere(sink, s);
  }
  for (const bool state : {false, true}) {
    for (const bool state_grad : {false, true}) {
      GlaSpec s = spec(
          std::string("state-") + (state ? "given" : "none") + "-gradient-" + (state_grad ? "given" : "none"),
          65);
      s.state = state;
      s.state_grad = state_grad;
      everywhere(sink, s);
    }
  }
}

// Offsets of packed sequences: empty ones first, in the middle and last; rows behind the last.
void packed(const CaseSink& sink) {
  const std::pair<const char*, std::vector<int64_t>> kinds[] = {
      {"packed-one", {0, 15}},
      {"packed-empty-first", {0, 0, 16}},
      {"packed-empty-middle", {0, 20, 20, 20, 37}},
      {"packed-empty-last", {0, 33, 33}},
      {"packed-all-empty", {0, 0, 0}},
      {"packed-uneven", {0, 1, 17, 81, 90, 150}},
      {"packed-of-chunks", {0, 64, 128}},
  };
  for (const auto& [name, offsets] : kinds) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      GlaSpec s = spec(name, offsets.back(), dtype);
      s.offsets = offsets;
      s.chunk = 64;
      everywhere(sink, s, dtype == DType::f32);
    }
  }
  GlaSpec slack = spec("packed-slack-rows", 48);
  slack.offsets = {0, 10, 30};
  everywhere(sink, slack);
  // 65 chunks of 32, not 64: each sequence rounds up by itself.
  GlaSpec many = spec("packed-781-of-2048", 2048);
  many.offsets = {0, 781, 2048};
  many.chunk = 32;
  many.key = many.value = 8;
  everywhere(sink, many, false);
}

// No rounding anywhere: gates 0, small integers. Row coverage, off-by-one reads, lost tails.
void probes(const CaseSink& sink) {
  for (const int64_t length : {1, 16, 63, 65, 129}) {
    GlaSpec s = spec("probe-length-" + std::to_string(length), length);
    s.probe = true;
    s.scale = 1;
    s.key = s.value = 8;
    sink(gla_case(s, GlaForm::fused));
    sink(gla_case(s, GlaForm::fused, true));
  }
  GlaSpec s = spec("probe-packed", 70);
  s.probe = true;
  s.scale = 0.5;
  s.key = s.value = 8;
  s.offsets = {0, 3, 3, 40, 66};
  sink(gla_case(s, GlaForm::fused));
  sink(gla_case(s, GlaForm::fused, true));
}

// Gates that close the state exactly; a value that is NaN in one sequence, which must not reach another. (A
// gate that is NaN is refused: gla/bad-input/nan-gate-*.)
void special_numbers(const CaseSink& sink) {
  const Shape keys{1, 40, 1, 4}, values{1, 40, 1, 4};
  for (const bool parts : {false, true}) {
    for (const bool closed : {true, false}) {
      GraphCase c(std::string("gla/chunk") + (parts ? "-parts" : "") + "/f32/" +
                      (closed ? "gate-minus-inf" : "value-nan"),
                  "assay::gla_chunk.default");
      std::vector<double> g(160, -0.25), v;
      for (int i = 0; i < 160; ++i) v.push_back(std::sin(i));
      for (std::size_t i = 0; i < 4; ++i) (closed ? g[76 + i] : v[i]) = closed ? -HUGE_VAL : std::nan("");
      const std::vector<NamedArgument> arguments{
          {"q", ValueArg{c.draw("q", DType::f32, keys)}},
          {"k", ValueArg{c.draw("k", DType::f32, keys)}},
          {"v", ValueArg{c.fixed("v", Tensor::from_doubles(DType::f32, values, v))}},
          {"g", ValueArg{c.fixed("g", Tensor::from_doubles(DType::f32, keys, g))}},
          {"cu_seqlens", IntListArg{{0, 24, 40}, {}}},
      };
      for (const ValueId id : c.emit().call_all("assay::gla_chunk.default", arguments)) c.output(id);
      sink(c.build(parts));
    }
  }
}

}  // namespace

void register_gla_values(OpFamilies& table) {
  for (auto* make : {lengths, gates, sizes, packed, probes, special_numbers}) table.add(make);
}

}  // namespace assay::suites
