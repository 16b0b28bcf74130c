#include "suites/ops/generate/generate.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/decompose/decompose.h"
#include "core/opset/required.h"
#include "reference/evaluate.h"
#include "suites/ops/ops_suite.h"

namespace assay::suites {
namespace {

const std::vector<Case>& generated() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> out;
    make_ops_suite()->make_cases(0, [&](Case c) {
      EXPECT_TRUE(c.graph) << c.graph_error;
      if (c.graph) out.push_back(std::move(c));
    });
    return out;
  }();
  return cases;
}

// Operators of the reference without generated cases, each with the reason.
const std::map<std::string, std::string>& without_cases() {
  static const std::map<std::string, std::string> reasons{
      {"aten::_assert_tensor_metadata.default", "has no result: there is nothing to compare"},
      {"assay::scaled_dot_product_attention.default", "crossed by the suite attention"},
      {"assay::gla_chunk.default", "crossed by the suite gla"},
      {"assay::gla_chunk_backward.default", "crossed by the suite gla"},
      {"assay::gla_recurrent_step.default", "crossed by the suite gla"},
      {"assay::muon_orthogonalize.default", "crossed by the suite muon"},
      {"aten::scaled_dot_product_attention.default", "crossed by the suite attention"},
      {"aten::_scaled_dot_product_attention_math.default", "crossed by the suite attention"},
      {"aten::_scaled_dot_product_flash_attention_for_cpu.default", "crossed by the suite attention"},
  };
  return reasons;
}

// By the suites attention, gla, muon and distributed.
bool crossed_elsewhere(const std::string& name) {
  return without_cases().contains(name) || !name.starts_with("aten::");
}

// Good ones and bad input, by operator.
std::pair<std::map<std::string, int>, std::map<std::string, int>> case_counts() {
  std::map<std::string, int> good, bad;
  for (const Case& c : generated()) ++(c.checks.negative ? bad : good)[c.subject];
  return {good, bad};
}

TEST(Generate, EveryOperatorOfTheReferenceHasCases) {
  auto [good, bad] = case_counts();
  for (const std::string& name : reference::operator_names()) {
    if (name.starts_with("ranks::")) continue;  // of several ranks: crossed by the suite distributed
    if (without_cases().contains(name)) {
      EXPECT_EQ(good.count(name), 0u) << name << " has cases: take it off the list of exceptions";
      continue;
    }
    EXPECT_GE(good[name], 10) << name << ": add a line to a table in suites/ops/facts/ (generate/facts.h)";
    EXPECT_GE(bad[name], 1) << name << " is never given bad input";
  }
}

// Of those that have a decomposition alone the parts are called.
TEST(Generate, EveryRequiredCompositeOperatorHasCases) {
  auto [good, bad] = case_counts();
  for (const std::string& name : decompose_rules().names()) {
    if (!is_required_operator(name) || reference::has_operator(name) || crossed_elsewhere(name)) continue;
    EXPECT_GE(good[name], 8) << name << ": add a line to a table in suites/ops/facts/ (generate/facts.h)";
    EXPECT_GE(bad[name], 1) << name << " is never given bad input";
  }
}

TEST(Generate, AFifthOfTheCasesHaveEdgeValues) {
  std::size_t edges = 0;
  for (const Case& c : generated()) edges += c.id.find("/edge-") != std::string::npos ? 1 : 0;
  EXPECT_GE(edges * 5, generated().size());
}

TEST(Generate, BadInputIsRefusedWithASentence) {
  for (const Case& c : generated()) {
    if (c.checks.negative && c.id.find("/bad/dtype-") != std::string::npos) {
      EXPECT_FALSE(c.checks.expect_error.empty()) << c.id;
    }
  }
}

std::map<std::string, const Case*> by_id(const std::vector<Case>& cases) {
  std::map<std::string, const Case*> out;
  for (const Case& c : cases) out.emplace(c.id, &c);
  return out;
}

TEST(Generate, FactsAreCrossed) {
  std::vector<Case> cases;
  const OpFacts facts{"aten::add.Tensor", "@pointwise", {0, 4}, kRounded16, "alpha=2 | other=2.5"};
  generate_cases(facts, [&](Case c) { cases.push_back(std::move(c)); });
  const auto found = by_id(cases);
  for (const char* id :
       {"ops/add.Tensor/f32/5x7,1x7", "ops/add.Tensor/bf16/8x128,8x128", "ops/add.Tensor/i64/8x128,8x128",
        "ops/add.Tensor/f32/3x5,3x5/edge-nan-self", "ops/add.Tensor/f32/8x128,8x128/edge-pairs",
        "ops/add.Tensor/i32/3x5,3x5/edge-extremes", "ops/add.Tensor/f32/3x5,3x5/transposed-other",
        "ops/add.Tensor/bf16/3x5,3x5/expanded", "ops/add.Tensor/i64-f32/3x5,3x5",
        "ops/add.Tensor/f32/8x128,8x128,alpha=0", "ops/add.Tensor/f32/8x128,8x128,other=2.5",
        "ops/add.Tensor/bad/shape-of-other", "ops/add.Tensor/bad/missing-other",
        "ops/add.Tensor/bad/alpha=word"}) {
    EXPECT_TRUE(found.contains(id)) << id;
  }
  EXPECT_EQ(found.at("ops/add.Tensor/f32/3x5,3x5/transposed-other")->graph->nodes.size(), 2u);
  EXPECT_TRUE(found.at("ops/add.Tensor/bf16/8x128,8x128")->checks.exact_probe);
  // A float alpha of integers is refused.
  const Case& refused = *found.at("ops/add.Tensor/i64/8x128,8x128,alpha=-0.5");
  EXPECT_TRUE(refused.checks.negative);
  EXPECT_NE(refused.checks.expect_error.find("alpha"), std::string::npos);
}

TEST(Generate, DimsAreTakenFromTheSchema) {
  std::vector<Case> cases;
  generate_cases({"aten::amax.default", "@dims"}, [&](Case c) { cases.push_back(std::move(c)); });
  const auto found = by_id(cases);
  for (const char* id :
       {"ops/amax/f32/2x3x4,dim=[-1,0]", "ops/amax/f32/0d,dim=[0]", "ops/amax/f32/16x64,dim=[1],keepdim=true",
        "ops/amax/bad/dim=[0,0]", "ops/amax/bad/dim=3"}) {
    EXPECT_TRUE(found.contains(id)) << id;
  }
  // The maximum of nothing does not exist.
  EXPECT_TRUE(found.at("ops/amax/f32/3x0,dim=[1]")->checks.negative);
}

TEST(Generate, TablesThatCannotBeReadAreNamed) {
  const auto error_of = [](const OpFacts& facts) -> std::string {
    try {
      generate_cases(facts, [](const Case&) {});
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(error_of({"aten::nothing.default", "@shapes"}).find("aten::nothing.default"), std::string::npos);
  EXPECT_NE(error_of({"aten::mm.default", "self[2,3] mat3[3,2]"}).find("mat3"), std::string::npos);
  EXPECT_NE(error_of({"aten::mm.default", "self[2,x] mat2[3,2]"}).find("'x'"), std::string::npos);
  EXPECT_NE(error_of({"aten::mm.default", "self[2,3] mat2[4,2]"}).find("every dtype"), std::string::npos);
  EXPECT_NE(error_of({"aten::relu.default", "@everything"}).find("@everything"), std::string::npos);
}

}  // namespace
}  // namespace assay::suites
