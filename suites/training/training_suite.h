// The suite `training`.
#pragma once

#include <memory>

#include "harness/case/case.h"

namespace assay::suites {

std::unique_ptr<Suite> make_training_suite();

}  // namespace assay::suites
