#include "harness/record/waivers.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::string waiver(const std::string& expires, const std::string& more = "") {
  return R"({"schema": 1, "waivers": [{"case": "a*", "backend": "*", "owner": "o", "bug": "b", "expires": ")" +
         expires + "\"" + more + "}]}";
}
std::string refusal(const std::string& text) {
  try {
    parse_waivers(text, "waivers.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr("waivers.json"));
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(Waivers, AreRead) {
  const auto waivers = parse_waivers(waiver("2028-02-29"), "w");
  ASSERT_EQ(waivers.size(), 1U);
  EXPECT_EQ(waivers[0].version, "*");
  EXPECT_FALSE(is_expired(waivers[0], "2028-02-29"));
  EXPECT_TRUE(is_expired(waivers[0], "2028-03-01"));
  EXPECT_TRUE(parse_waivers(R"({"schema": 1, "waivers": []})", "w").empty());
}

TEST(Waivers, DatesAreDates) {
  for (const char* date : {"2026-02-30", "2027-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "20260101",
                           "2026- 1- 1", "+026-01-01", "2026-01-1x", "2026-01-01 ", "never", ""}) {
    refusal(waiver(date));
  }
}

TEST(Waivers, MalformedFiles) {
  refusal("");
  refusal("[]");
  refusal("{}");
  refusal(R"({"waivers": {}})");
  refusal(R"({"waivers": [1]})");
  refusal(R"({"waivers": [], "waivers": []})");
  refusal(std::string(200'000, '['));
  EXPECT_THAT(refusal(waiver("2026-01-01", R"(, "frob": "1")")), HasSubstr("frob"));
  EXPECT_THAT(refusal(waiver("2026-01-01", R"(, "version": 1)")), HasSubstr("version"));
  EXPECT_THAT(
      refusal(R"({"waivers": [{"case": "a", "backend": "b", "owner": "o", "expires": "2026-01-01"}]})"),
      HasSubstr("'bug' is missing"));
  EXPECT_THROW(read_waivers("/no/such/file.json"), Error);
}

}  // namespace
}  // namespace assay
