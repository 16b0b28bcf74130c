// Fusion across kernels: which nodes of a graph run on the same rows one after another, so that what lies
// between them stays in SBUF (kernels/region.h).
//
//   products with what follows   bias, activation, residual, and further products where all rows fit at once
//   normalisation                layer_norm, and its like made of powers, means and multiplications
//   softmax and attention        product, scale, mask, softmax, product with the values; matrix by matrix
//
// Chains of elementwise operators alone are left to residency.h, which lays them out over all partitions.
// Results are those of the nodes one by one, bit for bit: the same instructions compute them, on other tiles.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/compiler/legalise.h"
#include "backend/compiler/storage.h"
#include "backend/isa/program.h"

namespace assay::backend {

struct RegionPlan {
  std::vector<int> nodes;  // ascending; executed where the last of them stands
  int64_t rows = 0;        // of every result, its leading dimensions flattened
  int64_t unit = 0;        // rows of one matrix of a batch; `rows` if there is none
  // The first node is a product that goes over tiles of 128 x 512 itself; the others follow tile by tile.
  bool by_tiles = false;
  // Columns of every result, by node and result.
  std::vector<std::vector<int64_t>> columns;
  // Values (those that hold the bytes) from outside, and those that somebody outside reads.
  std::vector<ValueId> inputs, outputs;
};

std::vector<RegionPlan> plan_regions(const Graph& graph, const Aliases& aliases,
                                     const std::vector<LegalNode>& nodes, const CoreDescription& core);

// Equal for regions with equal Programs, given the text of each node's call.
std::string region_key(const RegionPlan& plan, const Aliases& aliases, const std::vector<LegalNode>& nodes,
                       const std::function<std::string(const OpCall&)>& text);

// The Program of a region; its nodes are numbers into plan.nodes. Throws what kernels throw, ProgramError
// where it does not fit.
Program write_region(const RegionPlan& plan, const Aliases& aliases, const std::vector<LegalNode>& nodes,
                     const CoreDescription& core, const CompileOptions& options);

}  // namespace assay::backend
