// What the page of a run holds (html/page.js draws it).
#pragma once

#include <string>

#include "reports/run_folder.h"

namespace assay::reports {

// Passing cases of a run with more of them keep their short columns only: id, mode, status, margin, witness,
// times. Failures, skips, cases with fallbacks or details of nodes, the run's worst margins and the worst of
// every operator and dtype always keep their whole record.
inline constexpr std::size_t kWholeRunLimit = 2000;
inline constexpr std::size_t kWorstKept = 200;

// JSON: the run's facts, "totals", and as packed tables (packed_table.h) "cases" in order of id, eager first;
// their "worst" elements, "gates", "bad_nodes", "fallbacks", "devices", "compiles", "steady" and "nodes",
// each row with the index `case`; "not_exported"; "families": {operator: family}.
std::string run_page_data(const RunFolder& run);

}  // namespace assay::reports
