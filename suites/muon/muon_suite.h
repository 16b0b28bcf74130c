// The suite `muon`.
#pragma once

#include <memory>

#include "harness/case/case.h"

namespace assay::suites {

std::unique_ptr<Suite> make_muon_suite();

}  // namespace assay::suites
