// The suites that this program knows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/case/case.h"

namespace assay::cli {

const std::vector<std::unique_ptr<Suite>>& all_suites();

// Cases of the named suites, of all but `selftest` if none is named. Throws Error{invalid_argument} for a
// name that does not exist, listing those that do.
std::vector<Case> suite_cases(const std::vector<std::string>& names, uint64_t seed);

}  // namespace assay::cli
