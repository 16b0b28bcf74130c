// assay run: suites on a backend.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/execute.h"
#include "cli/run_flags.h"
#include "cli/suites.h"
#include "cli/verb.h"

namespace assay::cli {

void register_run(VerbTable& table) {
  table.add({"run", "run suites on a backend", [](CLI::App& command) -> std::function<int()> {
               auto flags = add_run_flags(command);
               auto names = std::make_shared<std::vector<std::string>>();
               command.add_option(
                   "SUITE", *names,
                   "suites to run (default: all but selftest, and distributed only with --ranks; "
                   "`assay list suites`)");
               return [flags, names] {
                 const RunOptions options = checked(*flags, "run", *names);
                 return execute(options, suite_cases(*names, options.seed, options.ranks));
               };
             }});
}

}  // namespace assay::cli
