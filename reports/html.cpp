#include "reports/html.h"

#include <map>
#include <nlohmann/json.hpp>

#include "reports/compare.h"
#include "reports/text.h"

extern "C" {
extern const char assay_asset_page_html_begin[], assay_asset_page_html_end[];
extern const char assay_asset_page_css_begin[], assay_asset_page_css_end[];
extern const char assay_asset_page_js_begin[], assay_asset_page_js_end[];
extern const char assay_asset_compare_js_begin[], assay_asset_compare_js_end[];
extern const char assay_asset_chart_js_begin[], assay_asset_chart_js_end[];
}

namespace assay::reports {
namespace {

using nlohmann::json;

std::string_view asset(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// "</script>" and "<!--" inside a string would end the element or change how it is parsed.
std::string script_safe(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json run_data(const RunFolder& run) {
  const Totals totals = totals_of(run);
  json data = {{"path", run.path},
               {"verb", run.verb},
               {"backend", run.backend},
               {"device", run.device},
               {"version", run.version},
               {"contract", run.contract_hash},
               {"started", run.started},
               {"ended", run.ended},
               {"machine", run.machine},
               {"seed", run.seed},
               {"loosened", run.loosened},
               {"torn", run.torn_last_line},
               {"totals",
                {{"passed", totals.passed},
                 {"failed", totals.failed},
                 {"skipped", totals.skipped},
                 {"not_exported", totals.not_exported},
                 {"by_status", totals.by_status}}}};
  data["records"] = json::array();
  for (const Record& record : run.records) {
    json entry = json::parse(to_json_line(record));
    entry["class"] = is_pass(record.status) ? "pass" : is_skip(record.status) ? "skip" : "fail";
    data["records"].push_back(std::move(entry));
  }
  data["nodes"] = json::array();
  for (const NodeRecord& node : run.nodes) data["nodes"].push_back(json::parse(to_json_line(node)));
  data["not_exported"] = json::array();
  for (const NotExportedRow& row : run.not_exported) {
    data["not_exported"].push_back({{"id", row.id},
                                    {"kind", row.kind},
                                    {"model", row.model},
                                    {"attention", row.attention},
                                    {"reason", row.reason}});
  }
  return data;
}

}  // namespace

std::string html_page(const std::string& title, std::string_view script, const std::string& data_json,
                      bool with_charts) {
  const std::map<std::string, std::string_view> parts_without_copy{
      {"STYLE", asset(assay_asset_page_css_begin, assay_asset_page_css_end)},
      {"CHART",
       with_charts ? asset(assay_asset_chart_js_begin, assay_asset_chart_js_end) : std::string_view()},
      {"SCRIPT", script}};
  const std::string safe_title = xml_escape(title);
  const std::string safe_data = script_safe(data_json);
  const std::string_view page = asset(assay_asset_page_html_begin, assay_asset_page_html_end);
  std::string out;
  std::size_t at = 0;
  while (at < page.size()) {
    const std::size_t open = page.find("{{", at);
    const std::size_t close = open == std::string_view::npos ? open : page.find("}}", open);
    if (close == std::string_view::npos) break;
    out += page.substr(at, open - at);
    const std::string name(page.substr(open + 2, close - open - 2));
    if (name == "TITLE") {
      out += safe_title;
    } else if (name == "DATA") {
      out += safe_data;
    } else {
      out += parts_without_copy.at(name);
    }
    at = close + 2;
  }
  out += page.substr(at);
  return out;
}

std::string html(const std::vector<RunFolder>& runs) {
  json data = {{"runs", json::array()}};
  std::string title = "Assay";
  for (const RunFolder& run : runs) {
    data["runs"].push_back(run_data(run));
    title += " · " + run.backend;
  }
  return html_page(title, asset(assay_asset_page_js_begin, assay_asset_page_js_end), dump(data), true);
}

std::string comparison_html(const Comparison& comparison) {
  json data = {{"base",
                {{"path", comparison.base_path},
                 {"backend", comparison.base_backend},
                 {"records", comparison.base_records}}},
               {"current",
                {{"path", comparison.current_path},
                 {"backend", comparison.current_backend},
                 {"records", comparison.current_records}}},
               {"unchanged", comparison.unchanged},
               {"exit_status", comparison.exit_status()},
               {"differences", json::array()},
               {"waivers", json::array()}};
  for (const Difference& d : comparison.differences) {
    data["differences"].push_back({{"change", name_of(d.change)},
                                   {"regression", is_regression(d.change)},
                                   {"id", d.id},
                                   {"mode", d.mode},
                                   {"base", d.base_status},
                                   {"current", d.current_status},
                                   {"detail", d.detail},
                                   {"repro", d.repro}});
  }
  for (const WaiverVerdict& v : comparison.waivers) {
    data["waivers"].push_back({{"case", v.waiver.cases},
                               {"backend", v.waiver.backend},
                               {"owner", v.waiver.owner},
                               {"bug", v.waiver.bug},
                               {"expires", v.waiver.expires},
                               {"expired", v.expired},
                               {"stale", v.stale}});
  }
  return html_page("Assay comparison", asset(assay_asset_compare_js_begin, assay_asset_compare_js_end),
                   dump(data), false);
}

}  // namespace assay::reports
