#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/bench/bench.h"

namespace assay {
namespace {

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
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
  char date[40];
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  Json out{{"context",
            {{"date", date},
             {"executable", "assay bench"},
             {"num_cpus", std::thread::hardware_concurrency()},
             {"library_build_type", "release"}}},
           {"benchmarks", Json::array()}};
  const auto add = [&](const std::string& backend, const BenchRow& row, const std::vector<double>& seconds) {
    if (seconds.empty()) return;
    const double ns = median_of(seconds) * 1e9;
    const std::string name = backend + "/" + row.id + "/" + row.mode;
    out["benchmarks"].push_back({{"name", name + "_median"},
                                 {"run_name", name},
                                 {"run_type", "aggregate"},
                                 {"aggregate_name", "median"},
                                 {"repetitions", seconds.size()},
                                 {"iterations", seconds.size()},
                                 {"real_time", ns},
                                 {"cpu_time", ns},
                                 {"time_unit", "ns"}});
  };
  for (const BenchRow& row : result.rows) {
    add(result.backend, row, row.seconds);
    add(result.peer, row, row.peer_seconds);
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
