#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/figures.h"
#include "cli/laplace/laplace.h"

namespace assay::cli::laplace {
namespace {

using Json = nlohmann::ordered_json;

std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string milliseconds(double s) { return fmt::format("{:.3f}", s * 1e3); }

std::string ranges_text(const Report& r) {
  std::string out =
      fmt::format("\nWhere the published figures fall\n{:<38}{:>12}{:>14}{:>14}  {:<16}{}\n", "figure",
                  "published", "lowest", "highest", "", "at the lowest; at the highest");
  for (const Range& range : r.ranges) {
    const bool small = std::abs(range.published) < 10;
    const auto number = [&](double v) { return small ? signed_percent(v) : fmt::format("{:.1f}", v); };
    const std::string place = range.figures == 0            ? "nothing"
                              : range.inside()              ? "inside"
                              : range.published < range.low ? "outside, below"
                                                            : "outside, above";
    out += fmt::format("{:<38}{:>12}{:>14}{:>14}  {:<16}{}; {}  ({} of {} figures below the published one)\n",
                       range.what, number(range.published), number(range.low), number(range.high), place,
                       range.low_at, range.high_at, range.below, range.figures);
  }
  return out;
}

std::string candidates_text(const Report& r) {
  std::string out =
      fmt::format("{:<4}{:>7}{:>7}{:>7}{:>11}{:>7}{:>8}{:>15}{:>6}{:>13}{:>9}{:>9}{:>14}{:>14}\n", "id",
                  "hidden", "layers", "heads", "dk x dv", "MLP", "vocab", "parameters", "state", "bytes",
                  "MB", "MiB", "GFLOP/t train", "decode");
  for (const Candidate& c : r.assumptions.candidates) {
    const auto bytes = static_cast<double>(c.state_bytes());
    out += fmt::format(
        "{:<4}{:>7}{:>7}{:>7}{:>11}{:>7}{:>8}{:>15}{:>6}{:>13}{:>9.2f}{:>9.3f}{:>14.3f}{:>14.3f}\n", c.id,
        c.config.hidden_size, c.config.num_hidden_layers, c.config.num_heads,
        fmt::format("{} x {}", c.config.head_key(), c.config.head_value()), c.config.mlp_size(),
        c.config.vocab_size, c.config.parameters(),
        std::string(name_of(c.config.state_dtype.value_or(DType::f32))), c.state_bytes(), bytes / 1e6,
        bytes / (1 << 20), training_flops(c.config) / 1e9, decode_flops(c.config) / 1e9);
  }
  return out;
}

std::string training_text(const Report& r) {
  std::string out = fmt::format(
      "\nTraining on a {}: seconds of a step of the busiest rank; tensor parallelism, FSDP and optimiser are "
      "what they add to "
      "it\n{:<4}{:<13}{:>4}{:<9}{:<17}{:>10}{:>10}{:>9}{:>9}{:>8}{:>10}{:>8}{:>11}{:>7}{:>13}{:>5}  {}\n",
      r.assumptions.instance, "id", "layout", "x", " mode", "Muon", "tokens", "step s", "compute", "TP",
      "FSDP", "optimiser", "host", "tokens/s", "MFU", "instructions", "N", "");
  for (const TrainingCost& t : r.training) {
    if (!t.refused.empty()) {
      out += fmt::format("{:<4}{:<13}{:>4} not possible: {}\n", t.candidate, t.layout, "", t.refused);
      continue;
    }
    out += fmt::format(
        "{:<4}{:<13}{:>4} "
        "{:<8}{:<17}{:>10}{:>10.3f}{:>9.3f}{:>9.3f}{:>8.3f}{:>10.3f}{:>8.3f}{:>11}{:>6.1f}%{:>13}{:>5}  {}\n",
        t.candidate, t.layout, t.accumulation, name_of(t.mode), name_of(t.exchange), t.tokens, t.seconds,
        t.compute_s, t.tensor_parallel_s, t.fsdp_exposed_s, t.optimiser_s, t.host_s, whole(t.tokens_per_s),
        t.mfu * 100, t.instructions, t.programs, t.recomputes ? "layers computed twice" : "");
  }
  return out + "x: micro-batches; N: Programs of a step by the instruction limit\n";
}

std::string parts_text(const Report& r) {
  std::string out = fmt::format(
      "\nParts of a step on one core, a run of each; engines and DMA while they are busy\n"
      "{:<4}{:<14}{:<20}{:>7}{:>13}{:>12}{:>10}{:>10}{:>10}{:>12}{:>10}\n",
      "id", "layout", "part", "nodes", "instructions", "compiled ms", "Tensor", "Vector", "DMA", "eager ms",
      "launches");
  for (const PartRow& row : r.parts) {
    const PartCost& c = row.cost;
    out += fmt::format("{:<4}{:<14}{:<20}{:>7}{:>13}{:>12}{:>10}{:>10}{:>10}{:>12}{:>10}\n", row.candidate,
                       row.layout, row.part, c.nodes, c.instructions, milliseconds(c.seconds),
                       milliseconds(c.tensor_s), milliseconds(c.vector_s), milliseconds(c.dma_s),
                       milliseconds(c.eager_s), c.launches);
  }
  return out;
}

std::string decode_text(const Report& r) {
  std::string out =
      fmt::format("\nDecoding {} sequences\n{:<4}{:<10}{:<9}{:>6}{:>11}{:>11}{:>13}{:>9}{:>10}{:>11}{:>14}\n",
                  r.assumptions.decode_sequences, "id", "layout", "mode", "each", "step ms", "compute",
                  "collectives", "host", "launches", "tokens/s", "state/HBM");
  for (const DecodeCost& d : r.decode) {
    if (!d.refused.empty()) {
      out += fmt::format("{:<4}{:<10}not possible: {}\n", d.candidate, d.layout, d.refused);
      continue;
    }
    out += fmt::format("{:<4}{:<10}{:<9}{:>6}{:>11}{:>11}{:>13}{:>9}{:>10}{:>11}{:>13.2f}%\n", d.candidate,
                       d.layout, name_of(d.mode), d.sequences, milliseconds(d.step_s),
                       milliseconds(d.compute_s), milliseconds(d.collective_s), milliseconds(d.host_s),
                       d.launches, whole(d.tokens_per_s), d.state_share * 100);
  }
  return out;
}

std::string divided_text(const Report& r) {
  std::string out = fmt::format(
      "\nTwo cores to a rank (LNC 2), compiled, tokens/s: two Programs that share its work at no cost, as "
      "assumed, and one whose kernels are divided\n{:<4}{:<13}{:<10}{:>12}{:>12}{:>9}\n",
      "id", "layout", "", "shared", "divided", "");
  for (const DividedCost& d : r.divided) {
    out += fmt::format("{:<4}{:<13}{:<10}{:>12}{:>12}{:>9}\n", d.candidate, d.layout,
                       d.training ? "training" : "decoding", whole(d.shared), whole(d.divided),
                       signed_percent(d.divided / d.shared - 1));
  }
  return out;
}

std::string chunks_text(const Report& r) {
  std::string out = fmt::format("\nChunk sizes, compiled\n{:<4}{:<13}{:>7}{:>20}{:>12}{:>20}  {}\n", "id",
                                "layout", "chunk", "attention, layer ms", "tokens/s", "gain of assumed", "");
  for (const ChunkCost& c : r.chunks) {
    out += fmt::format("{:<4}{:<13}{:>7}{:>20}{:>12}{:>20}  {}\n", c.candidate, c.layout, c.chunk,
                       milliseconds(c.attention_s), c.refused.empty() ? whole(c.tokens_per_s) : c.refused,
                       signed_percent(c.gain), c.composed ? "no kernel: composed of operators" : "");
  }
  out += fmt::format(
      "\nThe unrolled backward pass, instructions of a core\n{:<4}{:<13}{:>8}{:>18}{:>14}{:>12}{:>10}\n",
      "id", "layout", "chunks", "attention, layer", "all layers", "limit", "Programs");
  for (const UnrolledCount& u : r.unrolled) {
    out += fmt::format("{:<4}{:<13}{:>8}{:>18}{:>14}{:>12}{:>10}\n", u.candidate, u.layout, u.chunks, u.layer,
                       u.step, u.limit, u.programs());
  }
  return out;
}

std::string state_text(const Report& r) {
  std::string out;
  for (const ConcurrencyTable& table : r.concurrency) {
    out +=
        fmt::format("\nSequences of {} in {} GiB beside {:.2f} GB of weights\n{:>10}{:>16}{:>21}{:>26}\n",
                    table.candidate, table.memory_bytes >> 30, static_cast<double>(table.weight_bytes) / 1e9,
                    "context", "constant state", "KV cache, all heads", "KV cache, 8 heads of 128");
    for (const Concurrency& row : table.rows) {
      out += fmt::format("{:>10}{:>16}{:>21}{:>26}\n", row.context, row.state, row.kv_cache,
                         row.kv_cache_grouped);
    }
  }
  std::vector<int64_t> lengths;
  std::vector<double> training, decode;
  out += fmt::format(
      "\nOne layer's attention of {} on one core, one sequence\n{:>10}{:>10}{:>14}{:>16}{:>14}{:>18}{:>14}\n",
      r.growth_candidate, "tokens", "segments", "training ms", "instructions", "a token ms", "state bytes",
      "KV bytes");
  for (const Growth& g : r.growth) {
    out += fmt::format("{:>10}{:>10}{:>14}{:>16}{:>14}{:>18}{:>14}\n", g.length, g.segments,
                       milliseconds(g.training_s), g.training_instructions, milliseconds(g.decode_s),
                       g.state_bytes, g.kv_bytes);
    lengths.push_back(g.length);
    training.push_back(g.training_s);
    decode.push_back(g.decode_s);
  }
  const auto exponent = [&](const std::vector<double>& costs) {
    const double e = growth_exponent(lengths, costs);
    return std::abs(e) < 5e-4 ? 0.0 : e;
  };
  out += fmt::format("training grows as T^{:.3f}, a decoded token as T^{:.3f}\n", exponent(training),
                     exponent(decode));
  if (r.rank) {
    out += fmt::format(
        "\nOne rank of {} {}: {} tokens, {} instructions, {:.3f} s simulated; generated and timed in full in "
        "{:.2f} s on this machine, {:.2f} s of CPU\n",
        r.rank->candidate, r.rank->layout, r.rank->tokens, r.rank->instructions, r.rank->simulated_s,
        r.rank->generate_and_time_s, r.rank->cpu_s);
  }
  return out;
}

}  // namespace

std::string report_text(const Report& r) {
  return fmt::format("Assumptions {}; Programs and times are those of Assay's compiler and clock\n\n",
                     r.assumptions.hash) +
         candidates_text(r) + training_text(r) + parts_text(r) + decode_text(r) + divided_text(r) +
         chunks_text(r) + state_text(r) + ranges_text(r);
}

std::string report_json(const Report& r) {
  Json candidates = Json::array(), training = Json::array(), decode = Json::array(), chunks = Json::array();
  Json unrolled = Json::array(), concurrency = Json::array(), growth = Json::array(), ranges = Json::array();
  for (const Candidate& c : r.assumptions.candidates) {
    candidates.push_back({{"id", c.id},
                          {"hidden", c.config.hidden_size},
                          {"layers", c.config.num_hidden_layers},
                          {"heads", c.config.num_heads},
                          {"head_key", c.config.head_key()},
                          {"head_value", c.config.head_value()},
                          {"mlp", c.config.mlp_size()},
                          {"vocabulary", c.config.vocab_size},
                          {"parameters", c.config.parameters()},
                          {"state_bytes", c.state_bytes()},
                          {"train_flops_per_token", training_flops(c.config)},
                          {"decode_flops_per_token", decode_flops(c.config)}});
  }
  for (const TrainingCost& t : r.training) {
    Json row{{"candidate", t.candidate}, {"layout", t.layout}};
    if (!t.refused.empty()) {
      row["not_possible"] = t.refused;
    } else {
      row.update({{"accumulation", t.accumulation},
                  {"mode", name_of(t.mode)},
                  {"muon", name_of(t.exchange)},
                  {"recomputes", t.recomputes},
                  {"tokens", t.tokens},
                  {"seconds", t.seconds},
                  {"tokens_per_s", t.tokens_per_s},
                  {"mfu", t.mfu},
                  {"compute_s", t.compute_s},
                  {"tensor_parallel_s", t.tensor_parallel_s},
                  {"fsdp_exposed_s", t.fsdp_exposed_s},
                  {"optimiser_s", t.optimiser_s},
                  {"host_s", t.host_s},
                  {"memory_bytes", t.memory_bytes},
                  {"instructions", t.instructions},
                  {"programs", t.programs}});
    }
    training.push_back(std::move(row));
  }
  for (const DecodeCost& d : r.decode) {
    Json row{{"candidate", d.candidate}, {"layout", d.layout}};
    if (!d.refused.empty()) {
      row["not_possible"] = d.refused;
    } else {
      row.update({{"mode", name_of(d.mode)},
                  {"sequences", d.sequences},
                  {"step_s", d.step_s},
                  {"tokens_per_s", d.tokens_per_s},
                  {"compute_s", d.compute_s},
                  {"collective_s", d.collective_s},
                  {"host_s", d.host_s},
                  {"launches", d.launches},
                  {"memory_bytes", d.memory_bytes},
                  {"state_share_of_hbm", d.state_share}});
    }
    decode.push_back(std::move(row));
  }
  Json divided = Json::array();
  for (const DividedCost& d : r.divided) {
    divided.push_back({{"candidate", d.candidate},
                       {"layout", d.layout},
                       {"work", d.training ? "training" : "decoding"},
                       {"shared_tokens_per_s", d.shared},
                       {"divided_tokens_per_s", d.divided}});
  }
  for (const ChunkCost& c : r.chunks) {
    chunks.push_back({{"candidate", c.candidate},
                      {"layout", c.layout},
                      {"chunk", c.chunk},
                      {"attention_s", c.attention_s},
                      {"tokens_per_s", c.tokens_per_s},
                      {"gain", c.gain},
                      {"composed", c.composed},
                      {"not_possible", c.refused}});
  }
  for (const UnrolledCount& u : r.unrolled) {
    unrolled.push_back({{"candidate", u.candidate},
                        {"layout", u.layout},
                        {"chunks", u.chunks},
                        {"layer", u.layer},
                        {"step", u.step},
                        {"limit", u.limit},
                        {"programs", u.programs()}});
  }
  for (const ConcurrencyTable& table : r.concurrency) {
    Json rows = Json::array();
    for (const Concurrency& row : table.rows) {
      rows.push_back({{"context", row.context},
                      {"state", row.state},
                      {"kv_cache", row.kv_cache},
                      {"kv_cache_grouped", row.kv_cache_grouped}});
    }
    concurrency.push_back({{"candidate", table.candidate},
                           {"memory_bytes", table.memory_bytes},
                           {"weight_bytes", table.weight_bytes},
                           {"rows", rows}});
  }
  for (const Growth& g : r.growth) {
    growth.push_back({{"tokens", g.length},
                      {"segments", g.segments},
                      {"training_s", g.training_s},
                      {"training_instructions", g.training_instructions},
                      {"decode_s", g.decode_s},
                      {"decode_instructions", g.decode_instructions},
                      {"state_bytes", g.state_bytes},
                      {"kv_bytes", g.kv_bytes}});
  }
  for (const Range& range : r.ranges) {
    ranges.push_back({{"figure", range.what},
                      {"published", range.published},
                      {"lowest", range.low},
                      {"highest", range.high},
                      {"inside", range.inside()},
                      {"lowest_at", range.low_at},
                      {"highest_at", range.high_at},
                      {"figures", range.figures},
                      {"below_published", range.below}});
  }
  Json parts = Json::array();
  for (const PartRow& row : r.parts) {
    parts.push_back({{"candidate", row.candidate},
                     {"layout", row.layout},
                     {"part", row.part},
                     {"nodes", row.cost.nodes},
                     {"instructions", row.cost.instructions},
                     {"matrix_flops", row.cost.matrix_flops},
                     {"compiled_s", row.cost.seconds},
                     {"tensor_s", row.cost.tensor_s},
                     {"vector_s", row.cost.vector_s},
                     {"dma_s", row.cost.dma_s},
                     {"eager_s", row.cost.eager_s},
                     {"launches", row.cost.launches}});
  }
  Json out{{"assumptions_hash", r.assumptions.hash},
           {"instance", r.assumptions.instance},
           {"decode_sequences", r.assumptions.decode_sequences},
           {"chunk_size", r.assumptions.chunk_size},
           {"candidates", candidates},
           {"training", training},
           {"parts", parts},
           {"decode", decode},
           {"divided", divided},
           {"chunk_sizes", chunks},
           {"unrolled_backward", unrolled},
           {"concurrency", concurrency},
           {"growth", {{"candidate", r.growth_candidate}, {"rows", growth}}},
           {"ranges", ranges}};
  if (r.rank) {
    out["rank_in_full"] = {{"candidate", r.rank->candidate},
                           {"layout", r.rank->layout},
                           {"tokens", r.rank->tokens},
                           {"instructions", r.rank->instructions},
                           {"simulated_s", r.rank->simulated_s},
                           {"generate_and_time_s", r.rank->generate_and_time_s},
                           {"cpu_s", r.rank->cpu_s}};
  }
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::cli::laplace
