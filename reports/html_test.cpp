#include "reports/html.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "reports/compare.h"
#include "reports/families.h"
#include "reports/packed_table.h"
#include "reports/run_folder_for_test.h"
#include "reports/run_page.h"

namespace assay::reports {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// As html/library.js unpacks.
json unpack(const json& table, const std::string& name) {
  const json& column = table.at("columns").at(name);
  json out = json::array();
  if (column.contains("values")) return column.at("values");
  if (column.contains("of")) {
    const json& runs = column.at("runs");
    for (std::size_t i = 0; i < runs.size(); i += 2)
      for (int n = runs.at(i + 1); n > 0; --n)
        out.push_back(column.at("of").at(runs.at(i).get<std::size_t>()));
  } else if (column.contains("rest")) {
    std::string before;
    for (std::size_t i = 0; i < column.at("rest").size(); ++i) {
      before = before.substr(0, column.at("shared").at(i)) + column.at("rest").at(i).get<std::string>();
      out.push_back(before);
    }
  } else {
    int64_t before = 0;
    for (const json& step : column.at("steps")) out.push_back(before += step.get<int64_t>());
  }
  EXPECT_EQ(out.size(), table.at("rows")) << name;
  return out;
}

TEST(PackedTable, GivesBackWhatWasPutIn) {
  const std::vector<std::string> names{
      "",    "ops/a/f32/5x7", "ops/a/f32/5x8", "ops/a/f32/5x8", "ops/gr\u00fcn", "ops/gr\u00fctze",
      "ops", "</script>"};
  const std::vector<double> numbers{0, 1, 1, 0.1, 1e300, -2.5e-7, 1, 1};
  PackedTable table(names.size());
  table.add_names("name", [&](std::size_t i) -> std::string_view { return names[i]; });
  table.add("text", [&](std::size_t i) { return json_cell(names[i]); });
  table.add("number", [&](std::size_t i) { return json_cell(numbers[i]); });
  table.add("same", [&](std::size_t) { return std::string("null"); });
  table.add_rising("case", [&](std::size_t i) { return static_cast<int64_t>(i * i); });
  const json read = json::parse(table.json());
  EXPECT_EQ(unpack(read, "name"), json(names));
  EXPECT_EQ(unpack(read, "text"), json(names));
  EXPECT_EQ(unpack(read, "number"), json(numbers));
  EXPECT_EQ(unpack(read, "same"), json(std::vector<json>(names.size())));
  EXPECT_EQ(unpack(read, "case").back(), 49);
  EXPECT_TRUE(read.at("columns").at("same").contains("runs"));
  PackedTable empty(0);
  empty.add("x", [](std::size_t) { return std::string("1"); });
  empty.add_names("y", [](std::size_t) { return std::string_view("1"); });
  for (const char* column : {"x", "y"}) EXPECT_TRUE(unpack(json::parse(empty.json()), column).empty());
}

TEST(PackedTable, RoundedNumbersStayOnTheirSideOfTheLimit) {
  EXPECT_EQ(json_cell(0.123456789, 5), "0.12346");
  EXPECT_EQ(json_cell(0.9999999, 5), "0.9999999");
  EXPECT_EQ(json_cell(1.0000001, 5), "1.0000001");
  EXPECT_EQ(json_cell(1.0, 5), "1");
  EXPECT_EQ(json_cell(std::numeric_limits<double>::infinity(), 5), "\"inf\"");
  EXPECT_EQ(json_cell(std::numeric_limits<double>::quiet_NaN()), "\"nan\"");
  EXPECT_EQ(json_cell(std::string_view("a\xff\"")), "\"a\xEF\xBF\xBD\\\"\"");
}

// A large run: every operator and dtype passes in many shapes; some cases do something else.
RunFolder large_run(int rows) {
  RunFolder run = run_of({});
  for (int i = 0; i < rows; ++i) {
    Record r =
        record_of("ops/op" + std::to_string(i % 40) + "/f32/" + std::to_string(i) + "x7", Status::pass);
    r.detail.clear();
    r.repro = "assay run ops --filter " + r.id;
    r.margin = i % 3 == 0 ? 0 : 0.5 + i * 1e-6;
    r.worst = Worst{"0", {i, 3}, 0.1 + i, 0.2, 0.3, 1.0};
    r.gates["bound"] = {GateStatus::pass, *r.margin, 1.0};
    r.phases.first_run_s = 1.2345678e-5 * (1 + i % 97);
    r.phases.steady_s = {2.3456789e-6 * (1 + i % 89)};
    r.device = DeviceCounters{100 + i % 13, 3, 2097152, 1e-6};
    run.records.push_back(std::move(r));
  }
  return run;
}

TEST(RunPage, LargeRunsKeepWhatMattersWhole) {
  constexpr int kRows = 12000;
  RunFolder run = large_run(kRows);
  run.records[30].status = Status::wrong;
  run.records[31].status = Status::skip_policy;
  run.records[32].status = Status::pass_with_fallback;
  run.records[32].fallbacks = {{"aten::topk.default", "operator", 2, 64, 0.125}};
  run.nodes.push_back({run.records[33].id,
                       "trainium",
                       "eager",
                       "n",
                       "aten::relu.default",
                       "",
                       "",
                       "f32",
                       {2},
                       "pass",
                       {},
                       {},
                       ""});
  const std::string text = run_page_data(run);
  EXPECT_LT(text.size(), 75U * kRows);  // a record line has about 1,200 bytes

  const json page = json::parse(text);
  const json& cases = page.at("cases");
  const json ids = unpack(cases, "id"), whole = unpack(cases, "whole"), margins = unpack(cases, "margin");
  const json before = unpack(cases, "repro_before"), after = unpack(cases, "repro_after");
  std::map<std::string, std::size_t> row_of;
  for (std::size_t row = 0; row < ids.size(); ++row) row_of[ids.at(row)] = row;
  ASSERT_EQ(row_of.size(), run.records.size());
  for (const Record& r : run.records) {
    const std::size_t row = row_of.at(r.id);
    EXPECT_NEAR(margins.at(row).get<double>(), *r.margin, 1e-5);
    EXPECT_EQ(before.at(row).get<std::string>() + r.id + after.at(row).get<std::string>(), r.repro);
  }
  std::set<int64_t> with_worst;
  for (const json& row : unpack(page.at("worst"), "case")) with_worst.insert(row.get<int64_t>());
  for (const int i : {30, 31, 32, 33, kRows - 1, kRows - 2}) {  // the last ones have the worst margins
    const std::size_t row = row_of.at(run.records[static_cast<std::size_t>(i)].id);
    EXPECT_EQ(whole.at(row), 1) << i;
    EXPECT_TRUE(with_worst.contains(static_cast<int64_t>(row))) << i;
  }
  std::set<std::string> groups;  // of every operator and dtype, one is whole
  std::size_t kept = 0;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (whole.at(row) == 0) continue;
    ++kept;
    groups.insert(ids.at(row).get<std::string>().substr(0, 9));
  }
  EXPECT_LE(kept, kWorstKept + 45);
  for (int op = 10; op < 40; ++op) EXPECT_TRUE(groups.contains("ops/op" + std::to_string(op) + "/")) << op;
  EXPECT_EQ(unpack(page.at("fallbacks"), "op").at(0), "aten::topk.default");
  EXPECT_EQ(unpack(page.at("nodes"), "case").at(0), row_of.at(run.records[33].id));
}

