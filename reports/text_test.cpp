#include "reports/text.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/run_folder_for_test.h"

namespace assay::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  EXPECT_EQ(run.at("records").at(0), nlohmann::json::parse(to_json_line(hostile_run().records[0])));
  EXPECT_TRUE(nlohmann::json::parse(json_report({})).at("runs").empty());
  EXPECT_TRUE(
      nlohmann::json::parse(json_report({run_of({}), run_of({})})).at("runs").at(1).at("records").empty());
}

}  // namespace
}  // namespace assay::reports
