#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/bench/benchmark_json.h"
#include "harness/bench/compile_bench.h"
#include "harness/bench/statistics.h"

namespace assay {
namespace {

constexpr std::string_view kGrowth = "growth";  // growth/NODES

// "12.31 [11.90, 14.02]": median and range in milliseconds.
std::string summary(const std::vector<double>& seconds) {
  if (seconds.empty()) return "-";
  const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", median_of(seconds) * 1e3, *low * 1e3, *high * 1e3);
}

// "ops", "models", "growth".
std::string kind_of(const CompileBenchRow& row) { return row.id.substr(0, row.id.find('/')); }

double median_over(const CompileBenchResult& result, const std::string& kind,
                   std::vector<double> CompileBenchRow::*phase) {
  std::vector<double> medians;
  for (const CompileBenchRow& row : result.rows) {
    if (kind_of(row) != kind) continue;
    if (row.not_timed.empty() && !(row.*phase).empty()) medians.push_back(median_of(row.*phase));
  }
  return median_of(medians);
}

std::string milliseconds(double seconds) {
  return std::isnan(seconds) ? "-" : fmt::format("{:.2f}", seconds * 1e3);
}

}  // namespace

std::string compile_bench_text(const CompileBenchResult& result) {
  std::size_t width = 16;
  for (const CompileBenchRow& row : result.rows) width = std::max(width, row.id.size());
  std::string out = fmt::format(
      "compile phases of {} in ms, median [least, most]; a cold load starts from an empty cache\n",
      result.backend);
  if (result.simulated) {
    out +=
        "the device is simulated: these are times of its own compiler on this machine, not of a vendor's\n";
  }
  out += fmt::format("{:<{}}  {:>26}  {:>26}  {:>26}\n", "case", width, "cold", "disk-warm", "memory-warm");
  for (const CompileBenchRow& row : result.rows) {
    out += fmt::format("{:<{}}", row.id, width);
    if (!row.not_timed.empty()) {
      out += "  not timed: " + row.not_timed.substr(0, row.not_timed.find('\n')) + "\n";
      continue;
    }
    out += fmt::format("  {:>26}  {:>26}  {:>26}", summary(row.cold), summary(row.disk_warm),
                       summary(row.memory_warm));
    if (row.graphs != 1) out += fmt::format("  {} graphs", row.graphs);
    const std::set<std::string> reasons(row.misses.begin(), row.misses.end());
    if (!reasons.empty())
      out += "  compiled again although warm: " + fmt::format("{}", fmt::join(reasons, ", "));
    out += "\n";
  }
  std::vector<std::string> kinds;
  for (const CompileBenchRow& row : result.rows) {
    if (kinds.empty() || kinds.back() != kind_of(row)) kinds.push_back(kind_of(row));
  }
  for (const std::string& kind : kinds) {
    if (kind == kGrowth) continue;
    out += fmt::format("{:<{}}  {:>26}  {:>26}  {:>26}\n", "median of " + kind, width,
                       milliseconds(median_over(result, kind, &CompileBenchRow::cold)),
                       milliseconds(median_over(result, kind, &CompileBenchRow::disk_warm)),
                       milliseconds(median_over(result, kind, &CompileBenchRow::memory_warm)));
  }
  for (const CompileBenchRow& row : result.rows) {
    if (kind_of(row) != kGrowth || row.cold.empty()) continue;
    const double nodes = std::stod(row.id.substr(kGrowth.size() + 1));
    out += fmt::format("{:<{}}  {:>23.1f} us a node\n", row.id, width, median_of(row.cold) / nodes * 1e6);
  }
  return out;
}

std::string compile_bench_json(const CompileBenchResult& result) {
  using Json = nlohmann::ordered_json;
  Json out = benchmark_document("assay bench compile");
  out["context"]["compiler_of_simulated_device"] = result.simulated;
  const std::pair<const char*, std::vector<double> CompileBenchRow::*> phases[] = {
      {"cold", &CompileBenchRow::cold},
      {"disk_warm", &CompileBenchRow::disk_warm},
      {"memory_warm", &CompileBenchRow::memory_warm},
  };
  for (const CompileBenchRow& row : result.rows) {
    for (const auto& [phase, member] : phases) {
      const std::vector<double>& seconds = row.*member;
      if (seconds.empty()) continue;
      const std::string name = result.backend + "/" + row.id + "/compile/" + phase;
      out["benchmarks"].push_back(median_entry(name, seconds));
    }
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
