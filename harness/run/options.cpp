#include "harness/run/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"

namespace assay {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

// Quoted for a POSIX shell where it needs to be.
std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_-./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string options_text(const RunOptions& options) {
  std::string out;
  const RunOptions defaults;
  if (options.seed != defaults.seed) out += fmt::format(" --seed {}", options.seed);
  if (!options.fallback) out += " --no-fallback";
  if (options.fullgraph) out += " --fullgraph";
  std::string pairs;
  for (const auto& [key, value] : options.options) pairs += (pairs.empty() ? "" : ",") + key + "=" + value;
  if (!pairs.empty()) out += " --option " + shell_word(pairs);
  if (!options.contract_file.empty()) out += " --contract " + shell_word(options.contract_file);
  if (options.ranks != defaults.ranks) out += fmt::format(" --ranks {}", options.ranks);
  if (options.timeout_s != defaults.timeout_s) out += fmt::format(" --timeout {:g}", options.timeout_s);
  if (options.compile_timeout_s != defaults.compile_timeout_s) {
    out += fmt::format(" --compile-timeout {:g}", options.compile_timeout_s);
  }
  if (options.memory_mib != defaults.memory_mib) out += fmt::format(" --memory {}", options.memory_mib);
  return out;
}

}  // namespace

int jobs_of(const RunOptions& options) {
  return options.jobs > 0 ? options.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parse_shard(const std::string& text, RunOptions& options) {
  const std::vector<std::string> parts = split(text, '/');
  int numbers[2] = {0, 0};
  bool good = parts.size() == 2;
  for (std::size_t i = 0; good && i < 2; ++i) {
    const char* end = parts[i].data() + parts[i].size();
    const auto result = std::from_chars(parts[i].data(), end, numbers[i]);
    good = result.ec == std::errc() && result.ptr == end;
  }
  if (!good || numbers[0] < 1 || numbers[1] < numbers[0]) {
    fail(fmt::format("--shard {}: expected i/n with 1 <= i <= n", text));
  }
  options.shard = numbers[0];
  options.shards = numbers[1];
}

std::vector<std::string> parse_modes(const std::string& text) {
  std::vector<std::string> modes = split(text, ',');
  for (const std::string& mode : modes) {
    if (mode != "eager" && mode != "compile")
      fail(fmt::format("--mode {}: expected eager, compile or both", text));
  }
  std::sort(modes.begin(), modes.end(), std::greater<>());  // eager first
  modes.erase(std::unique(modes.begin(), modes.end()), modes.end());
  return modes;
}

std::map<std::string, std::string> parse_backend_options(const std::string& text) {
  std::map<std::string, std::string> options;
  for (const std::string& pair : split(text, ',')) {
    const std::size_t equal = pair.find('=');
    if (equal == std::string::npos || equal == 0) {
      fail(fmt::format("--option {}: expected KEY=VALUE,..., got \"{}\"", text, pair));
    }
    if (!options.emplace(pair.substr(0, equal), pair.substr(equal + 1)).second) {
      fail(fmt::format("--option {}: {} is given twice", text, pair.substr(0, equal)));
    }
  }
  return options;
}

std::optional<std::string> cache_dir(const RunOptions& options) {
  if (!options.cache_dir.empty()) return options.cache_dir;
  const std::pair<const char*, const char*> places[] = {
      {"ASSAY_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "/assay"}, {"HOME", "/.cache/assay"}};
  for (const auto& [variable, suffix] : places) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return std::string(value) + suffix;
  }
  return std::nullopt;
}

std::string command_json(const RunOptions& options) {
  const nlohmann::ordered_json json{
      {"verb", options.verb},
      {"arguments", options.arguments},
      {"inputs", options.inputs_file},
      {"expect", options.expect_file},
      {"backend", options.backend},
      {"modes", options.modes},
      {"filter", options.filter},
      {"shard", fmt::format("{}/{}", options.shard, options.shards)},
      {"timeout_s", options.timeout_s},
      {"compile_timeout_s", options.compile_timeout_s},
      {"memory_mib", options.memory_mib},
      {"seed", options.seed},
      {"fallback", options.fallback},
      {"fullgraph", options.fullgraph},
      {"options", options.options},
      {"contract", options.contract_file},
      {"waivers", options.waivers_file},
      {"ranks", options.ranks},
      {"compile_repeats", options.compile_repeats},
      {"all_nodes", options.all_nodes},
      {"steady_repeats", options.steady_repeats},
  };
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string repro_line(const RunOptions& options, const std::string& case_id, const std::string& suite,
                       const std::string& file, const std::string& mode) {
  std::string line = "assay " + options.verb;
  if (options.verb == "check" || options.verb == "sweep") {
    // A folder or catalogue gives the case its id; without one, the file alone is the case.
    if (options.arguments.empty()) {
      line += " " + shell_word(file);
    } else {
      for (const std::string& argument : options.arguments) line += " " + shell_word(argument);
    }
    if (!options.inputs_file.empty()) line += " --inputs " + shell_word(options.inputs_file);
    if (!options.expect_file.empty()) line += " --expect " + shell_word(options.expect_file);
  } else {
    line += " " + shell_word(suite);
  }
  line += " --filter " + shell_word(case_id) + " --backend " + shell_word(options.backend);
  if (mode != "eager") line += " --mode " + mode;
  return line + options_text(options);
}

}  // namespace assay
