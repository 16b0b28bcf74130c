// Semaphores from data dependences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backend/isa/program.h"

namespace assay::backend {

// Replaces all waits and signals by those that order every read-after-write, write-after-read and
// write-after-write between instructions of different engines and DMA queues. Each engine and each queue has
// one semaphore; waits that others imply are left out.
void synchronize(Program& program);

// A pair of instructions (earlier, later in program order) that touch the same bytes, one of them writing,
// and that the semaphores do not order; nullopt if there is none. Quadratic in the worst case: for tests.
std::optional<std::pair<std::size_t, std::size_t>> find_race(const Program& program);

}  // namespace assay::backend
