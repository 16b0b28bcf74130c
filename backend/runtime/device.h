// One simulated device: memory, Programs, the simulator and the counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/plugin.hpp"
#include "backend/profile/recorder.h"
#include "backend/runtime/disk_cache.h"
#include "backend/runtime/executable.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/program_cache.h"
#include "backend/simulator/timing/clock.h"

namespace assay::backend {

struct DeviceCounters {
  uint64_t instructions = 0, nodes_executed = 0, compiles = 0, memory_hits = 0, disk_hits = 0;
  uint64_t bytes_to_device = 0, bytes_to_host = 0;
  double compile_seconds = 0;
  // Simulated: Programs, their launches by the host and copies between host and device. Cycles are those of
  // the base clock while Programs run.
  double device_seconds = 0;
  uint64_t cycles = 0;
};

class Device {
 public:
  // `cache_dir`: the compile cache on disk, "" for none.
  explicit Device(const DeviceOptions& options, const std::string& cache_dir = "");

  const CoreDescription& core() const { return core_; }
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  const std::string& description() const { return description_; }
  DeviceCounters& counters() { return counters_; }
  int lnc() const { return options_.compile.lnc; }
  // Whether collectives reduce integers in fp32.
  bool integers_through_f32() const {
    return options_.compile.integer_downcast || options_.simulator.quirks.integers_through_fp32;
  }

  struct Support {
    bool supported = false;
    Native native = Native::engines;
    assay_reason reason = ASSAY_REASON_NONE;
    std::string message;
  };
  // Exact: the Program is written (and kept for execute). Counts nothing. Throws Error and plugin::Failure
  // for nodes that are no legal calls.
  Support supports(const plugin::NodeView& node);

  struct Executed {
    CacheHit hit = CacheHit::memory;
    const char* miss_reason = "";  // "" for a hit; lives as long as the device
  };
  // Runs one node on bound memory; sizes are those of the node's metas. Throws plugin::Failure, Error.
  Executed execute(const plugin::NodeView& node, std::span<const HbmBinding> inputs,
                   std::span<const HbmBinding> outputs);

  // The whole graph (catalogue JSON, parameters are inputs) as one Program, from memory or disk where it is
  // there. Throws plugin::Failure{ASSAY_COMPILE_ERROR} that lists everything that is wrong, Error for what is
  // no graph.
  CompileResult compile_graph(std::string_view json);
  // Runs it on bound memory; sizes are those of its metas. Throws plugin::Failure.
  void execute(Executable& executable, std::span<const HbmBinding> inputs,
               std::span<const HbmBinding> outputs);

  // Simulated time: one launch of a Program that takes so long on the device; a copy between host and device.
  void count_execution(double device_seconds, uint64_t cycles);
  void count_copy(bool to_device, uint64_t bytes);
  // A collective that begins at `begin_s` of device time, when the last rank has come, and takes `seconds`.
  void count_collective(std::string_view name, uint64_t bytes, double begin_s, double seconds);

  // Records what is executed from now on, or gives the trace of what was (profile/recorder.h). A recording
  // that was not asked for is an empty array.
  void start_profile();
  std::string finish_profile();

 private:
  CacheEntry& compile(const plugin::NodeView& node, std::string_view key);
  std::optional<CompiledCall> from_disk(const GraphKey& key, std::string& miss);

  DeviceOptions options_;
  const CoreDescription& core_;
  std::shared_ptr<DeviceMemory> memory_;
  std::string description_;
  FunctionalSimulator simulator_;
  Clock clock_;
  std::optional<DiskCache> disk_;
  ProgramCache cache_;
  MissReasons reasons_{"new operator"};
  GraphCache graphs_;
  DeviceCounters counters_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace assay::backend
