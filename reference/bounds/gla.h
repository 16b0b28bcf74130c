// What an implementation of gated linear attention may be wrong by: chunked with sub-chunks, or row by row.
#pragma once

#include <vector>

#include "reference/number/bounded.h"

namespace assay::reference {

template <class T>
struct GlaHead;
template <class T>
struct GlaHeadGradients;

// Overloads of the templates in reference/ops/gla.h.
std::vector<Bounded> gla_forward(const GlaHead<Bounded>& head, std::vector<Bounded>& state);
GlaHeadGradients<Bounded> gla_backward(const GlaHead<Bounded>& head, std::vector<Bounded> state,
                                       std::vector<Bounded> grad_state);

}  // namespace assay::reference
