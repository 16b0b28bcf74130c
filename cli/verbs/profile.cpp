// assay profile: where the device's time goes.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/files.h"
#include "cli/run_flags.h"
#include "cli/verb.h"
#include "core/distributed/one_program.h"
#include "core/error.h"
#include "core/graph/json.h"
#include "harness/profile/profile.h"
#include "harness/run/worker_options.h"
#include "harness/worker/graph_names.h"
#include "harness/worker/locate.h"
#include "reports/html.h"
#include "sweeps/sources.h"

namespace assay::cli {
namespace {

struct ProfileFlags {
  std::string model, trace, inputs;
};

// With --ranks: all ranks run the model on the same inputs.
void spread_over_ranks(const RunOptions& options, const Graph& model, RunRequest& request) {
  request.ranks =
      std::make_shared<const RankPrograms>(one_program(std::make_shared<const Graph>(model), options.ranks));
  std::vector<std::string> names;
  std::vector<Tensor> inputs;
  for (int rank = 0; rank < options.ranks; ++rank) {
    for (const std::string& name : request.input_names) names.push_back(name_at_rank(rank, name));
    inputs.insert(inputs.end(), request.inputs.begin(), request.inputs.end());
  }
  request.input_names = std::move(names);
  request.inputs = std::move(inputs);
}

RunRequest request_for(const RunOptions& options, const Case& c) {
  RunRequest request;
  request.case_id = c.id;
  request.mode = std::string(options.modes.front());
  request.graph_json = graph_to_json(*c.graph);
  request.inputs = materialise_inputs(c, options.seed);
  request.seed = options.seed;
  request.fallback = options.fallback;
  request.fullgraph = options.fullgraph;
  request.input_names = input_names(*c.graph);
  if (options.ranks > 0) spread_over_ranks(options, *c.graph, request);
  return request;
}

int profile(const RunFlags& run_flags, const ProfileFlags& flags) {
  const RunOptions options = checked(run_flags, "profile", {flags.model});
  if (options.modes.size() != 1) {
    throw Error(ErrorCode::invalid_argument,
                "profile takes one mode, --mode eager or --mode compile: a trace is of one execution");
  }
  require_input(flags.model, "a .pt2 file");
  const Case c = sweeps::read_model_file(
      flags.model, flags.inputs.empty() ? std::nullopt : std::optional<std::string>(flags.inputs));
  if (const Node* node = first_collective(*c.graph); node != nullptr && options.ranks == 0) {
    throw Error(ErrorCode::invalid_argument, flags.model + ": node " + node->name + " calls " + node->op +
                                                 ": say of how many ranks, --ranks N");
  }
  WorkerClient worker = worker_of(options, parse_backend(options.backend), cache_dir(options));
  Profile result;
  try {
    const RunRequest request = request_for(options, c);
    const LoadReply loaded = worker.load(request);
    const auto executed = request.ranks ? join(*request.ranks, c.id).graph : *c.graph;
    result = compose_profile(worker.profile(loaded.session), executed, options.backend);
  } catch (const BackendMissing& missing) {
    throw Error(ErrorCode::invalid_argument, missing.message);
  }
  worker.stop();
  std::filesystem::create_directories(options.out);
  const std::string json = profile_json(result), page = options.out + "/report.html";
  std::string where = options.backend + ", " + std::string(options.modes.front());
  if (options.ranks > 0) where += ", rank 0 of " + std::to_string(options.ranks);
  write_file(flags.trace, result.trace);
  write_file(options.out + "/profile.json", json);
  write_file(page, reports::profile_html(c.id, where, json));
  if (options.quiet) {
    std::printf("%s\n", result.verdict.sentence.c_str());
    return kOk;
  }
  std::printf("%s\ntrace: %s (chrome://tracing, https://ui.perfetto.dev)\nreport: %s\n",
              profile_text(result).c_str(), flags.trace.c_str(), page.c_str());
  return kOk;
}

}  // namespace

void register_profile(VerbTable& table) {
  table.add({"profile", "trace of one model on the device's clock, and what limits it",
             [](CLI::App& command) -> std::function<int()> {
               auto run_flags = add_run_flags(command);
               auto flags = std::make_shared<ProfileFlags>();
               command.add_option("MODEL", flags->model, ".pt2 file or catalogue model")->required();
               command.add_option("--trace", flags->trace, "JSON file for the trace (Chrome, Perfetto)")
                   ->required();
               command.add_option("--inputs", flags->inputs, "safetensors keyed by the graph's input names");
               return [run_flags, flags] { return profile(*run_flags, *flags); };
             }});
}

}  // namespace assay::cli
