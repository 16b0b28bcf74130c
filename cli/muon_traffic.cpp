#include "cli/muon_traffic.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/distributed/traffic.h"
#include "core/error.h"
#include "models/parallel/muon_schemes.h"

namespace assay::cli {
namespace {

using models::MuonOwnership;
using models::MuonScheme;

// Bytes that the busiest rank receives in a step, in all and by operation.
struct StepBytes {
  double all = 0;
  std::map<std::string, double> by_operation;
};

// Matrices whose rows divide by the ranks, in as many columns as keep the programs small: bytes are
// proportional to them.
models::ShardedMuon sharded(int ranks, int matrices, DType communicated) {
  models::ShardedMuon muon;
  muon.ranks = ranks;
  muon.matrices.assign(static_cast<std::size_t>(matrices), Shape{int64_t{ranks}, 4});
  muon.communicated = communicated;
  muon.options.steps = 1;  // no iteration moves a byte between ranks
  return muon;
}

StepBytes count(const models::ShardedMuon& muon) {
  RankPrograms programs;
  programs.groups.world_size = muon.ranks;
  for (int r = 0; r < muon.ranks; ++r)
    programs.graphs.push_back(std::make_shared<const Graph>(models::muon_rank_program(muon, r)));
  const JoinedGraph joined = join(programs, "muon");
  if (!joined.fits()) throw Error(ErrorCode::internal, joined.errors.front());
  std::vector<double> received(static_cast<std::size_t>(muon.ranks), 0);
  std::map<std::string, std::vector<double>> by_operation;
  int64_t total = 0;
  for (const Meeting& meeting : joined.meetings) {
    if (meeting.node < 0) continue;
    const Node& node = joined.graph.nodes[static_cast<std::size_t>(meeting.node)];
    std::vector<double>& of_operation = by_operation[std::string(name_of(meeting.calls.front().kind))];
    of_operation.resize(received.size(), 0);
    for (const Transfer& transfer : direct_transfers(OpCall(joined.graph, node))) {
      const auto to = static_cast<std::size_t>(meeting.calls[static_cast<std::size_t>(transfer.to)].rank());
      received[to] += static_cast<double>(transfer.bytes);
      of_operation[to] += static_cast<double>(transfer.bytes);
      total += transfer.bytes;
    }
  }
  if (total != models::muon_traffic_bytes(muon)) {
    throw Error(ErrorCode::internal, fmt::format("Muon's {} on {} ranks moves {} bytes, its formula gives {}",
                                                 models::name_of(muon.scheme), muon.ranks, total,
                                                 models::muon_traffic_bytes(muon)));
  }
  const auto most = [](const std::vector<double>& bytes) {
    return *std::max_element(bytes.begin(), bytes.end());
  };
  StepBytes bytes{most(received), {}};
  for (const auto& [operation, of_rank] : by_operation) bytes.by_operation[operation] = most(of_rank);
  return bytes;
}

// Every step is counted once.
class Counters {
 public:
  const StepBytes& of(MuonScheme scheme, MuonOwnership ownership, int ranks, int matrices, DType dtype) {
    auto [entry, is_new] = known_.try_emplace({scheme, ownership, ranks, matrices, dtype});
    if (is_new) {
      models::ShardedMuon muon = sharded(ranks, matrices, dtype);
      muon.scheme = scheme;
      muon.ownership = ownership;
      entry->second = count(muon);
    }
    return entry->second;
  }

