// Fused operators that have no kernel of their own: their decomposition (core/decompose).
#include "backend/kernels/composed.h"

namespace assay::backend {

void register_composite(KernelTable& table) {
  for (const char* name : {"assay::gla_recurrent_step.default", "assay::muon_orthogonalize.default"}) {
    table.add(name, run_decomposition);
  }
}

}  // namespace assay::backend
