// Models that Assay trains itself recall what they were shown, as far as their memory goes.
#include "cli/recall/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/testing/run_program.h"
#include "core/error.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

suites::RecallTask small_task() {
  suites::RecallTask task;
  task.keys = 4;
  task.values = 2;
  task.pairs = {1, 4};
  task.lengths = {12, 16};
  return task;
}

RecallResult trained(const suites::RecallModel& model, int steps) {
  RunOptions run;
  run.backend = "trainium";
  run.modes = {"compile"};
  WorkerClient worker(parse_backend(run.backend), {}, {});
  return train_and_ask(worker, run, small_task(), model, steps).value();
}

double accuracy(const RecallResult& result, int64_t pairs) {
  suites::RecallScore sum;
  for (const RecallCell& cell : result.cells) {
    if (cell.pairs != pairs) continue;
    sum.right += cell.score.right;
    sum.asked += cell.score.asked;
  }
  return static_cast<double>(sum.right) / static_cast<double>(sum.asked);
}

TEST(Recall, BatchesAskForWhatTheyShowed) {
  const suites::RecallTask task = small_task();
  const suites::RecallBatch batch = suites::recall_batch(task, 40, 0, 0, 0, 7);
  const std::vector<int64_t> symbols = batch.input_ids.to_ints(), labels = batch.labels.to_ints();
  int asked = 0;
  for (std::size_t row = 0; row < 40; ++row) {
    std::map<int64_t, int64_t> shown;
    for (std::size_t i = row * 16; i < (row + 1) * 16; ++i) {
      if (symbols[i] < task.keys * task.values) {
        EXPECT_TRUE(shown.emplace(symbols[i] / task.values, symbols[i] % task.values).second)
            << "a key twice";
      }
      const bool query = symbols[i] >= task.keys * task.values && symbols[i] < task.symbols() - 1;
      EXPECT_EQ(query, labels[i] != -100);
      if (!query) continue;
      EXPECT_EQ(labels[i], shown.at(symbols[i] - task.keys * task.values));
      ++asked;
    }
    EXPECT_TRUE(shown.size() == 1 || shown.size() == 4);
  }
  EXPECT_EQ(asked, 40 * task.queries);
  EXPECT_NE(symbols, suites::recall_batch(task, 40, 0, 0, 0, 8).input_ids.to_ints());
  EXPECT_NE(symbols, suites::recall_batch(task, 40, 0, 0, 1, 7).input_ids.to_ints());
  EXPECT_THROW(suites::recall_batch(task, 1, 5, 16, 0, 0), Error) << "more pairs than keys";
  EXPECT_THROW(suites::recall_batch(task, 1, 4, 11, 0, 0), Error) << "no room for the queries";
}

TEST(Recall, ScoresCountTheLargestLogit) {
  const Tensor logits = Tensor::from_doubles(DType::f32, {1, 4, 2}, {1, 2, 2, 1, 2, 1, NAN, NAN});
  const suites::RecallScore score =
      suites::recall_score(logits, Tensor::from_ints(DType::i64, {1, 4}, {1, 1, -100, 0}));
  EXPECT_EQ(score.asked, 3);
  EXPECT_EQ(score.right, 1);
}

TEST(Recall, MemoryOfAStateIsConstant) {
  for (const suites::RecallModel& model : suites::recall_models()) {
    EXPECT_EQ(model.memory_bytes(64) == model.memory_bytes(128), !model.softmax) << model.id;
  }
}

// Four keys fit a state with keys of eight numbers, and no state of two numbers: all that can keep are sums
// over pairs.
TEST(Recall, TrainedModelsRecallWhatTheirMemoryHolds) {
  const RecallResult transformer = trained({"transformer", true, 32, 32}, 60);
  ASSERT_EQ(transformer.failure, "");
  EXPECT_LT(transformer.losses.back(), 0.2 * transformer.losses.front());
  EXPECT_GT(accuracy(transformer, 1), 0.95);
  EXPECT_GT(accuracy(transformer, 4), 0.95);
  const RecallResult wide = trained({"gla-8", false, 8, 32}, 60);
  ASSERT_EQ(wide.failure, "");
  EXPECT_GT(accuracy(wide, 4), 0.95);
  const RecallResult narrow = trained({"gla-1", false, 1, 2}, 60);
  ASSERT_EQ(narrow.failure, "");
  EXPECT_LT(accuracy(narrow, 4), accuracy(wide, 4) - 0.1) << "state compression costs retrieval";
  // Untrained, all guess.
  const RecallResult untrained = trained({"gla-8", false, 8, 32}, 1);
  EXPECT_LT(accuracy(untrained, 4), 0.7);
}

using RecallProgram = ProgramTest;

TEST_F(RecallProgram, WritesTheTable) {
  const ProgramResult r = assay({"bench", "recall", "--backend", "trainium", "--mode", "compile", "--steps",
                                 "2", "--filter", "gla-4", "--out", "recall", "--quiet"});
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_THAT(r.out, HasSubstr("gla-4")) << r;
  EXPECT_THAT(r.out, HasSubstr("25 % is chance")) << r;
  const auto document = nlohmann::json::parse(read("recall/recall.json"));
  EXPECT_EQ(document.at("models").at(0).at("recall").size(), 12u);
  EXPECT_EQ(document.at("models").at(0).at("losses").size(), 2u);
  EXPECT_THAT(read("recall/recall.html"), HasSubstr("gla-4"));
  EXPECT_EQ(assay({"bench", "recall", "--filter", "none"}).status, 2);
}

}  // namespace
}  // namespace assay::cli
