// A node that crossed the ABI, as the call that kernels and shape rules read.
#pragma once

#include <vector>

#include "assay/plugin.hpp"
#include "core/opset/call.h"

namespace assay::backend {

// Throws plugin::Failure or Error{unknown_operator, invalid_argument, unsupported}: everything that comes
// through the ABI is checked.
OpCall read_call(const plugin::NodeView& node);
std::vector<TensorMeta> input_metas(const plugin::NodeView& node);

}  // namespace assay::backend
