#include "cli/run_flags.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <ctime>
#include <filesystem>

#include "core/error.h"

namespace assay::cli {
namespace {

template <typename Number>
bool parse(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

// CLI11's own conversion lets -1 and 2^64 wrap around.
std::string check_seed(const std::string& text) {
  uint64_t value = 0;
  return parse(text, value) ? "" : "expected an integer from 0 to 18446744073709551615, got '" + text + "'";
}

// assay-out/<time>-<verb>, with a number behind it if another run took that name within the second.
std::string default_out(const std::string& verb) {
  char stamp[32];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  const std::string base = std::string("assay-out/") + stamp + "-" + verb;
  std::string out = base;
  std::error_code ignored;
  for (int i = 2; std::filesystem::exists(out, ignored); ++i) out = base + "-" + std::to_string(i);
  return out;
}

}  // namespace

std::string check_seconds(const std::string& text) {
  constexpr double kMost = 1e9;  // beyond that clocks overflow
  double value = 0;
  const bool good = parse(text, value) && value > 0 && value <= kMost;
  return good ? "" : "expected a number of seconds above 0, got '" + text + "'";
}

std::shared_ptr<RunFlags> add_run_flags(CLI::App& command) {
  auto flags = std::make_shared<RunFlags>();
  RunOptions& o = flags->options;
  command
      .add_option(
          "--backend", o.backend,
          "reference, trainium[:trn1|trn2|trn3], null, torch:DEVICE, mpi, torch:gloo, or a path to a .so")
      ->capture_default_str();
  command.add_option("--out", o.out, "folder for the results (default: assay-out/<time>-<verb>)");
  command.add_option("--mode", flags->mode, "eager, compile or eager,compile")->capture_default_str();
  command.add_option("--filter", o.filter, "only cases whose id matches this glob");
  command.add_option("--shard", flags->shard, "i/n: part i of n, by a stable hash of the id")
      ->capture_default_str();
  command.add_option("--jobs", o.jobs, "workers at once (default: cores)")->check(CLI::Range(0, 1024));
  command.add_option("--timeout", o.timeout_s, "seconds for a case")
      ->check(check_seconds)
      ->capture_default_str();
  command.add_option("--compile-timeout", o.compile_timeout_s, "seconds for a compilation")
      ->check(check_seconds)
      ->capture_default_str();
  command.add_option("--memory", o.memory_mib, "MiB that a worker may keep resident")
      ->check(CLI::Range(int64_t{16}, int64_t{1} << 30))
      ->capture_default_str();
  command.add_option("--seed", o.seed, "seed of inputs")->check(check_seed)->capture_default_str();
  command.add_flag("--resume", o.resume, "go on with the run in --out");
  command.add_flag("--no-fallback", flags->no_fallback, "what the device does not support fails");
  command.add_flag("--fullgraph", o.fullgraph, "compile mode: no graph breaks");
  command.add_option("--option", flags->backend_options, "KEY=VALUE,... for the backend");
  command.add_option("--contract", o.contract_file, "JSON file that overrides the backend's Contract");
  command.add_option("--waivers", o.waivers_file,
                     "JSON file of known failures, which count as passed (ci/waivers.json)");
  command
      .add_option("--ranks", o.ranks,
                  "ranks of distributed cases (default: 4 if the suite is named); profile: of the model")
      ->check(CLI::Range(1, 4096));
  command.add_option("--compile-repeats", o.compile_repeats, "compile again this many times")
      ->check(CLI::Range(0, 1000));
  command.add_option("--cache", o.cache_dir, "folder of the compile cache");
  command.add_option("--nodes", flags->nodes, "which nodes go to nodes.jsonl")
      ->check(CLI::IsMember({"failing", "all"}))
      ->capture_default_str();
  command.add_flag("--quiet", o.quiet, "print the last line only");
  return flags;
}

RunOptions checked(const RunFlags& flags, const std::string& verb,
                   const std::vector<std::string>& arguments) {
  RunOptions options = flags.options;
  options.verb = verb;
  options.arguments = arguments;
  options.modes = parse_modes(flags.mode);
  parse_shard(flags.shard, options);
  if (!flags.backend_options.empty()) options.options = parse_backend_options(flags.backend_options);
  options.fallback = !flags.no_fallback;
  options.all_nodes = flags.nodes == "all";
  if (options.resume && options.out.empty()) {
    throw Error(ErrorCode::invalid_argument, "--resume needs --out: which run is to go on?");
  }
  if (options.out.empty()) options.out = default_out(verb);
  return options;
}

}  // namespace assay::cli
