// assay bench recall: models are trained on associative recall on a backend, and asked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/options.h"
#include "harness/worker/worker_client.h"
#include "suites/training/recall.h"

namespace assay::cli {

struct RecallFlags {
  int steps = 400;
  bool json = false;
};

// Trains and asks every model that --filter leaves, on the first of the modes, writes recall.json and
// recall.html to `run.out` and prints a table, or JSON; returns the exit status. Throws Error for a filter
// that no model passes.
int bench_recall(const RunOptions& run, const RecallFlags& flags);

// How often a trained model was right.
struct RecallCell {
  int64_t pairs = 0, length = 0;
  suites::RecallScore score;
  double accuracy() const { return static_cast<double>(score.right) / static_cast<double>(score.asked); }
};
struct RecallResult {
  suites::RecallModel model;
  int64_t parameters = 0;
  std::vector<double> losses;     // of every step, on sequences that no other step saw
  double training_s = 0;          // wall
  std::vector<RecallCell> cells;  // by length, then pairs
  std::string failure;            // "", or what the backend could not do
};
struct RecallReport {
  std::string backend, mode;
  suites::RecallTask task;
  int steps = 0;
  std::vector<RecallResult> results;
};

using RecallProgress = std::function<void(const std::string&)>;
// nullopt if request_stop() was called.
std::optional<RecallResult> train_and_ask(WorkerClient& worker, const RunOptions& run,
                                          const suites::RecallTask& task, const suites::RecallModel& model,
                                          int steps, const RecallProgress& progress = {});

std::string recall_text(const RecallReport& report);
std::string recall_json(const RecallReport& report);

}  // namespace assay::cli
