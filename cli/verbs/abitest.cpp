// assay abi-test: does a plug-in keep the ABI?
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/run_flags.h"
#include "cli/verb.h"
#include "core/error.h"
#include "harness/worker/abi_test.h"

namespace assay::cli {
namespace {

struct AbiTestFlags {
  std::string plugin;
  double timeout_s = 60;
};

int abi_test(const AbiTestFlags& flags) {
  int passed = 0, failed = 0;
  if (!std::filesystem::is_regular_file(flags.plugin)) {
    throw Error(ErrorCode::io, flags.plugin + ": no such file; expected a plug-in (.so)");
  }
  // Without a slash in it, the loader would search the system's folders.
  const std::string plugin = std::filesystem::absolute(flags.plugin).string();
  for (const AbiCheck& check : run_abi_test(plugin, flags.timeout_s)) {
    ++(check.passed ? passed : failed);
    std::printf("%s  %s: %s\n", check.passed ? "pass" : "FAIL", check.name.c_str(),
                check.description.c_str());
    if (!check.passed && !check.detail.empty()) std::printf("      %s\n", check.detail.c_str());
  }
  std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
  if (failed > 0) return kFailures;
  return passed > 0 ? kOk : kNothingPassed;
}

}  // namespace

void register_abitest(VerbTable& table) {
  table.add(
      {"abi-test", "does a plug-in keep the ABI? every check in a process that may die of it",
       [](CLI::App& command) -> std::function<int()> {
         auto flags = std::make_shared<AbiTestFlags>();
         command.add_option("PLUGIN", flags->plugin, "the plug-in, a .so (abi/assay/backend.h)")->required();
         command.add_option("--timeout", flags->timeout_s, "seconds for a check")
             ->check(check_seconds)
             ->capture_default_str();
         return [flags] { return abi_test(*flags); };
       }});
}

}  // namespace assay::cli
