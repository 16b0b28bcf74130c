#include "backend/compiler/linker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/isa/error.h"
#include "backend/isa/synchronize.h"
#include "backend/isa/validate.h"

namespace assay::backend {
namespace {

// The next place of `size` in a ring of `capacity`, of which what was placed last ends at `top`.
int64_t next_place(int64_t& top, int64_t size, int64_t capacity) {
  const int64_t begin = top + size <= capacity ? top : 0;
  top = begin + size;
  return begin;
}

// Kernels trigger all their DMA from one engine, whose loads then stand behind stores that wait for results.
// GpSimd, which has the least to do, takes the stores: loads of later kernels run ahead.
bool is_store(const Program& piece, const Instruction& i) {
  if (i.opcode != Opcode::dma_copy || i.engine != Engine::sync) return false;
  const auto operands = piece.operands_of(i);
  return operands[0].space == Space::hbm && on_chip(operands[1]);
}

}  // namespace

Linker::Linker(const CoreDescription& core, int cores, bool fuse)
    : core_(core), pool_(program_), residency_(program_), fuse_(fuse) {
  program_.target = core.generation;
  program_.cores = cores;
}

void Linker::give_back(int32_t tensor) {
  if (fuse_) residency_.retire(tensor);
  pool_.give_back(tensor);
}

int32_t Linker::input(std::string name, DType dtype, int64_t elements) {
  program_.tensors.push_back({std::move(name), HbmKind::input, dtype, elements, -1});
  return static_cast<int32_t>(program_.tensors.size()) - 1;
}

int32_t Linker::output(std::string name, DType dtype, int64_t elements) {
  program_.tensors.push_back({std::move(name), HbmKind::output, dtype, elements, -1});
  return static_cast<int32_t>(program_.tensors.size()) - 1;
}

int32_t Linker::constant(const Program& piece, const HbmTensor& tensor) {
  const auto* first = piece.constant_bytes.data() + tensor.constant_offset;
  const auto size = static_cast<std::size_t>(tensor.bytes());
  std::string content(reinterpret_cast<const char*>(first), size);
  content += static_cast<char>(tensor.dtype);
  const auto [it, inserted] =
      constants_.try_emplace(std::move(content), static_cast<int32_t>(program_.tensors.size()));
  if (!inserted) return it->second;
  constexpr std::size_t kAlign = 64;
  program_.constant_bytes.resize((program_.constant_bytes.size() + kAlign - 1) / kAlign * kAlign);
  HbmTensor copy = tensor;
  copy.constant_offset = static_cast<int64_t>(program_.constant_bytes.size());
  program_.constant_bytes.insert(program_.constant_bytes.end(), first, first + size);
  program_.tensors.push_back(std::move(copy));
  return it->second;
}

// Pieces start with the first queue of each engine; small ones would use no other.
uint8_t Linker::queue_of(const Instruction& i) {
  const auto [first, count] = queues_of(i.engine);
  if (i.queue < first || i.queue >= first + count) return i.queue;
  return static_cast<uint8_t>(first + transfers_[lane_of(i)]++ % count);
}

void Linker::append(const Program& piece, std::span<const int32_t> inputs, std::span<const int32_t> outputs,
                    std::span<const std::string> names) {
  if (piece.instructions.empty()) return;
  if (static_cast<int64_t>(program_.instructions.size() + piece.instructions.size()) >
      program_.cores * core_.max_instructions) {
    throw ProgramError(ProgramErrorClass::instruction_limit,
                       "the graph needs more than the " + std::to_string(core_.max_instructions.value) +
                           " instructions a core of one Program; use smaller shapes or split the graph [" +
                           std::string(code_of(ProgramErrorClass::instruction_limit)) + "]");
  }
  std::vector<int32_t> tensors, borrowed;
  std::size_t next_input = 0, next_output = 0;
  for (const HbmTensor& tensor : piece.tensors) {
    switch (tensor.kind) {
      case HbmKind::input:
        tensors.push_back(inputs[next_input++]);
        break;
      case HbmKind::output:
        tensors.push_back(outputs[next_output++]);
        break;
      case HbmKind::scratch:
        borrowed.push_back(pool_.take(tensor.bytes()));
        tensors.push_back(borrowed.back());
        break;
      case HbmKind::constant:
        tensors.push_back(constant(piece, tensor));
        break;
    }
  }
  const int64_t sbuf = next_place(sbuf_top_, piece.peak_sbuf_bytes, core_.sbuf_usable_bytes_per_partition);
  const int64_t psum = next_place(psum_top_, piece.peak_psum_banks, core_.psum_banks) * core_.psum_bank_bytes;
  program_.peak_sbuf_bytes = std::max(program_.peak_sbuf_bytes, sbuf_top_);
  program_.peak_psum_banks = std::max(program_.peak_psum_banks, psum_top_);

  const auto first_node = static_cast<int32_t>(program_.nodes.size());
  program_.nodes.insert(program_.nodes.end(), names.begin(), names.end());
  std::vector<int32_t> node_of;
  for (const std::string& node : piece.nodes)
    node_of.push_back(first_node + (names.size() == 1 ? 0 : std::stoi(node)));
  const std::size_t first_instruction = program_.instructions.size();
  const auto first_operand = static_cast<uint32_t>(program_.operands.size());
  const auto first_integer = static_cast<uint32_t>(program_.integers.size());
  for (AccessPattern a : piece.operands) {
    if (a.space == Space::hbm) a.tensor = tensors[static_cast<std::size_t>(a.tensor)];
    if (a.space == Space::sbuf) a.offset += sbuf;
    if (a.space == Space::psum) a.offset += psum;
    program_.operands.push_back(a);
  }
  program_.integers.insert(program_.integers.end(), piece.integers.begin(), piece.integers.end());
  for (Instruction i : piece.instructions) {
    const bool store = is_store(piece, i);
    i.operands += first_operand;
    if (i.integer_count != 0) i.integers += first_integer;
    i.node = i.node < 0 ? first_node : node_of[static_cast<std::size_t>(i.node)];
    i.waits = 0;
    i.wait_count = 0;
    i.signal = -1;
    if (store) {
      i.engine = Engine::gpsimd;
      i.queue = static_cast<uint8_t>(queues_of(Engine::gpsimd).first);
    }
    if (is_dma(i.opcode)) i.queue = queue_of(i);
    program_.instructions.push_back(i);
  }
  if (fuse_) residency_.scan(first_instruction);
  for (const int32_t tensor : borrowed) give_back(tensor);
}

Program Linker::finish() {
  if (fuse_) residency_.remove_dropped();
  synchronize(program_);
  validate(program_, core_);
  return std::move(program_);
}

}  // namespace assay::backend
