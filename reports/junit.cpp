#include <cstdio>

#include "harness/record/utf8.h"
#include "reports/text.h"

namespace assay::reports {
namespace {

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", value);
  return text;
}

std::string message_of(const Record& record) {
  std::string text(name_of(record.status));
  if (!record.reason.empty()) text += " (" + record.reason + ")";
  return text;
}

}  // namespace

std::string xml_escape(std::string_view raw) {
  const std::string text = valid_utf8(raw);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    // U+FFFE and U+FFFF are no XML characters either.
    if (byte == 0xEF && i + 2 < text.size() && static_cast<unsigned char>(text[i + 1]) == 0xBF &&
        static_cast<unsigned char>(text[i + 2]) >= 0xBE) {
      i += 2;
      continue;
    }
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      default:
        if (byte >= 0x20 || c == '\t' || c == '\n' || c == '\r') out += c;
    }
  }
  return out;
}

std::string junit(const std::vector<RunFolder>& runs) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\">\n";
  for (const RunFolder& run : runs) {
    const Totals totals = totals_of(run);
    int64_t errors = 0;
    double wall = 0;
    for (const Record& record : run.records) {
      errors += record.status == Status::infrastructure_error ? 1 : 0;
      wall += record.wall_s;
    }
    const auto tests = run.records.size() + run.not_exported.size();
    out += "  <testsuite name=\"" + xml_escape(run.backend) + "\" tests=\"" + std::to_string(tests) +
           "\" failures=\"" + std::to_string(totals.failed - errors) + "\" errors=\"" +
           std::to_string(errors) + "\" skipped=\"" + std::to_string(totals.skipped) + "\" time=\"" +
           seconds(wall) + "\">\n";
    for (const Record& record : run.records) {
      out += "    <testcase classname=\"" + xml_escape(run.backend + "." + record.suite + "." + record.mode) +
             "\" name=\"" + xml_escape(record.id) + "\" time=\"" + seconds(record.wall_s) + "\"";
      if (is_pass(record.status)) {
        out += "/>\n";
        continue;
      }
      const char* element = is_skip(record.status)                          ? "skipped"
                            : record.status == Status::infrastructure_error ? "error"
                                                                            : "failure";
      out += ">\n      <" + std::string(element) + " message=\"" + xml_escape(message_of(record)) + "\">" +
             xml_escape(record.detail + (record.repro.empty() ? "" : "\n" + record.repro)) + "</" + element +
             ">\n    </testcase>\n";
    }
    for (const NotExportedRow& row : run.not_exported) {
      out += "    <testcase classname=\"" + xml_escape(run.backend) + ".not_exported\" name=\"" +
             xml_escape(row.id) +
             "\" time=\"0\">\n      <skipped message=\"skip_environment (not_exported)\">" +
             xml_escape(row.reason) + "</skipped>\n    </testcase>\n";
    }
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace assay::reports
