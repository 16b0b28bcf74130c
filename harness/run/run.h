// The run loop: cases in, records out. The one path that everything takes (see docs/records.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "harness/record/record.h"
#include "harness/run/options.h"

namespace assay {

struct Progress {
  int64_t done = 0, total = 0;  // records, those of a resumed run included
  int64_t passed = 0, failed = 0, skipped = 0;
  const Record* last = nullptr;  // the record that was just written; null for the first call
};
using ProgressCallback = std::function<void(const Progress&)>;  // called under a lock, from any thread

struct RunSummary {
  int64_t passed = 0, failed = 0, skipped = 0;  // records, not weighted
  int64_t not_exported = 0;  // models without a record, counted as skipped in the last line
  bool infrastructure_error = false;
  bool write_failed = false;  // results could no longer be written; what was recorded is kept
  std::string write_error;
  bool interrupted = false;                      // request_stop() was called
  std::vector<std::string> waivers_out_of_date;  // a sentence each
  std::string out;

  std::string last_line() const;  // "N passed, N failed, N skipped"
  int exit_status() const;        // INTERFACE: 4, 1, 3 or 0
};

// Plans and runs the cases, writing the run's folder. Throws Error where the program must exit with 2: folder
// in use or already full, backend cannot be loaded, --resume with another command line, malformed Contract.
RunSummary run_cases(const RunOptions& options, std::vector<Case> cases,
                     const ProgressCallback& progress = {});

// Ends the runs of this process soon: what runs is abandoned without a record, what is recorded stays. Safe
// to call from a signal handler.
void request_stop();
void clear_stop();

}  // namespace assay
