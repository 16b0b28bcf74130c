// A node ranks::* (docs/distributed.md) on the simulated devices of its ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/plugin.hpp"
#include "backend/runtime/device.h"
#include "backend/runtime/executable.h"

namespace assay::backend {

bool is_rank_collective(const std::string& op);

// Whether the devices of a world can carry the call out; counts nothing. Throws plugin::Failure for nodes
// that are no legal calls.
Device::Support supports_collective(const Device& device, int world, const plugin::NodeView& node);

struct CollectiveReport {
  const char* algorithm = "";            // of backend/collectives/schedule.h
  std::vector<uint64_t> sent, received;  // by entry of `ranks`, payload bytes from and to others
  uint64_t staged = 0;                   // bytes beyond the fewest there can be, in closed form
};

// `ranks[i]` is the logical core cores[i] of the smallest instance of its generation that has `world` cores;
// inputs and outputs are bound memory, one of each for every entry. Executes the schedule that the size
// chooses, and lets every device wait until the last one has come. Throws plugin::Failure and Error.
CollectiveReport run_collective(std::span<Device* const> ranks, const std::vector<int>& cores, int world,
                                const plugin::NodeView& node, std::span<const HbmBinding> inputs,
                                std::span<const HbmBinding> outputs);

}  // namespace assay::backend
