#include "core/io/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/io/base64.h"
#include "core/io/compressed_test.h"
#include "core/io/zstd_text.h"

namespace assay {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

json floats(const std::vector<float>& values) {
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return {{"dtype", "float32"}, {"shape", {values.size()}}, {"data", encode_base64(bytes)}};
}

// y = |x|
json pack_document(const std::string& id) {
  Graph graph;
  graph.id = "g";
  graph.values = {{"x", ValueKind::tensor, DType::f32, {2}, -1, {}},
                  {"y", ValueKind::tensor, DType::f32, {2}, 0, {}}};
  graph.nodes = {{"abs", "aten::abs.default", {{"self", ValueArg{0}}}, {1}, {}}};
  graph.inputs = {{0, InputKind::user, "x", true, {}}};
  graph.outputs = {{1, OutputKind::user, "", {}}};
  json d = json::parse(graph_to_json(graph));
  d["assay"] = {{"format", 1},
                {"id", id},
                {"weights", json::object()},
                {"inputs", {{"x", floats({-1.5f, 2})}}},
                {"expected", {{"0", floats({1.5f, 2})}}}};
  return d;
}

std::vector<PackedModel> read(const std::string& bytes) {
  std::vector<PackedModel> models;
  read_pack(bytes, "some.jsonl.zst", [&](PackedModel packed) { models.push_back(std::move(packed)); });
  return models;
}

std::string pack_refusal(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(Pack, ReadsOneModelALine) {
  const std::string text = pack_document("abs/0").dump() + "\n" + pack_document("abs/1").dump();
  for (const std::string& whole : {text, text + "\n"}) {
    const std::vector<PackedModel> models = read(compress(whole));
    ASSERT_EQ(models.size(), 2u);
    EXPECT_EQ(models[1].id, "abs/1");
    EXPECT_FALSE(models[1].problem);
    EXPECT_EQ(models[1].model.origin, "some.jsonl.zst, line 2");
    EXPECT_THAT(models[1].expected.at("0").to_doubles(), ElementsAre(1.5, 2));
    EXPECT_THAT(std::get<Tensor>(models[1].model.inputs.at("x").source).to_doubles(), ElementsAre(-1.5, 2));
  }
  EXPECT_TRUE(read(compress("")).empty());
}

TEST(Pack, LinesLongerThanThePiecesThatAreUnpacked) {
  json large = pack_document("large");
  large["padding"] = std::string(3 * ZSTD_DStreamOutSize(), 'x');
  const std::vector<PackedModel> models = read(
      compress(pack_document("a").dump() + "\n" + large.dump() + "\n" + pack_document("b").dump() + "\n"));
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[1].id, "large");
  EXPECT_EQ(models[2].id, "b");
}

// The id is known: one sample is lost, not the pack.
TEST(Pack, AModelThatCannotBeReadIsReportedByItsId) {
  const std::vector<std::pair<std::string, std::function<void(json&)>>> changes{
      {"assay.format: catalogue format 2", [](json& d) { d["assay"]["format"] = 2; }},
      {"assay.inputs: user input 'x' is missing", [](json& d) { d["assay"]["inputs"] = json::object(); }},
      {"assay.expected: tensor '1' is no output of the graph; expected names are 0",
       [](json& d) {
         d["assay"]["expected"]["1"] = floats({1, 2});
       }},
      {"tensor '0' is f32[3]; the graph's output is f32[2]",
       [](json& d) {
         d["assay"]["expected"]["0"] = floats({1, 2, 3});
       }},
      {"assay.expected['0']: an expected output is stored",
       [](json& d) {
         d["assay"]["expected"]["0"] = {
             {"dtype", "float32"}, {"shape", {2}}, {"draw", {{"center", 0.0}, {"scale", 1.0}}}};
       }},
      {"nobody_knows",
       [](json& d) {
         d["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.aten.nobody_knows.default";
       }},
      {"symbolic sizes", [](json& d) {
         auto& values = d["graph_module"]["graph"]["tensor_values"];
         for (const char* name : {"x", "y"}) {
           values[name]["sizes"][0] = {{"as_expr", {{"expr_str", "s0"}, {"hint", {{"as_int", 2}}}}}};
         }
       }}};
  for (const auto& [message, change] : changes) {
    SCOPED_TRACE(message);
    json bad = pack_document("bad");
    change(bad);
    const std::vector<PackedModel> models = read(compress(bad.dump() + "\n" + pack_document("good").dump()));
    ASSERT_EQ(models.size(), 2u);
    ASSERT_TRUE(models[0].problem);
    EXPECT_EQ(models[0].id, "bad");
    EXPECT_THAT(models[0].problem->what(), AllOf(HasSubstr("some.jsonl.zst, line 1"), HasSubstr(message)));
    EXPECT_FALSE(models[1].problem);
  }
}

TEST(Pack, WhatIsNoPackIsRefusedByLine) {
  const std::string good = pack_document("a").dump() + "\n";
  EXPECT_THAT(pack_refusal("no frame"), HasSubstr("some.jsonl.zst: byte"));
  const std::string frame = compress(good);
  EXPECT_THAT(pack_refusal(frame.substr(0, frame.size() / 2)), HasSubstr("cut off"));
  EXPECT_THAT(pack_refusal(frame + "x"), HasSubstr("data after the zstd frame"));
  EXPECT_THAT(pack_refusal(compress(good + "{")), HasSubstr("some.jsonl.zst, line 2"));
  EXPECT_THAT(pack_refusal(compress(good + "\n" + good)), HasSubstr("some.jsonl.zst, line 2"));
  EXPECT_THAT(pack_refusal(compress("{}")), AllOf(HasSubstr("line 1"), HasSubstr("assay")));
  for (const std::string id : {"", "/a", "a/", "a//b", "a/../b", "a b", "\x7f", "a\n"}) {
    EXPECT_THAT(pack_refusal(compress(pack_document(id).dump())),
                HasSubstr("line 1: assay.id: expected an id"))
        << id;
  }
  EXPECT_THAT(pack_refusal(compress(pack_document(std::string(201, 'a')).dump())), HasSubstr("assay.id"));
}

TEST(Pack, BombsAreRefusedBeforeTheyAreUnpacked) {
  std::string bomb = compress(std::string(std::size_t{65} << 20, ' '));
  EXPECT_LT(bomb.size(), 100'000u);
  EXPECT_THAT(pack_refusal(bomb), HasSubstr("line 1: longer than 67108864 bytes"));
  EXPECT_THROW(unpack_zstd(bomb, "bomb", 1000, [](std::string_view) {}), Error);
}

}  // namespace
}  // namespace assay
