// The timing reading of a Program: when every instruction would start and end on the device. No data is
// needed or touched, so that full-size models can be costed; functional.cpp is the other reading.
//
// Event driven. An engine issues its instructions in order; one starts when the engine is free and the
// semaphores it waits for have been raised, holds the engine for the cycles of instruction_cost.h and raises
// its own semaphore when its result is in memory. A DMA is handed by its engine to that engine's descriptor
// generator (dma_issue_ns each, one after another), reaches its ring dma_semaphore_ns after it was taken on,
// and is moved by the DMA engines of its partitions (dma_engines.h), which share HBM with the other cores.
//
// The two cores of a Program for a logical core of two run side by side, each with its engines, generators
// and DMA engines, and share the bandwidth of their bank of HBM. Who waits for a semaphore that the other
// core raises notices core_semaphore_ns later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/isa/program.h"

namespace assay::backend {

struct TimingOptions {
  // Cores of the chip that stream from its HBM at the same time, this one included: 1 .. cores of the chip.
  // Two cores that work together have a bank to themselves whatever it is.
  int active_cores = 1;
  // Fill TimingResult::events; costs memory for every instruction and transfer.
  bool events = false;
};

// A Program run `repeats` times in a row, one launch for all. Semaphores start at 0 in each run, and a run
// starts when the one before has finished; every run is timed in full, none is extrapolated.
struct Stretch {
  const Program* program;
  int64_t repeats = 1;
};

// What the time on the critical path was spent on.
enum class PathPart : uint8_t {
  tensor,  // engines, in the order of Engine: instructions executing
  vector,
  scalar,
  gpsimd,
  sync,
  latency,       // dependent instructions and semaphores between engines
  dma_issue,     // waiting for a descriptor generator
  dma_latency,   // from a DMA's trigger to its start
  dma_transfer,  // in a ring or moving
  floor,         // start and stop of the kernel
};
inline constexpr int kPathParts = 10;
std::string_view name_of(PathPart part);

// Tracks: engines, then those of the second core, or rings (queues) of DMA, then those of the second core.
enum class EventKind : uint8_t {
  execute,   // an instruction on its engine's track
  wait,      // an engine waits for a semaphore
  transfer,  // a DMA in its ring, from the start of its first packet to the end of its last
};
struct TimingEvent {
  EventKind kind;
  uint8_t track;         // core * kEngines + engine, or core * kDmaQueues + ring
  uint32_t instruction;  // index into the Program
  int32_t semaphore;     // wait: the one waited for; else the one raised, -1: none
  int64_t cause;         // index of the event that this one waited for (a flow ends here), -1: none
  double start_s, end_s;
};

// A stretch of the critical path.
struct PathStep {
  uint32_t instruction;  // index into the Program; UINT32_MAX: none
  PathPart part;
  double seconds;
};

struct EngineTiming {
  double active_s = 0;     // executing; waiting is not active
  double waiting_s = 0;    // for semaphores, by semaphore in TimingResult::waiting_s
  double contended_s = 0;  // for a memory port or its descriptor generator
  uint64_t instructions = 0;
};
struct DmaEngineTiming {
  double active_s = 0;
  uint64_t bytes = 0;
};

struct TimingResult {
  double seconds = 0;   // from the start of the kernel to its end; the host's launch is not in it
  uint64_t cycles = 0;  // the same in cycles of the core's base clock
  uint64_t instructions = 0;
  std::array<uint64_t, kOpcodes> by_opcode{};
  std::array<EngineTiming, kMaxCores * kEngines> engines{};  // those of the second core after the first's
  std::array<DmaEngineTiming, kMaxCores * kDmaQueues> dma_engines{};
  double dma_active_s = 0;  // at least one DMA engine of a core moves data; of both cores together
  // Bytes that DMA read from and wrote to HBM, by HbmKind of the tensor: scratch is what was spilled.
  std::array<uint64_t, 4> hbm_read{}, hbm_written{};
  uint64_t on_chip_bytes = 0;  // DMA between SBUF and PSUM
  uint64_t transfers = 0, descriptors = 0;
  uint64_t macs = 0;            // multiply-accumulates of products
  uint64_t transpose_macs = 0;  // of the Tensor engine's transposes
  // [engine * semaphores + semaphore] of the Program with the most semaphores, and who raises each: a stream
  // (program.h).
  std::vector<double> waiting_s;
  std::vector<uint8_t> semaphore_stream;
  std::array<double, kPathParts> critical_path_s{};  // adds up to `seconds`
  std::vector<TimingEvent> events;                   // of the last Program's last run, by time of processing
  // With events: the critical path of that run, from its end to its start. Without the floor.
  std::vector<PathStep> path;

  uint64_t hbm_bytes() const;
};

class Clock {
 public:
  // `core` is kept by reference: a copy of core(...) with other constants is how calibration asks "what if".
  // Throws Error{invalid_argument} for active_cores out of range.
  explicit Clock(const CoreDescription& core, const TimingOptions& options = {});
  ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // Throws ProgramError if the semaphores deadlock, Error{invalid_argument} if the Program is for another
  // target or repeats is negative. Buffers are kept: timing again allocates nothing but the result.
  TimingResult time(const Program& program);
  TimingResult time(std::span<const Stretch> stretches);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Name of what raises a semaphore: "vector", "q3", "vector of core 1".
std::string stream_name(int stream);

}  // namespace assay::backend
