// What a distributed Muon step moves, scheme by scheme, from the byte counters of its programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay::cli {

// A report says that exchanging Muon's shards by two all-to-alls in place of its baseline cut the bytes that
// a rank receives to 1/24 and raised throughput 1.63 times, without the number of ranks, dtypes, baseline or
// padding.
inline constexpr double kPublishedReduction = 24, kPublishedThroughput = 1.63;

// One pair of a baseline and two all-to-alls.
struct MuonTrafficRow {
  std::string baseline;   // "all_gather", "gather_broadcast", "all_gather_broadcast"
  std::string ownership;  // of the matrices in the all-to-alls
  int ranks = 0, matrices = 0;
  std::string gathered, broadcast, exchanged;     // dtypes; broadcast "" if there is none
  double matrix_bytes = 0;                        // P: of all matrices, as they are gathered
  double baseline_bytes = 0, exchange_bytes = 0;  // received by a rank, counted
  double reduction() const { return baseline_bytes / exchange_bytes; }
  bool is_published() const { return reduction() == kPublishedReduction; }
  // The share of a step that the baseline's traffic must have been if the published throughput came from
  // removing the rest of it (Amdahl's law): (1 - 1 / 1.63) / (1 - 1 / reduction). Nothing if no share is
  // enough.
  std::optional<double> share() const {
    const double share = (1 - 1 / kPublishedThroughput) / (1 - 1 / reduction());
    return reduction() > 1 && share <= 1 ? std::optional(share) : std::nullopt;
  }
};

// Programs of all ranks are built, joined and counted, 2 to 64 ranks. Throws Error{internal} if a counter is
// not what the closed form of models/parallel/muon_schemes.h says.
std::vector<MuonTrafficRow> muon_traffic();

std::string muon_traffic_text(const std::vector<MuonTrafficRow>& rows);
nlohmann::ordered_json muon_traffic_json(const std::vector<MuonTrafficRow>& rows);

}  // namespace assay::cli
