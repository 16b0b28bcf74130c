// Random nodes of a model in the run of a backend: later nodes read the reference's draw, which is given to
// the backend as further inputs, so that its outputs can be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor.h"

namespace assay {

struct LiftedDraws {
  Graph graph;
  std::vector<Tensor> inputs;  // of the new graph inputs, which come last
};

// Outputs of random nodes, whose reference values lift_draws needs. Empty for graphs of one node, which are
// judged by their distribution.
std::vector<ValueId> draws_to_lift(const Graph& graph);

// Eager: random nodes stay, at their place, but nobody reads their results. Compile: they are gone, except
// that dropout multiplies by the lifted mask. `names` and `values` hold the reference's values of
// draws_to_lift; `seed` is the one it drew with. nullopt if there is nothing to lift.
std::optional<LiftedDraws> lift_draws(const Graph& graph, std::string_view mode,
                                      const std::vector<std::string>& names,
                                      const std::vector<Tensor>& values, uint64_t seed);

}  // namespace assay
