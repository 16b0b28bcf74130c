// Writes that meet: index_put and scatter without accumulation, where an index occurs twice. PyTorch promises
// neither the first nor the last value (torch.Tensor.scatter_: "if indices are not unique, the behavior is
// nondeterministic (one of the values from src will be picked arbitrarily)"), so each of them is right.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/opset/call.h"
#include "core/tensor.h"
#include "reference/array.h"

namespace assay::reference {

// Elements of the result that were written more than once, and the positions in `values` that may stay there.
// A complex element is a pair of numbers in `values.real`.
struct Contests {
  Wide values;
  std::vector<std::pair<int64_t, std::vector<int64_t>>> places;
  bool empty() const { return places.empty(); }
};

// The operator may write an element twice.
bool writes_may_meet(const OpCall& call);
bool writes_may_meet(const Node& node);
// Throws Error as the kernel does.
Contests contested_writes(const OpCall& call, const std::vector<const Wide*>& inputs);

// Puts the nearest of the contested values to `got` into each contested element of `want`, so that `want` is
// what `got` must be.
void follow_writes(const Contests& contests, const Tensor& got, Wide& want);

}  // namespace assay::reference
