#include "backend/profile/attribution.h"

#include "backend/isa/rules.h"
#include "backend/simulator/timing/instruction_cost.h"
#include "backend/simulator/timing/transfer.h"

namespace assay::backend {
namespace {

constexpr int kFewPartitions = 32;
constexpr int kFewDmaEngines = kFewPartitions * kDmaEngines / 128;
constexpr double kShort = 2;  // times the least that any instruction takes: its length is no matter of work

bool is_spill(const Program& program, const Instruction& i) {
  for (const AccessPattern& a : program.operands_of(i)) {
    if (a.space == Space::hbm &&
        program.tensors[static_cast<std::size_t>(a.tensor)].kind == HbmKind::scratch) {
      return true;
    }
  }
  return false;
}

Cause cause_of_dma(const Program& program, const Instruction& i, const CoreDescription& core) {
  const Transfer t = transfer_of(program, i, core);
  if (t.transposes) return Cause::transposes;
  if (is_spill(program, i)) return Cause::spills;
  if (t.bytes < kTinyTransfer || t.bytes < kTinyPiece * static_cast<double>(t.descriptors)) {
    return Cause::tiny_dmas;
  }
  return t.engines <= kFewDmaEngines ? Cause::load_imbalance : Cause::transfers;
}

Cause cause_of_work(const Program& program, const Instruction& i, const CoreDescription& core) {
  if (i.opcode == Opcode::nc_transpose) return Cause::transposes;
  if (i.operand_count == 0) return Cause::dependencies;
  // The moving operand's partitions are the rows of the array that a product uses.
  const AccessPattern& a = operand(program, i, i.opcode == Opcode::nc_matmul ? 2 : 0);
  const bool is_short = instruction_cycles(program, i, core) < kShort * core.min_initiation_cycles;
  return a.partitions <= kFewPartitions && !is_short ? Cause::load_imbalance : Cause::compute;
}

}  // namespace

std::string_view name_of(Cause cause) {
  constexpr std::string_view kNames[] = {"compute",   "dependencies",   "transposes", "spills",
                                         "tiny_dmas", "load_imbalance", "transfers"};
  return kNames[static_cast<std::size_t>(cause)];
}

Cause cause_of(const Program& program, const PathStep& step, const CoreDescription& core) {
  if (step.instruction >= program.instructions.size()) return Cause::dependencies;
  const Instruction& i = program.instructions[step.instruction];
  if (is_dma(i.opcode)) return cause_of_dma(program, i, core);
  return step.part == PathPart::latency ? Cause::dependencies : cause_of_work(program, i, core);
}

}  // namespace assay::backend
