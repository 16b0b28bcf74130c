// For tests: one operator call on the simulated device, without the plug-in.
#pragma once

#include <string>
#include <vector>

#include "backend/compiler/eager.h"
#include "backend/simulator/simulator.h"
#include "core/error.h"
#include "core/opset/shapes.h"
#include "core/tensor.h"

namespace assay::backend {

struct CallResult {
  std::vector<Tensor> outputs;
  Native native;
  uint64_t instructions;
};

// Result metas come from the shape rules. ValueArg ids are indices into `inputs`.
inline CallResult run_call(const std::string& op, const std::vector<Tensor>& inputs,
                           const std::vector<NamedArgument>& arguments, const DeviceOptions& options = {}) {
  std::vector<TensorMeta> metas;
  for (const Tensor& tensor : inputs) metas.push_back({tensor.dtype(), tensor.shape()});
  const auto results = infer(OpCall(op, metas, arguments));
  if (!results) throw Error(ErrorCode::unsupported, op + ": no result shapes");
  const OpCall call(op, metas, arguments, *results);
  const CompiledCall compiled = compile_call(call, core(options.target), options.compile);

  CallResult out{{}, compiled.native, 0};
  std::vector<Tensor> copies;
  std::vector<HbmBinding> in, to;
  for (const Tensor& tensor : inputs) {
    copies.push_back(tensor.clone());
    in.push_back({copies.back().mutable_data(), copies.back().bytes()});
  }
  for (const TensorMeta& meta : *results) {
    out.outputs.emplace_back(meta.dtype, meta.shape);
    to.push_back({out.outputs.back().mutable_data(), out.outputs.back().bytes()});
  }
  FunctionalSimulator simulator(core(options.target), options.simulator);
  out.instructions = simulator.run(compiled.program, in, to).instructions;
  return out;
}

}  // namespace assay::backend
