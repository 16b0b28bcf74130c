#include "core/contract/contract.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "core/error.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Options = std::map<std::string, std::string>;

std::string file_text(const std::string& path) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/" + path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

Contract with_rules(const std::string& rules) {
  return Contract::parse(R"({"name":"t","rules":[)" + rules + "]}", "t.json");
}

std::string message_of(const std::string& text) {
  try {
    Contract::parse(text, "vendor.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), testing::StartsWith("vendor.json"));
    return error.what();
  }
  return "accepted";
}

std::string message_of_rule(const std::string& rule) {
  return message_of(R"({"name":"t","rules":[{"op":"*"},)" + rule + "]}");
}

TEST(Contract, WithoutRulesTheDefaultsHold) {
  const Contract none;
  for (const DType dtype : {DType::f8e4m3fn, DType::f16, DType::bf16, DType::f32, DType::c64, DType::i32}) {
    const Precision p = none.precision("aten::mm.default", dtype, "eager");
    EXPECT_EQ(p.accumulator, DType::f32) << name_of(dtype);
    EXPECT_EQ(p.intermediate, DType::f32) << name_of(dtype);
    EXPECT_EQ(p.order, ReductionOrder::any);
    EXPECT_EQ(p.rounding, Rounding::nearest_even);
    EXPECT_FALSE(p.input || p.store || p.int_exact_bits || p.ftz_in || p.ftz_out || p.early_overflow);
    EXPECT_FALSE(p.correctly_rounded);
    EXPECT_EQ(p.function("exp").ulp, 1);
  }
  for (const DType dtype : {DType::f64, DType::c128}) {
    EXPECT_EQ(none.precision("aten::mm.default", dtype, "compile").accumulator, DType::f64);
    EXPECT_EQ(none.precision("aten::mm.default", dtype, "compile").intermediate, DType::f64);
  }
}

TEST(Contract, ProductsAreExactWhereTheyFitTheAccumulator) {
  const auto exact = [](const std::string& rule, DType dtype) {
    return with_rules(rule).precision("aten::mm.default", dtype, "eager").products_exact;
  };
  EXPECT_TRUE(exact("{}", DType::bf16));
  EXPECT_TRUE(exact("{}", DType::f16));
  EXPECT_FALSE(exact("{}", DType::f32));
  EXPECT_FALSE(exact("{}", DType::f64));
  EXPECT_TRUE(exact(R"({"input":"bf16"})", DType::f32));
  EXPECT_TRUE(exact(R"({"accumulator":"f64"})", DType::f32));
  EXPECT_FALSE(exact(R"({"accumulator":"bf16"})", DType::bf16));
  EXPECT_TRUE(exact(R"({"products_exact":true})", DType::f32));  // a fused multiply-add
  EXPECT_FALSE(exact(R"({"products_exact":false})", DType::bf16));
}

TEST(Contract, RulesMatchByOperatorDtypeModeAndOption) {
  const Contract c = with_rules(
      R"({"op":"aten::mm*","dtype":"f32","mode":"eager","option":"auto_cast=mat*","input":"bf16"})");
  const Options on{{"lnc", "2"}, {"auto_cast", "matmult"}};
  const auto rounds = [&](const char* op, DType dtype, const char* mode, const Options& options) {
    return c.precision(op, dtype, mode, options).input == DType::bf16;
  };
  EXPECT_TRUE(rounds("aten::mm.default", DType::f32, "eager", on));
  EXPECT_FALSE(rounds("aten::bmm.default", DType::f32, "eager", on));
  EXPECT_FALSE(rounds("aten::mm.default", DType::f16, "eager", on));
  EXPECT_FALSE(rounds("aten::mm.default", DType::f32, "compile", on));
  EXPECT_FALSE(rounds("aten::mm.default", DType::f32, "eager", {}));
  EXPECT_FALSE(rounds("aten::mm.default", DType::f32, "eager", {{"auto_cast", "all"}}));
  EXPECT_FALSE(rounds("aten::mm.default", DType::f32, "eager", {{"x", "auto_cast=matmult"}}));
}

TEST(Contract, LaterRulesWinFieldByFieldAndFunctionByFunction) {
  const Contract c = with_rules(R"(
      {"input":"bf16","accumulator":"bf16","order":"ascending","store":"f16","int_exact_bits":24,"ftz_in":true,
       "functions":{"exp":{"ulp":2,"lo":-87,"hi":88,"outside":"undefined_but_alive"},"log":{"ulp":3}}},
      {"dtype":"bf16","accumulator":"f32","rounding":"stochastic","input":null,"store":null,"int_exact_bits":null,
       "functions":{"exp":{"ulp":4,"abs":1e-6},"*":{"ulp":7}}})");
  const Precision f32 = c.precision("aten::exp.default", DType::f32, "eager");
  EXPECT_EQ(f32.input, DType::bf16);
  EXPECT_EQ(f32.accumulator, DType::bf16);
  EXPECT_EQ(f32.order, ReductionOrder::ascending);
  EXPECT_EQ(f32.store, DType::f16);
  EXPECT_EQ(f32.int_exact_bits, 24);
  EXPECT_EQ(f32.function("exp").ulp, 2);
  EXPECT_EQ(f32.function("exp").hi, 88);
  EXPECT_EQ(f32.function("exp").outside, "undefined_but_alive");
  EXPECT_EQ(f32.function("tanh").ulp, 1);
  const Precision bf16 = c.precision("aten::exp.default", DType::bf16, "eager");
  EXPECT_EQ(bf16.input, std::nullopt);
  EXPECT_EQ(bf16.accumulator, DType::f32);
  EXPECT_EQ(bf16.order, ReductionOrder::ascending);
  EXPECT_EQ(bf16.store, std::nullopt);
  EXPECT_EQ(bf16.int_exact_bits, std::nullopt);
  EXPECT_EQ(bf16.rounding, Rounding::stochastic);
  EXPECT_TRUE(bf16.ftz_in);
  EXPECT_EQ(bf16.function("exp").ulp, 4);
  EXPECT_EQ(bf16.function("exp").abs, 1e-6);
  EXPECT_TRUE(std::isinf(bf16.function("exp").lo));  // the entry as a whole is replaced
  EXPECT_EQ(bf16.function("exp").outside, "exact");
  EXPECT_EQ(bf16.function("log").ulp, 3);
  EXPECT_EQ(bf16.function("tanh").ulp, 7);
}

TEST(Contract, CanonicalJsonIsOneForEqualContractsAndParsesBack) {
  const Contract a = Contract::parse(R"({"name":"v","rules":[{"op":"aten::exp*","accumulator":"float32",
      "functions":{"exp":{"ulp":2,"abs":-0.0}}}]})",
                                     "a");
  const Contract b =
      Contract::parse(R"({"rules":[{"functions":{"exp":{"outside":"exact","hi":"inf","lo":"-inf",
      "ulp":2.0}},"accumulator":"f32","mode":"*","op":"aten::exp*"}],"name":"v"})",
                      "b");
  EXPECT_EQ(a.to_json(), b.to_json());
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_EQ(
      a.rules()[0].json,
      R"({"accumulator":"f32","functions":{"exp":{"abs":0.0,"hi":"inf","lo":"-inf","outside":"exact","ulp":2.0}}})");
  EXPECT_THAT(a.hash(), testing::MatchesRegex("[0-9a-f]{16}"));
  const Contract c = Contract::parse(R"({"name":"v","rules":[{"op":"aten::exp*","accumulator":"f32",
      "functions":{"exp":{"ulp":2.5}}}]})",
                                     "c");
  EXPECT_NE(a.hash(), c.hash());
  for (const std::string& text : {a.to_json(), Contract().to_json(), file_text("abi/contract_floor.json")}) {
    const Contract once = Contract::parse(text, "once");
    EXPECT_EQ(Contract::parse(once.to_json(), "twice").to_json(), once.to_json());
  }
  EXPECT_EQ(Contract::parse(Contract().to_json(), "d").hash(), Contract().hash());
}

