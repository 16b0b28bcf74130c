#include "harness/bench/compile_bench.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "core/contract/contract.h"
#include "core/error.h"
#include "core/graph/json.h"
#include "harness/run/worker_options.h"
#include "harness/worker/graph_names.h"
#include "harness/worker/process.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

RunRequest request_for(const CompileBenchOptions& options, const Case& c) {
  RunRequest request;
  request.case_id = c.id;
  request.mode = "compile";
  request.graph_json = graph_to_json(*c.graph);
  request.inputs = materialise_inputs(c, options.run.seed);
  request.seed = options.run.seed;
  request.fallback = options.run.fallback;
  request.fullgraph = options.run.fullgraph;
  request.input_names = input_names(*c.graph);
  return request;
}

WorkerClient worker(const CompileBenchOptions& options, const std::string& cache) {
  return worker_of(options.run, parse_backend(options.run.backend), cache);
}

LoadReply load(WorkerClient& client, const RunRequest& request) {
  LoadReply reply = client.load(request);
  client.unload(reply.session);
  return reply;
}

void keep(std::vector<double>& to, const std::optional<double>& seconds) {
  if (seconds) to.push_back(*seconds);
}

// A warm load: only what did not have to be compiled counts, and the rest is named.
void keep_warm(CompileBenchRow& row, const LoadReply& reply, std::vector<double>& to,
               const std::optional<double>& seconds) {
  if (reply.compiles.count == 0) {
    keep(to, seconds);
  } else {
    row.misses.insert(row.misses.end(), reply.compiles.misses.begin(), reply.compiles.misses.end());
  }
}

}  // namespace

CompileBenchResult bench_compile(const CompileBenchOptions& options, const std::vector<Case>& cases,
                                 const CompileBenchProgress& progress) {
  CompileBenchResult result;
  result.backend = options.run.backend;
  std::vector<std::pair<const Case*, std::size_t>> timed;
  for (const Case& c : cases) {
    const std::string& filter = options.run.filter;
    if (!c.graph || (!filter.empty() && filter != c.id && !glob_match(filter, c.id))) continue;
    timed.emplace_back(&c, result.rows.size());
    result.rows.push_back({c.id, "", {}, {}, {}, {}, 0, {}});
  }
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    const std::string cache = options.run.out + "/cache-" + std::to_string(repeat);
    fs::remove_all(cache);
    {
      WorkerClient client = worker(options, cache);
      result.simulated = client.hello().simulated;
      for (const auto& [c, number] : timed) {
        CompileBenchRow& row = result.rows[number];
        if (!row.not_timed.empty() || stop_requested()) continue;
        if (progress) progress(repeat, c->id);
        try {
          const RunRequest request = request_for(options, *c);
          const LoadReply cold = load(client, request);
          row.graphs = cold.compiles.count;
          keep(row.cold, cold.phases.compile_cold_s);
          keep(row.prepare, cold.phases.prepare_s);
          const LoadReply again = load(client, request);
          keep_warm(row, again, row.memory_warm, again.phases.compile_memory_warm_s);
        } catch (const Error& error) {
          row.not_timed = error.what();
        }
      }
    }
    WorkerClient client = worker(options, cache);
    client.hello();
    for (const auto& [c, number] : timed) {
      CompileBenchRow& row = result.rows[number];
      if (!row.not_timed.empty() || stop_requested()) continue;
      try {
        const LoadReply warm = load(client, request_for(options, *c));
        keep_warm(row, warm, row.disk_warm, warm.phases.compile_disk_warm_s);
      } catch (const Error& error) {
        row.not_timed = error.what();
      }
    }
    client.stop();
    std::error_code ignored;
    fs::remove_all(cache, ignored);
  }
  return result;
}

}  // namespace assay
