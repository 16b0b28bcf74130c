#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/bench/bench.h"
#include "harness/bench/benchmark_json.h"
#include "harness/record/duration.h"

namespace assay {

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
  if (result.geometric_mean_ratio > 0) {
    out += fmt::format("geometric mean of the ratios (below 1: {} is faster): {:.3f}\n", result.backend,
                       result.geometric_mean_ratio);
  }
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
