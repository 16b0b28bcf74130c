// The local pass: every node that the device ran, judged alone from exactly known inputs (NUMERICS, "Models",
// eager).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "harness/case/case.h"
#include "harness/case/run_result.h"
#include "harness/judge/expected.h"
#include "harness/judge/node_judge.h"
#include "harness/record/record.h"

namespace assay {

struct LocalRequest {
  const Graph* graph = nullptr;
  const std::vector<reference::Wide>* inputs = nullptr;
  const Contract* contract = nullptr;
  const std::map<std::string, std::string>* options = nullptr;
  std::string mode;
  std::string case_id;
  Checks checks;
  bool backend_is_reference = false;
  bool keep_all_nodes = false;
  const RunResult* run = nullptr;
  const std::vector<Tensor>* chain = nullptr;  // reference::local_chain() of the graph
};

// What a graph of one node returned in the free pass.
struct SingleNode {
  const std::vector<Tensor>* outputs = nullptr;                     // parallel to graph.outputs
  const std::map<std::size_t, ExpectedOutput>* expected = nullptr;  // by output number
};

struct LocalVerdict {
  NodeVerdict total;                         // without nodes that lack a witness
  std::optional<BadNode> first_bad_node;     // in topological order
  std::vector<NodeRecord> nodes;             // failing, or all
  int64_t judged = 0;                        // nodes compared
  std::vector<std::string> without_witness;  // operators, each once
  std::vector<std::string> missing;   // nodes that the device ran, but whose local outputs were not returned
  std::optional<NodeVerdict> single;  // of `single`, where it was judged by the same standard
};

// Walks the chain in which every node is evaluated in fp64 from rounded inputs and rounded once (the values
// that fed the device) and judges NodeOutcome::local of device nodes by their Bound, of metadata nodes bit
// for bit. Fallback nodes and host scalars are not judged. With `single`, of a graph of one node, what its
// free pass returned is judged too, as judge_single_node() does: value and Bound are computed once for both.
LocalVerdict judge_local(const LocalRequest& request, const SingleNode* single = nullptr);

// Gates of a graph of one node on what it returned in the free pass (or by a compiled graph). Outputs that
// are inputs or constants are left to the end-to-end gate.
NodeVerdict judge_single_node(const LocalRequest& request, const SingleNode& single);

// A witness is needed: the device is the reference, or the node computes in f64 and is not exact.
bool needs_witness(const OpCall& call, bool backend_is_reference, bool metadata);

}  // namespace assay
