// For tests: one operator call on the simulated device, without the plug-in.
#pragma once

#include <string>
#include <vector>

#include "backend/compiler/eager.h"
#include "backend/simulator/simulator.h"
#include "core/tensor.h"

namespace assay::backend {

struct CallResult {
  std::vector<Tensor> outputs;
  Native native;
  uint64_t instructions;
};

// Result metas come from the shape rules. ValueArg ids are indices into `inputs`.
CallResult run_call(const std::string& op, const std::vector<Tensor>& inputs,
                    const std::vector<NamedArgument>& arguments, const DeviceOptions& options = {});

}  // namespace assay::backend
