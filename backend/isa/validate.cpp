#include "backend/isa/validate.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "backend/isa/rules.h"

namespace assay::backend {
namespace {

using Class = ProgramErrorClass;

[[noreturn]] void fail(Class error_class, const std::string& message) {
  const std::string_view code = code_of(error_class);
  throw ProgramError(error_class, message + (code.empty() ? "" : " [" + std::string(code) + "]"));
}

void check_pools(const Program& p, std::size_t index) {
  const Instruction& i = p.instructions[index];
  const auto inside = [](uint64_t first, uint64_t count, std::size_t size) {
    return count <= size && first <= size - count;
  };
  const std::string where = "instruction #" + std::to_string(index);
  if (static_cast<int>(i.opcode) >= kOpcodes || static_cast<int>(i.engine) >= kEngines ||
      static_cast<int>(i.op0) >= kAluOps || static_cast<int>(i.op1) >= kAluOps ||
      static_cast<int>(i.function) >= kActivations || static_cast<int>(i.routine) >= kGpSimdRoutines ||
      static_cast<int>(i.math) >= kMathFunctions) {
    fail(Class::argument, where + " has an opcode, engine or operator that does not exist");
  }
  if (i.operand_count > kMaxOperands || !inside(i.operands, i.operand_count, p.operands.size()) ||
      (i.wait_count != 0 && !inside(i.waits, i.wait_count, p.waits.size())) ||
      (i.integer_count != 0 && !inside(i.integers, i.integer_count, p.integers.size()))) {
    fail(Class::argument, where + " refers to operands, waits or integers that the Program does not have");
  }
  if (i.node < -1 || i.node >= static_cast<int32_t>(p.nodes.size())) {
    fail(Class::argument, where + " belongs to node number " + std::to_string(i.node) + " of " +
                              std::to_string(p.nodes.size()));
  }
  if (i.signal < -1 || i.signal >= p.semaphores) {
    fail(Class::semaphore,
         where + " signals semaphore " + std::to_string(i.signal) + " of " + std::to_string(p.semaphores));
  }
  if (i.core >= p.cores) {
    fail(Class::argument,
         where + " runs on core " + std::to_string(i.core) + " of " + std::to_string(p.cores));
  }
  if (i.queue >= kDmaQueues) {
    fail(Class::argument,
         where + " uses DMA queue " + std::to_string(i.queue) + " of " + std::to_string(kDmaQueues));
  }
}

void check_tensors(const Program& p, const CoreDescription& core) {
  int64_t total = 0;
  const int64_t limit = chip(core.generation).hbm_bytes;
  for (std::size_t t = 0; t < p.tensors.size(); ++t) {
    const HbmTensor& tensor = p.tensors[t];
    const std::string where = "HBM tensor #" + std::to_string(t) + " (" + tensor.name + ")";
    if (!is_valid(tensor.dtype)) fail(Class::dtype, where + " has no valid dtype");
    if (tensor.elements < 0 || tensor.elements > limit) {
      fail(Class::hbm_out_of_memory, where + " has " + std::to_string(tensor.elements) +
                                         " elements; a chip holds " + std::to_string(limit) + " bytes");
    }
    total += tensor.bytes();
    if (total > limit) {
      fail(Class::hbm_out_of_memory,
           where + ": inputs, outputs and scratch exceed the " + std::to_string(limit) + " bytes of HBM");
    }
    if (tensor.kind == HbmKind::constant) {
      const auto have = static_cast<int64_t>(p.constant_bytes.size());
      if (tensor.constant_offset < 0 || tensor.constant_offset > have ||
          tensor.bytes() > have - tensor.constant_offset) {
        fail(Class::argument,
             where + " lies outside of the Program's " + std::to_string(have) + " constant bytes");
      }
    }
  }
}

// Two engines feeding one queue would leave the order of its copies to chance.
void check_queues(const Program& p) {
  int owner[kMaxCores * kDmaQueues];
  std::fill(std::begin(owner), std::end(owner), -1);
  for (std::size_t index = 0; index < p.instructions.size(); ++index) {
    const Instruction& i = p.instructions[index];
    if (!is_dma(i.opcode)) continue;
    int& engine = owner[ring_of(i)];
    if (engine >= 0 && engine != static_cast<int>(i.engine)) {
      fail(Class::argument, p.describe(index) + ": DMA queue " + std::to_string(i.queue) + " is fed by the " +
                                std::string(name_of(static_cast<Engine>(engine))) + " engine already");
    }
    engine = static_cast<int>(i.engine);
  }
}

// Program order must satisfy every wait: then it is one of the legal orders and the Program cannot deadlock
// in it.
void check_semaphores(const Program& p) {
  if (p.semaphores < 0 || p.semaphores > 65536)
    fail(Class::semaphore, "the number of semaphores is not in [0, 65536]");
  std::vector<int32_t> value(static_cast<std::size_t>(p.semaphores), 0);
  for (std::size_t index = 0; index < p.instructions.size(); ++index) {
    const Instruction& i = p.instructions[index];
    for (const SemaphoreWait& wait : p.waits_of(i)) {
      if (wait.semaphore < 0 || wait.semaphore >= p.semaphores ||
          value[static_cast<std::size_t>(wait.semaphore)] < wait.at_least) {
        fail(Class::semaphore, p.describe(index) + " waits for semaphore " + std::to_string(wait.semaphore) +
                                   " to reach " + std::to_string(wait.at_least) +
                                   ", which no earlier instruction brings about");
      }
    }
    if (i.signal >= 0) ++value[static_cast<std::size_t>(i.signal)];
  }
}

}  // namespace

bool legal_start_partition(int start, int partitions) {
  if (partitions > 64) return start == 0;
  if (partitions > 32) return start == 0 || start == 64;
  return start == 0 || start == 32 || start == 64 || start == 96;
}

void validate_instruction(const Program& program, std::size_t instruction, const CoreDescription& core) {
  check_pools(program, instruction);
  check_rules(program, instruction, core);
}

void validate(const Program& program, const CoreDescription& core) {
  if (program.target != core.generation) {
    fail(Class::argument, std::string("the Program was not written for ") + core.name);
  }
  if (program.cores < 1 || program.cores > (core.generation == Generation::trn1 ? 1 : kMaxCores)) {
    fail(Class::argument, std::string("a logical core of ") + core.name + " cannot have " +
                              std::to_string(program.cores) + " physical ones");
  }
  if (const int64_t most = instructions_of_busiest_core(program); most > core.max_instructions) {
    fail(Class::instruction_limit, "the Program has " + std::to_string(most) +
                                       " instructions of one core; the limit is " +
                                       std::to_string(core.max_instructions.value));
  }
  check_tensors(program, core);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) validate_instruction(program, i, core);
  check_queues(program);
  check_semaphores(program);
}

}  // namespace assay::backend
