// How chips are joined and how fast collectives run over that, as data with a source for every constant.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/device/device.h"

namespace assay::backend {

// NeuronLink and the collectives machinery of one generation. Links are directed: a cable counts twice.
struct NeuronLinkDescription {
  Generation generation;
  const char* name;                    // "NeuronLink-v3"
  Sourced<double> link_bytes_per_ns;   // to one neighbour within an instance, one direction
  Sourced<double> outer_bytes_per_ns;  // to one neighbour in the next instance of an UltraServer; 0: none

  Sourced<double>
      collective_launch_us;             // from the trigger of a collective to its first transfer, and its end
  Sourced<double> step_us;              // of one step: semaphore, DMA start, hop
  Sourced<double> stream_bytes_per_ns;  // from one rank to one other, for each physical core of a rank
  Sourced<double> hbm_efficiency;       // share of the chip's HBM bandwidth that collectives reach

  // Sizes at which the algorithm changes, bytes as nccom-test counts them (collective.h, size_bytes).
  Sourced<int64_t> single_step_limit;  // all-reduce: single-step mesh up to here
  Sourced<int64_t> mesh_limit;         // mesh below
  Sourced<int64_t> recursive_limit;    // recursive doubling and halving up to here, ring beyond
};

const NeuronLinkDescription& neuron_link(Generation generation);
std::vector<NamedConstant> constants(const NeuronLinkDescription& link);

// By name. Throws Error{invalid_argument} that lists the known names.
const InstanceDescription& instance(std::string_view name);
// Sizes of the torus of an instance, innermost first: {4, 4}, {4, 4, 4}; {1} for a single chip. Empty where
// every chip reaches every other through a switch.
std::vector<int> torus_sizes(const InstanceDescription& instance);

}  // namespace assay::backend
