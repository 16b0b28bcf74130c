#include "harness/run/known_failures.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kToday[] = "2026-06-15";

Waiver waiver(const std::string& cases, const std::string& status = "*",
              const std::string& expires = "2027-01-01") {
  return {cases, "torch:cpu", "2.13*", "somebody", "docs/disagreements.md#x", expires, status};
}

Record record(const std::string& id, Status status, const std::string& reason = "") {
  Record r;
  r.id = id;
  r.backend = "torch:cpu";
  r.status = status;
  r.reason = reason;
  r.detail = "got 1, want 2";
  return r;
}

KnownFailures known(std::vector<Waiver> waivers, const std::string& version = "2.13.0+cpu") {
  return KnownFailures(std::move(waivers), version, kToday);
}

Record applied(KnownFailures& failures, Record r) {
  failures.apply(r);
  return r;
}

TEST(KnownFailures, ACoveredFailureIsWaivedAndNamesTheWaiver) {
  KnownFailures failures = known({waiver("ops/gelu/*")});
  const Record r = applied(failures, record("ops/gelu/f32", Status::nan_mismatch, "nan"));
  EXPECT_EQ(r.status, Status::waived);
  EXPECT_EQ(r.reason, "known_failure");
  EXPECT_EQ(r.detail, "docs/disagreements.md#x: nan_mismatch, nan: got 1, want 2");
  EXPECT_EQ(applied(failures, record("ops/silu/f32", Status::wrong)).status, Status::wrong);
  EXPECT_EQ(applied(failures, record("ops/gelu/f16", Status::pass)).status, Status::pass);
  EXPECT_EQ(applied(failures, record("ops/gelu/f64", Status::skip_eligibility)).status,
            Status::skip_eligibility);
  EXPECT_THAT(failures.out_of_date(true), IsEmpty());
}

TEST(KnownFailures, OtherVersionsBackendsAndStatusesAreNotCovered) {
  KnownFailures newer = known({waiver("*")}, "2.14.0");
  EXPECT_EQ(applied(newer, record("a", Status::wrong)).status, Status::wrong);
  KnownFailures only_nan = known({waiver("*", "nan_mismatch")});
  EXPECT_EQ(applied(only_nan, record("a", Status::crash)).status, Status::crash);
  EXPECT_EQ(applied(only_nan, record("a", Status::nan_mismatch)).status, Status::waived);
  Record other = record("a", Status::nan_mismatch);
  other.backend = "trainium";
  EXPECT_EQ(applied(only_nan, other).status, Status::nan_mismatch);
}

TEST(KnownFailures, ANamedCaseMustFail) {
  KnownFailures failures = known({waiver("ops/gelu/x"), waiver("ops/gelu/*")});
  const Record r = applied(failures, record("ops/gelu/x", Status::pass));
  EXPECT_EQ(r.status, Status::unexpected_pass);
  EXPECT_THAT(r.detail, HasSubstr("docs/disagreements.md#x"));
  KnownFailures refused = known({waiver("a")});
  EXPECT_EQ(applied(refused, record("a", Status::rejected_bad_input)).status, Status::unexpected_pass);
  EXPECT_EQ(applied(refused, record("a", Status::skip_environment)).status, Status::skip_environment);
}

TEST(KnownFailures, StaleWhereTheWholeRanAndNothingFails) {
  KnownFailures failures = known({waiver("ops/gelu/*"), waiver("ops/never/*")});
  applied(failures, record("ops/gelu/x", Status::pass));
  EXPECT_THAT(failures.out_of_date(true), ElementsAre(HasSubstr("ops/gelu/*")));
  EXPECT_THAT(failures.out_of_date(false), IsEmpty());  // a part: what fails may be in another
  failures.count(record("ops/gelu/y", Status::waived));
  EXPECT_THAT(failures.out_of_date(true), IsEmpty());
}

TEST(KnownFailures, AnExpiredWaiverCoversNothingAndIsReported) {
  KnownFailures failures = known({waiver("ops/gelu/*", "*", "2026-06-14")});
  EXPECT_THAT(failures.out_of_date(false), IsEmpty());  // no case of this run concerns it
  EXPECT_EQ(applied(failures, record("ops/gelu/x", Status::wrong)).status, Status::wrong);
  EXPECT_THAT(failures.out_of_date(false), ElementsAre(HasSubstr("expired on 2026-06-14")));
}

}  // namespace
}  // namespace assay
