// For tests: that a Program which runs again and again allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backend/isa/program.h"
#include "backend/simulator/simulator.h"

namespace assay::backend {

// Of this process so far, through operator new (steady_state.cpp replaces it; not under sanitizers, which
// have their own).
uint64_t allocations();
bool counts_allocations();

// Fails the test if the third run allocates, together or divided. By one worker: with several, who meets a
// kind of work for the first time, and makes its buffers, is chance.
void expect_no_allocations(const Program& program, std::span<const HbmBinding> inputs,
                           std::span<const HbmBinding> outputs, const std::string& what);

}  // namespace assay::backend
