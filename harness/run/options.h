// What a run is asked to do: the OPTIONS of the command line, checked and with their defaults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/case/case.h"

namespace assay {

struct RunOptions {
  std::string verb = "run";            // "run", "check", "sweep": for run.json and the repro line
  std::vector<std::string> arguments;  // suites, paths or catalogue, as given
  std::string inputs_file;             // check --inputs
  std::string expect_file;             // check --expect

  std::string backend = "trainium";
  std::string out;  // the run's folder
  std::vector<std::string> modes{"eager"};
  std::string filter;  // glob on case ids; "" is all
  int shard = 1;       // 1-based
  int shards = 1;
  int jobs = 0;            // 0: one a core
  double timeout_s = 600;  // a case, compiling not counted
  double compile_timeout_s = 600;
  int64_t memory_mib = 4096;  // resident size of a worker
  uint64_t seed = 0;
  bool resume = false;
  bool fallback = true;  // --no-fallback: false
  bool fullgraph = false;
  std::map<std::string, std::string> options;  // to the backend
  std::string contract_file;
  std::string waivers_file;  // known failures, "" if none
  int ranks = 0;             // 0: not given
  int compile_repeats = 0;
  std::string cache_dir;  // "": $ASSAY_CACHE_DIR, $XDG_CACHE_HOME/assay, ~/.cache/assay
  bool all_nodes = false;
  bool quiet = false;
  std::vector<NotExported> not_exported;  // of a catalogue: counted as skipped, kept in run.json

  int steady_repeats = 1;       // timed executions after the first; they are also the check of repeatability
  int64_t failure_mib = 64;     // tensors saved under failures/ID/, a case
  int64_t failures_mib = 1024;  // and all together
};

// Cases that run at once where there are enough: --jobs, else one for each core of the machine.
int jobs_of(const RunOptions& options);

// Splits "i/n"; throws Error{invalid_argument} unless 1 <= i <= n.
void parse_shard(const std::string& text, RunOptions& options);
// Splits "eager,compile"; throws Error for anything else.
std::vector<std::string> parse_modes(const std::string& text);
// Splits "KEY=VALUE,...".
std::map<std::string, std::string> parse_backend_options(const std::string& text);

// The options that decide what a run's records hold, as canonical JSON: run.json keeps it and --resume
// compares it. Not in it: out, resume, jobs, quiet, cache_dir.
std::string command_json(const RunOptions& options);

// --cache, $ASSAY_CACHE_DIR, $XDG_CACHE_HOME/assay or ~/.cache/assay; nullopt where none of them is set.
std::optional<std::string> cache_dir(const RunOptions& options);

// A command line that runs one case alone; `file` as in Case::file.
std::string repro_line(const RunOptions& options, const std::string& case_id, const std::string& suite,
                       const std::string& file, const std::string& mode);

}  // namespace assay
