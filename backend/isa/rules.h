// What each opcode asks of its operands. Part of validate.h; not for other callers.
#pragma once

#include <cstddef>

#include "backend/isa/program.h"

namespace assay::backend {

// Throws ProgramError. The instruction's indices into the pools have been checked.
void check_rules(const Program& program, std::size_t instruction, const CoreDescription& core);

// Operand `k`, or an absent one.
inline const AccessPattern& operand(const Program& program, const Instruction& instruction, std::size_t k) {
  static constexpr AccessPattern none{};
  return k < instruction.operand_count ? program.operands[instruction.operands + k] : none;
}

}  // namespace assay::backend
