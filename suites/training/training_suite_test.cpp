#include "suites/training/training_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/training/batches.h"
#include "suites/training/text.h"

namespace assay::suites {
namespace {

const std::map<std::string, Case>& training_cases() {
  static const std::map<std::string, Case> cases = [] {
    std::map<std::string, Case> made;
    make_training_suite()->make_cases(0, [&](Case c) {
      const std::string id = c.id;
      EXPECT_TRUE(made.emplace(id, std::move(c)).second) << id << " twice";
    });
    return made;
  }();
  return cases;
}

TEST(TrainingText, IsPlainAndLongEnough) {
  const std::string_view text = training_text();
  EXPECT_GT(text.size(), 10'000u);
  for (const char symbol : text) {
    ASSERT_GE(symbol, 0);
    ASSERT_LT(symbol, kSymbols);
  }
  EXPECT_EQ(text.substr(0, 13), "We the People");
}

TEST(TrainingText, BatchesGoOnWhereTheLastOneEnded) {
  const std::vector<int64_t> all = text_batches(3, 2, 8).to_ints();
  ASSERT_EQ(all.size(), 3u * 2 * 9);
  const auto at = [&](int64_t n, int64_t row, int64_t i) {
    return all[static_cast<std::size_t>((n * 2 + row) * 9 + i)];
  };
  EXPECT_EQ(at(0, 0, 0), 'W');
  for (const int64_t row : {0, 1}) {
    for (const int64_t n : {0, 1})
      EXPECT_EQ(at(n, row, 8), at(n + 1, row, 0)) << "the last label is read next";
  }
  EXPECT_EQ(text_batches(1, 1, static_cast<int64_t>(training_text().size()) + 1).to_ints().back(), 'e')
      << "the text is a ring";
}

// Elements of the parameters among a step's inputs.
int64_t parameters_of(const Case& c) {
  int64_t count = 0;
  for (const auto& [name, recipe] : c.inputs) {
    const bool state = name.ends_with("_momentum") || name.ends_with("_first") || name.ends_with("_second");
    if (name.starts_with("p_") && !state) count += element_count(recipe.shape);
  }
  return count;
}

TEST(TrainingSuite, ModelsHaveOneSize) {
  const auto& cases = training_cases();
  for (const char* run : {"/f32/mini/step", "/bf16/mini/step", "/mixed/mini/step", "/f32/1m/200-steps"}) {
    const auto gla = static_cast<double>(parameters_of(cases.at(std::string("training/gla") + run))),
               transformer =
                   static_cast<double>(parameters_of(cases.at(std::string("training/transformer") + run)));
    EXPECT_LT(std::abs(gla / transformer - 1), 0.1) << run;
    if (std::string_view(run).find("1m") != std::string_view::npos) {
      EXPECT_LT(std::abs(gla / 1e6 - 1), 0.1);
      EXPECT_LT(std::abs(transformer / 1e6 - 1), 0.1);
    }
  }
}

TEST(TrainingSuite, StepsCarryAllThatChanges) {
  for (const auto& [id, c] : training_cases()) {
    EXPECT_EQ(c.suite, "training");
    EXPECT_EQ(id, c.graph->id);
    std::set<std::string> names;
    for (const GraphInput& input : c.graph->inputs) names.insert(input.target);
    for (const std::string& name : names) EXPECT_TRUE(c.inputs.contains(name)) << id << ": " << name;
    if (c.steps == 1) {
      EXPECT_TRUE(c.carry.empty());
      EXPECT_FALSE(c.checks.resumes || c.checks.unobserved);
      continue;
    }
    // All inputs but the text are carried, all outputs but the loss.
    EXPECT_EQ(c.carry.size() + 1, names.size()) << id;
    EXPECT_EQ(c.carry.size() + 1, c.graph->outputs.size()) << id;
    for (const auto& [output, name] : c.carry) {
      const ValueId from = c.graph->outputs.at(static_cast<std::size_t>(output)).value;
      EXPECT_EQ(c.graph->values.at(static_cast<std::size_t>(from)).shape, c.inputs.at(name).shape) << id;
      EXPECT_EQ(c.graph->values.at(static_cast<std::size_t>(from)).dtype, c.inputs.at(name).dtype) << id;
    }
    EXPECT_EQ(c.inputs.at(models::kBatches).shape[0], c.steps) << "every step reads a batch of its own";
  }
}

// What the optimisers hold and add to is f32; what products of the model read is bf16.
TEST(TrainingSuite, MixedNumbersKeepF32Parameters) {
  for (const char* model : {"gla", "transformer"}) {
    const Case& c = training_cases().at("training/" + std::string(model) + "/mixed/mini/6-steps");
    const auto dtype = [&](ValueId id) { return c.graph->values.at(static_cast<std::size_t>(id)).dtype; };
    for (const auto& [name, recipe] : c.inputs) {
      if (!name.starts_with("p_")) continue;
      EXPECT_EQ(recipe.dtype, DType::f32) << name;
    }
    int products = 0;
    for (const Node& node : c.graph->nodes) {
      if (node.op != "aten::mm.default" && node.op != "aten::linear.default") continue;
      EXPECT_EQ(dtype(node.outputs.at(0)), DType::bf16) << node.name;
      ++products;
    }
    EXPECT_GT(products, 10);
  }
}

TEST(TrainingSuite, AsksForDescentResumptionAndSilence) {
  const auto& cases = training_cases();
  for (const char* model : {"gla", "transformer"}) {
    const Case& whole = cases.at("training/" + std::string(model) + "/f32/1m/200-steps");
    EXPECT_EQ(whole.steps, 200);
    EXPECT_GT(whole.checks.descends, 0);
    EXPECT_LT(whole.checks.descends, 0.7) << "well below the start";
    EXPECT_TRUE(whole.checks.resumes);
    EXPECT_TRUE(whole.checks.unobserved);
    for (const char* dtype : {"f32", "bf16", "mixed"}) {
      const std::string mini = "training/" + std::string(model) + "/" + dtype + "/mini/";
      EXPECT_TRUE(cases.at(mini + "resume").checks.resumes);
      EXPECT_TRUE(cases.at(mini + "log-every-step").checks.unobserved);
    }
  }
}

}  // namespace
}  // namespace assay::suites
