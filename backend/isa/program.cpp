#include "backend/isa/program.h"

namespace assay::backend {

int64_t Program::scratch_bytes() const {
  int64_t bytes = static_cast<int64_t>(constant_bytes.size());
  for (const HbmTensor& tensor : tensors) {
    if (tensor.kind == HbmKind::scratch) bytes += tensor.bytes();
  }
  return bytes;
}

std::string Program::describe(std::size_t instruction) const {
  if (instruction >= instructions.size()) return "instruction #" + std::to_string(instruction);
  const Instruction& i = instructions[instruction];
  std::string out{name_of(i.opcode)};
  if (i.opcode == Opcode::gpsimd) out += ":" + std::string(name_of(i.routine));
  out += " #" + std::to_string(instruction);
  if (i.node >= 0 && static_cast<std::size_t>(i.node) < nodes.size()) {
    out += " (node " + nodes[static_cast<std::size_t>(i.node)] + ")";
  }
  return out;
}

}  // namespace assay::backend
