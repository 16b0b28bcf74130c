// Validity of selections: top-k, sort, argmax, max over a dimension, max pooling (NUMERICS, "One rule for
// each hard kind"). Which of several equal elements is returned is free (except where the operator says
// `stable`), so indices are judged by what they point at.
#pragma once

#include <string>
#include <vector>

#include "core/opset/call.h"
#include "core/tensor.h"
#include "harness/judge/compare.h"
#include "reference/evaluate.h"

namespace assay {

// How far the value at a returned index may lie from the right one, for each element of the input; empty: 0
// (the inputs are exact bits, as in the local pass).
using Slack = std::vector<double>;

// Judges the outputs of a call for which is_selection() holds. `input` is the tensor selected from, `want`
// the reference's outputs. Rules: indices in range and, within one row, distinct (one per window for
// pooling); the value at the i-th returned index is within slack of the i-th value of the reference (any
// position where the operator does not sort); returned values equal the input at the returned index bit for
// bit where `exact_values`, NaN equal to NaN. NaNs count as larger than everything, as PyTorch documents for
// sort and topk. A broken rule counts in `beyond` (values) or makes `reason` "selection" (indices).
struct SelectionVerdict {
  bool ok = true;
  std::string detail;  // first broken rule
  Comparison values;   // of the value output, if the operator has one
  std::optional<Worst> worst;
};
SelectionVerdict judge_selection(const OpCall& call, const reference::Wide& input,
                                 const std::vector<reference::Wide>& want, const std::vector<Tensor>& got,
                                 const Slack& slack, const CompareRule& rule, bool exact_values = true);

// Flat positions in the input that the indices of a selection point at; indices must be in range.
std::vector<int64_t> selected_positions(const OpCall& call, const Shape& input,
                                        const reference::Wide& indices);

// Number of the output that holds indices: 1, or 0 for argmax and argmin.
int index_output(const OpCall& call);

}  // namespace assay
