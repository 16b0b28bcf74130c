#include "cli/laplace/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/simulator/timing/timeline.h"
#include "core/error.h"
#include "models/parallel/gla_parts.h"
#include "models/parallel/muon_schemes.h"

namespace assay::cli::laplace {
namespace {

using backend::CollectiveOp;
using backend::Timeline;
using Along = Grid::Along;

int64_t rounded_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Of a layer, on one rank: Muon's matrices (whole ones), and how many elements AdamW has.
std::vector<Shape> layer_matrices(const models::GlaConfig& c) {
  const int64_t d = c.hidden_size, k = c.key_size(), v = c.value_size(), m = c.mlp_size();
  return {{k, d}, {k, d}, {v, d}, {v, d}, {d, v}, {c.gate_low_rank_dim, d}, {k, c.gate_low_rank_dim},
          {m, d}, {m, d}, {d, m}};
}

struct Optimiser {
  std::vector<Shape> matrices;
  int64_t muon_elements = 0, adamw_elements = 0;
};
Optimiser optimiser_of(const models::GlaConfig& c) {
  Optimiser out;
  for (int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    for (const Shape& shape : layer_matrices(c)) out.matrices.push_back(shape);
  }
  for (const Shape& shape : out.matrices) out.muon_elements += element_count(shape);
  out.adamw_elements = c.parameters() - out.muon_elements;
  return out;
}

// What the busiest owner orthogonalises.
double orthogonalise_s(PartClock& clock, const Optimiser& optimiser, int ranks, Mode mode,
                       uint64_t& instructions) {
  models::ShardedMuon muon;
  muon.ranks = ranks;
  muon.matrices = optimiser.matrices;
  muon.scheme = models::MuonScheme::all_to_all;
  muon.ownership = models::MuonOwnership::balanced;
  const std::vector<int> owner = models::owners(muon);
  std::vector<double> seconds(static_cast<std::size_t>(ranks), 0);
  std::vector<uint64_t> counts(seconds.size(), 0);
  for (std::size_t i = 0; i < owner.size(); ++i) {
    const PartCost& cost = clock.orthogonalise(muon.matrices[i]);
    seconds[static_cast<std::size_t>(owner[i])] += mode == Mode::eager ? cost.eager_s : cost.seconds;
    counts[static_cast<std::size_t>(owner[i])] += cost.instructions;
  }
  const auto busiest = std::max_element(seconds.begin(), seconds.end());
  instructions += counts[static_cast<std::size_t>(busiest - seconds.begin())];
  return *busiest;
}

std::string does_not_fit(int64_t bytes, int64_t memory) {
  const auto gib = [](int64_t of) { return static_cast<double>(of) / (1 << 30); };
  return fmt::format("{:.1f} GiB do not fit into the {:.1f} GiB of a rank", gib(bytes), gib(memory));
}

}  // namespace

int cores_apart(const PartClock& clock, int lnc) { return lnc / clock.lnc(); }

std::string_view name_of(Mode mode) { return mode == Mode::compile ? "compile" : "eager"; }
std::string_view name_of(MuonExchange exchange) {
  return exchange == MuonExchange::all_to_all ? "all_to_all" : "gather_broadcast";
}

Grid::Grid(const std::string& instance, int lnc, int tp, int fsdp, int replicas)
    : topology_(backend::Topology::of(instance, lnc)), tp_(tp), fsdp_(fsdp), replicas_(replicas) {}

int Grid::size(Along along) const {
  switch (along) {
    case Along::tp:
      return tp_;
    case Along::fsdp:
      return fsdp_;
    case Along::replicas:
      return replicas_;
    case Along::tp_and_fsdp:
      return tp_ * fsdp_;
  }
  return 1;
}

double Grid::seconds(Along along, CollectiveOp op, DType dtype, int64_t count) {
  const int size_of_group = size(along);
  if (size_of_group == 1) return 0;
  const std::string key = fmt::format("{} {} {} {}", static_cast<int>(along), static_cast<int>(op),
                                      static_cast<int>(dtype), count);
  const auto [at, is_new] = known_.try_emplace(key, 0);
  if (!is_new) return at->second;
  std::vector<backend::Group> groups;
  const int ranks = tp_ * fsdp_ * replicas_;
  std::vector<int> group_of(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    const int t = r % tp_, f = r / tp_ % fsdp_, replica = r / (tp_ * fsdp_);
    group_of[static_cast<std::size_t>(r)] = along == Along::tp         ? replica * fsdp_ + f
                                            : along == Along::fsdp     ? replica * tp_ + t
                                            : along == Along::replicas ? f * tp_ + t
                                                                       : replica;
  }
  groups.resize(static_cast<std::size_t>(ranks / size_of_group), {&topology_, {}});
  for (int r = 0; r < ranks; ++r) {
    groups[static_cast<std::size_t>(group_of[static_cast<std::size_t>(r)])].cores.push_back(r);
  }
  return at->second = backend::concurrent_time(
                          backend::equal_parts(op, size_of_group, dtype, std::max<int64_t>(count, 1)), groups)
                          .seconds;
}

int64_t matrix_parameters(const models::GlaConfig& c) {
  int64_t layer = 0;
  for (const Shape& shape : layer_matrices(c)) layer += element_count(shape);
  return c.num_hidden_layers * layer + c.vocab_size * c.hidden_size;
}

double training_flops(const models::GlaConfig& c) {
  const auto key = static_cast<double>(c.head_key()), value = static_cast<double>(c.head_value());
  return 6 * static_cast<double>(matrix_parameters(c)) +
         3 * static_cast<double>(c.num_hidden_layers * c.num_heads) *
             (4 * key * value + 2 * static_cast<double>(c.chunk_size) * (key + value));
}

double decode_flops(const models::GlaConfig& c) {
  return 2 * static_cast<double>(matrix_parameters(c)) + 5 * static_cast<double>(c.state_elements());
}

int64_t layer_parameters(const models::GlaConfig& config, int tp) {
  models::GlaConfig rank = models::rank_config(config, tp);
  rank.num_hidden_layers = 2;
  models::GlaConfig less = rank;
  less.num_hidden_layers = 1;
  return rank.parameters() - less.parameters();
}

TrainingCost training_cost(PartClock& clock, Grid& grid, const Assumptions& all, const Candidate& candidate,
                           const TrainingLayout& layout, int64_t accumulation, Mode mode,
                           MuonExchange exchange) {
  const Work work{layout.sequences / cores_apart(clock, layout.lnc), all.sequence_length, layout.tp};
  try {
    return training_cost(clock, grid, all, candidate, layout, accumulation, mode, exchange,
                         clock.training(candidate.config, work));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    TrainingCost out;
    out.candidate = candidate.id;
    out.layout = layout.id;
    out.refused = error.what();
    return out;
  }
}

TrainingCost training_cost(PartClock& clock, Grid& grid, const Assumptions& all, const Candidate& candidate,
                           const TrainingLayout& layout, int64_t accumulation, Mode mode,
                           MuonExchange exchange, const TrainingParts& parts) {
  const models::GlaConfig& c = candidate.config;
  TrainingCost out;
  out.candidate = candidate.id;
  out.layout = layout.id;
  out.accumulation = accumulation;
  out.mode = mode;
  out.exchange = exchange;
  const backend::CoreDescription& core = clock.core();
  const backend::ChipDescription& chip = backend::chip(core.generation);
  const int64_t rank_tokens = layout.sequences * all.sequence_length;
  const int64_t apart = cores_apart(clock, layout.lnc);
  out.tokens = rank_tokens * layout.fsdp * layout.replicas * accumulation;

  // What fits (bytes of a rank). Sharded over tp and fsdp: bf16 weights, f32 master, momenta, gradients.
  const int64_t layer = layer_parameters(c, layout.tp);
  const int64_t table = rounded_up(c.vocab_size, layout.tp) * c.hidden_size;
  const int64_t held = rounded_up(c.num_hidden_layers * layer + 2 * table, layout.fsdp);
  const int64_t saved_layer = parts.saved_layer * apart;
  const int64_t stream = rank_tokens * c.hidden_size * 2;
  const int64_t base = held * (2 + 4 + 4 + 4) + 2 * table / layout.fsdp * 4 + 2 * layer * 2 + layer * 4 +
                       table * (2 + 4) + parts.saved_head * apart;
  const int64_t memory = chip.hbm_bytes / chip.cores * layout.lnc;
  out.recomputes = base + c.num_hidden_layers * saved_layer > memory;
  out.memory_bytes = base + (out.recomputes ? c.num_hidden_layers * stream + saved_layer
                                            : c.num_hidden_layers * saved_layer);
  if (out.memory_bytes > memory) {
    out.refused = does_not_fit(out.memory_bytes, memory);
    return out;
  }

  const bool eager = mode == Mode::eager;
  const auto of = [&](const PartCost& part) { return eager ? part.eager_s : part.seconds; };
  const double trigger = eager ? core.launch_us * 1e-6 : 0;
  const auto collective = [&](Along along, CollectiveOp op, DType dtype, int64_t count) {
    return grid.size(along) == 1 ? 0 : trigger + grid.seconds(along, op, dtype, count);
  };
  const double reduce =
      collective(Along::tp, CollectiveOp::all_reduce, DType::bf16, rank_tokens * c.hidden_size);
  const double losses = 3 * collective(Along::tp, CollectiveOp::all_reduce, DType::f32, rank_tokens);
  const auto gather = [&](int64_t elements) {
    return collective(Along::fsdp, CollectiveOp::all_gather, DType::bf16, rounded_up(elements, layout.fsdp));
  };
  const auto scatter = [&](int64_t elements) {
    return collective(Along::fsdp, CollectiveOp::reduce_scatter, DType::f32,
                      rounded_up(elements, layout.fsdp));
  };
  const double gather_layer = gather(layer), gather_table = gather(table);
  const double scatter_layer = scatter(layer), scatter_table = scatter(table);

  // Compute and tensor parallelism take turns on one stream, since neither overlaps with the other.
  Timeline line;
  const Timeline::Stream rank = line.stream("rank"), data = line.stream("fsdp");
  Timeline::Done before, ready = line.add(data, gather_table), next;
  const auto compute = [&](const PartCost& part, Timeline::Done after = {}) {
    const double s = of(part);
    out.compute_s += s;
    out.instructions += part.instructions;
    return line.add(rank, s, {after});
  };
  const auto exchange_stream = [&](double s) {
    out.tensor_parallel_s += s;
    return line.add(rank, s);
  };
  const int64_t layers = c.num_hidden_layers;
  for (int64_t micro = 0; micro < accumulation; ++micro) {
    if (micro > 0) ready = line.add(data, gather_table, {before});
    next = line.add(data, gather_layer, {before});
    before = compute(parts.embedding, ready);
    before = exchange_stream(reduce);
    for (int64_t l = 0; l < layers; ++l) {
      ready = next;
      next = line.add(data, l + 1 < layers ? gather_layer : gather_table, {before});
      compute(parts.attention, ready);
      exchange_stream(reduce);
      compute(parts.mlp);
      before = exchange_stream(reduce);
    }
    compute(parts.head, next);
    exchange_stream(losses);
    next = line.add(data, gather_layer, {before});
    compute(parts.head_backward);
    before = exchange_stream(reduce);
    line.add(data, scatter_table, {before});
    for (int64_t l = layers; l-- > 0;) {
      ready = next;
      if (l > 0) next = line.add(data, gather_layer, {before});
      if (out.recomputes) {
        compute(parts.attention, ready);
        exchange_stream(reduce);
        compute(parts.mlp);
      }
      compute(parts.mlp_backward, ready);
      exchange_stream(reduce);
      compute(parts.attention_backward);
      before = exchange_stream(reduce);
      line.add(data, scatter_layer, {before});
    }
    before = compute(parts.embedding_backward);
    before = line.add(data, scatter_table, {before});
  }
  const int64_t shard = rounded_up(layer, layout.fsdp);
  const double replicas = collective(Along::replicas, CollectiveOp::all_reduce, DType::f32, shard);
  for (int64_t l = 0; l < layers; ++l) before = line.add(data, replicas);
  const double passes = std::max(line.seconds(), before.at_s);

  // The optimiser, on the ranks of one replica.
  const Optimiser optimiser = optimiser_of(c);
  const int owners = layout.tp * layout.fsdp;
  const int64_t cores = owners * apart;
  const double norm = collective(Along::tp_and_fsdp, CollectiveOp::all_reduce, DType::f32, 1);
  double exchanges = 0;
  if (exchange == MuonExchange::all_to_all) {
    exchanges = 2 * collective(Along::tp_and_fsdp, CollectiveOp::all_to_all, DType::bf16,
                               rounded_up(optimiser.muon_elements, int64_t{owners} * owners));
  } else {
    for (const Shape& matrix : optimiser.matrices) {
      const int64_t elements = element_count(matrix);
      exchanges +=
          collective(Along::tp_and_fsdp, CollectiveOp::gather, DType::bf16, rounded_up(elements, owners)) +
          collective(Along::tp_and_fsdp, CollectiveOp::broadcast, DType::bf16, elements);
    }
  }
  const PartCost& muon = clock.muon_elements(rounded_up(optimiser.muon_elements, cores));
  const PartCost& adamw = clock.adamw_elements(rounded_up(optimiser.adamw_elements, cores));
  const double own =
      orthogonalise_s(clock, optimiser, owners, mode, out.instructions) / static_cast<double>(apart);
  out.instructions += muon.instructions + adamw.instructions;
  out.optimiser_s = norm + exchanges + own + of(muon) + of(adamw);

  out.fsdp_exposed_s = passes - line.busy_s(rank);
  out.programs = rounded_up(static_cast<int64_t>(out.instructions), core.max_instructions);
  out.host_s = eager ? 0 : static_cast<double>(out.programs) * (core.launch_us + core.kernel_floor_us) * 1e-6;
  out.seconds = passes + out.optimiser_s + out.host_s;
  out.tokens_per_s = static_cast<double>(out.tokens) / out.seconds;
  const double peak = backend::instance(all.instance).chips * chip.bf16_tflops * 1e12;
  out.mfu = out.tokens_per_s * training_flops(c) / peak;
  return out;
}

DecodeCost decode_cost(PartClock& clock, const Assumptions& all, const Candidate& candidate,
                       const DecodeLayout& layout, Mode mode) {
  const models::GlaConfig& c = candidate.config;
  const backend::CoreDescription& core = clock.core();
  const backend::ChipDescription& chip = backend::chip(core.generation);
  const int cores = backend::instance(all.instance).chips * chip.cores;
  const int groups = cores / layout.lnc / layout.tp;
  DecodeCost out;
  out.candidate = candidate.id;
  out.layout = layout.id;
  out.mode = mode;
  out.sequences = rounded_up(all.decode_sequences, groups);
  // Cores with Programs of their own share heads and columns, or else sequences.
  const int64_t apart = cores_apart(clock, layout.lnc);
  const int64_t wide = layout.tp * apart;
  const bool by_heads = c.num_heads % wide == 0 && c.mlp_size() % wide == 0;
  const Work work{by_heads ? out.sequences : rounded_up(out.sequences, apart), 1,
                  by_heads ? wide : layout.tp};
  try {
    const DecodeParts& parts = clock.decode(c, work);
    out.memory_bytes = 2 * (c.num_hidden_layers * layer_parameters(c, layout.tp) +
                            2 * rounded_up(c.vocab_size, layout.tp) * c.hidden_size) +
                       out.sequences * candidate.state_bytes() / layout.tp;
    const bool eager = mode == Mode::eager;
    const auto of = [&](const PartCost& part) { return eager ? part.eager_s : part.seconds; };
    Grid grid(all.instance, layout.lnc, layout.tp, groups, 1);
    const double reduce = layout.tp == 1 ? 0
                                         : (eager ? core.launch_us * 1e-6 : 0) +
                                               grid.seconds(Along::tp, CollectiveOp::all_reduce, DType::bf16,
                                                            out.sequences * c.hidden_size);
    const auto layers = static_cast<double>(c.num_hidden_layers);
    out.compute_s = of(parts.embedding) + layers * (of(parts.attention) + of(parts.mlp)) + of(parts.head);
    // Embedding and two a layer; the choice among parts of the vocabulary is one more.
    out.collective_s = (2 * layers + 2) * reduce;
    const auto layer_launches = parts.attention.launches + parts.mlp.launches;
    out.launches =
        eager ? parts.embedding.launches + parts.head.launches + c.num_hidden_layers * layer_launches : 1;
    out.host_s = (eager ? 0 : (core.launch_us + core.kernel_floor_us) * 1e-6) + 2 * core.host_copy_us * 1e-6;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    out.refused = error.what();
    return out;
  }
  const int64_t memory = chip.hbm_bytes / chip.cores * layout.lnc;
  if (out.memory_bytes > memory) {
    out.refused = does_not_fit(out.memory_bytes, memory);
    return out;
  }
  out.step_s = out.compute_s + out.collective_s + out.host_s;
  out.tokens_per_s = static_cast<double>(all.decode_sequences) / out.step_s;
  const double bandwidth = backend::instance(all.instance).chips * chip.hbm_bytes_per_ns * 1e9;
  out.state_share =
      2 * static_cast<double>(candidate.state_bytes() * all.decode_sequences) / out.step_s / bandwidth;
  return out;
}

}  // namespace assay::cli::laplace
