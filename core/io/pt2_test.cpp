#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/io/file.h"
#include "core/io/input_ranges.h"
#include "core/io/model.h"
#include "core/io/test_archive.h"
#include "core/io/zip.h"

namespace assay {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::string path_of(const std::string& name) {
  return std::string(ASSAY_SOURCE_DIR) + "/core/io/testdata/" + name + ".pt2";
}
Model read_pt2(const std::string& name) { return read_model(path_of(name)); }

// The entries of a real archive, to be changed and packed again.
std::map<std::string, ArchiveEntry> entries_of(const std::string& name) {
  const std::string bytes = read_file(path_of(name));
  const ZipArchive archive(bytes, name);
  std::map<std::string, ArchiveEntry> entries;
  for (const auto& [entry, size] : archive.entries()) entries[entry] = {archive.read(entry)};
  return entries;
}

std::string pt2_refusal(const std::string& bytes, ErrorCode code = ErrorCode::malformed_file) {
  try {
    parse_pt2(bytes, "some.pt2");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("some.pt2"));
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}
std::string pt2_refusal(const std::map<std::string, ArchiveEntry>& entries,
                        ErrorCode code = ErrorCode::malformed_file) {
  return pt2_refusal(make_archive(entries), code);
}

TEST(Pt2, ReadsWeightsBuffersAndConstants) {
  const Model model = read_pt2("tied");
  ASSERT_EQ(model.weights.size(), 6u);
  const Tensor& embedding = model.weights.at("embedding.weight");
  EXPECT_EQ(embedding.shape(), (Shape{10, 4}));
  EXPECT_EQ(embedding.to_doubles()[5], 2.5);
  EXPECT_EQ(model.weights.at("head.weight").storage(), embedding.storage());  // tied
  EXPECT_EQ(model.weights.at("steps").to_doubles(), (std::vector<double>{0, 0, 0}));
  // arange(12).reshape(3, 4).t()[1:]: strides (1, 4), offset 1
  EXPECT_EQ(model.weights.at("strided").to_doubles(), (std::vector<double>{1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(model.weights.at("constant").to_doubles(), (std::vector<double>{1, -2}));
  EXPECT_EQ(model.weights.at("lifted_tensor_0").to_doubles(), (std::vector<double>{3}));
  ASSERT_EQ(model.graph.outputs.size(), 3u);
  EXPECT_EQ(model.graph.outputs[0].kind, OutputKind::buffer_mutation);
  EXPECT_EQ(model.graph.outputs[0].target, "steps");
}

TEST(Pt2, ReadsAnEmptyGraphWhoseOutputsAreInputs) {
  const Model model = read_pt2("identity");
  EXPECT_TRUE(model.graph.nodes.empty());
  ASSERT_EQ(model.graph.outputs.size(), 4u);
  EXPECT_EQ(model.graph.outputs[0].value, model.graph.find_value("y"));
  EXPECT_EQ(model.graph.outputs[1].constant, Argument(NoneArg{}));
  EXPECT_EQ(model.graph.outputs[2].constant, Argument(int64_t{7}));
  EXPECT_EQ(model.graph.outputs[3].value, model.graph.find_value("x"));
}

TEST(Pt2, ReadsExportsThatWereNotDecomposed) {
  const Model model = read_pt2("training");
  for (const Node& node : model.graph.nodes) EXPECT_EQ(node.op.find("_."), std::string::npos) << node.op;
  ASSERT_EQ(model.graph.outputs.size(), 4u);
  EXPECT_EQ(model.graph.outputs[0].kind, OutputKind::buffer_mutation);
  EXPECT_EQ(model.graph.outputs[0].target, "steps");
  EXPECT_EQ(model.graph.outputs[1].kind, OutputKind::user_input_mutation);
  EXPECT_EQ(model.graph.outputs[1].target, "x");
  EXPECT_EQ(model.graph.outputs[3].value,
            model.graph.outputs[0].value);  // the buffer after the call is returned
  EXPECT_NE(model.graph.nodes[1].source.location.find("testdata/make_testdata.py:"), std::string::npos);
  EXPECT_EQ(model.graph.nodes[1].source.module_path, "linear");
}

// The row that is returned was taken before the tensor changed.
TEST(Pt2, ViewsSeeWhatIsWrittenAfterwards) {
  const Model model = read_pt2("view_mutation");
  std::vector<std::string> ops;
  for (const Node& node : model.graph.nodes) ops.push_back(node.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"aten::add.Tensor", "aten::select.int", "aten::mul.Tensor",
                                           "aten::select.int"}));
  ASSERT_EQ(model.graph.outputs.size(), 1u);
  EXPECT_EQ(model.graph.outputs[0].value, model.graph.nodes.back().outputs[0]);
}

TEST(Pt2, ListsUnknownOperators) {
  EXPECT_THAT(pt2_refusal(read_file(path_of("custom")), ErrorCode::unknown_operator),
              AllOf(HasSubstr("assay_testdata::twice.default (2 times"), HasSubstr("linalg_eigvalsh")));
  EXPECT_THAT(pt2_refusal(read_file(path_of("control")), ErrorCode::unknown_operator),
              HasSubstr("higher_order::cond"));
}

TEST(Pt2, ReadsKindsOfArguments) {
  const Model model = read_pt2("kinds");
  bool infinity = false;
  bool rounding = false;
  for (const Node& node : model.graph.nodes) {
    for (const NamedArgument& argument : node.arguments) {
      if (to_string(argument.value) == "-inf") infinity = true;
      if (argument.name == "rounding_mode") rounding = to_string(argument.value) == "'floor'";
    }
  }
  EXPECT_TRUE(infinity);
  EXPECT_TRUE(rounding);
}

// Symbolic sizes.
TEST(Specialise, FollowsTheInputs) {
  const Model model = read_pt2("dynamic");
  EXPECT_TRUE(model.graph.has_symbols());
  const Graph graph = specialise(model.graph, {{"x", {DType::f32, {5, 4}}}, {"ids", {DType::i64, {15}}}});
  EXPECT_FALSE(graph.has_symbols());
  for (const Value& value : graph.values) EXPECT_EQ(value.kind, ValueKind::tensor) << value.name;
  ASSERT_EQ(graph.outputs.size(), 3u);
  EXPECT_EQ(graph.values[static_cast<std::size_t>(graph.outputs[0].value)].shape,
            (Shape{3, 4}));  // 5 // 2 + 1
  EXPECT_EQ(graph.values[static_cast<std::size_t>(graph.outputs[1].value)].shape, (Shape{5, 3}));
  EXPECT_EQ(graph.outputs[2].constant, Argument(int64_t{5}));
  bool multiplied = false;
  for (const Node& node : graph.nodes) {
    if (node.op == "aten::mul.Tensor")
      multiplied = node.find("other")->value == Argument(int64_t{11});  // 2 * 5 + 1
  }
  EXPECT_TRUE(multiplied);
}

TEST(Specialise, NamesInputsThatDoNotFit) {
  const Model model = read_pt2("dynamic");
  const auto refused = [&](const std::map<std::string, TensorMeta>& inputs) -> std::string {
    try {
      specialise(model.graph, inputs);
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return "";
  };
  const TensorMeta ids{DType::i64, {15}};
  EXPECT_THAT(refused({{"ids", ids}}), HasSubstr("input 'x' is missing"));
  EXPECT_THAT(refused({{"ids", ids}, {"x", {DType::f32, {5}}}}), HasSubstr("rank 2"));
  EXPECT_THAT(refused({{"ids", ids}, {"x", {DType::f64, {5, 4}}}}), HasSubstr("f64"));
  EXPECT_THAT(refused({{"ids", ids}, {"x", {DType::f32, {5, 3}}}}), HasSubstr("declares 4"));
  EXPECT_THAT(refused({{"ids", ids}, {"x", {DType::f32, {4, 4}}}}), HasSubstr("view"));  // 15 ids in 4 rows
  EXPECT_THAT(refused({{"ids", ids}, {"x", {DType::f32, {5, 4}}}, {"y", ids}}), HasSubstr("'y'"));
}

TEST(Specialise, SolvesAndHoldsExpressions) {
  Graph graph;
  graph.id = "g";
  graph.values = {{"x", ValueKind::tensor, DType::f32, {-1}, -1, {"2*s0 + 1"}},
                  {"y", ValueKind::tensor, DType::f32, {-1}, -1, {"s0"}},
                  {"z", ValueKind::tensor, DType::f32, {-1}, -1, {"3*s1"}}};
  for (ValueId i = 0; i < 3; ++i) {
    graph.inputs.push_back({i, InputKind::user, graph.values[static_cast<std::size_t>(i)].name, true, {}});
  }
  const auto meta = [](int64_t size) { return TensorMeta{DType::f32, {size}}; };
  EXPECT_NO_THROW(specialise(graph, {{"x", meta(9)}, {"y", meta(4)}, {"z", meta(6)}}));
  EXPECT_THROW(specialise(graph, {{"x", meta(9)}, {"y", meta(5)}, {"z", meta(6)}}), Error);
  EXPECT_THROW(specialise(graph, {{"x", meta(9)}, {"y", meta(4)}, {"z", meta(7)}}), Error);
}

// Inputs for models that have none.
TEST(DefaultInputs, StayInsideWhatIsIndexed) {
  const auto tied = default_input_recipes(read_pt2("tied"));
  const auto& ids = std::get<IntegerDraw>(tied.at("ids").source);
  EXPECT_EQ(ids.low, 0);
  EXPECT_EQ(ids.high, 10);
  const auto kinds = default_input_recipes(read_pt2("kinds"));
  EXPECT_EQ(std::get<IntegerDraw>(kinds.at("index").source).high, 3);  // x[:, index] of a [2, 3] tensor
  EXPECT_EQ(std::get<UniformDraw>(kinds.at("x").source).scale, 1);
  EXPECT_THROW(default_input_recipes(read_pt2("dynamic")), Error);
}

TEST(DefaultInputs, FollowSums) {
  Model model;
  model.origin = "m";
  Graph& graph = model.graph;
  graph.values = {{"table", ValueKind::tensor, DType::f32, {10, 2}, -1, {}},
                  {"ids", ValueKind::tensor, DType::i64, {3}, -1, {}},
                  {"moved", ValueKind::tensor, DType::i64, {3}, 0, {}},
                  {"out", ValueKind::tensor, DType::f32, {3, 2}, 1, {}},
                  {"mask", ValueKind::tensor, DType::boolean, {3}, -1, {}},
                  {"free", ValueKind::tensor, DType::i32, {3}, -1, {}}};
  graph.nodes = {
      {"add", "aten::add.Tensor", {{"self", ValueArg{1}}, {"other", int64_t{2}}}, {2}, {}},
      {"embedding", "aten::embedding.default", {{"weight", ValueArg{0}}, {"indices", ValueArg{2}}}, {3}, {}}};
  graph.inputs = {{0, InputKind::parameter, "t", true, {}},
                  {1, InputKind::user, "ids", true, {}},
                  {4, InputKind::user, "mask", true, {}},
                  {5, InputKind::user, "free", true, {}}};
  auto recipes = default_input_recipes(model);
  EXPECT_EQ(std::get<IntegerDraw>(recipes.at("ids").source).low, 0);
  EXPECT_EQ(std::get<IntegerDraw>(recipes.at("ids").source).high, 8);  // ids + 2 < 10
  EXPECT_EQ(std::get<IntegerDraw>(recipes.at("mask").source).high, 2);
  EXPECT_EQ(std::get<IntegerDraw>(recipes.at("free").source).high, 2);
  graph.nodes[0].arguments[1].value = int64_t{-20};
  recipes = default_input_recipes(model);
  EXPECT_EQ(std::get<IntegerDraw>(recipes.at("ids").source).low, 20);
  EXPECT_EQ(std::get<IntegerDraw>(recipes.at("ids").source).high, 30);
}

// Archives that lie.
TEST(Pt2, RefusesOtherFiles) {
  EXPECT_THAT(pt2_refusal(std::string("not a zip")), HasSubstr("zip"));
  EXPECT_THAT(pt2_refusal({{"x/readme", {"hello"}}}), HasSubstr("torch.export.save"));
  EXPECT_THAT(pt2_refusal({{"serialized_exported_program.json", {"{}"}}, {"serialized_state_dict.pt", {""}}},
                          ErrorCode::unsupported),
              HasSubstr("pickle"));
  EXPECT_THAT(pt2_refusal({{"archive/data.pkl", {""}}}, ErrorCode::unsupported), HasSubstr("torch.save"));
  auto two = entries_of("identity");
  two["identity/models/second.json"] = two["identity/models/model.json"];
  EXPECT_THAT(pt2_refusal(two, ErrorCode::unsupported), HasSubstr("2 models"));
  auto big = entries_of("identity");
  big["identity/byteorder"] = {"big"};
  EXPECT_THAT(pt2_refusal(big, ErrorCode::unsupported), HasSubstr("byteorder"));
}

constexpr const char* kModel = "tied/models/model.json";
constexpr const char* kWeights = "tied/data/weights/model_weights_config.json";
constexpr const char* kConstants = "tied/data/constants/model_constants_config.json";

template <typename Change>
std::string refusal_of_changed(const char* entry, Change change, ErrorCode code = ErrorCode::malformed_file) {
  auto entries = entries_of("tied");
  json document = json::parse(entries.at(entry).content);
  change(document);
  entries[entry] = {document.dump()};
  return pt2_refusal(entries, code);
}

TEST(Pt2, HoldsTensorsAgainstTheirStorage) {
  const auto meta = [](json& d, const char* name) -> json& { return d["config"][name]["tensor_meta"]; };
  EXPECT_THAT(refusal_of_changed(kConstants,
                                 [&](json& d) {
                                   meta(d, "strided")["storage_offset"] = {{"as_int", 1000}};
                                 }),
              AllOf(HasSubstr("['strided']"), HasSubstr("pass the end")));
  EXPECT_THAT(refusal_of_changed(kConstants,
                                 [&](json& d) {
                                   meta(d, "strided")["storage_offset"] = {{"as_int", 4}};
                                 }),
              HasSubstr("pass the end"));
  EXPECT_THAT(refusal_of_changed(kConstants,
                                 [&](json& d) {
                                   meta(d, "strided")["storage_offset"] = {{"as_int", -1}};
                                 }),
              HasSubstr("negative storage_offset"));
  EXPECT_THAT(refusal_of_changed(kConstants,
                                 [&](json& d) {
                                   meta(d, "strided")["strides"][0] = {{"as_int", 5}};
                                 }),
              HasSubstr("pass the end"));
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(refusal_of_changed(kConstants,
                                 [&](json& d) {
                                   meta(d, "strided")["strides"][0] = {{"as_int", huge}};
                                 }),
              HasSubstr("pass the end"));
  EXPECT_THAT(refusal_of_changed(kWeights,
                                 [&](json& d) {
                                   meta(d, "steps")["sizes"][0] = {{"as_int", huge}};
                                 }),
              HasSubstr("not possible"));
  EXPECT_THAT(refusal_of_changed(kWeights,
                                 [&](json& d) {
                                   meta(d, "steps")["sizes"][0] = {{"as_int", 2}};
                                 }),
              AllOf(HasSubstr("'steps'"), HasSubstr("[2]"), HasSubstr("[3]")));
  EXPECT_THAT(refusal_of_changed(kWeights, [&](json& d) { meta(d, "steps")["dtype"] = 5; }),
              HasSubstr("steps"));
  EXPECT_THAT(
      refusal_of_changed(kWeights, [&](json& d) { d["config"]["steps"]["path_name"] = "../../etc/passwd"; }),
      HasSubstr("missing"));
  EXPECT_THAT(refusal_of_changed(kWeights, [&](json& d) { d["config"].erase("steps"); }),
              AllOf(HasSubstr("'steps'"), HasSubstr("no data")));
  EXPECT_THAT(
      refusal_of_changed(
          kWeights, [&](json& d) { d["config"]["steps"]["use_pickle"] = true; }, ErrorCode::unsupported),
      HasSubstr("never read"));
}

TEST(Pt2, RefusesOtherSchemas) {
  EXPECT_THAT(refusal_of_changed(
                  kModel, [](json& d) { d["schema_version"]["major"] = 9; }, ErrorCode::unsupported),
              AllOf(HasSubstr("model.json"), HasSubstr("schema 9")));
}

TEST(Pt2, RefusesHostileJson) {
  for (const char* entry : {kModel, kWeights}) {
    auto entries = entries_of("tied");
    entries[entry] = {std::string(200'000, '[')};
    EXPECT_THAT(pt2_refusal(entries), AllOf(HasSubstr(entry), HasSubstr("nesting")));
    entries[entry] = {"{\"config\": 1, \"c\\u006fnfig\": 2}"};
    EXPECT_THAT(pt2_refusal(entries), AllOf(HasSubstr(entry), HasSubstr("appears twice")));
    entries[entry] = {"\xff"};
    pt2_refusal(entries);
  }
}

TEST(Pt2, RefusesEveryTruncation) {
  const std::string bytes = read_file(path_of("identity"));
  for (std::size_t length = 0; length + 1 < bytes.size(); length += 61) pt2_refusal(bytes.substr(0, length));
}

TEST(ReadModel, SaysWhatAFileIsNot) {
  try {
    read_model(std::string(ASSAY_SOURCE_DIR) + "/core/io/testdata/make_testdata.py");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("make_testdata.py"), HasSubstr("neither a zip")));
  }
  EXPECT_THROW(read_model("/nonexistent.pt2"), Error);
}

}  // namespace
}  // namespace assay
