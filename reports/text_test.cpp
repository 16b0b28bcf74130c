#include "reports/text.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/compare.h"
#include "reports/html.h"
#include "reports/run_folder_for_test.h"

namespace assay::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

RunFolder hostile_run() {
  RunFolder run = run_of({});
  int i = 0;
  for (const std::string& name : hostile_names()) {
    Record record = record_of(name, i % 3 == 0   ? Status::wrong
                                    : i % 3 == 1 ? Status::infrastructure_error
                                                 : Status::skip_policy);
    record.detail = name;
    record.repro = name;
    record.fallbacks = {{name, "operator", 1, 8, 0.5}};
    run.records.push_back(std::move(record));
    ++i;
  }
  run.not_exported.push_back({"</skipped>", "</a>", "</b>", "</c>", "reason & <more>"});
  run.backend = "\"><script>";
  return run;
}

TEST(Totals, CountEveryStatusOnce) {
  RunFolder run = run_of({});
  for (int i = 0; i <= static_cast<int>(Status::infrastructure_error); ++i) {
    run.records.push_back(record_of("c" + std::to_string(i), static_cast<Status>(i)));
    run.records.back().weight = 10;
  }
  run.not_exported.resize(2);
  const Totals totals = totals_of(run);
  EXPECT_EQ(totals.passed, 4);   // pass, pass_with_fallback, rejected_bad_input, waived
  EXPECT_EQ(totals.skipped, 5);  // skip_*, and two not exported
  EXPECT_EQ(totals.failed, static_cast<int64_t>(run.records.size()) - 7);
  EXPECT_EQ(totals.weighted_passed, 40);
  EXPECT_EQ(totals.weighted_skipped, 32);
  EXPECT_EQ(totals.not_exported, 2);
  int64_t sum = 0;
  for (const auto& [status, count] : totals.by_status) sum += count;
  EXPECT_EQ(sum, totals.passed + totals.failed + totals.skipped);
}

// The XML of a hostile run is read by an independent parser, Python's.
TEST(Junit, IsWellFormedXmlWithHonestCounts) {
  const auto path = std::filesystem::path(testing::TempDir()) / "junit_hostile.xml";
  std::ofstream(path, std::ios::binary) << junit({hostile_run(), run_of({record_of("a", Status::pass)})});
  const std::string script =
      "import sys, xml.etree.ElementTree as E\n"
      "for s in E.parse(sys.argv[1]).getroot():\n"
      "  n = lambda t: sum(1 for c in s if c.find(t) is not None)\n"
      "  assert int(s.get('tests')) == len(s), s.attrib\n"
      "  assert (int(s.get('failures')), int(s.get('errors')), int(s.get('skipped'))) == "
      "(n('failure'), n('error'), n('skipped')), s.attrib\n";
  const std::string script_path = path.string() + ".py";
  std::ofstream(script_path) << script;
  EXPECT_EQ(std::system(("python3 " + script_path + " " + path.string()).c_str()), 0);
}

TEST(Junit, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(xml_escape("<a & \"b\" 'c'>"), "&lt;a &amp; &quot;b&quot; &apos;c&apos;&gt;");
  EXPECT_EQ(xml_escape(std::string("a\0b\a\x1b", 5)), "ab");
  EXPECT_EQ(xml_escape("a\xEF\xBF\xBE"
                       "b\xEF\xBF\xBF"),
            "ab");
  EXPECT_EQ(xml_escape("a\xff"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(xml_escape("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"), "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80");
}

TEST(Csv, HoldsEveryRecordAndNoFormula) {
  const auto path = std::filesystem::path(testing::TempDir()) / "hostile.csv";
  std::ofstream(path, std::ios::binary) << csv({hostile_run()});
  const std::string script_path = path.string() + ".py";
  std::ofstream(script_path)
      << "import csv, sys\n"
         "rows = list(csv.DictReader(open(sys.argv[1], newline='', encoding='utf-8', "
         "errors='surrogateescape')))\n"
         "assert len(rows) == int(sys.argv[2]), len(rows)\n"
         "for row in rows:\n"
         "  assert None not in row and None not in row.values(), row\n"
         "  for cell in row.values(): assert cell[:1] not in tuple('=+-@\\t\\r'), cell\n";
  const std::string line =
      "python3 " + script_path + " " + path.string() + " " + std::to_string(hostile_names().size());
  EXPECT_EQ(std::system(line.c_str()), 0);
}

TEST(Csv, NumbersStayNumbers) {
  Record record = record_of("a", Status::pass);
  record.margin = 0.125;
  record.worst = Worst{"0", {1}, -1, -2, 3, std::nullopt};
  EXPECT_THAT(csv({run_of({record})}), HasSubstr("\na,ops,trainium,eager,0,pass,,0.125,"));
}

TEST(Markdown, KeepsTablesWhole) {
  const std::string text = markdown({hostile_run()});
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, HasSubstr("a\\|b"));
  std::istringstream lines(text);
  std::string line;
  int failures = 0;
  while (std::getline(lines, line)) {
    if (line.find("| eager |") == std::string::npos) continue;
    ++failures;
    int bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    EXPECT_EQ(bars, 6) << line;
  }
  EXPECT_EQ(failures, totals_of(hostile_run()).failed);
}

TEST(Json, HoldsRecordsAndTotals) {
  const auto json = nlohmann::json::parse(json_report({hostile_run()}));
  const auto& run = json.at("runs").at(0);
  EXPECT_EQ(run.at("records").size(), hostile_names().size());
  EXPECT_EQ(run.at("totals").at("skipped"), totals_of(hostile_run()).skipped);
}

TEST(Html, HostileNamesStayInsideTheDataElement) {
  const std::string page = html({hostile_run()});
  const std::string benign = html({run_of({record_of("a", Status::pass)})});
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  for (const char* tag : {"<script", "</script", "<!--", "<img", "<title"}) {
    EXPECT_EQ(count(page, tag), count(benign, tag)) << tag;
  }
  const std::string open = "<script id=\"data\" type=\"application/json\">";
  const auto begin = page.find(open) + open.size();
  const auto data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  const auto& records = data.at("runs").at(0).at("records");
  ASSERT_EQ(records.size(), hostile_names().size());
  EXPECT_EQ(records.at(0).at("id"), hostile_names()[0]);
  EXPECT_EQ(records.at(9).at("id"), "{{DATA}} {{SCRIPT}}");
}

TEST(Html, LoadsNothing) {
  std::string page = html({run_of({record_of("a", Status::pass)})});
  for (const char* loader : {"<link", "<iframe", "<object", "src=\"http", "src='http", "@import", "url(http",
                             "fetch(", "XMLHttpRequest", "WebSocket"}) {
    EXPECT_THAT(page, Not(HasSubstr(loader)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Html, TheComparisonPageIsTheSame) {
  Comparison comparison;
  const std::string benign = comparison_html(comparison);
  for (const std::string& name : hostile_names())
    comparison.differences.push_back({Change::regressed, name, "eager", "pass", "wrong", name, name});
  comparison.base_backend = "</script>";
  const std::string page = comparison_html(comparison);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("document.title='owned'</script>"), std::string::npos);
  EXPECT_THAT(benign, HasSubstr("default-src 'none'"));
}

}  // namespace
}  // namespace assay::reports
