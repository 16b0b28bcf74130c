// Compiled graphs of a device: in memory, on disk, and as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compiler/graph_compiler.h"
#include "backend/compiler/graph_key.h"
#include "backend/runtime/disk_cache.h"
#include "backend/runtime/miss_reasons.h"
#include "backend/simulator/prepared.h"

namespace assay::backend {

struct Executable {
  CompiledGraph graph;
  uint64_t artifact_bytes = 0;  // on disk, or as it would be before compression
  // Of one execution on the device, the host's launch not included; set when it is executed first.
  bool timed = false;
  double device_seconds = 0;
  uint64_t device_cycles = 0;
  std::optional<Prepared> prepared;  // for the simulation; set when it is executed again
};

struct CompileResult {
  std::shared_ptr<Executable> executable;
  CacheHit hit = CacheHit::miss;
  std::string miss_reason;  // "" for a hit
  std::string notes;        // of the cache: an entry that was damaged, a disk that is full; "" mostly
};

class GraphCache {
 public:
  // `disk` may be null; it outlives the cache.
  explicit GraphCache(DiskCache* disk) : disk_(disk) {}

  // From memory, from disk, or compiled now. Throws as compile_graph does; a failure is not remembered.
  CompileResult get(const Graph& graph, const CoreDescription& core, const CompileOptions& options,
                    int64_t hbm_bytes);

  // What get() gave for the graph of this very text, as long as it is kept; nullptr if there is none. Spares
  // reading the graph again. For one device: core and options are not compared.
  std::shared_ptr<Executable> find(std::string_view text) const;
  void remember(std::string_view text, const std::shared_ptr<Executable>& executable);

 private:
  void keep(std::string whole_key, std::shared_ptr<Executable> executable);

  DiskCache* disk_;
  std::map<std::string, std::shared_ptr<Executable>> known_;  // by whole key
  std::deque<std::string> kept_;                              // keys of known_, oldest first
  std::size_t kept_bytes_ = 0;
  std::map<std::string, std::weak_ptr<Executable>, std::less<>> texts_;
  std::size_t text_bytes_ = 0;
  MissReasons reasons_{"new graph"};
};

// A compiled graph's Program, source links and statistics; metas are the graph's. read_compiled throws
// Error{malformed_file} for what is none, ProgramError for a Program that the core would refuse, and checks
// that it binds what the graph binds.
std::string write_compiled(const CompiledGraph& graph);
CompiledGraph read_compiled(std::string_view bytes, const Graph& graph, const CoreDescription& core,
                            const std::string& origin);

}  // namespace assay::backend
