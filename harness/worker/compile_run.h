// Compile mode: the whole graph, or its largest supported parts, through the backend's compiler.
#pragma once

#include "harness/worker/device_run.h"

namespace assay {

class CompileRun : public DeviceRun {
 public:
  using DeviceRun::DeviceRun;

 protected:
  void prepare_pass() override;
  void execute_pass(bool first) override;
  void finish(RunResult& result) override;

 private:
  struct Part {
    std::vector<int> nodes;
    std::vector<ValueId> inputs, outputs;
    std::unique_ptr<Executable> executable;
  };
  void partition();
  std::string graph_of(Part& part) const;  // finds the part's inputs and outputs
  void compile(Part& part);
  void run_part(Part& part, bool poison);

  std::vector<Part> parts_;
  std::vector<int> part_of_;  // by node, -1
};

}  // namespace assay
