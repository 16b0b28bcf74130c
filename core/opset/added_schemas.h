// Operators that are not compiled in, such as those that custom kernels stand for.
#pragma once

#include <string_view>

#include "core/opset/schema.h"

namespace assay {

// find_schema finds it from now on, until the process ends. The text that is there already is the same
// schema; throws Error{invalid_argument} for another text of a known name, and what parse_schema throws.
const Schema& add_schema(std::string_view text);

}  // namespace assay
