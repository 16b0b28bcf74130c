// Planted defects: each is a way in which real kernels are wrong, applied to the right outputs of a node, so
// that the suite can show that it finds them. A Case names one (`mutant:NAME`); the worker applies it to
// every node that it is applicable to.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/opset/call.h"
#include "core/tensor.h"

namespace assay {

struct Mutant {
  std::string name;         // "bf16_accumulator"
  std::string description;  // what the kernel does wrong, one sentence
  // The defect can exist in a kernel for this call (operator, dtypes, shapes, arguments). It need not show on
  // every input: a kernel that ignores NaN is right where there is none.
  std::function<bool(const OpCall& call)> applies;
  // Turns right outputs (parallel to call.outputs()) into those of the defective kernel. `inputs` are
  // numbered as OpCall numbers them. Deterministic. Must not be called where `applies` is false.
  std::function<void(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs)>
      plant;
};

// Sorted by name.
const std::vector<Mutant>& all_mutants();
// nullptr if there is none of this name.
const Mutant* find_mutant(std::string_view name);

// Plants the defect if it applies; false if it does not. Throws Error{invalid_argument} listing the names if
// there is no such mutant.
bool plant_mutant(std::string_view name, const OpCall& call, const std::vector<Tensor>& inputs,
                  std::vector<Tensor>& outputs);

}  // namespace assay
