// Text to train on (suites/training/data/README.md) and batches of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/tensor.h"

namespace assay::suites {

// Bytes below 128 only.
std::string_view training_text();

constexpr int64_t kSymbols = 128;

// i64 [count, batch, length + 1]: rows of consecutive symbols. Row r of batch n starts `length` symbols
// behind row r of batch n - 1, and the rows of a batch start evenly spread over the text, which is read as a
// ring.
Tensor text_batches(int64_t count, int64_t batch, int64_t length);

}  // namespace assay::suites
