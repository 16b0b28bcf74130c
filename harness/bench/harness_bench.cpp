#include "harness/bench/harness_bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/bench/benchmark_json.h"
#include "harness/worker/process.h"

namespace assay {
namespace {

double own_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return cpu_seconds(usage);
}

bool is_large(const Case& c) {
  return c.graph &&
         std::any_of(c.graph->outputs.begin(), c.graph->outputs.end(), [&](const GraphOutput& out) {
           if (out.value < 0) return false;
           const Shape& shape = c.graph->values[static_cast<std::size_t>(out.value)].shape;
           const bool known = std::none_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
           return known && element_count(shape) > kLargeElements;
         });
}

}  // namespace

HarnessBenchResult bench_harness(const RunOptions& options, std::vector<Case> cases,
                                 const ProgressCallback& progress) {
  HarnessBenchResult result;
  result.backend = options.backend;
  result.jobs = jobs_of(options);
  std::set<std::string> large;
  for (const Case& c : cases) {
    if (is_large(c)) large.insert(c.id);
  }
  const std::map<std::string, double> before = ended_children_cpu_s();
  const double own = own_cpu_s();
  const auto start = std::chrono::steady_clock::now();
  result.summary = run_cases(options, std::move(cases), [&](const Progress& p) {
    if (p.last != nullptr && !is_skip(p.last->status)) {
      ++result.judged;
      result.large += large.contains(p.last->id) ? 1 : 0;
    }
    if (progress) progress(p);
  });
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.passed = result.summary.passed;
  result.failed = result.summary.failed;
  result.skipped = result.summary.skipped;
  result.programs.push_back({"assay", own_cpu_s() - own});
  for (const auto& [program, seconds] : ended_children_cpu_s()) {
    const auto known = before.find(program);
    result.programs.push_back({program, seconds - (known == before.end() ? 0 : known->second)});
  }
  return result;
}

std::string harness_bench_text(const HarnessBenchResult& result) {
  const auto judged = static_cast<double>(std::max<int64_t>(result.judged, 1));
  std::string out = fmt::format(
      "{} judged cases on {}, {} jobs: {:.2f} s, {:.0f} a second ({} above {} elements)\n", result.judged,
      result.backend, result.jobs, result.wall_s, result.rate(), result.large, kLargeElements);
  out += fmt::format("{:<16}  {:>9}  {:>12}\n", "program", "CPU s", "ms a case");
  double total = 0;
  for (const ProgramTime& time : result.programs) {
    out += fmt::format("{:<16}  {:>9.2f}  {:>12.3f}\n", time.program, time.cpu_s, 1e3 * time.cpu_s / judged);
    total += time.cpu_s;
  }
  out += fmt::format("{:<16}  {:>9.2f}  {:>12.3f}\n", "all", total, 1e3 * total / judged);
  return out;
}

std::string harness_bench_json(const HarnessBenchResult& result) {
  nlohmann::ordered_json out = benchmark_document("assay bench harness");
  const auto judged = static_cast<double>(std::max<int64_t>(result.judged, 1));
  nlohmann::ordered_json entry = median_entry(result.backend + "/harness/case", {result.wall_s / judged});
  entry["items_per_second"] = result.rate();
  entry["judged"] = result.judged;
  entry["large"] = result.large;
  for (const ProgramTime& time : result.programs) entry["cpu_s/" + time.program] = time.cpu_s;
  out["benchmarks"].push_back(std::move(entry));
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace assay
