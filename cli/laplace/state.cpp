#include "cli/laplace/state.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace assay::cli::laplace {
namespace {

constexpr int64_t kGroupedHeads = 8, kGroupedHeadSize = 128;

struct Pass {
  double seconds = 0;
  uint64_t instructions = 0;
};
models::GlaPart sequence_part(const models::GlaConfig& config, int64_t length, bool state) {
  int64_t tp = 8;
  while (config.num_heads % tp != 0) tp /= 2;
  models::GlaPart part = part_of(config, {1, length, tp});
  part.graph.state = state;
  return part;
}
Pass training_pass(PartClock& clock, const models::GlaConfig& config, int64_t length, bool state) {
  const models::PartitionedGraph halves =
      models::gla_part_passes(models::gla_attention_part(sequence_part(config, length, state)));
  const PartCost there = clock.cost(halves.forward), back = clock.cost(halves.backward);
  return {there.seconds + back.seconds, there.instructions + back.instructions};
}

}  // namespace

int64_t kv_bytes_per_token(int64_t layers, int64_t heads, int64_t head_size) {
  return 2 * layers * heads * head_size * 2;
}

ConcurrencyTable concurrency(const Candidate& candidate, int64_t memory_bytes, int64_t weight_copies,
                             const std::vector<int64_t>& contexts) {
  const models::GlaConfig& c = candidate.config;
  ConcurrencyTable out{candidate.id, memory_bytes, weight_copies * c.parameters() * 2, {}};
  const int64_t free = std::max<int64_t>(memory_bytes - out.weight_bytes, 0);
  for (const int64_t context : contexts) {
    const int64_t all = kv_bytes_per_token(c.num_hidden_layers, 1, c.hidden_size);
    const int64_t grouped = kv_bytes_per_token(c.num_hidden_layers, kGroupedHeads, kGroupedHeadSize);
    out.rows.push_back(
        {context, free / candidate.state_bytes(), free / (all * context), free / (grouped * context)});
  }
  return out;
}

std::vector<Growth> growth(PartClock& clock, const Candidate& candidate, const std::vector<int64_t>& lengths,
                           int64_t whole) {
  const models::GlaConfig& c = candidate.config;
  const models::GlaPart step = sequence_part(c, 1, true);
  const models::GlaConfig rank = models::rank_config(c, step.tp);
  const PartCost decoded = clock.cost(models::gla_attention_part(step));
  std::map<std::pair<int64_t, bool>, Pass> passes;
  std::vector<Growth> out;
  for (const int64_t length : lengths) {
    const bool cut = length > whole;
    const int64_t part = cut ? whole : length;
    const auto [at, is_new] = passes.try_emplace({part, cut});
    if (is_new) at->second = training_pass(clock, c, part, cut);
    Growth row;
    row.length = length;
    row.segments = (length + part - 1) / part;
    row.training_s = at->second.seconds * static_cast<double>(row.segments);
    row.training_instructions = at->second.instructions * static_cast<uint64_t>(row.segments);
    row.decode_s = decoded.seconds;
    row.decode_instructions = decoded.instructions;
    row.state_bytes = candidate.state_bytes() / c.num_hidden_layers / step.tp;
    row.kv_bytes = kv_bytes_per_token(1, rank.num_heads, (rank.head_key() + rank.head_value()) / 2) * length;
    out.push_back(row);
  }
  return out;
}

double growth_exponent(const std::vector<int64_t>& lengths, const std::vector<double>& costs) {
  if (lengths.size() < 2 || lengths.size() != costs.size()) return 0;
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double a = std::log(static_cast<double>(lengths[i])), b = std::log(costs[i]);
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  const auto n = static_cast<double>(lengths.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

}  // namespace assay::cli::laplace
