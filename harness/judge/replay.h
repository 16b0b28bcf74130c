// Stochastic replays of a graph (NUMERICS, "Models", end to end): how far correct roundings move its outputs.
//
// The fp64 chain (the centre) and R replays with the number type Stochastic walk the graph side by side.
// Decisions (comparisons, top-k, floor, casts to integers) are taken once for all of them: by the device,
// where it returned the node's outputs of the free pass and they are a right choice under the replays'
// spread; else by the centre. A decision that the spread makes uncertain and that the device did not show
// leaves the outputs behind it undetermined.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "core/graph/graph.h"
#include "harness/case/run_result.h"
#include "reference/evaluate.h"

namespace assay {

constexpr int kReplays = 8;
constexpr double kExtrapolation = 8;  // as far as decisions are looked for, and as the limit of the gate

struct ReplayRequest {
  const Graph* graph = nullptr;
  const std::vector<reference::Wide>* inputs = nullptr;  // graph.inputs with a value, in order
  const Contract* contract = nullptr;
  std::string mode;
  const std::map<std::string, std::string>* options = nullptr;
  uint64_t seed = 0;  // the case's: equal seeds give equal draws
  bool witness =
      false;  // the centre comes from float128 where a kernel exists (f64 graphs, the reference itself)
  bool expected = false;  // outputs are compared with a file: mark those behind settled decisions too
  // What the file says, parallel to graph.outputs; null where it says nothing or holds a slice only.
  std::vector<const reference::Wide*> file_outputs;
  const std::vector<NodeOutcome>* device = nullptr;  // free-pass outputs of decisions; null in compile mode
  // The second look at outputs that failed: is it something that a right device can do, though the replays
  // do not show it? Walks with every rounding of every replay kExtrapolation times as large, with either sign
  // (where an output is no straight line over that range, a few replays may miss what a rounding can do to
  // it); with NaN where the Contract lets an intermediate overflow early; with subnormals flushed;
  // and, for a file, in f64 throughout.
  // Three times as dear again.
  bool second_look = false;
};

// One output of the graph (parallel to graph.outputs; empty for constants).
struct ReplayedOutput {
  reference::Wide centre;                // unrounded fp64
  std::vector<reference::Wide> replays;  // kReplays, or empty: all equal the centre
  // 2 kReplays, or empty: replay r with its roundings times kExtrapolation, then times -kExtrapolation.
  std::vector<reference::Wide> extrapolated;
  // In f64 throughout, where a file says what is right; empty without a second look. It differs from the
  // centre where an operator of a narrower dtype holds a number like 0.7 as that dtype does.
  reference::Wide widened;
  // With subnormals flushed before each node that may flush; empty without a second look or if there are
  // none.
  reference::Wide flushed;
  bool rounding = false;  // a rounding point is among its ancestors
  bool zero_sign = true;  // the sign of a zero is defined by every ancestor
  // The file holds other indices of a selection than the device, of equal values: any of them is right.
  bool file_ties = false;
  // By number (complex: parts); empty: none.
  std::vector<bool> overflowing;  // behind an element that may be infinite or NaN on a right device
  std::vector<bool>
      undetermined;  // behind a decision that the spread leaves open and the device did not show
  std::vector<bool>
      contingent;  // behind any decision that the spread leaves open (all if `expected` was set)
  // The output with open decisions taken otherwise (each kind of decision alone and in combination).
  std::vector<reference::Wide> worlds;
};

struct Replay {
  std::vector<ReplayedOutput> outputs;
  bool whole_witness = false;  // the centres come from one float128 walk of the whole graph
  bool flushes = false;        // some node may flush its results
  int64_t uncertain = 0;       // decisions that the spread leaves open and the device did not show
  int64_t followed = 0;        // decisions taken as the device took them
};

Replay replay(const ReplayRequest& request);

// Float inputs decide what the node returns: its result may jump where an input moves by a rounding.
bool is_decision(const OpCall& call, const reference::ErrorModel& model);

}  // namespace assay
