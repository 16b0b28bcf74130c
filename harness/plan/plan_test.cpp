#include "harness/plan/plan.h"

#include <gmock/gmock.h>

#include <set>

#include "core/error.h"
#include "core/graph/builder.h"

namespace assay {
namespace {

Case neg_case(const std::string& id, const Shape& shape, TensorRecipe recipe) {
  GraphBuilder builder(id);
  const ValueId x = builder.input("x", DType::f32, shape);
  builder.output(builder.call("aten::neg.default", {{"self", ValueArg{x}}}));
  Case c;
  c.id = id;
  c.suite = "ops";
  c.graph = std::make_shared<const Graph>(builder.build());
  c.inputs["x"] = std::move(recipe);
  return c;
}

Case given_case(const std::string& id, double value) {
  return neg_case(id, {1}, {DType::f32, {1}, Tensor::from_doubles(DType::f32, {1}, {value})});
}

std::vector<std::string> ids(const std::vector<PlannedCase>& plan) {
  std::vector<std::string> out;
  for (const PlannedCase& entry : plan) out.push_back(entry.c->id + "/" + entry.mode);
  return out;
}

std::vector<Case> many(int count) {
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) cases.push_back(given_case("ops/neg/" + std::to_string(i), i));
  return cases;
}

TEST(Plan, FiltersByGlobOrExactId) {
  RunOptions options;
  options.filter = "ops/neg/1?";
  EXPECT_EQ(make_plan(many(20), options).size(), 10U);
  std::vector<Case> cases{given_case("odd[*]", 1), given_case("oddity", 2)};
  options.filter = "odd[*]";
  EXPECT_EQ(make_plan(cases, options).size(), 1U);
}

TEST(Plan, ShardsPartition) {
  std::multiset<std::string> seen;
  for (int i = 1; i <= 7; ++i) {
    RunOptions options;
    options.shard = i;
    options.shards = 7;
    for (const std::string& id : ids(make_plan(many(100), options))) seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 100U);
}

TEST(Plan, AllModesOfACaseTogether) {
  RunOptions options;
  options.modes = parse_modes("compile,eager");
  EXPECT_THAT(ids(make_plan({given_case("a", 1), given_case("b", 2)}, options)),
              testing::ElementsAre("a/eager", "a/compile", "b/eager", "b/compile"));
}

TEST(Plan, EqualGraphsWithEqualInputsRunOnce) {
  const auto plan = make_plan({given_case("a", 1), given_case("b", 2), given_case("c", 1)}, RunOptions());
  EXPECT_EQ(plan[0].same_as, "");
  EXPECT_EQ(plan[1].same_as, "");
  EXPECT_EQ(plan[2].same_as, "a");
}

TEST(Plan, DrawnInputsOfSuiteCasesDifferById) {
  const TensorRecipe draw{DType::f32, {4}, UniformDraw{0, 1}};
  const auto plan = make_plan({neg_case("a", {4}, draw), neg_case("b", {4}, draw)}, RunOptions());
  EXPECT_EQ(plan[1].same_as, "");
  EXPECT_NE(draw_seed(*plan[0].c, 0), draw_seed(*plan[1].c, 0));
  EXPECT_NE(draw_seed(*plan[0].c, 0), draw_seed(*plan[0].c, 1));
}

TEST(Plan, ModelsDrawWithTheRunsSeed) {
  const TensorRecipe draw{DType::f32, {4}, UniformDraw{0, 1}};
  Case a = neg_case("a", {4}, draw);
  a.file = "a.json.zst";
  Case b = neg_case("b", {4}, draw);
  b.file = "b.json.zst";
  EXPECT_EQ(draw_seed(a, 5), 5U);
  EXPECT_TRUE(materialise_inputs(a, 0)[0].bitwise_equal(materialise(draw, "input:x", 0)));
  EXPECT_EQ(make_plan({a, b}, RunOptions())[1].same_as, "a");
  b.checks.suite_drawn = true;
  EXPECT_EQ(make_plan({a, b}, RunOptions())[1].same_as, "");
}

TEST(Plan, CasesWithExpectedFilesAreNobodysDuplicate) {
  Case a = given_case("a", 1);
  Case b = given_case("b", 1);
  b.load_expected = [] { return std::map<std::string, Tensor>(); };
  EXPECT_EQ(make_plan({a, b}, RunOptions())[1].same_as, "");
}

TEST(Plan, TwoCasesWithOneIdAreAnError) {
  EXPECT_THROW(make_plan({given_case("a", 1), given_case("a", 2)}, RunOptions()), Error);
}

TEST(Case, MissingAndWrongInputsAreNamed) {
  Case c = given_case("a", 1);
  c.inputs.clear();
  EXPECT_THROW(materialise_inputs(c, 0), Error);
  c = neg_case("a", {2}, {DType::f32, {3}, UniformDraw{0, 1}});
  try {
    materialise_inputs(c, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("[3]"));
    EXPECT_THAT(error.what(), testing::HasSubstr("\"x\""));
  }
}

TEST(Options, Parse) {
  RunOptions options;
  parse_shard("2/3", options);
  EXPECT_EQ(options.shard, 2);
  for (const char* bad : {"0/3", "4/3", "1", "1/", "a/b", "1/2/3", "1/2x", "-1/2"}) {
    EXPECT_THROW(parse_shard(bad, options), Error) << bad;
  }
  EXPECT_EQ(parse_modes("eager,compile"), (std::vector<std::string>{"eager", "compile"}));
  EXPECT_THROW(parse_modes("lazy"), Error);
  EXPECT_EQ(parse_backend_options("a=1,b=x=y"),
            (std::map<std::string, std::string>{{"a", "1"}, {"b", "x=y"}}));
  for (const char* bad : {"a", "=1", "a=1,a=2", ""}) EXPECT_THROW(parse_backend_options(bad), Error) << bad;
}

TEST(Options, ReproIsACommandLine) {
  RunOptions options;
  options.backend = "null";
  options.out = "/somewhere/else";
  options.jobs = 7;
  EXPECT_EQ(repro_line(options, "ops/neg/1", "ops", "", "eager"),
            "assay run ops --filter ops/neg/1 --backend null");
  options.verb = "check";
  options.arguments = {"my model.pt2"};
  options.seed = 3;
  options.fallback = false;
  options.options["lnc"] = "2";
  EXPECT_EQ(
      repro_line(options, "my model", "check", "my model.pt2", "compile"),
      "assay check 'my model.pt2' --filter 'my model' --backend null --mode compile --seed 3 --no-fallback "
      "--option lnc=2");
}

TEST(Options, TheCommandLeavesOutWhatDoesNotChangeRecords) {
  RunOptions a;
  RunOptions b;
  b.out = "elsewhere";
  b.jobs = 3;
  b.quiet = true;
  b.resume = true;
  EXPECT_EQ(command_json(a), command_json(b));
  b.seed = 1;
  EXPECT_NE(command_json(a), command_json(b));
}

}  // namespace
}  // namespace assay
