// What a worker reports about one case in one mode: everything that the judge and the record need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/distributed/traffic.h"
#include "core/graph/graph.h"
#include "harness/record/record.h"

namespace assay {

enum class Placement {
  device,       // engines
  device_soft,  // a documented software routine of the device (GpSimd)
  fallback,     // run by the harness on the host because `supports` said no
  metadata,     // view, permute, alias, getitem, asserts: no arithmetic, outside the residency shares
  host_scalar,  // _operator.*, sym_size, ...: integers of the host program
  not_run,      // the run ended before
};

struct NodeOutcome {
  Placement placement = Placement::not_run;
  std::string reason;  // fallback: reason enum
  std::vector<Tensor>
      local;  // local pass (eager): outputs computed from the reference chain's inputs; else empty
  std::vector<Tensor>
      free;  // free pass outputs where the judge needs them (discontinuous nodes, single nodes)
};

struct RunResult {
  // Set when the run did not produce outputs: unsupported, compile_error, crash, ... with reason and detail.
  std::optional<Status> failure;
  std::string reason, detail;
  std::string failed_node;             // name of the node that was being run, "" if none
  std::vector<NodeOutcome> nodes;      // parallel to graph.nodes; empty in compile mode
  std::vector<Tensor> outputs;         // free pass, parallel to graph.outputs (undefined for constants)
  std::optional<bool> repeatable;      // a second execution gave equal bits; nullopt: not tried
  std::string guard_violation;         // "" or what was overwritten: an input, a guard band
  std::optional<bool> mutant_changed;  // a planted defect changed at least one bit; nullopt: none was planted
  std::vector<Fallback> fallbacks;
  std::optional<Residency> residency;
  Phases phases;
  Compiles compiles;
  std::optional<DeviceCounters> device;
  std::vector<std::string> rank_errors;  // distributed cases: what each rank ended with, "" for nothing
  std::optional<Traffic> traffic;        // distributed cases, if the backend counts
};

}  // namespace assay
