#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/recall/recall.h"

namespace assay::cli {

std::string recall_text(const RecallReport& report) {
  const suites::RecallTask& task = report.task;
  std::string out = fmt::format(
      "Associative recall: {} keys, {} values, {} queries a sequence; {} steps of {} sequences on {}, {}\n\n"
      "{:<14}{:>12}{:>13}{:>12}{:>13}{:>9}{:>16}",
      task.keys, task.values, task.queries, report.steps, task.batch, report.backend, report.mode, "model",
      "parameters", "first loss", "last loss", "training s", "length", "memory, bytes");
  for (const int64_t pairs : task.pairs) out += fmt::format("{:>10}", fmt::format("{} pairs", pairs));
  out += '\n';
  for (const RecallResult& r : report.results) {
    if (!r.failure.empty()) {
      out += fmt::format("{:<14}{}\n", r.model.id, r.failure);
      continue;
    }
    for (const int64_t length : task.lengths) {
      out += length == task.lengths.front()
                 ? fmt::format("{:<14}{:>12}{:>13.3f}{:>12.3f}{:>13.1f}", r.model.id, r.parameters,
                               r.losses.front(), r.losses.back(), r.training_s)
                 : std::string(64, ' ');
      out += fmt::format("{:>9}{:>16}", length, r.model.memory_bytes(length));
      for (const RecallCell& cell : r.cells) {
        if (cell.length == length) out += fmt::format("{:>8.1f} %", 100 * cell.accuracy());
      }
      out += '\n';
    }
  }
  return out + fmt::format("\nRight answers to new sequences; {:.0f} % is chance.\n",
                           100 / static_cast<double>(task.values));
}

std::string recall_json(const RecallReport& report) {
  using Json = nlohmann::ordered_json;
  Json models = Json::array();
  for (const RecallResult& r : report.results) {
    Json cells = Json::array();
    for (const RecallCell& cell : r.cells) {
      cells.push_back({{"pairs", cell.pairs},
                       {"length", cell.length},
                       {"memory_bytes", r.model.memory_bytes(cell.length)},
                       {"right", cell.score.right},
                       {"asked", cell.score.asked},
                       {"accuracy", cell.accuracy()}});
    }
    models.push_back({{"id", r.model.id},
                      {"attention", r.model.softmax ? "softmax" : "gla"},
                      {"head_key", r.model.head_key},
                      {"head_value", r.model.head_value},
                      {"parameters", r.parameters},
                      {"training_s", r.training_s},
                      {"losses", r.losses},
                      {"recall", cells},
                      {"failure", r.failure.empty() ? Json(nullptr) : Json(r.failure)}});
  }
  const suites::RecallTask& task = report.task;
  const Json out{{"backend", report.backend},
                 {"mode", report.mode},
                 {"steps", report.steps},
                 {"task",
                  {{"keys", task.keys},
                   {"values", task.values},
                   {"queries", task.queries},
                   {"pairs", task.pairs},
                   {"lengths", task.lengths},
                   {"batch", task.batch}}},
                 {"models", models}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::cli
