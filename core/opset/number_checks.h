// Numbers that take the dtype of a tensor when they are written into it: fills, paddings, limits.
#pragma once

#include <string_view>

#include "core/opset/call.h"

namespace assay {

// `value` as an element of an integer or bool dtype: fractions are cut off, and for bool everything but 0 is
// true (Scalar.to in PyTorch, a cast in C). The value must lie within int64_t.
int64_t converted_to_integer(const Scalar& value, DType dtype);

namespace rules {

// The number given for `name` must have a value in `dtype`: NaN and infinity have none among the integers,
// and beyond the largest finite number there is none ("value cannot be converted to type ... without
// overflow"). Whole negative numbers wrap in u8, as PyTorch has it. bool takes every number.
void require_number(const OpCall& call, std::string_view name, DType dtype);

}  // namespace rules
}  // namespace assay
