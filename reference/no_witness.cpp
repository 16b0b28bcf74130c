// Stands in for reference/witness/ where the compiler has no float128 library: no witness, said so.
#include "reference/evaluate.h"

#ifndef ASSAY_FLOAT128

namespace assay::reference {

std::optional<std::vector<Wide>> evaluate_witness(const OpCall&, const std::vector<const Wide*>&) {
  return std::nullopt;
}
std::optional<std::vector<Wide>> Walker::run_witness(const std::vector<const Wide*>&) const {
  return std::nullopt;
}

}  // namespace assay::reference

#endif
