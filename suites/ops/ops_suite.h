// The suite `ops`: single operators.
#pragma once

#include <memory>

#include "harness/case/case.h"

namespace assay::suites {

std::unique_ptr<Suite> make_ops_suite();

}  // namespace assay::suites
