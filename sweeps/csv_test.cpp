#include "sweeps/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/error.h"

namespace assay::sweeps {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view text, const std::vector<std::string>& required = {}) {
  try {
    parse_csv(text, "t.csv", required);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("t.csv"));
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(Csv, QuotesCommasAndLineEnds) {
  const auto rows =
      parse_csv("id,file\r\n\"a,b\",\"say \"\"hi\"\"\"\r\n\"two\nlines\",x\n", "t.csv", {"id", "file"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("id"), "a,b");
  EXPECT_EQ(rows[0].at("file"), "say \"hi\"");
  EXPECT_EQ(rows[1].at("id"), "two\nlines");
  EXPECT_EQ(rows[1].at("no such column"), "");
  EXPECT_EQ(rows[1].line, 3);
}

TEST(Csv, LastLineNeedsNoEnd) {
  const auto rows = parse_csv("id\nx", "t.csv", {"id"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("id"), "x");
}

TEST(Csv, AByteOrderMarkIsNoPartOfAColumn) {
  EXPECT_EQ(parse_csv("\xEF\xBB\xBFid,file\na,b\n", "t.csv", {"id", "file"}).at(0).at("id"), "a");
}

TEST(Csv, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(refusal(""), HasSubstr("a header line was expected"));
  EXPECT_THAT(refusal("id,file\n", {"golden"}), HasSubstr("column 'golden' is missing"));
  EXPECT_THAT(refusal("id,id\n1,2\n"), HasSubstr("row 1: a column is named twice"));
  EXPECT_THAT(refusal("id,file\na\n"), HasSubstr("row 2: has 1 fields; the header has 2"));
  EXPECT_THAT(refusal("id,file\na,b\nc,d,e\n"), HasSubstr("row 3: has 3 fields"));
  EXPECT_THAT(refusal("id\n\"open\n"), HasSubstr("not valid CSV"));
  EXPECT_THAT(refusal("id\nst\"ray\n"), HasSubstr("not valid CSV"));
}

TEST(Csv, AFileThatIsNone) {
  for (const char* path : {"/no/such/file.csv", ASSAY_SOURCE_DIR}) {
    try {
      read_csv(path, {});
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
}

// Whatever the bytes: rows as wide as the header, or an Error.
TEST(Csv, HostileBytes) {
  std::mt19937 random(5);
  const std::string alphabet("\",\n\r\0a\xff ;", 9);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 24, '\0');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    try {
      for (const CsvRow& row : parse_csv(text, "t.csv", {})) EXPECT_FALSE(row.fields.empty());
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace assay::sweeps
