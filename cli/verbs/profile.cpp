// assay profile: where the device's time goes.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/run_flags.h"
#include "cli/verb.h"
#include "core/error.h"

namespace assay::cli {

void register_profile(VerbTable& table) {
  table.add({"profile", "trace of one model on the device's clock (not in this version)",
             [](CLI::App& command) -> std::function<int()> {
               auto flags = add_run_flags(command);
               auto model = std::make_shared<std::string>();
               auto trace = std::make_shared<std::string>();
               command.add_option("MODEL", *model, ".pt2 file")->required();
               command.add_option("--trace", *trace, "JSON file for the trace")->required();
               return [flags, model, trace]() -> int {
                 throw Error(ErrorCode::unsupported,
                             "profile " + *model +
                                 ": not in this version: a profile needs the simulated device's clock. Wall "
                                 "times are in the records of `assay check` and `assay bench models`");
               };
             }});
}

}  // namespace assay::cli