 private:
  std::map<std::tuple<MuonScheme, MuonOwnership, int, int, DType>, StepBytes> known_;
};

struct MuonDTypes {
  DType gathered, broadcast, exchanged;
};

}  // namespace

std::vector<MuonTrafficRow> muon_traffic() {
  constexpr MuonDTypes equal{DType::f32, DType::f32, DType::f32};
  Counters counters;
  std::vector<MuonTrafficRow> rows;
  const auto add = [&](const std::string& baseline, MuonOwnership ownership, int ranks, int matrices,
                       const MuonDTypes& dtypes) {
    const auto by_owner = MuonOwnership::round_robin;
    MuonTrafficRow row{baseline,
                       std::string(models::name_of(ownership)),
                       ranks,
                       matrices,
                       std::string(name_of(dtypes.gathered)),
                       "",
                       std::string(name_of(dtypes.exchanged))};
    for (const Shape& shape : sharded(ranks, matrices, dtypes.gathered).matrices)
      row.matrix_bytes +=
          static_cast<double>(element_count(shape)) * static_cast<double>(size_of(dtypes.gathered));
    const auto step = [&](MuonScheme scheme, DType dtype) -> const StepBytes& {
      return counters.of(scheme, by_owner, ranks, matrices, dtype);
    };
    if (baseline == "gather_broadcast") {
      row.baseline_bytes = step(MuonScheme::gather_broadcast, dtypes.gathered).all;
      row.broadcast = row.gathered;
    } else {
      row.baseline_bytes = step(MuonScheme::all_gather, dtypes.gathered).all;
    }
    if (baseline == "all_gather_broadcast") {
      // Whole matrices everywhere, and whole updates from their owners.
      row.baseline_bytes += step(MuonScheme::gather_broadcast, dtypes.broadcast).by_operation.at("broadcast");
      row.broadcast = name_of(dtypes.broadcast);
    }
    row.exchange_bytes =
        counters.of(MuonScheme::all_to_all, ownership, ranks, matrices, dtypes.exchanged).all;
    rows.push_back(std::move(row));
  };
  const char* const baselines[] = {"all_gather", "gather_broadcast", "all_gather_broadcast"};
  for (const int ranks : {2, 4, 8, 16, 24, 32, 47, 48, 64}) {
    for (const char* baseline : baselines) add(baseline, MuonOwnership::round_robin, ranks, ranks, equal);
  }
  // Matrices of one shape, padded to a multiple of the ranks.
  for (const auto& [ranks, matrices] : {std::pair{64, 48}, {32, 48}, {32, 40}, {48, 48}}) {
    for (const char* baseline : baselines) add(baseline, MuonOwnership::padded, ranks, matrices, equal);
  }
  // Updates leave in bf16 where gradients come in fp32, and the exchange in either.
  for (const int ranks : {32, 64}) {
    for (const DType exchanged : {DType::f32, DType::bf16}) {
      add("all_gather_broadcast", MuonOwnership::round_robin, ranks, ranks,
          {DType::f32, DType::bf16, exchanged});
    }
  }
  return rows;
}

std::string muon_traffic_text(const std::vector<MuonTrafficRow>& rows) {
  std::string out = fmt::format(
      "\nMuon's step: bytes that a rank receives, of the P bytes of all matrices, counted in joined "
      "programs\n"
      "{:<22}{:<12}{:>6}{:>10}  {:<20}{:>12}{:>13}{:>11}{:>9}\n",
      "baseline", "ownership", "ranks", "matrices", "dtypes", "baseline / P", "exchange / P", "reduction",
      "share");
  for (const MuonTrafficRow& row : rows) {
    const std::string dtypes =
        row.gathered + (row.broadcast.empty() ? "" : "+" + row.broadcast) + " : " + row.exchanged;
    out += fmt::format("{:<22}{:<12}{:>6}{:>10}  {:<20}{:>12.4f}{:>13.5f}{:>11.3f}{:>9}{}\n", row.baseline,
                       row.ownership, row.ranks, row.matrices, dtypes, row.baseline_bytes / row.matrix_bytes,
                       row.exchange_bytes / row.matrix_bytes, row.reduction(),
                       row.share() ? fmt::format("{:.1f}%", 100 * *row.share()) : "-",
                       row.is_published() ? fmt::format("  gives {}", kPublishedReduction) : "");
  }
  out += fmt::format(
      "Published: 1/{} of the bytes and {} times the throughput; share: of the baseline's step that its "
      "traffic\n"
      "must have been if all of that gain came from it, - where none is enough. dtypes: gathered + broadcast "
      ": exchanged.\n",
      kPublishedReduction, kPublishedThroughput);
  return out;
}

nlohmann::ordered_json muon_traffic_json(const std::vector<MuonTrafficRow>& rows) {
  auto all = nlohmann::ordered_json::array();
  for (const MuonTrafficRow& row : rows) {
    all.push_back({{"baseline", row.baseline},
                   {"ownership", row.ownership},
                   {"ranks", row.ranks},
                   {"matrices", row.matrices},
                   {"gathered", row.gathered},
                   {"broadcast", row.broadcast},
                   {"exchanged", row.exchanged},
                   {"matrix_bytes", row.matrix_bytes},
                   {"baseline_bytes_per_rank", row.baseline_bytes},
                   {"exchange_bytes_per_rank", row.exchange_bytes},
                   {"reduction", row.reduction()},
                   {"gives_published_reduction", row.is_published()},
                   {"share_for_published_throughput",
                    row.share() ? nlohmann::ordered_json(*row.share()) : nlohmann::ordered_json()}});
  }
  return {{"published_reduction", kPublishedReduction},
          {"published_throughput", kPublishedThroughput},
          {"rows", std::move(all)}};
}

}  // namespace assay::cli
