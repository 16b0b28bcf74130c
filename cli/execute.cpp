#include "cli/execute.h"

#include <csignal>
#include <cstdio>

#include "cli/files.h"
#include "cli/progress.h"
#include "core/error.h"
#include "harness/run/run.h"
#include "reports/html.h"
#include "reports/run_folder.h"
#include "reports/selftest.h"

namespace assay::cli {
namespace {

void stop_on_signal(int) { request_stop(); }

}  // namespace

int execute(const RunOptions& options, std::vector<Case> cases) {
  struct sigaction action {};
  action.sa_handler = stop_on_signal;
  action.sa_flags = SA_RESETHAND;  // a second signal ends the program at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);

  const std::size_t offered = cases.size();
  const RunSummary summary = run_cases(options, std::move(cases), make_progress(options.quiet));
  int status = summary.exit_status();
  if (!summary.write_failed) {
    try {
      const std::string page = summary.out + "/report.html";
      const reports::RunFolder folder = reports::load_run_folder(summary.out);
      write_file(page, reports::html({folder}));
      std::printf("%s", reports::to_text(reports::selftest_of(folder.records)).c_str());
      if (!options.quiet) std::printf("report: %s\n", page.c_str());
    } catch (const Error& error) {
      std::fprintf(stderr, "assay: %s\n", error.what());
      status = 4;
    }
  } else {
    std::fprintf(stderr, "assay: %s\n", summary.write_error.c_str());
  }
  for (const std::string& sentence : summary.waivers_out_of_date)
    std::fprintf(stderr, "assay: %s\n", sentence.c_str());
  if (summary.interrupted) {
    std::fprintf(stderr, "assay: interrupted; go on with --out %s --resume\n", summary.out.c_str());
  }
  if (status == 3 && !options.filter.empty() && summary.passed + summary.failed + summary.skipped == 0) {
    std::fprintf(stderr,
                 "assay: --filter '%s' asks for none of %zu cases%s; `assay list` shows what there is\n",
                 options.filter.c_str(), offered, options.shards > 1 ? " of this shard" : "");
  }
  std::printf("%s\n", summary.last_line().c_str());
  return status;
}

}  // namespace assay::cli
