#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/io/base64.h"
#include "core/io/compressed_test.h"
#include "core/io/model.h"

namespace assay {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// y = x + w, with w tied to v.
json catalogue_document() {
  Graph graph;
  graph.id = "g";
  graph.values = {{"p_w", ValueKind::tensor, DType::f32, {3}, -1, {}},
                  {"p_v", ValueKind::tensor, DType::f32, {3}, -1, {}},
                  {"c", ValueKind::tensor, DType::i64, {2}, -1, {}},
                  {"x", ValueKind::tensor, DType::f32, {2, 3}, -1, {}},
                  {"y", ValueKind::tensor, DType::f32, {2, 3}, 0, {}}};
  graph.nodes = {{"add", "aten::add.Tensor", {{"self", ValueArg{3}}, {"other", ValueArg{0}}}, {4}, {}}};
  graph.inputs = {{0, InputKind::parameter, "w", true, {}},
                  {1, InputKind::parameter, "v", true, {}},
                  {2, InputKind::constant, "c", true, {}},
                  {3, InputKind::user, "x", true, {}}};
  graph.outputs = {{4, OutputKind::user, "", {}}};
  json d = json::parse(graph_to_json(graph));
  d["assay"] = {
      {"format", 1},
      {"id", "g"},
      {"weights",
       {{"w", {{"dtype", "float32"}, {"shape", {3}}, {"draw", {{"center", 1.0}, {"scale", 0.25}}}}},
        {"v", {{"same_as", "w"}}},
        {"c",
         {{"dtype", "int64"},
          {"shape", {2}},
          {"data", encode_base64(std::string("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16))}}}}},
      {"inputs",
       {{"x", {{"dtype", "float32"}, {"shape", {2, 3}}, {"draw", {{"center", 0.0}, {"scale", 1.0}}}}}}}};
  return d;
}

std::string catalogue_refusal(const std::string& bytes, ErrorCode code = ErrorCode::malformed_file) {
  try {
    parse_catalogue(bytes, "some.json.zst");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("some.json.zst"));
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

template <typename Change>
std::string refusal_of_changed(Change change, ErrorCode code = ErrorCode::malformed_file) {
  json d = catalogue_document();
  change(d["assay"]);
  return catalogue_refusal(compress(d.dump()), code);
}

TEST(Catalogue, ReadsAFile) {
  const Model model = parse_catalogue(compress(catalogue_document().dump()), "some.json.zst");
  EXPECT_EQ(model.weights.at("c").to_ints(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(model.weights.at("v").storage(), model.weights.at("w").storage());
  for (const double value : model.weights.at("w").to_doubles()) {
    EXPECT_GE(value, 0.75);
    EXPECT_LE(value, 1.25);
  }
  EXPECT_EQ(model.inputs.at("x").shape, (Shape{2, 3}));
}

TEST(Catalogue, NamesWhatIsWrong) {
  EXPECT_THAT(refusal_of_changed([](json& a) { a["format"] = 2; }, ErrorCode::unsupported),
              HasSubstr("assay.format"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"].erase("w"); }), HasSubstr("w"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["u"] = a["weights"]["w"]; }), HasSubstr("['u']"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["w"]["shape"] = {4}; }),
              AllOf(HasSubstr("'w'"), HasSubstr("[4]")));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["w"]["dtype"] = "int64"; }),
              HasSubstr("['w'].draw"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["w"]["dtype"] = "float99"; }),
              HasSubstr("float99"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["w"]["data"] = ""; }),
              HasSubstr("expected one of"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["v"]["same_as"] = "v"; }), HasSubstr("same_as"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["v"]["same_as"] = "nobody"; }),
              HasSubstr("nobody"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["c"]["data"] = "AAAA"; }), HasSubstr("3 bytes"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["c"]["data"] = "A*=="; }), HasSubstr("base64"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["inputs"].erase("x"); }), HasSubstr("'x' is missing"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["inputs"]["z"] = a["inputs"]["x"]; }), HasSubstr("['z']"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["inputs"]["x"]["shape"] = {2, 4}; }), HasSubstr("[2, 4]"));
  EXPECT_THAT(refusal_of_changed([](json& a) {
                a["inputs"]["x"].erase("draw");
                a["inputs"]["x"]["integers"] = {{"low", 3}, {"high", 3}};
              }),
              HasSubstr("[3, 3)"));
  json d = catalogue_document();
  d.erase("assay");
  EXPECT_THAT(catalogue_refusal(compress(d.dump())), HasSubstr("'assay' is missing"));
}

TEST(Catalogue, RefusesHugeTensors) {
  EXPECT_THAT(refusal_of_changed([](json& a) {
                a["weights"]["w"]["shape"] = {1 << 20, 1 << 20};
              }),
              HasSubstr("limit"));
  EXPECT_THAT(refusal_of_changed([](json& a) {
                a["weights"]["w"]["shape"] = {int64_t{1} << 40, int64_t{1} << 40};
              }),
              HasSubstr("not possible"));
  EXPECT_THAT(refusal_of_changed([](json& a) { a["weights"]["w"]["shape"] = {-3}; }),
              HasSubstr("not possible"));
}

TEST(Catalogue, RefusesBadFrames) {
  const std::string good = compress(catalogue_document().dump());
  for (std::size_t length = 4; length < good.size(); length += 13) {
    EXPECT_THAT(catalogue_refusal(good.substr(0, length)),
                testing::AnyOf(HasSubstr("cut off"), HasSubstr("zstd")));
  }
  EXPECT_THAT(catalogue_refusal(good + "x"), HasSubstr("data after the zstd frame"));
  std::string damaged = good;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  catalogue_refusal(damaged);
  const std::string bomb = compress(std::string((std::size_t{64} << 20) + 1, ' '));
  EXPECT_LT(bomb.size(), 100'000u);
  EXPECT_THAT(catalogue_refusal(bomb), HasSubstr("limit"));
  EXPECT_THAT(catalogue_refusal(compress(std::string(200'000, '['))), HasSubstr("nesting"));
}

TEST(Base64, KnownAnswers) {  // RFC 4648, section 10
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : vectors) {
    EXPECT_EQ(encode_base64(plain), text);
    EXPECT_EQ(decode_base64(text), plain);
  }
  for (const char* bad :
       {"A", "AA", "AAA", "====", "A===", "AB==", "AAB=", "=AAA", "AA=A", "AA==AAAA", "A\nAA", "AA A"}) {
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace assay
