// Orders in which a Program may execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/isa/program.h"

namespace assay::backend {

// A random order among those that the engines' and DMA queues' own orders and the semaphores allow: an engine
// issues in order and blocks on waits; a DMA is issued by its engine and completes later, in its queue's
// order. Every instruction appears once, at its completion. If nothing can proceed the order ends early.
std::vector<std::size_t> shuffled_order(const Program& program, uint64_t seed);

}  // namespace assay::backend
