// Finds the patterns of custom kernels in a graph.
#pragma once

#include "backend/device/device.h"
#include "backend/kernels/custom.h"
#include "core/graph/graph.h"

namespace assay::backend {

// The graph with a call of its operator in place of each occurrence of a pattern whose kernel takes it. The
// node keeps the name and the source of the occurrence's last one; values between its nodes have no producer
// any more.
Graph with_custom_kernels(Graph graph, const CustomKernels& kernels, const CoreDescription& core);

}  // namespace assay::backend
