#include <nlohmann/json.hpp>

#include "reports/text.h"

namespace assay::reports {

std::string json_report(const std::vector<RunFolder>& runs) {
  using nlohmann::json;
  json out = {{"schema", 1}, {"runs", json::array()}};
  for (const RunFolder& run : runs) {
    const Totals totals = totals_of(run);
    json entry = {{"path", run.path},
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
                    {"by_status", totals.by_status}}},
                  {"records", json::array()}};
    for (const Record& record : run.records) entry["records"].push_back(json::parse(to_json_line(record)));
    out["runs"].push_back(std::move(entry));
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace assay::reports
