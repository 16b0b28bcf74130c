#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/graph/json.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view text, int limit = 64) {
  try {
    check_json_text(text, "some.json", limit);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr("some.json"));
    EXPECT_THAT(error.what(), HasSubstr("byte "));
    return error.what();
  }
  return "";
}

TEST(CheckJsonText, AcceptsOrdinaryText) {
  EXPECT_EQ(refusal(R"({"a": [1, 2.5e3, "x\n\u00e9\ud83d\ude00", null], "b": {"a": true}, "é€😀": 0})"), "");
  EXPECT_EQ(refusal(R"([{"a": 1}, {"a": 1}])"), "");
  EXPECT_EQ(refusal(R"({"a": "a", "b": "a"})"), "");  // equal values are no equal keys
}

TEST(CheckJsonText, LimitsNesting) {
  EXPECT_EQ(refusal("[[[]]]", 3), "");
  EXPECT_THAT(refusal("[[[[]]]]", 3), HasSubstr("byte 3: nesting is deeper than 3"));
  EXPECT_THAT(refusal(std::string(200'000, '[')), HasSubstr("nesting is deeper than 64"));
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(refusal(objects), HasSubstr("nesting is deeper than 64"));
}

TEST(CheckJsonText, FindsDuplicateKeysHoweverWritten) {
  EXPECT_THAT(refusal(R"({"a": 1, "b": 2, "a": 3})"), HasSubstr("byte 17: the key \"a\" appears twice"));
  EXPECT_THAT(refusal(R"({"a": 1, "\u0061": 3})"), HasSubstr("appears twice"));
  EXPECT_THAT(refusal("{\"\xc3\xa9\": 1, \"\\u00E9\": 3}"), HasSubstr("appears twice"));
  EXPECT_THAT(refusal(R"({"\ud83d\ude00": 1, "😀": 3})"), HasSubstr("appears twice"));
  EXPECT_THAT(refusal(R"([0, {"x": {"a/b": 1, "a\/b": 3}}])"), HasSubstr("appears twice"));
}

TEST(CheckJsonText, RefusesInvalidUtf8) {
  for (const char* bytes : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                            "\"\xe2\x82\"", "\"\xf0\x8f\xbf\xbf\"", "\"\x80\""}) {
    EXPECT_THAT(refusal(bytes), HasSubstr("invalid UTF-8")) << bytes;
  }
  EXPECT_THAT(refusal(R"("\ud800")"), HasSubstr("surrogate"));
  EXPECT_THAT(refusal(R"("\udc00\ud800")"), HasSubstr("surrogate"));
  EXPECT_THAT(refusal("[1, \xc3\xa9]"), HasSubstr("outside a string"));
  EXPECT_THAT(refusal(std::string("{}\0x", 4)), HasSubstr("a control character outside a string"));
}

TEST(CheckJsonText, RefusesTextThatIsCutOff) {
  const std::string text = R"({"a": ["b\u0041\n", {"c": "d"}]})";
  for (std::size_t length = 1; length < text.size(); ++length) {
    EXPECT_NE(refusal(text.substr(0, length)), "") << length;
  }
  EXPECT_NE(refusal("]"), "");
  EXPECT_NE(refusal("[}"), "");
  EXPECT_NE(refusal("\"\\x\""), "");
  EXPECT_NE(refusal("\"\n\""), "");
}

}  // namespace
}  // namespace assay
