// What an implementation of the Newton-Schulz iterations may be wrong by.
//
// A matrix is multiplied five times by itself: Bounds carried from product to product grow past all use, as
// those of models do, and the largest factor by which a rounding error can grow, p'(0)^steps = 485, says
// nothing about a given matrix. So the operator is judged as a small model is: replayed with every operation
// rounding stochastically, sigma per element from the replays and their typical size, Bound 8 sigma.
#pragma once

#include <vector>

#include "reference/number/bounded.h"

namespace assay::reference {

struct MuonCall;

// Overload of the template in reference/ops/muon.h.
std::vector<Bounded> newton_schulz(const MuonCall& m, std::vector<Bounded> x);

}  // namespace assay::reference
