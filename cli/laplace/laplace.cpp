#include "cli/laplace/laplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <tuple>

#include "backend/kernels/gla.h"
#include "cli/files.h"
#include "cli/verb.h"
#include "core/contract/contract.h"
#include "core/error.h"
#include "harness/worker/locate.h"
#include "reports/html.h"

namespace assay::cli {
namespace laplace {
namespace {

// Programs are linked as a whole up to so many tokens of one sequence.
constexpr int64_t kWholeSequence = 2048;

bool takes(const models::GlaConfig& config, int tp) {
  return config.num_heads % tp == 0 && config.mlp_size() % tp == 0;
}

class Costing {
 public:
  Costing(const Assumptions& all, const std::function<void(const std::string&)>& progress)
      : progress_(progress),
        generation_(backend::instance(all.instance).generation),
        clock_(backend::core(generation_), backend::chip(generation_).cores, true),
        pair_(backend::core(generation_), backend::chip(generation_).cores, false, 2) {
    out_.assumptions = all;
  }

  Report run() {
    training();
    decode();
    chunks();
    rank();
    state();
    ranges();
    return std::move(out_);
  }

 private:
  const Assumptions& all() const { return out_.assumptions; }

  void training() {
    for (const TrainingLayout& layout : all().training) {
      Grid grid(all().instance, layout.lnc, layout.tp, layout.fsdp, layout.replicas);
      for (const Candidate& candidate : all().candidates) {
        progress_(fmt::format("training {} {}", candidate.id, layout.id));
        const std::size_t first = out_.training.size();
        if (!steps(grid, candidate, layout)) continue;
        unroll(candidate, layout);
        if (layout.lnc == 1) continue;
        const TrainingCost divided =
            training_cost(pair_, grid, all(), candidate, layout, all().accumulation.front(), Mode::compile,
                          MuonExchange::all_to_all);
        add_divided(out_.training[first], divided, true);
      }
    }
  }

  template <class Cost>
  void add_divided(const Cost& shared, const Cost& divided, bool training) {
    if (!shared.refused.empty() || !divided.refused.empty()) return;
    out_.divided.push_back(
        {shared.candidate, shared.layout, training, shared.tokens_per_s, divided.tokens_per_s});
  }

  // False if the layout is refused, which no way to step changes: one row says so.
  bool steps(Grid& grid, const Candidate& candidate, const TrainingLayout& layout) {
    for (const int64_t accumulation : all().accumulation) {
      for (const Mode mode : {Mode::compile, Mode::eager}) {
        for (const MuonExchange exchange : {MuonExchange::all_to_all, MuonExchange::gather_broadcast}) {
          out_.training.push_back(
              training_cost(clock_, grid, all(), candidate, layout, accumulation, mode, exchange));
          if (!out_.training.back().refused.empty()) return false;
        }
      }
    }
    return true;
  }

  void unroll(const Candidate& candidate, const TrainingLayout& layout) {
    const TrainingParts& parts =
        clock_.training(candidate.config, {layout.sequences / layout.lnc, all().sequence_length, layout.tp});
    UnrolledCount count{candidate.id, layout.id};
    count.chunks = all().sequence_length / all().chunk_size;
    count.layer = parts.attention_backward.instructions;
    count.step = static_cast<uint64_t>(candidate.config.num_hidden_layers) *
                 (parts.attention_backward.instructions + parts.mlp_backward.instructions);
    count.limit = static_cast<uint64_t>(clock_.core().max_instructions.value);
    out_.unrolled.push_back(count);
    if (&layout != first_layout(candidate)) return;
    for (const auto& [part, cost] : {std::pair<const char*, const PartCost&>{"embedding", parts.embedding},
                                     {"attention", parts.attention},
                                     {"MLP", parts.mlp},
                                     {"head and loss", parts.head},
                                     {"head, backward", parts.head_backward},
                                     {"MLP, backward", parts.mlp_backward},
                                     {"attention, backward", parts.attention_backward},
                                     {"embedding, backward", parts.embedding_backward}}) {
      out_.parts.push_back({candidate.id, layout.id, part, cost});
    }
  }

  void decode() {
    for (const DecodeLayout& layout : all().decode) {
      for (const Candidate& candidate : all().candidates) {
        progress_(fmt::format("decode {} {}", candidate.id, layout.id));
        const std::size_t first = out_.decode.size();
        for (const Mode mode : {Mode::compile, Mode::eager}) {
          out_.decode.push_back(decode_cost(clock_, all(), candidate, layout, mode));
          if (!out_.decode.back().refused.empty()) break;
        }
        if (layout.lnc == 1) continue;
        add_divided(out_.decode[first], decode_cost(pair_, all(), candidate, layout, Mode::compile), false);
      }
    }
  }

