// Eager mode: node by node, in two passes (docs/worker_protocol.md).
#pragma once

#include <map>

#include "harness/worker/device_run.h"

namespace assay {

class EagerRun : public DeviceRun {
 public:
  using DeviceRun::DeviceRun;

 protected:
  void execute_pass(bool first) override;
  void finish(RunResult& result) override;

 private:
  void place(int i, const NodeSupport& support);
  void local_pass(RunResult& result);
  // True if the node's outputs hold what was in their buffers before.
  bool local_node(int i, const NodeHandle& handle, uint8_t poison, RunResult& result);
  BufferPtr local_input(ValueId id);

  std::map<ValueId, Tensor> chain_;            // the reference's values, graph inputs included
  std::map<ValueId, BufferPtr> local_inputs_;  // on the device
};

}  // namespace assay
