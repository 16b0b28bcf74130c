#include "reports/compare.h"

#include <gmock/gmock.h>

#include "reports/run_folder_for_test.h"

namespace assay::reports {
namespace {

using testing::HasSubstr;

constexpr const char* kToday = "2026-06-15";

Comparison compare(std::vector<Record> base, std::vector<Record> current,
                   const std::vector<Waiver>& waivers = {}) {
  return compare_runs(run_of(std::move(base)), run_of(std::move(current)), waivers, kToday);
}
Waiver waiver(const std::string& cases, const std::string& expires = "2026-06-15") {
  return {cases, "trainium", "1.*", "somebody", "https://bugs/1", expires};
}

// One case in both runs; nullopt: it is absent. Another case passes in both.
struct Row {
  std::optional<Status> base, current;
  std::optional<Change> change;  // nullopt: no difference
  int exit_status;
};

TEST(Compare, EveryChange) {
  const std::optional<Status> absent;
  const Row rows[] = {
      {Status::pass, Status::pass, {}, 0},
      {Status::pass, Status::pass_with_fallback, {}, 0},
      {Status::pass, Status::wrong, Change::regressed, 1},
      {Status::waived, Status::crash, Change::regressed, 1},
      {Status::pass, Status::skip_environment, Change::lost_coverage, 1},
      {Status::pass, absent, Change::lost_coverage, 1},
      {absent, Status::wrong, Change::new_failure, 1},
      {Status::skip_policy, Status::wrong, Change::new_failure, 1},
      {Status::wrong, Status::pass, Change::fixed, 0},
      {Status::skip_policy, Status::pass, Change::fixed, 0},
      {absent, Status::pass, Change::added, 0},
      {absent, Status::skip_policy, Change::added, 0},
      {Status::wrong, absent, Change::removed, 0},
      {Status::skip_policy, absent, Change::removed, 0},
      {Status::wrong, Status::skip_policy, Change::removed, 0},
      {Status::wrong, Status::crash, Change::failure_changed, 0},
      {Status::wrong, Status::wrong, Change::still_failing, 0},
      {Status::skip_policy, Status::skip_environment, {}, 0},
  };
  for (const Row& row : rows) {
    std::vector<Record> base{record_of("same", Status::pass)}, current = base;
    if (row.base) base.push_back(record_of("case", *row.base));
    if (row.current) current.push_back(record_of("case", *row.current));
    const Comparison c = compare(base, current);
    const std::string what = (row.base ? std::string(name_of(*row.base)) : "absent") + " -> " +
                             (row.current ? std::string(name_of(*row.current)) : "absent");
    ASSERT_EQ(c.differences.size(), row.change ? 1U : 0U) << what;
    if (row.change) {
      EXPECT_EQ(name_of(c.differences[0].change), name_of(*row.change)) << what;
      EXPECT_THAT(comparison_text(c), HasSubstr("1 " + std::string(name_of(*row.change)))) << what;
    }
    EXPECT_EQ(c.exit_status(), row.exit_status) << what;
    EXPECT_EQ(c.unchanged, row.change ? 1 : 2) << what;
  }
}

TEST(Compare, NewFallbacksAreRegressions) {
  Record none = record_of("case", Status::pass), one = record_of("case", Status::pass_with_fallback);
  one.fallbacks = {{"aten::topk.default", "operator", 2, 64, 0.1}};
  Record more = one;
  more.fallbacks[0].count = 3;
  const Comparison appeared = compare({none}, {one});
  ASSERT_EQ(appeared.differences.size(), 1U);
  EXPECT_EQ(appeared.differences[0].change, Change::new_fallback);
  EXPECT_THAT(appeared.differences[0].detail, HasSubstr("aten::topk.default"));
  EXPECT_EQ(appeared.exit_status(), 1);
  EXPECT_EQ(compare({one}, {more}).exit_status(), 1);
  EXPECT_EQ(compare({one}, {one}).exit_status(), 0);
  EXPECT_EQ(compare({more}, {one}).exit_status(), 0);
  EXPECT_EQ(compare({one}, {none}).exit_status(), 0);
}

TEST(Compare, ModesAreCasesOfTheirOwn) {
  const Comparison c = compare({record_of("a", Status::pass), record_of("a", Status::wrong, "compile")},
                               {record_of("a", Status::pass), record_of("a", Status::pass, "compile")});
  ASSERT_EQ(c.differences.size(), 1U);
  EXPECT_EQ(c.differences[0].mode, "compile");
  EXPECT_EQ(c.differences[0].change, Change::fixed);
}

TEST(Compare, RegressionsComeFirst) {
  const Comparison c = compare({record_of("a", Status::wrong), record_of("z", Status::pass)},
                               {record_of("a", Status::pass), record_of("z", Status::wrong)});
  ASSERT_EQ(c.differences.size(), 2U);
  EXPECT_EQ(c.differences[0].id, "z");
  EXPECT_THAT(comparison_text(c), HasSubstr("assay run ops --filter z"));
}

TEST(Compare, EmptySidesAndNoPasses) {
  const std::vector<Record> good{record_of("a", Status::pass)}, bad{record_of("a", Status::wrong)};
  EXPECT_EQ(compare({}, good).exit_status(), 3);
  EXPECT_EQ(compare(good, {}).exit_status(), 3);
  EXPECT_EQ(compare({}, {}).exit_status(), 3);
  EXPECT_EQ(compare(bad, bad).exit_status(), 3);
  EXPECT_EQ(compare(good, bad).exit_status(), 1);
}

TEST(Compare, AWaiverCoversUntilItsLastDay) {
  const std::vector<Record> base{record_of("a", Status::pass), record_of("b", Status::pass)};
  const std::vector<Record> current{record_of("a", Status::wrong), record_of("b", Status::pass)};
  EXPECT_EQ(compare(base, current).exit_status(), 1);
  Comparison c = compare(base, current, {waiver("a")});
  EXPECT_EQ(c.exit_status(), 0);
  ASSERT_EQ(c.differences.size(), 1U);
  EXPECT_EQ(c.differences[0].change, Change::waived);
  EXPECT_THAT(c.differences[0].detail, HasSubstr("https://bugs/1"));

  c = compare(base, current, {waiver("a", "2026-06-14")});  // expired: covers nothing and is reported
  EXPECT_EQ(c.exit_status(), 1);
  EXPECT_EQ(c.differences[0].change, Change::regressed);
  ASSERT_EQ(c.waivers.size(), 1U);
  EXPECT_TRUE(c.waivers[0].expired);
  EXPECT_THAT(comparison_text(c), HasSubstr("expired waiver"));

  c = compare(base, base, {waiver("a")});  // nothing fails that it covers
  EXPECT_EQ(c.exit_status(), 1);
  ASSERT_EQ(c.waivers.size(), 1U);
  EXPECT_TRUE(c.waivers[0].stale);
  EXPECT_THAT(comparison_text(c), HasSubstr("stale waiver"));

  Waiver other = waiver("a");
  other.backend = "torch:*";
  EXPECT_EQ(compare(base, current, {other}).exit_status(), 1);
  other = waiver("a");
  other.version = "2.*";
  EXPECT_EQ(compare(base, current, {other}).exit_status(), 1);
  // A waiver is for failures, not for cases that are gone.
  EXPECT_EQ(compare(base, {base[1]}, {waiver("a")}).exit_status(), 1);
}

}  // namespace
}  // namespace assay::reports
