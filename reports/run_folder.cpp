#include "reports/run_folder.h"

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/io/file.h"

namespace assay::reports {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Calls `line` for each complete line; returns whether the last one was torn (no newline, or cut JSON).
bool for_each_line(const fs::path& path,
                   const std::function<void(std::string_view, const std::string&)>& line) {
  const std::string text = read_file(path.string());
  std::size_t begin = 0;
  int64_t number = 0;
  while (begin < text.size()) {
    ++number;
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return true;
    const std::string_view content = std::string_view(text).substr(begin, end - begin);
    if (!content.empty()) line(content, path.string() + ":" + std::to_string(number));
    begin = end + 1;
  }
  return false;
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>()
                            : found->dump(-1, ' ', false, json::error_handler_t::replace);
}

void read_run_json(const fs::path& path, RunFolder& run) {
  if (!fs::exists(path)) {
    run.run_json = "{}";
    return;
  }
  run.run_json = read_file(path.string());
  check_json_text(run.run_json, path.string());
  const json object = json::parse(run.run_json, nullptr, false);
  if (!object.is_object()) throw Error(ErrorCode::malformed_file, path.string() + ": expected a JSON object");
  run.version = text_of(object, "version");
  run.started = text_of(object, "start");
  run.ended = text_of(object, "end");
  run.contract_hash = text_of(object, "contract_hash");
  const json empty = json::object();
  const auto part = [&](const char* key) -> const json& {
    const auto found = object.find(key);
    return found != object.end() && found->is_object() ? *found : empty;
  };
  run.verb = text_of(part("command"), "verb");
  run.backend = text_of(part("command"), "backend");
  run.backend_version = text_of(part("backend"), "version");
  run.device = text_of(part("backend"), "device");
  if (const json& machine = part("machine"); !machine.empty()) {
    run.machine = text_of(machine, "cpu") + ", " + text_of(machine, "cores") + " cores";
  }
  if (object.contains("seed") && object["seed"].is_number_unsigned())
    run.seed = object["seed"].get<uint64_t>();
  if (object.contains("loosened") && object["loosened"].is_array()) {
    for (const json& field : object["loosened"]) {
      if (field.is_string()) run.loosened.push_back(field.get<std::string>());
    }
  }
  if (object.contains("not_exported") && object["not_exported"].is_array()) {
    for (const json& row : object["not_exported"]) {
      if (!row.is_object()) continue;
      run.not_exported.push_back({text_of(row, "id"), text_of(row, "kind"), text_of(row, "model"),
                                  text_of(row, "attention"), text_of(row, "reason")});
    }
  }
}

}  // namespace

RunFolder load_run_folder(const std::string& path) {
  RunFolder run;
  run.path = path;
  const fs::path folder(path);
  if (!fs::is_directory(folder))
    throw Error(ErrorCode::io, path + ": is no folder; expected the --out of a run");
  if (!fs::exists(folder / "results.jsonl")) {
    throw Error(ErrorCode::io, path + ": has no results.jsonl; expected the --out of a run");
  }
  read_run_json(folder / "run.json", run);
  run.torn_last_line =
      for_each_line(folder / "results.jsonl", [&](std::string_view line, const std::string& place) {
        run.records.push_back(record_from_json(line, place));
      });
  if (fs::exists(folder / "nodes.jsonl")) {
    for_each_line(folder / "nodes.jsonl", [&](std::string_view line, const std::string& place) {
      run.nodes.push_back(node_record_from_json(line, place));
    });
  }
  if (run.backend.empty() && !run.records.empty()) run.backend = run.records.front().backend;
  return run;
}

Totals totals_of(const RunFolder& run) {
  Totals totals;
  for (const Record& record : run.records) {
    ++totals.by_status[std::string(name_of(record.status))];
    if (is_pass(record.status)) {
      ++totals.passed;
      totals.weighted_passed += record.weight;
    } else if (is_skip(record.status)) {
      ++totals.skipped;
      totals.weighted_skipped += record.weight;
    } else {
      ++totals.failed;
      totals.weighted_failed += record.weight;
    }
  }
  totals.not_exported = static_cast<int64_t>(run.not_exported.size());
  totals.skipped += totals.not_exported;
  totals.weighted_skipped += totals.not_exported;
  if (totals.not_exported > 0) totals.by_status["skip_environment"] += totals.not_exported;
  return totals;
}

}  // namespace assay::reports
