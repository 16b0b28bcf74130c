#include "cli/main.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>

#include "cli/verb.h"
#include "core/error.h"

namespace assay::cli {

void register_verbs(VerbTable& table);  // generated from cli/verbs/*.cpp

namespace {

int parse_and_run(int argc, char** argv) {
  VerbTable table;
  register_verbs(table);
  CLI::App app{"Assay: conformance and benchmark suite for Trainium-class ML accelerators", "assay"};
  app.require_subcommand(1);
  app.set_version_flag("--version", ASSAY_VERSION);
  app.footer(
      "Exit status: 0 all passed or skipped, 1 failures, 2 bad command line or file, 3 nothing passed, "
      "4 infrastructure error.\n`assay VERB --help` describes a verb.");

  std::map<const CLI::App*, std::function<int()>> actions;
  for (const Verb& verb : table.verbs()) {
    CLI::App* command = app.add_subcommand(verb.name, verb.summary);
    actions[command] = verb.define(*command);
  }
  const auto named = [&](const Verb& verb) { return verb.name == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(table.verbs(), named)) {
    std::string known;
    for (const Verb& verb : table.verbs()) known += (known.empty() ? "" : ", ") + verb.name;
    std::fprintf(stderr, "assay: there is no verb '%s'; there are: %s\n", argv[1], known.c_str());
    return kUsage;
  }
  for (int i = 1; i < argc; ++i) {
    // `--expect "$FILE"` with FILE unset would otherwise be a run without expected values.
    if (argv[i][0] != '\0') continue;
    std::fprintf(stderr, "assay: argument %d (after '%s') is empty: is a variable of the shell unset?\n", i,
                 argv[i - 1]);
    return kUsage;
  }
  try {
    app.parse(argc, argv);
    return actions.at(app.get_subcommands().at(0))();
  } catch (const CLI::ParseError& error) {
    // --help and --version end here too, with status 0.
    return app.exit(error) == 0 ? kOk : kUsage;
  } catch (const Error& error) {
    std::fprintf(stderr, "assay: %s\n", error.what());
    return error.code() == ErrorCode::internal ? kInfrastructure : kUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay: internal error: %s\n", error.what());
    return kInfrastructure;
  }
}

}  // namespace

int run_main(int argc, char** argv) {
  const int status = parse_and_run(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "assay: standard output cannot be written\n");
  return kInfrastructure;
}

}  // namespace assay::cli
