// assay compare: is the current run worse than the base?
#include "reports/compare.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/files.h"
#include "cli/verb.h"
#include "harness/record/utc.h"
#include "harness/record/waivers.h"
#include "reports/run_folder.h"

namespace assay::cli {
namespace {

struct CompareFlags {
  std::string base, current, waivers, html, junit;
};

int compare(const CompareFlags& flags) {
  const auto waivers = flags.waivers.empty() ? std::vector<Waiver>{} : read_waivers(flags.waivers);
  const reports::RunFolder base = reports::load_run_folder(flags.base);
  const reports::RunFolder current = reports::load_run_folder(flags.current);
  const auto comparison = reports::compare_runs(base, current, waivers, today_utc());
  if (!flags.html.empty()) write_file(flags.html, reports::comparison_html(comparison));
  if (!flags.junit.empty()) write_file(flags.junit, reports::comparison_junit(comparison));
  std::fputs(reports::comparison_text(comparison).c_str(), stdout);
  return comparison.exit_status();
}

}  // namespace

void register_compare(VerbTable& table) {
  table.add({"compare", "what changed between two runs; exit status 1 on a regression",
             [](CLI::App& command) -> std::function<int()> {
               auto flags = std::make_shared<CompareFlags>();
               command.add_option("BASE_DIR", flags->base, "folder of the run to compare with")->required();
               command.add_option("CURRENT_DIR", flags->current, "folder of the run in question")->required();
               command.add_option("--waivers", flags->waivers,
                                  "JSON file of known failures (ci/waivers.json)");
               command.add_option("--html", flags->html, "one offline page");
               command.add_option("--junit", flags->junit, "JUnit XML");
               return [flags] { return compare(*flags); };
             }});
}

}  // namespace assay::cli
