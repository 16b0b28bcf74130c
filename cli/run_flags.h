// The OPTIONS that run, check, sweep and bench share.
#pragma once

#include <memory>
#include <string>

#include "harness/run/options.h"

namespace CLI {
class App;
}

namespace assay::cli {

// What CLI11 writes into before it is checked.
struct RunFlags {
  RunOptions options;
  std::string mode = "eager";
  std::string shard = "1/1";
  std::string nodes = "failing";
  std::string backend_options;
  bool no_fallback = false;
};

// Validator of a number of seconds: "" or what was expected.
std::string check_seconds(const std::string& text);

std::shared_ptr<RunFlags> add_run_flags(CLI::App& command);
// Checked options with the default for --out filled in. Throws Error{invalid_argument}.
RunOptions checked(const RunFlags& flags, const std::string& verb, const std::vector<std::string>& arguments);

}  // namespace assay::cli
