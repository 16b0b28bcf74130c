// Two runs side by side: what changed, and is it a regression?
#pragma once

#include <string>
#include <vector>

#include "harness/record/waivers.h"
#include "reports/run_folder.h"

namespace assay::reports {

enum class Change {
  regressed,        // passed in the base, fails now
  new_failure,      // not in the base, fails
  lost_coverage,    // passed in the base; now skipped or gone
  new_fallback,     // an operator falls back that did not, or more often than in the base
  fixed,            // failed, passes now
  added,            // not in the base, passes or is skipped
  removed,          // failed or was skipped in the base; gone
  failure_changed,  // fails in both, with another status
  still_failing,
  waived,  // would be a regression or failure; an unexpired waiver covers it
};
std::string_view name_of(Change change);
bool is_regression(Change change);  // regressed, new_failure, lost_coverage, new_fallback

struct Difference {
  Change change;
  std::string id, mode;
  std::string base_status, current_status;  // "" where absent
  std::string detail;                       // sentence
  std::string repro;
};

struct WaiverVerdict {
  Waiver waiver;
  bool expired = false;
  bool stale = false;  // covers no live failure
};

struct Comparison {
  std::string base_path, current_path, base_backend, current_backend;
  std::vector<Difference> differences;  // regressions first, then by id
  std::vector<WaiverVerdict> waivers;   // those that are expired or stale
  int64_t unchanged = 0;
  int64_t base_records = 0, current_records = 0, current_passed = 0;
  // INTERFACE §1: 3 if a side is empty; 1 on a regression or an expired or stale waiver; 3 if nothing passes;
  // else 0.
  int exit_status() const;
};

// Records are matched by id and mode. `today` is YYYY-MM-DD.
Comparison compare_runs(const RunFolder& base, const RunFolder& current, const std::vector<Waiver>& waivers,
                        const std::string& today);

std::string comparison_text(const Comparison& comparison);   // for a terminal
std::string comparison_junit(const Comparison& comparison);  // regressions are failures
std::string comparison_html(const Comparison& comparison);   // one offline file

}  // namespace assay::reports
