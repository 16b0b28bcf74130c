#include "reports/html.h"

#include <map>
#include <nlohmann/json.hpp>

#include "reports/compare.h"
#include "reports/packed_table.h"
#include "reports/run_page.h"
#include "reports/text.h"

extern "C" {
extern const char assay_asset_page_html_begin[], assay_asset_page_html_end[];
extern const char assay_asset_page_css_begin[], assay_asset_page_css_end[];
extern const char assay_asset_library_js_begin[], assay_asset_library_js_end[];
extern const char assay_asset_table_js_begin[], assay_asset_table_js_end[];
extern const char assay_asset_cases_js_begin[], assay_asset_cases_js_end[];
extern const char assay_asset_matrix_js_begin[], assay_asset_matrix_js_end[];
extern const char assay_asset_time_js_begin[], assay_asset_time_js_end[];
extern const char assay_asset_page_js_begin[], assay_asset_page_js_end[];
extern const char assay_asset_compare_js_begin[], assay_asset_compare_js_end[];
extern const char assay_asset_profile_js_begin[], assay_asset_profile_js_end[];
extern const char assay_asset_bench_js_begin[], assay_asset_bench_js_end[];
extern const char assay_asset_recall_js_begin[], assay_asset_recall_js_end[];
extern const char assay_asset_laplace_js_begin[], assay_asset_laplace_js_end[];
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

}  // namespace

std::string html_page(const std::string& title, const std::vector<std::string_view>& scripts,
                      const std::string& data_json, bool with_charts) {
  std::string script(asset(assay_asset_library_js_begin, assay_asset_library_js_end));
  script += asset(assay_asset_table_js_begin, assay_asset_table_js_end);
  for (const std::string_view more : scripts) script += more;
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
  std::string data = "{\"runs\":[", title = "Assay";
  for (const RunFolder& run : runs) {
    if (&run != &runs.front()) data += ',';
    data += run_page_data(run);
    title += " · " + run.backend;
  }
  return html_page(title,
                   {asset(assay_asset_cases_js_begin, assay_asset_cases_js_end),
                    asset(assay_asset_matrix_js_begin, assay_asset_matrix_js_end),
                    asset(assay_asset_time_js_begin, assay_asset_time_js_end),
                    asset(assay_asset_page_js_begin, assay_asset_page_js_end)},
                   data + "]}", true);
}

std::string profile_html(const std::string& title, const std::string& backend,
                         const std::string& profile_json) {
  std::string head = dump({{"title", title}, {"backend", backend}});
  head.back() = ',';
  return html_page("Assay profile · " + title,
                   {asset(assay_asset_profile_js_begin, assay_asset_profile_js_end)},
                   head + "\"profile\":" + profile_json + "}", true);
}

std::string recall_html(const std::string& recall_json) {
  return html_page("Assay · associative recall",
                   {asset(assay_asset_bench_js_begin, assay_asset_bench_js_end),
                    asset(assay_asset_recall_js_begin, assay_asset_recall_js_end)},
                   recall_json, true);
}

std::string laplace_html(const std::string& laplace_json) {
  return html_page("Assay · a GLA model of 3 billion parameters",
                   {asset(assay_asset_bench_js_begin, assay_asset_bench_js_end),
                    asset(assay_asset_laplace_js_begin, assay_asset_laplace_js_end)},
                   laplace_json, true);
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
               {"waivers", json::array()}};
  for (const WaiverVerdict& v : comparison.waivers) {
    data["waivers"].push_back({{"case", v.waiver.cases},
                               {"backend", v.waiver.backend},
                               {"owner", v.waiver.owner},
                               {"bug", v.waiver.bug},
                               {"expires", v.waiver.expires},
                               {"expired", v.expired},
                               {"stale", v.stale}});
  }
  const auto& differences = comparison.differences;
  PackedTable table(differences.size());
  table.add_names("id", [&](std::size_t i) -> std::string_view { return differences[i].id; });
  table.add("change", [&](std::size_t i) { return json_cell(name_of(differences[i].change)); });
  table.add("regression", [&](std::size_t i) {
    return std::string(is_regression(differences[i].change) ? "true" : "false");
  });
  const auto text = [&](const char* name, auto member) {
    table.add(name, [&, member](std::size_t i) { return json_cell(differences[i].*member); });
  };
  text("mode", &Difference::mode);
  text("base", &Difference::base_status);
  text("current", &Difference::current_status);
  text("detail", &Difference::detail);
  add_repro(table, [&](std::size_t i) { return Repro{differences[i].repro, differences[i].id}; });
  std::string text_of_data = dump(data);
  text_of_data.back() = ',';
  return html_page("Assay comparison", {asset(assay_asset_compare_js_begin, assay_asset_compare_js_end)},
                   text_of_data + "\"differences\":" + table.json() + "}", false);
}

}  // namespace assay::reports