TEST(Contract, ErrorsNameThePlace) {
  const auto expect = [](const std::string& message, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part));
  };
  expect(message_of_rule(R"({"acumulator":"f32"})"),
         {"rules", "[1]", "acumulator", "no such member of a rule"});
  expect(message_of_rule(R"({"functions":{"exp":{"ulps":1}}})"),
         {"[1]", "functions", "exp", "ulps", "no such member"});
  expect(message_of_rule(R"({"functions":{"exp":{"ulp":-1}}})"), {"[1]", "exp", "'ulp'", "at least 0"});
  expect(message_of_rule(R"({"functions":{"exp":{"lo":2,"hi":1}}})"),
         {"[1]", "exp", "lo is greater than hi"});
  expect(message_of_rule(R"({"rounding":"rna"})"), {"[1]", "rounding", R"("rne", "stochastic", "truncate")"});
  expect(message_of_rule(R"({"accumulator":"i32"})"), {"[1]", "accumulator", "float element type", "i32"});
  expect(message_of_rule(R"({"dtype":"fp32"})"), {"[1]", "dtype", "matches no element type"});
  expect(message_of_rule(R"({"mode":"egaer"})"), {"[1]", "mode", "matches no mode"});
  expect(message_of(R"({"name":"t","rule":[]})"), {"rule", "no such member of a Contract"});
  expect(message_of(R"({"rules":[]})"), {"name"});
}

