// The suite `gla`.
#pragma once

#include <memory>

#include "harness/case/case.h"

namespace assay::suites {

std::unique_ptr<Suite> make_gla_suite();

}  // namespace assay::suites
