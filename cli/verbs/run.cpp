// assay run: suites on a backend.
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "cli/execute.h"
#include "cli/run_flags.h"
#include "cli/suites.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

// Cases of at least so many steps take minutes each: they run where their suite is named.
constexpr int kLongRun = 100;

std::vector<Case> cases_to_run(const std::vector<std::string>& names, const RunOptions& options) {
  std::vector<Case> cases = suite_cases(names, options.seed, options.ranks);
  if (names.empty()) std::erase_if(cases, [](const Case& c) { return c.steps >= kLongRun; });
  return cases;
}

}  // namespace

void register_run(VerbTable& table) {
  table.add({"run", "run suites on a backend", [](CLI::App& command) -> std::function<int()> {
               auto flags = add_run_flags(command);
               auto names = std::make_shared<std::vector<std::string>>();
               command.add_option(
                   "SUITE", *names,
                   "suites to run (default: all but selftest and runs of 100 and more steps, and distributed "
                   "only with --ranks; `assay list suites`)");
               return [flags, names] {
                 const RunOptions options = checked(*flags, "run", *names);
                 return execute(options, cases_to_run(*names, options));
               };
             }});
}

}  // namespace assay::cli
