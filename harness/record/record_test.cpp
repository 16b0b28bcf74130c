#include "harness/record/record.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/error.h"
#include "harness/record/json_schema_for_test.h"

namespace assay {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kInf = std::numeric_limits<double>::infinity();

Record full_record() {
  Record record = make_record();
  record.id = "ops/add.Tensor/f32/1";
  record.suite = "ops";
  record.backend = "trainium:trn2";
  record.mode = "eager";
  record.seed = 18446744073709551615ULL;
  record.status = Status::wrong;
  record.reason = "element_bound";
  record.detail = "output 0 is \"off\"";
  record.margin = 1.7;
  record.gates["bound"] = {GateStatus::fail, kInf, 1.0};
  record.gates["rms"] = {GateStatus::undetermined, std::nan(""), 2.0};
  record.worst = Worst{"0", {1, 2}, 0.1, -kInf, 1e-300, 3.5};
  record.first_bad_node = BadNode{"add", "aten::add.Tensor", "model.py:3", kInf};
  record.witness = "reference";
  record.fallbacks = {{"aten::topk.default", "operator", 2, 4096, 0.25}};
  record.residency = Residency{0.5, 0.25, 0.125, 7, 3};
  record.phases.prepare_s = 0.5;
  record.phases.compile_cold_s = 1.5;
  record.phases.steady_s = {0.125, 0.25};
  record.compiles = {3, 2, 1, {"new shape", ""}};
  record.device = DeviceCounters{10, 20, 30, 0.5};
  record.weight = 4;
  record.same_as = "ops/add.Tensor/f32/0";
  record.wall_s = 2.5;
  record.judge_s = 1.25;
  record.repro = "assay run ops --filter 'x y'";
  return record;
}

Json schema() {
  std::ifstream file(ASSAY_SOURCE_DIR "/abi/record.schema.json");
  return Json::parse(file);
}

TEST(Record, ReadsBackWhatItWrites) {
  const Record record = full_record();
  const std::string line = to_json_line(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Record back = record_from_json(line, "here");
  EXPECT_EQ(to_json_line(back), line);
  EXPECT_EQ(back.seed, record.seed);
  EXPECT_EQ(back.status, Status::wrong);
  EXPECT_EQ(*back.gates.at("bound").value, kInf);
  EXPECT_TRUE(std::isnan(*back.gates.at("rms").value));
  EXPECT_EQ(back.worst->want, -kInf);
  EXPECT_EQ(back.worst->index, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(back.first_bad_node->op, "aten::add.Tensor");
  EXPECT_EQ(back.fallbacks[0].bytes, 4096);
  EXPECT_EQ(back.residency->metadata, 7);
  EXPECT_FALSE(back.phases.first_run_s.has_value());
  EXPECT_EQ(back.phases.steady_s, record.phases.steady_s);
  EXPECT_EQ(back.compiles.misses, record.compiles.misses);
  EXPECT_EQ(back.device->peak_bytes, 30);
  EXPECT_EQ(back.same_as, record.same_as);
}

TEST(Record, DoublesKeepTheirBits) {
  Record record = full_record();
  record.margin = std::nextafter(0.1, 1.0);
  record.wall_s = 1e-310;
  const Record back = record_from_json(to_json_line(record), "here");
  EXPECT_EQ(*back.margin, *record.margin);
  EXPECT_EQ(back.wall_s, record.wall_s);
}

TEST(Record, InvalidUtf8IsReplaced) {
  Record record = full_record();
  record.detail = "bad \xff\xfe bytes";
  record.id = "\xc3\x28";
  const Record back = record_from_json(to_json_line(record), "here");
  EXPECT_THAT(back.detail, HasSubstr("\xef\xbf\xbd"));
  EXPECT_TRUE(validate_against(schema(), Json::parse(to_json_line(record))).empty());
}

TEST(Record, FitsTheSchema) {
  const Json s = schema();
  for (const Record& record : {full_record(), [] {
                                 Record minimal = make_record();
                                 minimal.id = "x";
                                 minimal.mode = "compile";
                                 return minimal;
                               }()}) {
    EXPECT_THAT(validate_against(s, Json::parse(to_json_line(record))), IsEmpty());
  }
}

// Every member that the schema requires is written, and the reader refuses a line without it or with a wrong
// type.
TEST(Record, ReaderHoldsEveryRequiredMember) {
  const Json s = schema();
  const Json good = Json::parse(to_json_line(full_record()));
  for (const Json& name : s["required"]) {
    Json bad = good;
    bad.erase(name.get<std::string>());
    EXPECT_FALSE(validate_against(s, bad).empty()) << name;
    EXPECT_THROW(record_from_json(bad.dump(), "here"), Error) << name;
    bad = good;
    bad[name.get<std::string>()] = Json::object({{"unexpected", 1}});
    EXPECT_FALSE(validate_against(s, bad).empty()) << name;
    EXPECT_THROW(record_from_json(bad.dump(), "here"), Error) << name;
  }
}

TEST(Record, ErrorsNameOriginAndField) {
  Json bad = Json::parse(to_json_line(full_record()));
  bad["worst"]["bound"] = "wide";
  try {
    record_from_json(bad.dump(), "results.jsonl:12");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr("results.jsonl:12"));
    EXPECT_THAT(error.what(), HasSubstr("bound"));
  }
}

TEST(Record, UnknownMembersAreIgnoredUnknownEnumsAreNot) {
  Json json = Json::parse(to_json_line(full_record()));
  json["from_the_future"] = Json::array({1, 2});
  json["gates"]["another"] = 1;
  EXPECT_NO_THROW(record_from_json(json.dump(), "here"));
  for (const char* field : {"status", "reason"}) {
    Json bad = json;
    bad[field] = "no such thing";
    EXPECT_THROW(record_from_json(bad.dump(), "here"), Error) << field;
  }
  json["schema"] = 2;
  EXPECT_THROW(record_from_json(json.dump(), "here"), Error);
}

TEST(Record, HostileLinesAreErrors) {
  for (const std::string& line :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string(200000, '['),
        std::string("{\"a\":1,\"a\":2}"), std::string("\xff\xff")}) {
    EXPECT_THROW(record_from_json(line, "here"), Error) << line.substr(0, 20);
  }
}

TEST(Record, StatusNames) {
  const Json names = schema()["properties"]["status"]["enum"];
  EXPECT_EQ(names.size(), 23U);
  for (const Json& name : names) {
    const auto status = parse_status(name.get<std::string>());
    ASSERT_TRUE(status) << name;
    EXPECT_EQ(name_of(*status), name.get<std::string>());
    EXPECT_EQ(is_pass(*status) + is_skip(*status) + is_failure(*status), 1) << name;
  }
  EXPECT_FALSE(parse_status("").has_value());
  EXPECT_TRUE(is_pass(Status::rejected_bad_input));
  EXPECT_TRUE(is_failure(Status::accepted_bad_input));
}

TEST(Reasons, AreThoseOfSchemaAndDocumentation) {
  const Json s = schema();
  std::vector<std::string> names{""};
  std::ifstream file(ASSAY_SOURCE_DIR "/docs/records.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const auto& [name, meaning] : all_reasons()) {
    names.push_back(name);
    EXPECT_THAT(text.str(), HasSubstr("| `" + name + "` | " + meaning + " |"));
    EXPECT_TRUE(is_reason(name));
  }
  EXPECT_EQ(s["$defs"]["reason"]["enum"].get<std::vector<std::string>>(), names);
  EXPECT_TRUE(is_reason(""));
  EXPECT_FALSE(is_reason("because"));
}

TEST(NodeRecord, ReadsBackWhatItWrites) {
  NodeRecord node;
  node.case_id = "models/llama";
  node.backend = "null";
  node.mode = "eager";
  node.name = "mm_3";
  node.op = "aten::mm.default";
  node.source = "modeling_llama.py:7";
  node.module_path = "model.layers.0";
  node.dtype = "bf16";
  node.shape = {2, 64};
  node.status = "wrong";
  node.margin = kInf;
  node.worst = Worst{"0", {0}, 1, 2, 0.5, std::nullopt};
  node.fallback_reason = "dtype";
  const std::string line = to_json_line(node);
  EXPECT_EQ(to_json_line(node_record_from_json(line, "here")), line);
  EXPECT_THROW(node_record_from_json("{}", "nodes.jsonl:1"), Error);
}

}  // namespace
}  // namespace assay