TEST(Contract, HostileTextIsRefused) {
  const auto refused = [](const std::string& text) {
    EXPECT_NE(message_of(text), "accepted") << text.substr(0, 200);
  };
  const auto refused_rule = [](const std::string& rule) {
    EXPECT_NE(message_of_rule(rule), "accepted") << rule;
  };
  for (const char* text :
       {"", "{", "[]", "null", "7", "{}", R"({"name":7})", R"({"name":""})", R"({"name":"t","rules":{}})",
        R"({"name":"t","rules":[7]})", R"({"name":"t","name":"u"})", R"({"name":"t"} x)",
        R"({"name":"t","rules":[{"ftz_in":true,"ftz_in":false}]})", "{\"name\":\"\xff\"}",
        R"({"name":"t","rules":null})", R"({"name":"t","rules":[null]})"}) {
    refused(text);
  }
  refused(std::string(200000, '['));
  refused(R"({"name":"t","rules":)" + std::string(70, '[') + std::string(70, ']') + "}");
  refused(R"({"name":")" + std::string(std::size_t{17} << 20, 'x') + "\"}");
  std::string many = R"({"name":"t","rules":[{})";
  for (int i = 0; i < 10000; ++i) many += ",{}";
  refused(many + "]}");
  for (const char* rule : {R"({"op":""})",
                           R"({"op":7})",
                           R"({"op":null})",
                           R"({"option":"auto_cast"})",
                           R"({"option":""})",
                           R"({"input":"f99"})",
                           R"({"accumulator":null})",
                           R"({"store":"c64"})",
                           R"({"ftz_in":1})",
                           R"({"ftz_out":"true"})",
                           R"({"int_exact_bits":0})",
                           R"({"int_exact_bits":64})",
                           R"({"int_exact_bits":24.5})",
                           R"({"int_exact_bits":99999999999999999999})",
                           R"({"functions":[]})",
                           R"({"functions":{"":{}}})",
                           R"({"functions":{"Exp":{}}})",
                           R"({"functions":{"exp":3}})",
                           R"({"functions":{"exp":{"ulp":"inf"}}})",
                           R"({"functions":{"exp":{"ulp":1e999}}})",
                           R"({"functions":{"exp":{"ulp":null}}})",
                           R"({"functions":{"exp":{"abs":-1e-9}}})",
                           R"({"functions":{"exp":{"lo":"nan"}}})",
                           R"({"functions":{"exp":{"outside":"anything"}}})",
                           R"({"order":"descending"})"}) {
    refused_rule(rule);
  }
}