TEST(RunPage, SmallRunsAreWhole) {
  const RunFolder run = large_run(static_cast<int>(kWholeRunLimit));
  const json page = json::parse(run_page_data(run));
  EXPECT_EQ(unpack(page.at("cases"), "whole"), json(std::vector<int>(run.records.size(), 1)));
  EXPECT_EQ(page.at("worst").at("rows"), run.records.size());
}

TEST(Families, ClaimTheOperatorsThatModelsUse) {
  for (const auto& [op, family] : std::initializer_list<std::pair<const char*, const char*>>{
           {"sum.dim_IntList", "reductions"},
           {"aten::native_layer_norm.default", "normalisation"},
           {"linalg_vector_norm", "reductions"},
           {"normal_functional", "random"},
           {"log_normal", "random"},
           {"_softmax_backward_data", "gradients"},
           {"max_pool2d_with_indices", "pooling"},
           {"max.dim", "reductions"},
           {"t", "views, movement"},
           {"tanh", "elementwise"}}) {
    EXPECT_EQ(family_of(op), family) << op;
  }
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
  const json& cases = data.at("runs").at(0).at("cases");
  std::set<std::string> ids;
  for (const json& id : unpack(cases, "id")) ids.insert(id.get<std::string>());
  ASSERT_EQ(ids.size(), hostile_names().size());
  for (const int i : {0, 1, 9}) EXPECT_TRUE(ids.contains(hostile_names()[static_cast<std::size_t>(i)])) << i;
  EXPECT_EQ(unpack(data.at("runs").at(0).at("fallbacks"), "op").size(), hostile_names().size());
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
