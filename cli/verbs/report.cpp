// assay report: pages and tables from runs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/files.h"
#include "cli/verb.h"
#include "reports/html.h"
#include "reports/run_folder.h"
#include "reports/text.h"

namespace assay::cli {
namespace {

struct ReportFlags {
  std::vector<std::string> folders;
  std::string html, json, junit, csv, markdown;
};

int report(const ReportFlags& flags) {
  std::vector<reports::RunFolder> runs;
  for (const std::string& folder : flags.folders) runs.push_back(reports::load_run_folder(folder));
  const auto write = [](const std::string& path, const std::string& text) {
    write_file(path, text);
    std::printf("%s\n", path.c_str());
  };
  if (!flags.html.empty()) write(flags.html, reports::html(runs));
  if (!flags.json.empty()) write(flags.json, reports::json_report(runs));
  if (!flags.junit.empty()) write(flags.junit, reports::junit(runs));
  if (!flags.csv.empty()) write(flags.csv, reports::csv(runs));
  if (!flags.markdown.empty()) write(flags.markdown, reports::markdown(runs));
  if (flags.html.empty() && flags.json.empty() && flags.junit.empty() && flags.csv.empty() &&
      flags.markdown.empty()) {
    std::fputs(reports::markdown(runs).c_str(), stdout);
  }
  return kOk;
}

}  // namespace

void register_report(VerbTable& table) {
  table.add(
      {"report", "pages and tables from one or more runs", [](CLI::App& command) -> std::function<int()> {
         auto flags = std::make_shared<ReportFlags>();
         command.add_option("DIR", flags->folders, "folders of runs (their --out)")->required();
         command.add_option("--html", flags->html, "one offline page");
         command.add_option("--json", flags->json, "everything, machine-readable");
         command.add_option("--junit", flags->junit, "JUnit XML");
         command.add_option("--csv", flags->csv, "one line a record");
         command.add_option("--markdown", flags->markdown, "tables (without any flag: to stdout)");
         return [flags] { return report(*flags); };
       }});
}

}  // namespace assay::cli
