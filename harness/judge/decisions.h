// Decisions of a node under the spread of its inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/opset/call.h"
#include "core/tensor.h"
#include "reference/evaluate.h"

namespace assay {

// Inputs of a node in the centre and in the replays. Where a replay's entry is null, it equals the centre's.
struct SpreadInputs {
  std::vector<const reference::Wide*> centre;
  std::vector<std::vector<const reference::Wide*>> replays;
  std::vector<const reference::Wide*> of_replay(std::size_t r) const;
  bool any() const;
};

// Another value that a right implementation may have at one element of an output.
struct Alternative {
  std::size_t output = 0;
  int64_t element = 0;  // index into real or integer
  double real = 0;
  int64_t integer = 0;
};

// Elements of `centre` (the node's fp64 outputs) that another choice could replace: the node is evaluated
// again from each replay's inputs, and from inputs moved by up to 8 times a replay's deviation, since 8
// replays alone would miss a decision that is taken the other way in one of 20 cases. A float output jumps if
// it moves by more than 8 times the largest move of the inputs, or if it is integer-valued and moves at all.
// Ordered by output and element.
std::vector<Alternative> uncertain_decisions(const OpCall& call, const SpreadInputs& inputs,
                                             const std::vector<reference::Wide>& centre);

// Writes the device's choices into `centre` where they are among the alternatives; true for every
// alternative's element that is settled thereby (parallel to `alternatives`). An element where the device
// agrees with the centre is settled.
std::vector<bool> follow_device(const std::vector<Alternative>& alternatives,
                                const std::vector<Tensor>& device, std::vector<reference::Wide>& centre);

// Selections (top-k, ...): the device's indices replace those of `centre` if they are a valid choice within 8
// times the spread of the input, ties included; the value output follows them. Returns false if they are not.
bool follow_device_selection(const OpCall& call, const SpreadInputs& inputs,
                             const std::vector<Tensor>& device, std::vector<reference::Wide>& centre);

// The value output of a selection, read from `input` at the given indices.
void gather_values(const OpCall& call, const reference::Wide& input, const reference::Wide& indices,
                   reference::Wide& values);

}  // namespace assay