TEST(Contract, GlobsMatchWithoutBlowUp) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_TRUE(glob_match("aten::mm*", "aten::mm.default"));
  EXPECT_FALSE(glob_match("aten::mm*", "aten::bmm.default"));
  EXPECT_TRUE(glob_match("*mm*", "aten::bmm.default"));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_TRUE(glob_match("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(glob_match("*ab", "aab"));
  EXPECT_FALSE(glob_match("*ab", "aba"));
  EXPECT_TRUE(glob_match("**", "x"));
  EXPECT_FALSE(glob_match("[ab]", "a"));  // brackets are text
  std::string stars;
  for (int i = 0; i < 200; ++i) stars += "a*";
  EXPECT_FALSE(glob_match(stars + "b", std::string(20000, 'a')));
}

class Floor : public testing::Test {
 protected:
  const std::string floor = file_text("abi/contract_floor.json");
  std::vector<std::string> loose(const std::string& rules, const Options* options = nullptr) const {
    return looser_than_floor(with_rules(rules), floor, options);
  }
};

TEST_F(Floor, HoldsOpenClsFiguresInFp32) {
  const Contract c = Contract::parse(floor, "floor");
  const Precision bf16 = c.precision("aten::exp.default", DType::bf16, "eager");
  EXPECT_EQ(bf16.function("exp").ulp, 3);
  EXPECT_EQ(bf16.function("div").ulp, 2.5);
  EXPECT_EQ(bf16.accumulator, DType::f32);
  EXPECT_EQ(c.precision("aten::exp.default", DType::f64, "eager").function("sqrt").ulp, 0.5);
}

TEST_F(Floor, IsNotLooserThanItselfNorAreTheDefaults) {
  EXPECT_THAT(looser_than_floor(Contract(), floor), IsEmpty());
  EXPECT_THAT(looser_than_floor(Contract::parse(floor, "floor"), floor), IsEmpty());
  EXPECT_THAT(loose(R"({"functions":{"exp":{"ulp":3},"pow":{"ulp":16},"tanh":{"ulp":5},"gelu":{"ulp":16}}})"),
              IsEmpty());
  EXPECT_THAT(
      loose(R"({"accumulator":"f64","intermediate":"f64","order":"ascending","products_exact":true})"),
      IsEmpty());
  EXPECT_THAT(loose(R"({"dtype":"f32","ftz_in":true,"ftz_out":true})"), IsEmpty());
  EXPECT_THAT(loose(R"({"dtype":"bf16","input":"bf16","store":"f32"})"), IsEmpty());
  EXPECT_THAT(loose(R"({"functions":{"exp":{"ulp":1,"lo":-87,"hi":88}}})"), IsEmpty());  // and exact beyond
}

TEST_F(Floor, EveryLooserFieldIsNamed) {
  EXPECT_THAT(loose(R"({"dtype":"bf16","accumulator":"bf16"})"), ElementsAre("accumulator"));
  EXPECT_THAT(loose(R"({"dtype":"bf16","intermediate":"f16"})"), ElementsAre("intermediate"));
  EXPECT_THAT(loose(R"({"dtype":"f64","accumulator":"f32"})"), ElementsAre("accumulator"));
  EXPECT_THAT(loose(R"({"dtype":"f32","input":"bf16"})"), ElementsAre("input"));
  EXPECT_THAT(loose(R"({"dtype":"f32","store":"f16"})"), ElementsAre("store"));
  EXPECT_THAT(loose(R"({"dtype":"bf16","input":"f16"})"), ElementsAre("input"));  // more bits, less range
  EXPECT_THAT(loose(R"({"order":"undeclared"})"), ElementsAre("order"));
  EXPECT_THAT(loose(R"({"rounding":"truncate"})"), ElementsAre("rounding"));
  EXPECT_THAT(loose(R"({"rounding":"stochastic"})"), ElementsAre("rounding"));
  EXPECT_THAT(loose(R"({"ftz_in":true})"), ElementsAre("ftz_in"));
  EXPECT_THAT(loose(R"({"dtype":"f16","ftz_out":true})"), ElementsAre("ftz_out"));
  EXPECT_THAT(loose(R"({"early_overflow":true})"), ElementsAre("early_overflow"));
  EXPECT_THAT(loose(R"({"dtype":"i*","int_exact_bits":24})"), ElementsAre("int_exact_bits"));
  EXPECT_THAT(loose(R"({"dtype":"i16","int_exact_bits":24})"), IsEmpty());
  EXPECT_THAT(loose(R"({"dtype":"bf16","products_exact":false})"), ElementsAre("products_exact"));
  EXPECT_THAT(loose(R"({"dtype":"f32","products_exact":false})"), IsEmpty());
  EXPECT_THAT(loose(R"({"functions":{"exp":{"ulp":3.5},"log":{"abs":1e-7}}})"),
              ElementsAre("functions.exp.ulp", "functions.log.abs"));
  EXPECT_THAT(loose(R"({"functions":{"exp":{"lo":-87,"hi":88,"outside":"undefined_but_alive"}}})"),
              ElementsAre("functions.exp.hi", "functions.exp.lo"));
  EXPECT_THAT(loose(R"({"dtype":"f64","functions":{"sqrt":{"ulp":1}}})"), ElementsAre("functions.sqrt.ulp"));
  EXPECT_THAT(loose(R"({"dtype":"f32","functions":{"*":{"ulp":2}}})"), IsEmpty());
  EXPECT_THAT(loose(R"({"dtype":"f32","functions":{"*":{"ulp":4}}})"), ElementsAre("functions.*.ulp"));
  EXPECT_THAT(loose(R"({"dtype":"f64","functions":{"*":{"ulp":2}}})"), ElementsAre("functions.*.ulp"));
}

TEST_F(Floor, RulesThatCoverALooseRuleTightenIt) {
  const std::string coarse = R"({"op":"aten::mm*","dtype":"bf16","accumulator":"bf16"})";
  EXPECT_THAT(loose(coarse + R"(,{"op":"aten::*","accumulator":"f64"})"), IsEmpty());
  EXPECT_THAT(loose(coarse + R"(,{"op":"aten::mm.default","accumulator":"f64"})"),
              ElementsAre("accumulator"));
  EXPECT_THAT(loose(coarse + R"(,{"mode":"eager","accumulator":"f64"})"), ElementsAre("accumulator"));
  EXPECT_THAT(loose(R"({"accumulator":"f32"})"), ElementsAre("accumulator"));  // f64 nodes
  EXPECT_THAT(
      loose(
          R"({"accumulator":"f32"},{"dtype":"f64","accumulator":"f64"},{"dtype":"c128","accumulator":"f64"})"),
      IsEmpty());
}

TEST_F(Floor, RulesForOptionsThatAreNotSetDoNotCount) {
  const std::string rule = R"({"dtype":"f32","option":"auto_cast=matmult","input":"bf16"})";
  const Options off{{"lnc", "2"}};
  const Options on{{"auto_cast", "matmult"}};
  EXPECT_THAT(loose(rule), ElementsAre("input"));
  EXPECT_THAT(loose(rule, &off), IsEmpty());
  EXPECT_THAT(loose(rule, &on), ElementsAre("input"));
}

// Sums in any order may overflow on the way: declared for them it is no looser, for more operators it is.
TEST_F(Floor, HasRulesOfItsOwnForSums) {
  EXPECT_THAT(loose(R"({"op":"aten::mm.default","early_overflow":true})"), IsEmpty());
  EXPECT_THAT(loose(R"({"op":"aten::prod.*","early_overflow":true})"), IsEmpty());
  EXPECT_THAT(loose(R"({"op":"aten::*","early_overflow":true})"), ElementsAre("early_overflow"));
  EXPECT_THAT(loose(R"({"op":"aten::native_layer_norm.default","early_overflow":true})"),
              ElementsAre("early_overflow"));
}

TEST_F(Floor, MustHoldInAllModesAndForAllOptions) {
  EXPECT_THROW(looser_than_floor(Contract(), R"({"name":"f","rules":[{"mode":"eager"}]})"), Error);
  EXPECT_THROW(looser_than_floor(Contract(), R"({"name":"f","rules":[{"option":"a=b"}]})"), Error);
  EXPECT_THROW(looser_than_floor(Contract(), "{"), Error);
}

// Schema and reader are two texts; these hold them together member by member.
TEST(ContractSchema, ListsWhatTheReaderTakes) {
  const auto schema = nlohmann::json::parse(file_text("abi/contract.schema.json"));
  EXPECT_EQ(schema["properties"].size(), 3u);
  const auto& rule = schema["$defs"]["rule"]["properties"];
  EXPECT_EQ(rule.size(), 18u);
  for (const auto& [name, property] : rule.items()) {
    std::vector<nlohmann::json> values(property.at("examples").begin(), property.at("examples").end());
    if (property.contains("enum"))
      values.insert(values.end(), property["enum"].begin(), property["enum"].end());
    if (property.dump().find(R"({"type":"null"})") != std::string::npos) values.emplace_back(nullptr);
    for (const auto& value : values) {
      EXPECT_EQ(message_of_rule(nlohmann::json{{name, value}}.dump()), "accepted") << name << " " << value;
    }
  }
  const auto& function = schema["$defs"]["function"]["properties"];
  EXPECT_EQ(function.size(), 5u);
  for (const auto& [name, property] : function.items()) {
    for (const auto& value : {property.at("examples")[0], property.at("default")}) {
      const nlohmann::json text{{"functions", {{"exp", {{name, value}}}}}};
      EXPECT_EQ(message_of_rule(text.dump()), "accepted") << name;
      // The documented default is what the reader assumes.
      const nlohmann::json empty{{"functions", {{"exp", nlohmann::json::object()}}}};
      if (value == property.at("default")) {
        EXPECT_EQ(with_rules(text.dump()).hash(), with_rules(empty.dump()).hash()) << name;
      }
    }
  }
  for (const auto& dtype : schema["$defs"]["float"]["enum"]) {
    EXPECT_EQ(message_of_rule(nlohmann::json{{"store", dtype}}.dump()), "accepted") << dtype;
  }
}

}  // namespace
}  // namespace assay
