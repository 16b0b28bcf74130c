#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/bench/bench.h"
#include "harness/bench/benchmark_json.h"
#include "harness/record/duration.h"

namespace assay {
namespace {

double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

// Each mode apart: the peer's compile mode is another compiler's. What is compiled here is also held against
// the peer's eager mode, from which a model moves.
std::string means_text(const BenchResult& result) {
  std::map<std::string, std::vector<double>> by_mode;
  std::map<std::string, double> peer_eager;  // by id
  for (const BenchRow& row : result.rows) {
    if (row.seconds.empty() || row.peer_seconds.empty()) continue;
    by_mode[row.mode].push_back(row.ratio.ratio);
    if (row.mode == "eager") peer_eager[row.id] = median_of(row.peer_seconds);
  }
  std::string out;
  for (const auto& [mode, ratios] : by_mode) {
    out += fmt::format("geometric mean of the ratios{} (below 1: {} is faster): {:.3f}\n",
                       by_mode.size() > 1 ? ", " + mode : "", result.backend, geometric_mean(ratios));
  }
  std::vector<double> moved;
  for (const BenchRow& row : result.rows) {
    if (row.mode != "compile" || row.seconds.empty()) continue;
    if (const auto peer = peer_eager.find(row.id); peer != peer_eager.end())
      moved.push_back(median_of(row.seconds) / peer->second);
  }
  if (!moved.empty()) {
    out += fmt::format("compiled on {} against eager on {}, geometric mean: {:.3f}\n", result.backend,
                       result.peer, geometric_mean(moved));
  }
  return out;
}

}  // namespace

std::string bench_text(const BenchResult& result) {
  std::size_t width = 8;
  for (const BenchRow& row : result.rows) width = std::max(width, row.id.size() + row.mode.size() + 1);
  std::string out = fmt::format("{:<{}}  {:>12}", "case", width, result.backend);
  if (!result.peer.empty()) out += fmt::format("  {:>12}  {:>7}  {}", result.peer, "ratio", "95 % interval");
  out += "\n";
  for (const BenchRow& row : result.rows) {
    out += fmt::format("{:<{}}", row.id + " " + row.mode, width);
    if (!row.not_timed.empty()) {
      out += "  not timed: " + row.not_timed + "\n";
      continue;
    }
    out += fmt::format("  {:>12}", duration(median_of(row.seconds)));
    if (!result.peer.empty()) {
      out += fmt::format("  {:>12}  {:>7.3f}  [{:.3f}, {:.3f}]", duration(median_of(row.peer_seconds)),
                         row.ratio.ratio, row.ratio.low, row.ratio.high);
    }
    if (row.difference) out += fmt::format("  outputs differ by {:.1e}", *row.difference);
    out += "\n";
  }
  out += means_text(result);
  return out;
}

std::string bench_json(const BenchResult& result) {
  using Json = nlohmann::ordered_json;
  Json out = benchmark_document("assay bench");
  const auto add = [&](const std::string& backend, const BenchRow& row, const std::vector<double>& seconds) {
    if (seconds.empty()) return;
    Json entry = median_entry(backend + "/" + row.id + "/" + row.mode, seconds);
    // Own counters, as Google Benchmark writes them.
    if (!result.peer.empty() && backend == result.backend) {
      entry["ratio"] = row.ratio.ratio;
      entry["ratio_low"] = row.ratio.low;
      entry["ratio_high"] = row.ratio.high;
    }
    if (row.difference) entry["difference"] = *row.difference;
    out["benchmarks"].push_back(std::move(entry));
  };
  for (const BenchRow& row : result.rows) {
    add(result.backend, row, row.seconds);
    add(result.peer, row, row.peer_seconds);
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
