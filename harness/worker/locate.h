// Where Assay's own programs, plug-ins and data files are, in a build tree and installed.
#pragma once

#include <string>

namespace assay {

// "assay-worker", "assay-judge": beside the running program, else in its ../libexec/assay. Throws Error
// naming where it was looked for.
std::string find_program(const std::string& name);

// assay_NAME.so for "reference", "trainium", "null": $ASSAY_PLUGIN_DIR, ../lib/assay, ../lib, and beside the
// program.
std::string find_plugin(const std::string& name);

// A data file by its path in the source tree ("harness/contracts/torch_cpu.json"): $ASSAY_SHARE_DIR,
// ../share/assay, the source tree. Throws Error naming where it was looked for.
std::string find_data(const std::string& relative);

// A backend as --backend names it.
struct BackendSpec {
  enum class Kind { plugin, torch, ranks };
  std::string text;  // as given
  Kind kind = Kind::plugin;
  std::string path;    // plug-in
  std::string target;  // after ':'; torch: the device; ranks: "mpi" or "gloo"
  bool is_reference = false;
  bool is_null = false;  // computes nothing
  bool is_ours = false;  // refuses bad input with the sentences of core/opset/shapes.h
};
// Throws Error{invalid_argument} for a name that is none and a path that does not exist.
BackendSpec parse_backend(const std::string& text);

// Names of the backends that Assay ships, for `list backends`.
const char* const* shipped_backends();  // null-terminated

}  // namespace assay
