// The pages in a real browser: rows are in the DOM, and names that look like HTML or JavaScript stay text.
#include <gmock/gmock.h>

#include "cli/testing/run_program.h"
#include "reports/compare.h"
#include "reports/html.h"
#include "reports/run_folder_for_test.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class ReportPage : public ProgramTest {
 protected:
  void SetUp() override {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      if (shell(std::string("command -v ") + name).status == 0) browser_ = name;
    }
    if (browser_.empty()) GTEST_SKIP() << "no Chromium is installed (Debian package chromium)";
  }
  // The DOM after scripts ran, and what the browser's console said.
  ProgramResult open(const std::string& page) const {
    ProgramResult r =
        shell("HOME=" + path("home") + " timeout 90 " + browser_ +
              " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr"
              " --user-data-dir=" +
              path("profile") + " --virtual-time-budget=5000 --dump-dom 'file://" + path(page) + "'");
    EXPECT_EQ(r.status, 0) << r;
    EXPECT_THAT(r.err, Not(HasSubstr("CONSOLE")));  // no script failed, nothing was blocked or fetched
    return r;
  }
  std::string browser_;
};

std::string text_in_dom(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

TEST_F(ReportPage, ARunIsShownRowByRow) {
  ASSERT_EQ(assay({"run", "--backend", "reference", "--filter", "ops/relu/*/drawn", "--out", "o"}).status, 0);
  const ProgramResult r = open("o/report.html");
  for (const auto& [key, record] : records("o")) {
    EXPECT_THAT(r.out, HasSubstr("<td class=\"text\">" + record.id + "</td>"));
  }
  EXPECT_THAT(r.out, HasSubstr("<b>5</b>passed"));
  EXPECT_THAT(r.out, HasSubstr("<b>0</b>failed"));
}

// Folded rows: 3,000 passing cases are shown by operator and dtype, and the address leads to each of them.
TEST_F(ReportPage, PassingCasesOfALargeRunAreGroupedAndLinked) {
  reports::RunFolder run = reports::run_of({});
  for (int i = 0; i < 3000; ++i) {
    run.records.push_back(reports::record_of(
        "ops/op" + std::to_string(i % 5) + (i % 2 ? "/f32/" : "/bf16/") + std::to_string(i), Status::pass));
    run.records.back().detail.clear();
  }
  run.records[7].status = Status::wrong;
  run.records[7].reason = "element_bound";
  write("run.html", reports::html({run}));
  ProgramResult r = open("run.html");
  EXPECT_THAT(r.out, HasSubstr("<b>2,999</b>passed"));
  EXPECT_THAT(r.out, HasSubstr("10 rows of operator and dtype, 3,000 cases"));
  EXPECT_THAT(r.out, HasSubstr("elementwise bf16: 1,500 passed"));  // a cell of the map
  EXPECT_THAT(r.out, HasSubstr("elementwise f32: 1,499 passed, 1 failed"));
  EXPECT_THAT(r.out, Not(HasSubstr("ops/op3/f32/2003")));

  r = open("run.html#case=ops/op3/f32/2003");
  EXPECT_THAT(r.out, HasSubstr("<td class=\"text\">ops/op3/f32/2003</td>"));
  EXPECT_THAT(r.out, HasSubstr("<pre>assay run ops --filter ops/op3/f32/2003</pre>"));

  r = open("run.html#view=cases&outcome=fail");
  EXPECT_THAT(r.out, HasSubstr("1 row that fit, of 3,000"));
  EXPECT_THAT(r.out, HasSubstr("<td class=\"text\">" + run.records[7].id + "</td>"));

  r = open("run.html#view=cases&q=ops/op4/*/29*4");
  EXPECT_THAT(r.out, HasSubstr("<td class=\"text\">ops/op4/bf16/2994</td>"));
  EXPECT_THAT(r.out, Not(HasSubstr("<td class=\"text\">ops/op4/bf16/284</td>")));
}

TEST_F(ReportPage, HostileNamesStayText) {
  reports::RunFolder run = reports::run_of({});
  for (const std::string& name : reports::hostile_names()) {
    Record record = reports::record_of(name, Status::wrong);
    record.margin = 2;
    record.fallbacks = {{name, name, 1, 8, 0.5}};
    record.worst = Worst{name, {0}, 1, 2, 0.5, std::nullopt};
    run.records.push_back(record);
  }
  run.not_exported.push_back({"</td><script>document.title='owned'</script>", "k", "m", "a", "<b>why</b>"});
  run.backend = "<script>document.title='owned'</script>";
  write("run.html", reports::html({run}));
  reports::Comparison comparison = reports::compare_runs(run, run, {}, "2026-01-01");
  for (const Record& record : run.records)
    comparison.differences.push_back(
        {reports::Change::regressed, record.id, "eager", "pass", "wrong", record.id, record.id});
  write("compare.html", reports::comparison_html(comparison));

  for (const char* page : {"run.html", "compare.html"}) {
    const ProgramResult r = open(page);
    EXPECT_THAT(r.out, Not(HasSubstr("<title>owned</title>"))) << page;
    EXPECT_THAT(r.out, Not(HasSubstr("<img"))) << page;
    for (const std::size_t i : {0U, 1U, 9U}) {
      EXPECT_THAT(r.out,
                  HasSubstr("<td class=\"text\">" + text_in_dom(reports::hostile_names()[i]) + "</td>"))
          << page;
    }
  }
}

}  // namespace
}  // namespace assay::cli