  const TrainingLayout* first_layout(const Candidate& candidate) const {
    for (const TrainingLayout& layout : all().training) {
      if (takes(candidate.config, layout.tp)) return &layout;
    }
    return nullptr;
  }

  void chunks() {
    const auto& wanted = all().chunk_candidates;
    for (const Candidate& candidate : all().candidates) {
      if (std::find(wanted.begin(), wanted.end(), candidate.id) == wanted.end()) continue;
      std::map<std::tuple<int64_t, int64_t, int64_t>, std::array<PartCost, 2>> known;  // layouts share work
      for (const TrainingLayout& layout : all().training) {
        if (takes(candidate.config, layout.tp)) chunks(candidate, layout, known);
      }
    }
  }

  // `attention`: by chunk size, sequences and ranks that share them.
  void chunks(const Candidate& candidate, const TrainingLayout& layout,
              std::map<std::tuple<int64_t, int64_t, int64_t>, std::array<PartCost, 2>>& attention) {
    Grid grid(all().instance, layout.lnc, layout.tp, layout.fsdp, layout.replicas);
    const Work work{layout.sequences / layout.lnc, all().sequence_length, layout.tp};
    const std::size_t first = out_.chunks.size();
    double assumed = 0;
    for (const int64_t chunk : all().chunk_sizes) {
      progress_(fmt::format("chunk {} {} {}", candidate.id, layout.id, chunk));
      Candidate other = candidate;
      other.config.chunk_size = chunk;
      TrainingParts parts = clock_.training(candidate.config, work);
      if (chunk != all().chunk_size) {
        const auto [place, fresh] = attention.try_emplace({chunk, work.batch, work.tp});
        if (fresh) place->second = clock_.attention(other.config, work);
        parts.attention = place->second[0];
        parts.attention_backward = place->second[1];
      }
      const TrainingCost cost = training_cost(clock_, grid, all(), other, layout, all().accumulation.front(),
                                              Mode::compile, MuonExchange::all_to_all, parts);
      out_.chunks.push_back({candidate.id, layout.id, cost.refused, chunk,
                             parts.attention.seconds + parts.attention_backward.seconds, cost.tokens_per_s, 0,
                             backend::GlaTiles::tiles_of(chunk) == 0});
      if (chunk == all().chunk_size) assumed = cost.tokens_per_s;
    }
    for (std::size_t k = first; k < out_.chunks.size(); ++k) {
      ChunkCost& cost = out_.chunks[k];
      if (cost.tokens_per_s > 0 && assumed > 0) cost.gain = assumed / cost.tokens_per_s - 1;
    }
  }

  // From the graphs to the last instruction, none extrapolated.
  void rank() {
    const Candidate& candidate = all().candidates.front();
    for (const TrainingLayout& layout : all().training) {
      if (layout.lnc != 1 || !takes(candidate.config, layout.tp)) continue;
      progress_(fmt::format("one rank in full {} {}", candidate.id, layout.id));
      const auto start = std::chrono::steady_clock::now();
      const std::clock_t cpu = std::clock();
      PartClock clock(clock_.core(), backend::chip(generation_).cores, false);
      models::GlaPart part = part_of(candidate.config, {layout.sequences, all().sequence_length, layout.tp});
      RankTiming out{candidate.id, layout.id, layout.sequences * all().sequence_length};
      const auto both = [&](const Graph& graph, int64_t repeats) {
        const models::PartitionedGraph halves = models::gla_part_passes(graph);
        out.simulated_s +=
            clock.in_full_s(halves.forward, repeats) + clock.in_full_s(halves.backward, repeats);
      };
      both(models::gla_embedding_part(part), 1);
      both(models::gla_attention_part(part), candidate.config.num_hidden_layers);
      both(models::gla_mlp_part(part), candidate.config.num_hidden_layers);
      part.graph.loss = true;
      both(models::gla_head_part(part), 1);
      out.instructions = clock.timed_instructions();
      out.generate_and_time_s =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      out.cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
      out_.rank = out;
      return;
    }
  }

  void state() {
    for (const Candidate& candidate : all().candidates) {
      for (std::size_t k = 0; k < all().memory_gib.size(); ++k) {
        out_.concurrency.push_back(
            concurrency(candidate, all().memory_gib[k] << 30, all().weight_copies[k], all().context_lengths));
      }
    }
    const Candidate& first = all().candidates.front();
    progress_("growth with context length " + first.id);
    out_.growth = growth(clock_, first, all().context_lengths, kWholeSequence);
    out_.growth_candidate = first.id;
  }

