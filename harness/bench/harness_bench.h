// How fast Assay itself is: cases through planning, worker, both pipes and judge, and which process the time
// went to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/options.h"
#include "harness/run/run.h"

namespace assay {

// CPU time of one program, of all its processes together.
struct ProgramTime {
  std::string program;  // "assay", "assay-worker", "assay-judge", ...
  double cpu_s = 0;
};

struct HarnessBenchResult {
  std::string backend;
  int jobs = 0;
  int64_t passed = 0, failed = 0, skipped = 0;  // records
  int64_t judged = 0;                           // records of cases that ran and were judged: all but skips
  int64_t large = 0;                            // of them, those with an output of more than kLargeElements
  double wall_s = 0;  // of the whole run: planning, starting and ending the processes, results on disk
  std::vector<ProgramTime> programs;
  RunSummary summary;

  double rate() const { return wall_s > 0 ? static_cast<double>(judged) / wall_s : 0; }  // cases a second
};

// Elements beyond which a case counts as large.
constexpr int64_t kLargeElements = 100'000;

// Runs the cases as `assay run` does, in options.out. Throws Error as run_cases does.
HarnessBenchResult bench_harness(const RunOptions& options, std::vector<Case> cases,
                                 const ProgressCallback& progress = {});

// For people: the rate, and CPU milliseconds a case by program.
std::string harness_bench_text(const HarnessBenchResult& result);
// Google Benchmark's JSON: the mean time of a judged case, its rate and the programs' CPU times as counters.
std::string harness_bench_json(const HarnessBenchResult& result);

}  // namespace assay
