#include "cli/main.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>

#include "cli/verb.h"
#include "core/error.h"

namespace assay::cli {

void register_verbs(VerbTable& table);  // generated from cli/verbs/*.cpp

int run_main(int argc, char** argv) {
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

}  // namespace assay::cli
