// Fused operators that have no kernel of their own: their decomposition (core/decompose).
#include "backend/kernels/composed.h"

namespace assay::backend {

void register_composite(KernelTable& table) {
  table.add("assay::gla_recurrent_step.default", run_decomposition);
}

}  // namespace assay::backend
