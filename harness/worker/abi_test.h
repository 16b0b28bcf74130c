// `assay abi-test`: the shared test program for plug-ins (abi/assay/backend.h). Every check runs in a process
// that may die of it.
#pragma once

#include <string>
#include <vector>

namespace assay {

struct AbiCheck {
  std::string name;         // "describe: short struct"
  std::string description;  // what must hold
  bool passed = false;
  std::string detail;  // why not, or what was seen
};

// Runs all checks, each as one exchange with an assay-worker; after one that kills the worker the next gets a
// new one. `timeout_s` is for one check. Throws Error{invalid_argument} if the plug-in cannot be loaded at
// all.
std::vector<AbiCheck> run_abi_test(const std::string& plugin, double timeout_s = 60);

// The worker's side: names and descriptions in order, and one check against the plug-in at `path`.
std::vector<AbiCheck> abi_checks();
AbiCheck run_abi_check(const std::string& path, const std::string& name);

}  // namespace assay
