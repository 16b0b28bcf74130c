// CSV and Markdown.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "core/median.h"
#include "reports/text.h"

namespace assay::reports {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string number(const std::optional<double>& value) { return value ? number(*value) : ""; }

std::string csv_field(const std::string& text) {
  std::string safe = text;
  // A spreadsheet would run these as formulas.
  if (!safe.empty() && std::string("=+-@\t\r").find(safe[0]) != std::string::npos)
    safe.insert(safe.begin(), '\'');
  if (safe.find_first_of(",\"\n\r") == std::string::npos) return safe;
  std::string out = "\"";
  for (char c : safe) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '[' || c == ']') out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '\n' || c == '\r') {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

int64_t fallback_count(const Record& record) {
  int64_t count = 0;
  for (const Fallback& fallback : record.fallbacks) count += fallback.count;
  return count;
}

}  // namespace

std::string csv(const std::vector<RunFolder>& runs) {
  std::string out =
      "id,suite,backend,mode,seed,status,reason,margin,witness,fallbacks,residency_nodes,residency_flops,"
      "residency_bytes,"
      "compile_cold_s,first_run_s,steady_median_s,device_cycles,device_seconds,weight,wall_s,detail,repro\n";
  for (const RunFolder& run : runs) {
    for (const Record& r : run.records) {
      const auto share = [&](double Residency::*member) {
        return r.residency ? number((*r.residency).*member) : "";
      };
      const std::vector<std::string> fields{r.id,
                                            r.suite,
                                            r.backend,
                                            r.mode,
                                            std::to_string(r.seed),
                                            std::string(name_of(r.status)),
                                            r.reason,
                                            number(r.margin),
                                            r.witness,
                                            std::to_string(fallback_count(r)),
                                            share(&Residency::nodes),
                                            share(&Residency::flops),
                                            share(&Residency::bytes),
                                            number(r.phases.compile_cold_s),
                                            number(r.phases.first_run_s),
                                            number(median(r.phases.steady_s)),
                                            r.device ? std::to_string(r.device->cycles) : "",
                                            r.device ? number(r.device->seconds) : "",
                                            std::to_string(r.weight),
                                            number(r.wall_s),
                                            r.detail,
                                            r.repro};
      for (std::size_t i = 0; i < fields.size(); ++i) out += (i ? "," : "") + csv_field(fields[i]);
      out += "\n";
    }
  }
  return out;
}

std::string markdown(const std::vector<RunFolder>& runs) {
  std::string out;
  for (const RunFolder& run : runs) {
    const Totals totals = totals_of(run);
    out += "## " + markdown_cell(run.backend) + "\n\n" + std::to_string(totals.passed) + " passed, " +
           std::to_string(totals.failed) + " failed, " + std::to_string(totals.skipped) + " skipped\n\n";
    out += "| status | records |\n|---|---:|\n";
    for (const auto& [status, count] : totals.by_status)
      out += "| " + markdown_cell(status) + " | " + std::to_string(count) + " |\n";
    if (totals.failed > 0) {
      out += "\n### Failures\n\n| case | mode | status | margin | detail |\n|---|---|---|---:|---|\n";
      for (const Record& r : run.records) {
        if (!is_failure(r.status)) continue;
        out += "| " + markdown_cell(r.id) + " | " + r.mode + " | " +
               markdown_cell(std::string(name_of(r.status))) + " | " + number(r.margin) + " | " +
               markdown_cell(r.detail) + " |\n";
      }
    }
    std::map<std::pair<std::string, std::string>, Fallback> fallbacks;
    for (const Record& r : run.records) {
      for (const Fallback& f : r.fallbacks) {
        Fallback& sum = fallbacks[{f.op, f.reason}];
        sum.count += f.count;
        sum.bytes += f.bytes;
        sum.seconds += f.seconds;
      }
    }
    if (!fallbacks.empty()) {
      out +=
          "\n### Fallbacks\n\n| operator | reason | count | bytes moved | seconds "
          "|\n|---|---|---:|---:|---:|\n";
      for (const auto& [key, f] : fallbacks) {
        out += "| " + markdown_cell(key.first) + " | " + markdown_cell(key.second) + " | " +
               std::to_string(f.count) + " | " + std::to_string(f.bytes) + " | " + number(f.seconds) + " |\n";
      }
    }
    out += "\n";
  }
  return out;
}

}  // namespace assay::reports
