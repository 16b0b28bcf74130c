// Where instructions' operands come from.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/isa/program.h"

namespace assay::backend {

// For each instruction, in ascending order, earlier ones that wrote bytes which it reads, in SBUF, PSUM or
// HBM, and that are still there (in HBM: that may be). Executing an instruction after its sources, their
// sources and so on, in program order and nothing else, gives it the operands that the whole Program gives
// it. What an instruction leaves of a destination that it writes partly are its own sources.
std::vector<std::vector<uint32_t>> sources_of(const Program& program);

// For each instruction, in ascending order, earlier ones that touch the same bytes of an output, one of them
// writing; those that follow from the ones given (a before b, b before c) may be left out.
std::vector<std::vector<uint32_t>> earlier_in_outputs(const Program& program);

}  // namespace assay::backend
