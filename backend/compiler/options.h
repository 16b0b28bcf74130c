// What can be set on a simulated device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "backend/device/device.h"
#include "backend/simulator/simulator.h"

namespace assay::backend {

// Options that change the Programs that are written.
struct CompileOptions {
  // auto_cast=matmult: f32 operands of the Tensor engine are rounded to this first; unset: none.
  std::optional<DType> matmult_cast;
  // Kernels bring arguments into the range of the activation tables. Off with the quirk activation_range,
  // which is to show what a kernel that trusts the tables computes.
  bool range_reduction = true;
  // Kernels transpose on the Tensor engine even where that spreads NaN. On with the quirk
  // transpose_spreads_nan.
  bool trusts_transpose = false;
  // The stream of a random node: the device's seed and a hash of the node's name (core/philox.h).
  uint64_t draw_seed = 0, draw_key = 0;
  // Physical cores that make a logical one (NEURON_LOGICAL_NC_CONFIG): Programs are divided between as many
  // (core_split.h).
  int lnc = 1;
  // implicit_integer_downcast=default: products of i32 and i64 may pass through the Tensor engine's fp32,
  // exact up to 2^24 (Neuron compiler, EVRF035), and integers of collectives through that of DMA (EVRF061,
  // EVRF063).
  bool integer_downcast = false;
  // Compile mode: tiles that are still in SBUF are not loaded again (residency.h).
  bool fuse = true;
  bool operator==(const CompileOptions&) const = default;
};

struct DeviceOptions {
  Generation target = Generation::trn2;
  CompileOptions compile;
  SimulatorOptions simulator;
  uint64_t cache_bytes = uint64_t{1} << 30;  // largest size of the compile cache on disk; 0 keeps nothing
  int64_t profile_events = 400'000;          // of a trace; launches beyond are shown as one slice each
};

// `target` is "" (trn2) or what parse_target takes. Throws Error{invalid_argument} that names the option and
// what it can be.
DeviceOptions parse_options(const std::string& target, const std::map<std::string, std::string>& options,
                            uint64_t seed);

}  // namespace assay::backend
