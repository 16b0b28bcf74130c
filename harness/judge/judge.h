// The judge: a pure function from a case, a Contract and what a backend returned to a verdict (NUMERICS
// §3-6). It never runs a backend. Where it runs: harness/worker/judge_client.h.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "harness/case/case.h"
#include "harness/case/run_result.h"
#include "harness/record/record.h"

namespace assay {

struct JudgeRequest {
  std::string case_id;
  std::shared_ptr<const Graph> graph;
  std::vector<Tensor> inputs;              // graph.inputs order
  std::map<std::string, Tensor> expected;  // INTERFACE §4 keys; may be partial or empty
  std::string expected_source;             // "expected_file", "golden:FILE", ""
  Checks checks;
  Contract contract;
  std::map<std::string, std::string> options;  // backend options, for Contract rules
  std::string mode;                            // eager, compile
  uint64_t seed = 0;
  bool backend_is_reference = false;  // want comes from a witness
  bool keep_all_nodes = false;        // --nodes all
};

struct Verdict {
  Status status = Status::infrastructure_error;
  std::string reason, detail;
  std::optional<double> margin;
  std::map<std::string, Gate> gates;
  std::optional<Worst> worst;
  std::optional<BadNode> first_bad_node;
  std::string witness;
  std::vector<NodeRecord> nodes;  // failing, or all
};

// Nodes whose outputs of the free pass the judge needs (NodeOutcome::free): discontinuous ones that read
// floats, since what follows must be judged by the device's own decision where it is a right one.
std::vector<int> free_nodes(const Graph& graph);

class Judge {
 public:
  explicit Judge(JudgeRequest request);
  ~Judge();
  Judge(Judge&&) noexcept;

  // Values of the reference's local chain by ValueId, to be fed to the device node by node. Computed once.
  // Throws Error if the reference itself refuses the graph (the verdict for a negative case).
  const std::vector<Tensor>& chain();
  // Can be called once per Judge.
  Verdict judge(const RunResult& run);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
