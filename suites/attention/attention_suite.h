// The suite `attention`: scaled dot product attention and FlexAttention.
#pragma once

#include <memory>

#include "harness/case/case.h"

namespace assay::suites {

std::unique_ptr<Suite> make_attention_suite();

}  // namespace assay::suites
