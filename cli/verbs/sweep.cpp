// assay sweep: many models.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/execute.h"
#include "cli/files.h"
#include "cli/run_flags.h"
#include "cli/verb.h"
#include "core/contract/contract.h"
#include "core/error.h"
#include "sweeps/sources.h"

namespace assay::cli {
namespace {

sweeps::Source source_of(const std::string& what, const std::string& dtype) {
  if (what.starts_with("generated:")) {
    throw Error(ErrorCode::unsupported, "sweep " + what +
                                            ": generated configurations are not built in this version; "
                                            "give a catalogue (.csv) or a folder of .pt2 files");
  }
  require_input(what, "a catalogue (.csv) or a folder of .pt2 files");
  const bool is_folder = std::filesystem::is_directory(what);
  if (!dtype.empty() && (is_folder || !what.ends_with(".csv"))) {
    throw Error(ErrorCode::invalid_argument,
                "sweep " + what + " --dtype " + dtype +
                    ": only models of a catalogue (.csv) can be had in another dtype; a .pt2 file holds the "
                    "dtype that it was exported in");
  }
  if (is_folder) return {sweeps::read_model_folder(what), {}};
  if (what.ends_with(".jsonl")) {
    throw Error(ErrorCode::unsupported,
                what +
                    ": configurations are not built in this version; give a catalogue (.csv) or a "
                    "folder of .pt2 files");
  }
  sweeps::Source source = sweeps::read_catalogue(what);
  if (!dtype.empty()) source.cases = sweeps::in_float_dtype(std::move(source.cases), *parse_dtype(dtype));
  return source;
}

}  // namespace

void register_sweep(VerbTable& table) {
  table.add(
      {"sweep", "judge every model of a catalogue or folder on a backend",
       [](CLI::App& command) -> std::function<int()> {
         auto flags = add_run_flags(command);
         auto what = std::make_shared<std::string>();
         auto dtype = std::make_shared<std::string>();
         command.add_option("CATALOGUE", *what, "catalogue (.csv), or folder of .pt2 files")->required();
         command
             .add_option("--dtype", *dtype,
                         "models of the catalogue in this floating dtype instead of f32: bf16, f16")
             ->check(CLI::IsMember({"bf16", "f16"}));
         return [flags, what, dtype] {
           RunOptions options = checked(*flags, "sweep", {*what});
           sweeps::Source source = source_of(*what, *dtype);
           if (!dtype->empty()) options.arguments.insert(options.arguments.end(), {"--dtype", *dtype});
           options.not_exported = std::move(source.not_exported);
           if (!options.filter.empty()) {
             std::erase_if(options.not_exported, [&](const NotExported& row) {
               return !glob_match(options.filter, "models/" + row.id);
             });
           }
           return execute(options, std::move(source.cases));
         };
       }});
}

}  // namespace assay::cli
