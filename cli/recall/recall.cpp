#include "cli/recall/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <utility>

#include "cli/files.h"
#include "cli/verb.h"
#include "core/contract/contract.h"
#include "core/error.h"
#include "core/graph/json.h"
#include "harness/run/worker_options.h"
#include "harness/worker/graph_names.h"
#include "reports/html.h"
#include "suites/training/start.h"

namespace assay::cli {
namespace {

constexpr int64_t kAskedRows = 32;  // sequences of each length and number of pairs
// Batches that are asked have numbers of their own.
constexpr uint64_t kAsked = uint64_t{1} << 32;

// A graph on a backend, and the tensors that it is given by name.
class RecallRun {
 public:
  RecallRun(WorkerClient& worker, const RunOptions& run, const std::string& id, Graph graph)
      : worker_(worker), graph_(std::move(graph)) {
    graph_.id = id;
    request_.case_id = id;
    request_.mode = run.modes.at(0);
    request_.graph_json = graph_to_json(graph_);
    request_.input_names = input_names(graph_);
    request_.outputs = output_names(graph_);
    request_.repeats = 0;
    request_.fallback = run.fallback;
    request_.seed = run.seed;
  }

  const Graph& graph() const { return graph_; }
  // nullopt if stopped. Throws Error with what went wrong.
  std::optional<std::vector<Tensor>> outputs(const std::map<std::string, Tensor>& named) {
    request_.inputs.clear();
    for (const GraphInput& input : graph_.inputs) request_.inputs.push_back(named.at(input.target));
    std::optional<RunResult> result = worker_.run(request_, graph_);
    if (!result) return std::nullopt;
    if (result->failure) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: {}: {}", graph_.id, name_of(*result->failure), result->detail));
    }
    return std::move(result->outputs);
  }

 private:
  WorkerClient& worker_;
  Graph graph_;
  RunRequest request_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void set_batch(std::map<std::string, Tensor>& named, suites::RecallBatch batch) {
  named["input_ids"] = std::move(batch.input_ids);
  named["labels"] = std::move(batch.labels);
}

// False if stopped.
bool train(WorkerClient& worker, const RunOptions& run, const suites::RecallTask& task, int steps,
           RecallResult& result, std::map<std::string, Tensor>& named, const RecallProgress& progress) {
  models::TrainingStep step = suites::recall_step(task, result.model);
  for (const GraphInput& input : step.graph.inputs) {
    const Value& value = step.graph.values.at(static_cast<std::size_t>(input.value));
    if (is_integral(value.dtype)) continue;  // the batch
    named[input.target] = materialise(suites::initial_recipe(value), "input:" + value.name, run.seed);
  }
  RecallRun steps_run(worker, run, "recall/" + result.model.id + "/step", std::move(step.graph));
  const auto start = std::chrono::steady_clock::now();
  for (int t = 0; t < steps; ++t) {
    set_batch(named, suites::recall_batch(task, task.batch, 0, 0, run.seed, static_cast<uint64_t>(t)));
    const auto outputs = steps_run.outputs(named);
    if (!outputs) return false;
    result.losses.push_back(outputs->at(0).to_doubles().at(0));
    for (const auto& [output, name] : step.carry) named[name] = outputs->at(static_cast<std::size_t>(output));
    if (progress && (t + 1) % 50 == 0) {
      progress(
          fmt::format("{}: step {} of {}, loss {:.3f}", result.model.id, t + 1, steps, result.losses.back()));
    }
  }
  result.training_s = seconds_since(start);
  return true;
}

bool answer(WorkerClient& worker, const RunOptions& run, const suites::RecallTask& task, RecallResult& result,
            std::map<std::string, Tensor>& named) {
  RecallRun answers(worker, run, "recall/" + result.model.id + "/answers",
                    suites::recall_answers(task, result.model, kAskedRows));
  uint64_t number = kAsked;
  for (const int64_t length : task.lengths) {
    for (const int64_t pairs : task.pairs) {
      if (pairs + task.queries > length) continue;
      set_batch(named, suites::recall_batch(task, kAskedRows, pairs, length, run.seed, number++));
      const auto outputs = answers.outputs(named);
      if (!outputs) return false;
      result.cells.push_back({pairs, length, suites::recall_score(outputs->at(0), named.at("labels"))});
    }
  }
  return true;
}

}  // namespace

std::optional<RecallResult> train_and_ask(WorkerClient& worker, const RunOptions& run,
                                          const suites::RecallTask& task, const suites::RecallModel& model,
                                          int steps, const RecallProgress& progress) {
  RecallResult result;
  result.model = model;
  result.parameters = suites::recall_parameters(task, model);
  std::map<std::string, Tensor> named;
  try {
    if (!train(worker, run, task, steps, result, named, progress) ||
        !answer(worker, run, task, result, named)) {
      return std::nullopt;
    }
  } catch (const Error& error) {
    result.failure = error.what();
  }
  return result;
}

int bench_recall(const RunOptions& run, const RecallFlags& flags) {
  RecallReport report{run.backend, run.modes.at(0), {}, flags.steps, {}};
  std::vector<suites::RecallModel> models = suites::recall_models();
  if (!run.filter.empty()) {
    std::erase_if(models, [&](const suites::RecallModel& m) { return !glob_match(run.filter, m.id); });
    if (models.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "--filter " + run.filter + ": no model of recall has such an id");
    }
  }
  WorkerClient worker = worker_of(run, parse_backend(run.backend), std::nullopt);
  try {
    worker.hello();
  } catch (const BackendMissing& missing) {
    std::printf("%s is not here: %s\n", run.backend.c_str(), missing.message.c_str());
    return kNothingPassed;
  }
  const auto progress = [&](const std::string& what) {
    if (!run.quiet) std::fprintf(stderr, "%s\n", what.c_str());
  };
  for (const suites::RecallModel& model : models) {
    auto result = train_and_ask(worker, run, report.task, model, flags.steps, progress);
    if (!result) return kInfrastructure;
    report.results.push_back(std::move(*result));
  }
  const std::string document = recall_json(report);
  write_file(run.out + "/recall.json", document);
  write_file(run.out + "/recall.html", reports::recall_html(document));
  if (flags.json) {
    std::fputs(document.c_str(), stdout);
  } else {
    std::printf("%s%s/recall.html\n", recall_text(report).c_str(), run.out.c_str());
  }
  const bool failed = std::any_of(report.results.begin(), report.results.end(),
                                  [](const RecallResult& r) { return !r.failure.empty(); });
  return failed ? kFailures : kOk;
}

}  // namespace assay::cli
