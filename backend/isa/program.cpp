#include "backend/isa/program.h"

#include <algorithm>
#include <array>

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

bool is_written(const Instruction& i, std::size_t k) {
  return k == 0 || (i.opcode == Opcode::activation && k == 4) ||
         (i.opcode == Opcode::gpsimd && i.routine == GpSimdRoutine::sort && k == 2);
}

bool writes_partly(const Instruction& i) {
  return i.opcode == Opcode::copy_predicated || i.opcode == Opcode::dma_scatter ||
         (i.opcode == Opcode::gpsimd && i.routine == GpSimdRoutine::local_scatter) ||
         (i.opcode == Opcode::dma_gather && i.skip_out_of_bounds);
}

int64_t instructions_of_busiest_core(const Program& program) {
  std::array<int64_t, 256> count{};  // a core's number is a byte
  for (const Instruction& i : program.instructions) ++count[i.core];
  return *std::max_element(count.begin(), count.end());
}

}  // namespace assay::backend
