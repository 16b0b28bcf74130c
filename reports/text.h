// Reports that are text: JUnit XML, JSON, CSV, Markdown.
#pragma once

#include <string>
#include <vector>

#include "reports/run_folder.h"

namespace assay::reports {

// One testsuite a run, one testcase a record; failures carry detail and repro, skips their reason.
std::string junit(const std::vector<RunFolder>& runs);
// {"schema":1, "runs":[{run.json's fields, "totals", "records":[...]}]}: records as in results.jsonl.
std::string json_report(const std::vector<RunFolder>& runs);
// One line a record: id,suite,backend,mode,seed,status,reason,margin,...; RFC 4180.
std::string csv(const std::vector<RunFolder>& runs);
// Totals, failures and fallbacks as tables, for a pull request's comment.
std::string markdown(const std::vector<RunFolder>& runs);

std::string xml_escape(std::string_view text);  // drops what XML 1.0 cannot hold

}  // namespace assay::reports
