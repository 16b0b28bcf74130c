#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "harness/bench/compile_bench.h"
#include "harness/bench/statistics.h"

namespace assay {
namespace {

// "12.31 [11.90, 14.02]": median and range in milliseconds.
std::string summary(const std::vector<double>& seconds) {
  if (seconds.empty()) return "-";
  const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", median_of(seconds) * 1e3, *low * 1e3, *high * 1e3);
}

double median_over(const CompileBenchResult& result, std::vector<double> CompileBenchRow::*phase) {
  std::vector<double> medians;
  for (const CompileBenchRow& row : result.rows) {
    if (row.not_timed.empty() && !(row.*phase).empty()) medians.push_back(median_of(row.*phase));
  }
  return median_of(medians);
}

std::string milliseconds(double seconds) {
  return std::isnan(seconds) ? "-" : fmt::format("{:.2f}", seconds * 1e3);
}

}  // namespace

std::string compile_bench_text(const CompileBenchResult& result) {
  std::size_t width = 8;
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
  out += fmt::format("{:<{}}  {:>26}  {:>26}  {:>26}\n", "median", width,
                     milliseconds(median_over(result, &CompileBenchRow::cold)),
                     milliseconds(median_over(result, &CompileBenchRow::disk_warm)),
                     milliseconds(median_over(result, &CompileBenchRow::memory_warm)));
  return out;
}

std::string compile_bench_json(const CompileBenchResult& result) {
  using Json = nlohmann::ordered_json;
  char date[40];
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  Json out{{"context",
            {{"date", date},
             {"executable", "assay bench compile"},
             {"num_cpus", std::thread::hardware_concurrency()},
             {"library_build_type", "release"},
             {"compiler_of_simulated_device", result.simulated}}},
           {"benchmarks", Json::array()}};
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
      const double ns = median_of(seconds) * 1e9;
      out["benchmarks"].push_back({{"name", name + "_median"},
                                   {"run_name", name},
                                   {"run_type", "aggregate"},
                                   {"aggregate_name", "median"},
                                   {"repetitions", seconds.size()},
                                   {"iterations", seconds.size()},
                                   {"real_time", ns},
                                   {"cpu_time", ns},
                                   {"time_unit", "ns"}});
    }
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
