// Bad input that follows from a schema and one good call.
#pragma once

#include <vector>

#include "suites/ops/generate/call_text.h"

namespace assay::suites {

// Dims out of range and twice, operands that do not broadcast, words that are none of those allowed, numbers
// given as words, arguments that are missing, indices of a float dtype. Each is labelled by what is wrong
// ("dim=2", "missing-other") and marked bad.
std::vector<CallForm> bad_calls(const Schema& schema, const CallForm& good);

}  // namespace assay::suites
