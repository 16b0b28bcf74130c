// How long a backend's compiler takes: cold, from disk in a new process, and from memory, never mixed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/options.h"

namespace assay {

struct CompileBenchOptions {
  RunOptions run;   // backend, filter, seed, out, limits, fullgraph; modes and cache are not used
  int repeats = 5;  // each of all three, every one with a cache and processes of its own
};

struct CompileBenchRow {
  std::string id;
  std::string not_timed;  // why, "" if it was
  // Seconds that a load took in its compile phase, as the worker records them; one entry a repeat. Empty
  // where the backend did not answer from there (no cache on disk, say).
  std::vector<double> cold, disk_warm, memory_warm;
  std::vector<double> prepare;      // of the cold load: planning and uploading, not compiling
  int64_t graphs = 0;               // compiled for the case: 1, or more where the graph breaks
  std::vector<std::string> misses;  // reasons of recompiles in the loads that ought to be warm
};

struct CompileBenchResult {
  std::string backend;
  bool simulated = false;
  std::vector<CompileBenchRow> rows;
};

using CompileBenchProgress = std::function<void(int repeat, const std::string& id)>;

// Loads every case in compile mode. Caches are folders under `run.out`, removed afterwards. Throws Error as
// WorkerClient does; a case that a backend refuses is a row with `not_timed`.
CompileBenchResult bench_compile(const CompileBenchOptions& options, const std::vector<Case>& cases,
                                 const CompileBenchProgress& progress = {});

std::string compile_bench_text(const CompileBenchResult& result);
// Google Benchmark's JSON: one "median" aggregate a case and phase, times in ns.
std::string compile_bench_json(const CompileBenchResult& result);

}  // namespace assay
