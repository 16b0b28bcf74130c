// Results that measured nothing (NUMERICS, "Vacuous results"): never a pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "harness/judge/compare.h"
#include "reference/evaluate.h"

namespace assay {

// Output buffers are filled with one byte value before the device runs (docs/worker_protocol.md). The judge
// need not know which: a tensor whose bytes are all equal and not 0 is what a device leaves that did not
// write. Tensors of fewer than 16 bytes are not looked at, as chance could make them so (a bool is: only 0
// and 1 are values).
bool is_filled_with_one_byte(const Tensor& tensor);

// `got` looks like a buffer that was not written, and `want` does not look the same. Where every wanted float
// is NaN, NaNs of all ones are a right answer (PyTorch's vectorised softmax gives them); workers that fill
// buffers tell those from untouched ones by a second run over another byte value.
bool is_unwritten(const Tensor& got, const reference::Wide& want);

// Elements whose bytes are all equal, not 0 and not those of a whole result: for the message when a part was
// not written.
int64_t count_filled_elements(const Tensor& tensor);

// All zeros where the reference is not. `bound` as in BoundedWide (empty: 0). Zeros are legal where every
// value lies within its Bound of 0, unless there are many (16) that lie beyond an eighth of it: that no right
// kernel returns.
// Elements that `special` (BoundedWide) marks as undefined say nothing.
bool is_all_zero_unlike(const Tensor& got, const reference::Wide& want, const std::vector<double>& bound,
                        const std::vector<uint8_t>& special = {});

// No element has a right value: the operator leaves this result open.
bool is_undefined(const reference::BoundedWide& output);

// Every float of the reference's outputs is NaN although no input is: nothing can be compared. Probes carry a
// policy.
bool is_reference_nan(const std::vector<const reference::Wide*>& outputs, const std::vector<Tensor>& inputs);
// The same of values of the reference's chain.
bool is_chain_nan(const std::vector<const Tensor*>& outputs, const std::vector<Tensor>& inputs);

}  // namespace assay
