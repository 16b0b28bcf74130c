// A device of plain fp32 loops for tests: right by every rule of its Contract, but with sums in an order that
// its seed shuffles, fused or separate multiply-adds, and the C library's float functions. What it does not
// implement it takes from the reference, rounded once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"
#include "harness/case/run_result.h"

namespace assay::testing {

struct DeviceOptions {
  uint64_t seed = 0;
  std::string mutant;         // planted in every node that it applies to
  std::string mutant_node;    // only in the node of this name; "" for all
  bool local_pass = true;     // false: as in compile mode, no per-node results
  bool fallback_all = false;  // pretends that the harness ran everything
};

// fp32 arithmetic and accumulation in any order, correctly rounded basic operations, functions as in glibc.
Contract emulated_contract();

// Runs one call.
std::vector<Tensor> emulate(const OpCall& call, const std::vector<Tensor>& inputs, uint64_t seed);

// Both passes of eager mode. `chain` is Judge::chain().
RunResult run_emulated(const Graph& graph, const std::vector<Tensor>& inputs,
                       const std::vector<Tensor>& chain, const DeviceOptions& options = {});

}  // namespace assay::testing
