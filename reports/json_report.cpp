#include <nlohmann/json.hpp>

#include "reports/text.h"

namespace assay::reports {

// Records are their own lines, as in results.jsonl: taking 64,000 of them apart and together again costs more
// than the rest of the report.
std::string json_report(const std::vector<RunFolder>& runs) {
  using nlohmann::json;
  std::string out = "{\"schema\": 1, \"runs\": [";
  for (const RunFolder& run : runs) {
    const Totals totals = totals_of(run);
    const json entry = {{"path", run.path},
                        {"run", json::parse(run.run_json, nullptr, false)},
                        {"totals",
                         {{"passed", totals.passed},
                          {"failed", totals.failed},
                          {"skipped", totals.skipped},
                          {"not_exported", totals.not_exported},
                          {"weighted",
                           {{"passed", totals.weighted_passed},
                            {"failed", totals.weighted_failed},
                            {"skipped", totals.weighted_skipped}}},
                          {"by_status", totals.by_status}}}};
    std::string text = entry.dump(1, ' ', false, json::error_handler_t::replace);
    text.resize(text.rfind('\n'));  // without the closing brace: the records are the last member
    out += (&run == &runs.front() ? "\n" : ",\n") + text + ",\n \"records\": [";
    for (const Record& record : run.records) {
      out += &record == &run.records.front() ? "\n" : ",\n";
      out += to_json_line(record);
    }
    out += "\n]}";
  }
  return out + "\n]}\n";
}

}  // namespace assay::reports
