// What the device would refuse, or what would be undefined on it, found without executing.
#pragma once

#include <cstddef>

#include "backend/isa/error.h"
#include "backend/isa/program.h"

namespace assay::backend {

// Checks one instruction: engine, memories, start-partition rule, dtypes, shapes, limits, extents. Throws
// ProgramError.
void validate_instruction(const Program& program, std::size_t instruction, const CoreDescription& core);

// Checks every instruction, the tensor table, indices into the pools (a Program may come from a file) and
// that the semaphores allow program order: no wait on what program order has not signalled yet. Throws
// ProgramError.
void validate(const Program& program, const CoreDescription& core);

// A legal start for `partitions` partitions of an engine operand: > 64 -> 0; > 32 -> 0, 64; else 0, 32,
// 64, 96.
bool legal_start_partition(int start, int partitions);

}  // namespace assay::backend
