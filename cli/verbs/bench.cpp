// assay bench: how fast, against a peer on the same cores, in one run.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "cli/calibration.h"
#include "cli/collectives.h"
#include "cli/files.h"
#include "cli/laplace/laplace.h"
#include "cli/recall/recall.h"
#include "cli/run_flags.h"
#include "cli/verb.h"
#include "core/error.h"
#include "harness/bench/bench.h"
#include "harness/bench/compile_bench.h"
#include "harness/bench/harness_bench.h"
#include "harness/worker/locate.h"
#include "suites/gla/bench_gla.h"
#include "suites/layers/bench_layers.h"
#include "suites/layers/growth.h"
#include "suites/ops/bench_ops.h"
#include "sweeps/sources.h"

namespace assay::cli {
namespace {

struct BenchFlags {
  std::vector<std::string> what;
  std::string against;
  int blocks = 15;
  int64_t cases = 20'000;
  RecallFlags recall;
  std::string measurements, assumptions;
  bool json = false;
};

constexpr const char* kWhat =
    "ops, models, models-bf16, layers, gla, muon, compile, collectives, calibration, harness, laplace, "
    "recall";

// `instead`: cases to judge in place of some (BenchOptions::judged_instead).
std::vector<Case> cases_of(const std::vector<std::string>& what,
                           std::map<std::string, Case>* instead = nullptr) {
  std::vector<Case> cases;
  const auto add = [&](std::vector<suites::BenchCase> pairs) {
    for (suites::BenchCase& pair : pairs) {
      if (instead != nullptr) instead->emplace(pair.timed.id, std::move(pair.judged));
      cases.push_back(std::move(pair.timed));
    }
  };
  for (const std::string& name : what) {
    std::vector<Case> more;
    if (name == "ops") {
      more = suites::bench_op_cases();
    } else if (name == "models") {
      more = sweeps::read_catalogue(find_data("sweeps/catalogue/architectures.csv")).cases;
    } else if (name == "models-bf16") {
      more = sweeps::in_float_dtype(
          sweeps::read_catalogue(find_data("sweeps/catalogue/architectures.csv")).cases, DType::bf16);
    } else if (name == "layers") {
      add(suites::bench_layer_cases());
    } else if (name == "gla") {
      add(suites::bench_gla_cases());
    } else if (name == "muon") {
      add(suites::bench_muon_cases());
    } else if (name == "calibration" || name == "collectives" || name == "compile" || name == "harness" ||
               name == "laplace" || name == "recall") {
      throw Error(ErrorCode::invalid_argument, "bench " + name + " is no set of cases: name it alone");
    } else {
      throw Error(ErrorCode::invalid_argument,
                  "bench " + name + ": not in this version; there are: " + kWhat);
    }
    for (Case& c : more) cases.push_back(std::move(c));
  }
  return cases;
}

// Assay's own speed: the pipeline from plan to record, on a sample of the suite `ops`.
int bench_rate(const RunOptions& run, int64_t count) {
  const HarnessBenchResult result = bench_harness(run, suites::rate_cases(count), [&](const Progress& p) {
    if (!run.quiet && p.done % 1000 == 0)
      std::fprintf(stderr, "%lld/%lld\n", static_cast<long long>(p.done), static_cast<long long>(p.total));
  });
  const std::string path = run.out + "/bench.json";
  write_file(path, harness_bench_json(result));
  std::printf("%s%s\n%s\n", harness_bench_text(result).c_str(), path.c_str(),
              result.summary.last_line().c_str());
  return result.summary.exit_status();
}

// Every operator, every model of the catalogue, and graphs of more and more nodes.
int bench_compile_phases(const RunOptions& run, bool json) {
  CompileBenchOptions options;
  options.run = run;
  if (run.compile_repeats > 0) options.repeats = run.compile_repeats;
  std::vector<Case> cases = cases_of({"ops"});
  for (Case& c : cases_of({"models"})) cases.push_back(std::move(c));
  for (Case& c : suites::growth_cases()) cases.push_back(std::move(c));
  std::filesystem::create_directories(run.out);
  const CompileBenchResult result = bench_compile(options, cases, [&](int repeat, const std::string& id) {
    if (!run.quiet) std::fprintf(stderr, "%d/%d  %s\n", repeat + 1, options.repeats, id.c_str());
  });
  const std::string text = compile_bench_json(result), path = run.out + "/bench.json";
  write_file(path, text);
  if (json) {
    std::fputs(text.c_str(), stdout);
  } else {
    std::printf("%s%s\n", compile_bench_text(result).c_str(), path.c_str());
  }
  int64_t timed = 0;
  for (const CompileBenchRow& row : result.rows) timed += row.not_timed.empty() ? 1 : 0;
  if (timed < static_cast<int64_t>(result.rows.size())) return kFailures;
  return timed == 0 ? kNothingPassed : kOk;
}

int bench(const RunFlags& run_flags, const BenchFlags& flags) {
  BenchOptions options;
  options.run = checked(run_flags, "bench", flags.what);
  if (flags.what == std::vector<std::string>{"calibration"}) {
    return bench_calibration({flags.measurements, flags.json, options.run.out});
  }
  if (flags.what == std::vector<std::string>{"collectives"}) {
    CollectivesFlags collectives{flags.measurements, flags.json, options.run.out};
    if (options.run.ranks > 0) collectives.ranks = options.run.ranks;
    return bench_collectives(collectives);
  }
  if (flags.what == std::vector<std::string>{"laplace"}) {
    return bench_laplace(
        {flags.assumptions, options.run.filter, flags.json, options.run.quiet, options.run.out});
  }
  if (flags.what == std::vector<std::string>{"recall"}) {
    return bench_recall(options.run, {flags.recall.steps, flags.json});
  }
  if (flags.what == std::vector<std::string>{"compile"}) return bench_compile_phases(options.run, flags.json);
  if (flags.what == std::vector<std::string>{"harness"}) return bench_rate(options.run, flags.cases);
  options.against = flags.against;
  options.blocks = flags.blocks;
  const bool quiet = options.run.quiet;
  const std::vector<Case> cases = cases_of(flags.what, &options.judged_instead);
  const BenchResult result =
      bench_cases(options, cases, [&](const BenchRow& row, int64_t done, int64_t total) {
        if (!quiet)
          std::fprintf(stderr, "%lld/%lld  %s\n", static_cast<long long>(done), static_cast<long long>(total),
                       row.id.c_str());
      });
  const std::string path = options.run.out + "/bench.json";
  write_file(path, bench_json(result));
  std::printf("%s%s\n", bench_text(result).c_str(), path.c_str());
  if (result.infrastructure_error) return kInfrastructure;
  int64_t timed = 0;
  for (const BenchRow& row : result.rows) timed += row.not_timed.empty() ? 1 : 0;
  if (timed < static_cast<int64_t>(result.rows.size())) return kFailures;
  return timed == 0 ? kNothingPassed : kOk;
}

}  // namespace

void register_bench(VerbTable& table) {
  table.add(
      {"bench", "time cases, interleaved with a peer", [](CLI::App& command) -> std::function<int()> {
         auto run_flags = add_run_flags(command);
         auto flags = std::make_shared<BenchFlags>();
         command.add_option("WHAT", flags->what, kWhat)->required();
         command.add_option("--against", flags->against, "peer backend, timed in turns on the same cores");
         command.add_option("--blocks", flags->blocks, "measurements of each backend")
             ->check(CLI::Range(2, 10000))
             ->capture_default_str();
         command.add_option("--cases", flags->cases, "harness: how many cases, a tenth of them large")
             ->check(CLI::Range(10, 1'000'000))
             ->capture_default_str();
         command
             .add_option("--steps", flags->recall.steps, "recall: training steps; --filter chooses models")
             ->check(CLI::Range(1, 1'000'000))
             ->capture_default_str();
         command.add_option("--measurements", flags->measurements,
                            "calibration, collectives: a CSV of measurements instead of the shipped one");
         command.add_option(
             "--assumptions", flags->assumptions,
             "laplace: a JSON of candidates, layouts and assumptions instead of the shipped one; "
             "--filter chooses candidates");
         command.add_flag("--json", flags->json,
                          "calibration, collectives, compile, laplace, recall: print JSON");
         return [run_flags, flags] { return bench(*run_flags, *flags); };
       }});
}

}  // namespace assay::cli
