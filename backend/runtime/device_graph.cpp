// Compile mode of a device.
#include <chrono>

#include "backend/compiler/compile_error.h"
#include "backend/runtime/device.h"
#include "core/graph/json.h"

namespace assay::backend {

CompileResult Device::compile_graph(std::string_view json) {
  const auto start = std::chrono::steady_clock::now();
  CompileResult out;
  out.executable = graphs_.find(json);
  if (out.executable) {
    out.hit = CacheHit::memory;
  } else {
    const Graph graph = graph_from_json(json, "compiled graph");
    CompileOptions options = options_.compile;
    options.draw_seed = options_.simulator.seed;
    try {
      out = graphs_.get(graph, core_, options, static_cast<int64_t>(memory_->capacity()));
    } catch (const CompileFailure& failure) {
      throw plugin::Failure(ASSAY_COMPILE_ERROR, failure.what(), failure.reason());
    }
    graphs_.remember(json, out.executable);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  counters_.compile_seconds += seconds.count();
  counters_.compiles += out.hit == CacheHit::miss;
  counters_.disk_hits += out.hit == CacheHit::disk;
  counters_.memory_hits += out.hit == CacheHit::memory;
  return out;
}

void Device::execute(Executable& executable, std::span<const HbmBinding> inputs,
                     std::span<const HbmBinding> outputs) {
  const Program& program = executable.graph.program;
  const bool first = !executable.timed;
  if (first) {
    const TimingResult timing = clock_.time(program);
    executable.device_seconds = timing.seconds;
    executable.device_cycles = timing.cycles;
    executable.timed = true;
  }
  const auto scratch = static_cast<uint64_t>(program.scratch_bytes());
  if (scratch > memory_->capacity() - memory_->in_use()) {
    throw plugin::Failure(ASSAY_OUT_OF_MEMORY,
                          "the compiled graph needs " + std::to_string(scratch) +
                              " bytes for intermediates and constants, and " +
                              std::to_string(memory_->in_use()) + " of " +
                              std::to_string(memory_->capacity()) + " bytes of device memory are in use",
                          ASSAY_REASON_MEMORY);
  }
  memory_->touch(scratch);
  if (!first && !executable.prepared) executable.prepared = simulator_.prepare(program);
  const Prepared* const prepared = executable.prepared ? &*executable.prepared : nullptr;
  try {
    counters_.instructions += simulator_.run(program, inputs, outputs, prepared).instructions;
  } catch (const Trap& trap) {
    throw plugin::Failure(ASSAY_EXECUTION_ERROR, "compiled graph, node " + trap.node() + ": " +
                                                     std::string(name_of(trap.kind())) + ": " + trap.what());
  }
  counters_.nodes_executed += static_cast<uint64_t>(executable.graph.statistics.nodes);
  if (!program.instructions.empty()) count_execution(executable.device_seconds, executable.device_cycles);
  if (recorder_) recorder_->launch(program, {program.nodes, executable.graph.sources}, memory_->in_use());
}

}  // namespace assay::backend
