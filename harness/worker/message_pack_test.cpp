#include "harness/worker/message_pack.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "core/error.h"

namespace assay {
namespace {

using Json = nlohmann::json;  // the witness
using testing::HasSubstr;

Json json_of(const MessageValue& value) {
  if (value.is_null()) return nullptr;
  if (value.is_boolean()) return value.boolean();
  if (value.is_number_unsigned()) return value.natural();
  if (value.is_number_integer()) return value.integer();
  if (value.is_number()) return value.real();
  if (value.is_string()) return std::string(value.text());
  if (value.is_array()) {
    Json out = Json::array();
    for (const MessageValue entry : value) out.push_back(json_of(entry));
    return out;
  }
  Json out = Json::object();
  for (const auto& [key, member] : value.members()) out[std::string(key)] = json_of(member);
  return out;
}

std::string witness_bytes(const Json& json) {
  std::string out;
  Json::to_msgpack(json, out);
  return out;
}

// Texts compare where NaN is among the numbers.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void expect_bad(const std::string& bytes, const std::string& what) {
  try {
    const Message message(bytes, "test");
    ADD_FAILURE() << "accepted: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr(what));
  }
}

// Around all sizes at which the format changes.
std::vector<int64_t> sizes() {
  std::vector<int64_t> out;
  for (const int64_t edge : {0LL, 16LL, 32LL, 128LL, 256LL, 32768LL, 65536LL}) {
    for (const int64_t n : {edge - 1, edge, edge + 1}) out.push_back(n);
  }
  return out;
}

TEST(MessagePack, WritesWhatOthersRead) {
  PackedArray integers, texts;
  Json want_integers = Json::array(), want_texts = Json::array();
  std::vector<int64_t> numbers = sizes();
  for (const int64_t n : sizes()) numbers.push_back(-n);
  for (const int64_t n : {int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 62}) {
    for (const int64_t d : {-1, 0, 1}) numbers.insert(numbers.end(), {n + d, -n + d});
  }
  numbers.insert(numbers.end(), {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()});
  for (const int64_t n : numbers) {
    integers.push_back(n);
    if (n >= 0) {
      want_integers.push_back(static_cast<uint64_t>(n));
    } else {
      want_integers.push_back(n);
    }
  }
  integers.push_back(std::numeric_limits<uint64_t>::max());
  want_integers.push_back(std::numeric_limits<uint64_t>::max());
  for (const int64_t n : sizes()) {
    if (n < 0) continue;
    const std::string text(static_cast<std::size_t>(n), 'x');
    texts.push_back(text);
    want_texts.push_back(text);
  }
  PackedMap map{{"integers", integers},
                {"texts", texts},
                {"nil", nullptr},
                {"true", true},
                {"real", -0.1},
                {"none", std::optional<int>()},
                {"some", std::optional<int>(7)},
                {"names", std::vector<std::string>{"a", "b"}},
                {"options", std::map<std::string, std::string>{{"k", "v"}}},
                {"pair", std::pair<int, std::string>(3, "x")},
                {"map", PackedMap{{"inner", "text"}}},
                {"infinity", HUGE_VAL}};
  map.set("flags", std::vector<int>(70'000, 1));
  const Json want{{"integers", want_integers},
                  {"texts", want_texts},
                  {"nil", nullptr},
                  {"true", true},
                  {"real", -0.1},
                  {"none", nullptr},
                  {"some", 7U},
                  {"names", {"a", "b"}},
                  {"options", {{"k", "v"}}},
                  {"pair", Json::array({3U, "x"})},
                  {"map", {{"inner", "text"}}},
                  {"infinity", HUGE_VAL},
                  {"flags", std::vector<unsigned>(70'000, 1)}};
  const std::string bytes = PackedValue(map).bytes();
  EXPECT_EQ(Json::from_msgpack(bytes), want);
  EXPECT_EQ(json_of(Message(bytes, "test").root()), want);
}

TEST(MessagePack, MapsOfManyMembers) {
  for (const int64_t n : sizes()) {
    if (n < 0 || n > 40'000) continue;
    PackedMap map;
    Json want = Json::object();
    for (int64_t i = 0; i < n; ++i) {
      map.set(std::to_string(i), i);
      want[std::to_string(i)] = static_cast<uint64_t>(i);
    }
    const Message message(PackedValue(map).bytes(), "test");
    EXPECT_EQ(json_of(message.root()), want);
    if (n == 0) continue;
    EXPECT_EQ(message.root().find(std::to_string(n - 1))->integer(), n - 1);
    EXPECT_FALSE(message.root().find("x").has_value());
  }
}

Json random_json(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 9 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<uint64_t>(random()) << random() % 33;
    case 3:
      return -1 - static_cast<int64_t>(random()) * (1 + static_cast<int64_t>(random() % 1000));
    case 4:
      return std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100);
    case 5:
      return 0.5F;  // nlohmann writes it in four bytes
    case 6:
      return std::string(random() % 40, static_cast<char>('a' + random() % 26));
    case 7: {
      Json out = Json::array();
      for (auto i = random() % 20; i > 0; --i) out.push_back(random_json(random, depth - 1));
      return out;
    }
    default: {
      Json out = Json::object();
      for (auto i = random() % 20; i > 0; --i) out["k" + std::to_string(i)] = random_json(random, depth - 1);
      return out;
    }
  }
}

TEST(MessagePack, ReadsWhatOthersWrite) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Json want{{"value", random_json(random, 5)}, {"after", "the end"}};
    const Message message(witness_bytes(want), "test");
    EXPECT_EQ(json_of(message.root()), want);
    EXPECT_EQ(message.root().find("after")->text(), "the end");
  }
}

TEST(MessagePack, AValueOfAnotherKindIsAnError) {
  const Message message(witness_bytes({{"a", "text"}, {"n", -1}}), "test");
  const MessageValue text = *message.root().find("a"), number = *message.root().find("n");
  EXPECT_THROW(text.integer(), Error);
  EXPECT_THROW(text.boolean(), Error);
  EXPECT_THROW(text.real(), Error);
  EXPECT_THROW(number.text(), Error);
  EXPECT_THROW(number.natural(), Error);
  EXPECT_FALSE(number.find("a").has_value());
  EXPECT_TRUE(number.members().empty());
}

TEST(MessagePack, DeepNestingIsRefusedWithoutRecursion) {
  // {"a": [[[[...: two million deep, as arrays and as maps.
  expect_bad(std::string("\x81\xa1") + "a" + std::string(2000000, '\x91') + "\xc0", "nested deeper");
  std::string maps = std::string("\x81\xa1") + "a";
  for (int i = 0; i < 2000000; ++i) maps += std::string("\x81\xa1") + "a";
  expect_bad(maps + "\xc0", "nested deeper");
  Json deep = 1;
  for (int i = 0; i < 60; ++i) deep = Json::array({deep});
  EXPECT_NO_THROW(Message(witness_bytes({{"deep", deep}}), "test"));
}

TEST(MessagePack, MemoryOfSmallValuesIsLimited) {
  const std::string claim(
      "\x81\xa1"
      "a\xdd\x02\x00\x00\x00",
      8);  // an array of 2^25
  expect_bad(claim + std::string(std::size_t{1} << 25, '\xc0'), "holds more than");
}

TEST(MessagePack, MalformedHeadersAreRefused) {
  expect_bad("\x91\xc0", "not a map");
  expect_bad(std::string("\x81\x01\x02"), "no string");
  expect_bad(std::string("\x82\xa1") + "a\x01\xa1" + "a\x02", "twice");
  expect_bad(std::string("\x81\xa1") + "a\xd9\x7f", "claims more bytes");
  expect_bad(std::string("\x81\xa1") + "a\xdd\x7f\xff\xff\xff", "claims more entries");
  expect_bad(std::string("\x81\xa1") + "a\xc7\x01\x02\x03", "does not use");
  expect_bad(std::string("\x80\x80"), "left over");
  expect_bad(std::string("\x81\xa1") + "a", "ends too early");
}

// Every prefix of a good header and every single byte changed: an error, or what the witness reads.
TEST(MessagePack, DamagedHeadersNeverCrash) {
  const std::string good =
      witness_bytes({{"type", "x"},
                     {"tensors", Json::array()},
                     {"values", {1, -5, 300, 70000, 1.5, "text", true, nullptr, {{"k", {1, 2}}}}}});
  int accepted = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_THROW(Message(good.substr(0, i), "test"), Error);
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(byte);
      try {
        const Message message(damaged, "test");
        ++accepted;
        const Json want = Json::from_msgpack(damaged, true, false);
        // Bytes that are no text are no member of the protocol's.
        if (!want.is_discarded() && text_of(want).find("\"subtype\"") == std::string::npos) {
          EXPECT_EQ(text_of(json_of(message.root())), text_of(want));
        }
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(accepted, 256);  // other values of numbers and letters
}

}  // namespace
}  // namespace assay
