// Fused operators that have no kernel of their own: their decomposition (core/decompose).
#include "backend/kernels/composed.h"
#include "core/decompose/decompose.h"

namespace assay::backend {
namespace {

void by_decomposition(KernelContext& ctx) {
  Composition composition(ctx);
  for (const ValueId result : composition.builder.node(ctx.call.op(), composition.arguments()))
    composition.builder.output(result);
  Graph graph = composition.builder.build();
  decompose(graph);
  composition.run(graph);
}

}  // namespace

void register_composite(KernelTable& table) {
  for (const char* name : {"assay::gla_chunk.default", "assay::gla_chunk_backward.default",
                           "assay::gla_recurrent_step.default", "assay::muon_orthogonalize.default"}) {
    table.add(name, by_decomposition);
  }
}

}  // namespace assay::backend
