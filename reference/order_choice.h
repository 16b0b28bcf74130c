// Validity of what scans and order statistics choose: running extrema, medians, k-th values and modes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/opset/call.h"
#include "core/tensor.h"
#include "reference/array.h"

namespace assay::reference {

// As check_choice() (reference/evaluate.h): "" or what is wrong; nullopt for other operators and where the
// indices are not known. An index is right if the element that it names is as good as any.
std::optional<std::string> check_order_choice(const OpCall& call, const std::vector<const Wide*>& inputs,
                                              const std::vector<Tensor>& outputs);

}  // namespace assay::reference
