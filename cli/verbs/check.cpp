// assay check: somebody's own models.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/execute.h"
#include "cli/files.h"
#include "cli/run_flags.h"
#include "cli/verb.h"
#include "core/error.h"
#include "sweeps/sources.h"

namespace assay::cli {
namespace {

struct CheckFlags {
  std::vector<std::string> paths;
  std::string inputs, expect;
};

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::vector<Case> cases_of(const CheckFlags& flags) {
  std::vector<Case> cases;
  const bool companions = !flags.inputs.empty() || !flags.expect.empty();
  for (const std::string& path : flags.paths) {
    require_input(path, "a .pt2 file, a folder of them or a pack (.jsonl.zst)");
    if (std::filesystem::is_directory(path)) {
      if (companions) {
        throw Error(ErrorCode::invalid_argument,
                    "--inputs and --expect go with a single file; " + path +
                        " is a folder (put NAME.in.safetensors and NAME.out.safetensors beside "
                        "NAME.pt2)");
      }
      for (Case& c : sweeps::read_model_folder(path)) cases.push_back(std::move(c));
    } else if (sweeps::is_pack(path)) {
      if (companions) {
        throw Error(ErrorCode::invalid_argument, "--inputs and --expect go with a single model; " + path +
                                                     " is a pack, which holds its own");
      }
      for (Case& c : sweeps::read_pack_file(path)) cases.push_back(std::move(c));
    } else {
      if (companions && flags.paths.size() > 1) {
        throw Error(ErrorCode::invalid_argument,
                    "--inputs and --expect go with a single file; several were given");
      }
      cases.push_back(sweeps::read_model_file(path, given(flags.inputs), given(flags.expect)));
    }
  }
  return cases;
}

}  // namespace

void register_check(VerbTable& table) {
  table.add({"check", "judge .pt2 files, folders of them or packs on a backend",
             [](CLI::App& command) -> std::function<int()> {
               auto flags = add_run_flags(command);
               auto check = std::make_shared<CheckFlags>();
               command.add_option("PATH", check->paths, ".pt2 file, folder or pack (.jsonl.zst)")->required();
               command.add_option("--inputs", check->inputs, "safetensors keyed by the graph's input names");
               command.add_option("--expect", check->expect,
                                  "safetensors keyed 0, 1, ..., buffer:NAME, input:NAME");
               return [flags, check] {
                 RunOptions options = checked(*flags, "check", check->paths);
                 options.inputs_file = check->inputs;
                 options.expect_file = check->expect;
                 return execute(options, cases_of(*check));
               };
             }});
}

}  // namespace assay::cli
