// The suites that this program knows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/case/case.h"

namespace assay::cli {

const std::vector<std::unique_ptr<Suite>>& all_suites();

// Cases of the named suites. If none is named: of all but `selftest`, and of `distributed` only if `ranks` is
// given (not 0). Throws Error{invalid_argument} for a name that does not exist, listing those that do.
std::vector<Case> suite_cases(const std::vector<std::string>& names, uint64_t seed, int ranks = 0);

}  // namespace assay::cli
