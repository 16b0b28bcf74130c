// A whole graph as one Program.
//
//   legalise   every node's call is checked, every fault collected (compile_error.h)
//   write      the kernel of each distinct call writes a piece, once for all nodes with an equal call:
//   repeated
//              blocks are compiled once
//   place      values in HBM: reinterpretations share bytes, what is no longer needed is reused (storage.h)
//   link       pieces in the graph's order into one Program, going round in SBUF and PSUM (linker.h)
//   fuse       what is still in SBUF is not loaded again, what nobody loads is not stored (residency.h)
//   schedule   semaphores let engines and DMA queues run ahead (isa/synchronize.h)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/compiler/options.h"
#include "backend/isa/program.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay::backend {

struct CompileStatistics {
  int64_t nodes = 0;
  int64_t pieces = 0;                    // distinct calls, each written once
  int64_t reinterpretations = 0;         // nodes without instructions since they share bytes
  int64_t copies = 0;                    // of outputs that share bytes with an input or with another output
  int64_t regions = 0, fused_nodes = 0;  // kernels of several nodes, and these nodes (regions.h)
  int64_t kept_loads = 0, kept_stores = 0;  // DMA that tiles in SBUF make unnecessary (residency.h)
  int64_t scratch_bytes = 0;                // HBM of intermediates
  int64_t scratch_bytes_without_reuse = 0;
};

struct CompiledGraph {
  // Inputs are the graph's tensor inputs in their order (those with a value), outputs the graph's tensor
  // outputs. Program::nodes are names of the graph's nodes.
  Program program;
  std::vector<std::string> sources;  // of Program::nodes: "file.py:12", or ""
  std::vector<TensorMeta> inputs, outputs;
  CompileStatistics statistics;
  std::string diagnostics() const;  // lines for people
};

// Throws CompileFailure with everything that is wrong, Error{invalid_argument} for calls that no device would
// take, Error{malformed_file} for a graph that is none. `hbm_bytes` is what inputs, outputs and scratch may
// take. options.draw_seed is the seed of random nodes; their keys come from their names.
CompiledGraph compile_graph(const Graph& graph, const CoreDescription& core, const CompileOptions& options,
                            int64_t hbm_bytes);

// Metas of the graph's tensor inputs and outputs, as an executable binds them. Throws CompileFailure where
// one is no tensor of known size.
std::vector<TensorMeta> input_metas(const Graph& graph);
std::vector<TensorMeta> output_metas(const Graph& graph);

}  // namespace assay::backend