  struct Figure {
    double value;
    std::string at;
  };
  void range(const std::string& what, double published, const std::vector<Figure>& figures) {
    Range out;
    out.what = what;
    out.published = published;
    for (const Figure& f : figures) {
      if (out.figures == 0 || f.value < out.low) out.low = f.value, out.low_at = f.at;
      if (out.figures == 0 || f.value > out.high) out.high = f.value, out.high_at = f.at;
      ++out.figures;
      out.below += f.value < published ? 1 : 0;
    }
    out_.ranges.push_back(out);
  }

  void ranges() {
    const Published& published = all().published;
    std::vector<Figure> any_training, any_decoding;  // which mode was published is not stated
    for (const Mode mode : {Mode::compile, Mode::eager}) {
      std::vector<Figure> tokens, gains;
      for (std::size_t k = 0; k < out_.training.size(); ++k) {
        const TrainingCost& t = out_.training[k];
        if (!t.refused.empty() || t.mode != mode || t.exchange != MuonExchange::all_to_all) continue;
        const std::string at = fmt::format("{} {} x{}", t.candidate, t.layout, t.accumulation);
        tokens.push_back({t.tokens_per_s, at});
        gains.push_back({t.tokens_per_s / out_.training[k + 1].tokens_per_s - 1, at});
      }
      range(fmt::format("training tokens/s, {}", name_of(mode)), published.training_tokens_per_s, tokens);
      range(fmt::format("gain from all-to-all in Muon, {}", name_of(mode)), published.muon_gain, gains);
      std::vector<Figure> decoded;
      for (const DecodeCost& d : out_.decode) {
        if (d.refused.empty() && d.mode == mode)
          decoded.push_back({d.tokens_per_s, d.candidate + " " + d.layout});
      }
      range(fmt::format("decode tokens/s, {}", name_of(mode)), published.decode_tokens_per_s, decoded);
      any_training.insert(any_training.end(), tokens.begin(), tokens.end());
      any_decoding.insert(any_decoding.end(), decoded.begin(), decoded.end());
    }
    std::vector<Figure> divided_training, divided_decoding;
    for (const DividedCost& d : out_.divided) {
      (d.training ? divided_training : divided_decoding).push_back({d.divided, d.candidate + " " + d.layout});
    }
    range("training tokens/s, divided kernels", published.training_tokens_per_s, divided_training);
    range("decode tokens/s, divided kernels", published.decode_tokens_per_s, divided_decoding);
    range("training tokens/s, either mode", published.training_tokens_per_s, any_training);
    range("decode tokens/s, either mode", published.decode_tokens_per_s, any_decoding);
    std::vector<Figure> chunks, states;
    for (const ChunkCost& c : out_.chunks) {
      if (c.refused.empty() && !c.composed && c.chunk != all().chunk_size) {
        chunks.push_back({c.gain, fmt::format("{} {} against {}", c.candidate, c.layout, c.chunk)});
      }
    }
    range(fmt::format("gain from chunks of {}, compile", all().chunk_size), published.chunk_gain, chunks);
    for (const Candidate& c : all().candidates) {
      // To the digits that were published.
      states.push_back({std::round(static_cast<double>(c.state_bytes()) / 1e5) / 10, c.id});
    }
    range("state of a sequence, MB", published.state_mb, states);
  }

  const std::function<void(const std::string&)>& progress_;
  backend::Generation generation_;
  PartClock clock_, pair_;  // of a physical core, and of two that work together
  Report out_;
};

}  // namespace

Report cost_all(const Assumptions& assumptions, const std::function<void(const std::string&)>& progress) {
  return Costing(assumptions, progress).run();
}

}  // namespace laplace

int bench_laplace(const LaplaceFlags& flags) {
  const std::string path =
      flags.file.empty() ? find_data("cli/laplace/laplace_assumptions.json") : flags.file;
  laplace::Assumptions assumptions = laplace::read_assumptions(path);
  if (!flags.filter.empty()) {
    std::erase_if(assumptions.candidates,
                  [&](const laplace::Candidate& c) { return !glob_match(flags.filter, c.id); });
    if (assumptions.candidates.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "--filter " + flags.filter + ": no candidate of " + path + " has such an id");
    }
  }
  const laplace::Report report = laplace::cost_all(assumptions, [&](const std::string& what) {
    if (!flags.quiet) std::fprintf(stderr, "%s\n", what.c_str());
  });
  const std::string document = laplace::report_json(report), page = flags.out + "/laplace.html";
  write_file(flags.out + "/laplace.json", document);
  write_file(page, reports::laplace_html(document));
  std::printf("%s", flags.json ? document.c_str() : (laplace::report_text(report) + page + "\n").c_str());
  const bool costed = std::any_of(report.training.begin(), report.training.end(),
                                  [](const laplace::TrainingCost& c) { return c.refused.empty(); });
  return costed ? kOk : kNothingPassed;
}

}  // namespace assay::cli
