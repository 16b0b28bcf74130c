// Which operator runs where: asked of the backends themselves, with the suites' own calls.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace assay::cli {

struct OperatorCoverage {
  std::string name, schema;
  // Backend -> dtype -> "native", "native_gpsimd" or "unsupported".
  std::map<std::string, std::map<std::string, std::string>> backends;
  std::string reason;  // why a shipped backend does not run it, "" if all do
  int64_t cases = 0;
  std::string error_model;  // "unmodelled" where the judge has none
};

// Every operator that Assay knows, sorted by name. Dtypes are those of the suites' cases. Throws Error if a
// shipped backend cannot be loaded.
std::vector<OperatorCoverage> operator_coverage();

}  // namespace assay::cli
