// Benchmarks of backends: Cases timed inside the worker, in interleaved blocks over the backends.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/bench/statistics.h"
#include "harness/case/case.h"
#include "harness/run/options.h"

namespace assay {

struct BenchOptions {
  RunOptions run;         // backend, modes, filter, seed, out, limits
  std::string against;    // the peer; "" for none
  int blocks = 15;        // measurements of each backend, A B B A ...
  double block_s = 0.02;  // aimed at, by repeating the case
  // By id: the case to judge in place of one that the reference would take too long for. Of these the
  // backends' full-size outputs are compared with each other.
  std::map<std::string, Case> judged_instead;
};

// Relative RMS difference of outputs from which on backends are taken to disagree: far above what correct
// bf16 kernels differ by (facts on gated linear attention: below 2e-2), far below an output that is wrong.
inline constexpr double kOutputsDisagree = 0.1;

struct BenchRow {
  std::string id, mode;
  // Why it was not timed ("" if it was): a case that did not pass on a backend has no speed.
  std::string not_timed;
  std::vector<double> seconds, peer_seconds;           // of one execution, block by block
  double device_seconds = 0, peer_device_seconds = 0;  // of one execution, 0 where the device does not tell
  PairedRatio ratio;                                   // time / peer's time, if there is a peer
  // Largest over the outputs of |own - peer's| / |peer's|, Euclidean norms; set for judged_instead only.
  std::optional<double> difference;
};

struct BenchResult {
  std::string backend, peer;
  std::vector<BenchRow> rows;
  bool infrastructure_error = false;
};

using BenchProgress = std::function<void(const BenchRow&, int64_t done, int64_t total)>;

// First judges every case on every backend (runs in out/BACKEND), then times those that passed on all. Throws
// Error as run_cases does.
BenchResult bench_cases(const BenchOptions& options, const std::vector<Case>& cases,
                        const BenchProgress& progress = {});

// A table for people.
std::string bench_text(const BenchResult& result);
// Google Benchmark's JSON: one "median" aggregate a backend, case and mode, times in ns.
std::string bench_json(const BenchResult& result);

}  // namespace assay
