// Programs for several workers that do not wait for each other.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/isa/program.h"

namespace assay::backend {

// Groups of instructions that neither read what another group writes nor write the same bytes of an output.
// Each executes on a chip and in scratch HBM of its own, in program order, and gives its part of the outputs
// the bits that the whole Program gives it. Instructions that load or form what several groups read are in
// each of these. A worker that executes a group of its own instead of its part of every instruction neither
// waits for others nor takes tiles from their caches.
struct Division {
  struct Step {
    uint32_t instruction;
    bool again;  // an earlier group has it, too
  };
  // Every instruction of the Program is in one at least. Empty: the Program is not worth dividing.
  std::vector<std::vector<Step>> groups;
};

// What a division has to be worth. Tests divide whatever can be divided.
struct DivisionLimits {
  double least_ns = 50e3;  // that the Program takes on one worker
  // What the busiest worker may take of an equal share, with what several groups repeat. More does not pay
  // where cores are near each other: workers that share every instruction share it evenly.
  double most_of_share = 1.03;
};

// For so many workers. Takes time in proportion to the instructions and the bytes of a partition that they
// touch; less than executing them.
Division divide(const Program& program, int workers, const DivisionLimits& limits = {});

}  // namespace assay::backend
