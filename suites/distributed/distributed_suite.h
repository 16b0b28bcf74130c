// The suite `distributed`.
#pragma once

#include <memory>

#include "harness/case/case.h"

namespace assay::suites {

// Cases of a world of `ranks` ranks; ids begin with "distributed/nRANKS/".
std::unique_ptr<Suite> make_distributed_suite(int ranks);

inline constexpr int kDefaultRanks = 4;

}  // namespace assay::suites
