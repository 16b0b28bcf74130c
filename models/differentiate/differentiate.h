// Reverse mode over the graph: joint forward and backward graphs in the same operator set.
#pragma once

#include <string>
#include <vector>

#include "core/graph/builder.h"

namespace assay::models {

struct Seed {
  ValueId value;     // a float tensor of the graph
  ValueId gradient;  // of the same shape and dtype: d(loss) / d(value)
};

// Appends the backward pass of what is built so far and returns d(loss)/d(wrt[i]), zeros where the loss does
// not depend on it. Throws Error{unsupported} that names every operator on the way for which there is no
// rule, and Error{invalid_argument} for seeds or `wrt` that are no float tensors.
std::vector<ValueId> gradients(GraphBuilder& builder, const std::vector<Seed>& seeds,
                               const std::vector<ValueId>& wrt);

struct JointOptions {
  // Targets (GraphInput::target) of the inputs whose gradients are wanted; empty: every float parameter, and
  // every float user input if there is none.
  std::vector<std::string> wrt;
  // Numbers of the user outputs that the loss depends on; empty: all float ones.
  std::vector<int> outputs;
  // A single 0-d output gets the gradient 1; everything else a user input "grad_N", N the output's number.
  bool unit_scalar_loss = true;
};

// The forward graph with its backward pass behind it. Composite operators without a rule of their own are
// decomposed first, those with one that is no combination of their pieces' rules afterwards. Outputs: those
// of the forward graph, then the gradients in order of `wrt`.
Graph joint_graph(const Graph& forward, const JointOptions& options = {});

}  // namespace assay::models
