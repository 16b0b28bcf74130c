#include "backend/simulator/executor.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/error.h"

namespace assay::backend {
namespace {

const TileKernel& choose_kernel(MatmulKernel wanted) {
  const TileKernel* kernel = nullptr;
  switch (wanted) {
    case MatmulKernel::automatic:
      return best_tile_kernel();
    case MatmulKernel::portable:
      return portable_tile_kernel();
    case MatmulKernel::avx2:
      kernel = avx2_tile_kernel();
      break;
    case MatmulKernel::avx512:
      kernel = avx512_tile_kernel();
      break;
  }
  if (kernel == nullptr) {
    throw Error(ErrorCode::unsupported, "this CPU lacks the instructions of the requested tile kernel");
  }
  return *kernel;
}

}  // namespace

void Execution::trap(TrapKind kind, const std::string& what) const {
  const bool has_node = instruction.node >= 0;
  throw Trap(kind, index,
             has_node ? program.nodes[static_cast<std::size_t>(instruction.node)] : std::string(),
             program.describe(index) + " trapped: " + what);
}

Executor::Executor(const CoreDescription& core, const SimulatorOptions& options, int threads)
    : machine_(core, options, threads),
      tensor_engine_(machine_, choose_kernel(options.matmul)),
      rows_(machine_),
      banks_(static_cast<std::size_t>(core.psum_banks * options.cores)) {}

void Executor::begin(const Program& program, const PatternNumbers& numbers,
                     std::span<const HbmBinding> inputs, std::span<const HbmBinding> outputs) {
  std::size_t next_input = 0, next_output = 0;
  int64_t scratch = 0;
  constexpr int64_t kAlign = 64;
  for (const HbmTensor& tensor : program.tensors) {
    if (tensor.kind == HbmKind::scratch) scratch += (tensor.bytes() + kAlign - 1) / kAlign * kAlign;
  }
  if (scratch_hbm_.size() < static_cast<std::size_t>(scratch))
    scratch_hbm_.resize(static_cast<std::size_t>(scratch));
  std::fill_n(scratch_hbm_.begin(), scratch, std::byte{0xff});  // NaN in every float format
  machine_.hbm.clear();
  int64_t at = 0;
  const auto take = [&](std::span<const HbmBinding> bindings, std::size_t& next, const HbmTensor& tensor) {
    if (next >= bindings.size() || bindings[next].bytes != static_cast<std::size_t>(tensor.bytes())) {
      const std::string got =
          next < bindings.size() ? std::to_string(bindings[next].bytes) + " bytes" : "nothing";
      throw Error(ErrorCode::invalid_argument, "HBM tensor " + tensor.name + " has " +
                                                   std::to_string(tensor.bytes()) + " bytes, but " + got +
                                                   " was bound to it");
    }
    return bindings[next++].data;
  };
  for (const HbmTensor& tensor : program.tensors) {
    switch (tensor.kind) {
      case HbmKind::input:
        machine_.hbm.push_back(take(inputs, next_input, tensor));
        break;
      case HbmKind::output:
        machine_.hbm.push_back(take(outputs, next_output, tensor));
        break;
      case HbmKind::scratch:
        machine_.hbm.push_back(scratch_hbm_.data() + at);
        at += (tensor.bytes() + kAlign - 1) / kAlign * kAlign;
        break;
      case HbmKind::constant:
        // Validation refuses writes to constants.
        machine_.hbm.push_back(const_cast<std::byte*>(program.constant_bytes.data()) +
                               tensor.constant_offset);
        break;
    }
  }
  if (next_input != inputs.size() || next_output != outputs.size()) {
    throw Error(ErrorCode::invalid_argument, "the Program has " + std::to_string(next_input) +
                                                 " inputs and " + std::to_string(next_output) +
                                                 " outputs; bound were " + std::to_string(inputs.size()) +
                                                 " and " + std::to_string(outputs.size()));
  }
  machine_.sbuf.reset();
  machine_.psum.reset();
  numbers_ = &numbers;
  if (written_.size() < numbers.count()) {
    written_.resize(numbers.count());
    written_in_epoch_.resize(numbers.count());
  }
  if (++run_ == 0) {  // numbers of runs begin again
    std::fill(written_.begin(), written_.end(), 0);
    std::fill(written_in_epoch_.begin(), written_in_epoch_.end(), InEpoch{});
    run_ = 1;
  }
  std::fill(banks_.begin(), banks_.end(), Bank{});
  tensor_engine_.begin();
}

void Executor::check_read(const Execution& e, std::size_t k) {
  const AccessPattern& a = e.op(k);
  if (!on_chip(a)) return;
  const bool psum = a.space == Space::psum;
  const bool needs_product =
      k == 0 && e.instruction.opcode == Opcode::nc_matmul && !machine_.core.accumulate_on_any_write;
  const uint32_t number = numbers_->of(e.instruction, k);
  if (needs_product ? is_product(a, number) : written_[number] == run_) return;
  const TileMemory& memory = psum ? machine_.psum : machine_.sbuf;
  mask_.assign(a);
  const auto complain = [&](TrapKind kind, bool by_matmul, const char* what) {
    const int p = memory.first_uninitialized(a, mask_, by_matmul);
    if (p < 0) return;
    e.trap(kind, "operand " + std::to_string(k) + " " + to_string(a) + ": byte " +
                     std::to_string(memory.first_uninitialized_byte(p, mask_, by_matmul)) + " of partition " +
                     std::to_string(p) + what);
  };
  complain(psum ? TrapKind::uninitialized_psum : TrapKind::uninitialized_sbuf, false, " was never written");
  written_[number] = run_;
  if (needs_product)
    complain(TrapKind::psum_accumulate, true, " is accumulated to, but was not written by a matmul");
}

void Executor::check_reads(const Execution& e) {
  const Instruction& i = e.instruction;
  for (std::size_t k = 0; k < i.operand_count; ++k) {
    if (!is_written(i, k)) check_read(e, k);
  }
  const bool accumulates = i.opcode == Opcode::nc_matmul && (i.accumulate || machine_.clears_psum_first(i));
  const bool reads_destination = writes_partly(i) || (is_dma(i.opcode) && i.accumulate);
  if (reads_destination || accumulates) check_read(e, 0);
}

std::span<Executor::Bank> Executor::banks_of(const AccessPattern& psum) {
  const AccessPattern::Extent extent = psum.extent();
  const int64_t bytes = machine_.core.psum_bank_bytes, first = extent.begin / bytes,
                end = (extent.end + bytes - 1) / bytes;
  return std::span(banks_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
}

uint32_t Executor::epoch_of(const AccessPattern& psum) {
  const std::span<Bank> banks = banks_of(psum);
  return std::accumulate(banks.begin(), banks.end(), uint32_t{0},
                         [](uint32_t sum, const Bank& bank) { return sum + bank.epoch; });
}

bool Executor::is_product(const AccessPattern& psum, uint32_t number) {
  const std::span<Bank> banks = banks_of(psum);
  return std::all_of(banks.begin(), banks.end(), [](const Bank& bank) { return bank.by_matmul; }) &&
         written_in_epoch_[number] == InEpoch{run_, epoch_of(psum)};
}

void Executor::begin_write(const AccessPattern& psum, bool by_matmul) {
  for (Bank& bank : banks_of(psum)) {
    if (bank.by_matmul != by_matmul) ++bank.epoch;
    bank.by_matmul = by_matmul;
  }
}

// Another engine than the Tensor engine wrote it.
void Executor::mark_cleared(const AccessPattern& psum, uint32_t number) {
  begin_write(psum, false);
  mask_.assign(psum);
  machine_.psum.mark(psum, mask_, false);
  written_[number] = run_;
}

void Executor::mark_writes(const Execution& e) {
  const Instruction& i = e.instruction;
  for (std::size_t k = 0; k < i.operand_count; ++k) {
    const AccessPattern& a = e.op(k);
    if (!is_written(i, k) || !on_chip(a)) continue;
    const bool psum = a.space == Space::psum, product = i.opcode == Opcode::nc_matmul;
    if (psum) begin_write(a, product);
    TileMemory& memory = psum ? machine_.psum : machine_.sbuf;
    const uint32_t number = numbers_->of(i, k);
    const InEpoch now{run_, psum ? epoch_of(a) : 0};
    if (psum ? written_in_epoch_[number] == now : written_[number] == run_) {
      memory.touch(a);
      continue;
    }
    mask_.assign(a);
    memory.mark(a, mask_, product);
    written_[number] = run_;
    if (psum) written_in_epoch_[number] = now;
  }
}

// Products, and instructions by rows, wait for others of their kind.
void Executor::execute(const Execution& e) {
  if (tensor_engine_.collects(e)) {
    rows_.flush();
    return e.instruction.opcode == Opcode::nc_matmul ? tensor_engine_.matmul(e) : tensor_engine_.transpose(e);
  }
  tensor_engine_.flush();
  if (RowBatch::takes(e)) {
    if (e.instruction.opcode == Opcode::gpsimd && is_indexed(e.instruction.routine)) {
      rows_.flush();
      check_indices(e);
    }
    return rows_.add(e);
  }
  rows_.flush();
  if (e.instruction.opcode == Opcode::nc_transpose) return tensor_engine_.transpose(e);
  if (is_dma(e.instruction.opcode)) return execute_dma(e);
}

void Executor::step(const Execution& e) {
  if (machine_.clears_psum_first(e.instruction)) mark_cleared(e.op(0), numbers_->of(e.instruction, 0));
  if (machine_.options.traps) check_reads(e);
  if (machine_.options.quirks.uninitialized_sbuf && e.instruction.opcode == Opcode::memset &&
      e.op(0).space == Space::sbuf) {
    return;
  }
  execute(e);
  mark_writes(e);
}

void Executor::finish() {
  rows_.flush();
  tensor_engine_.flush();
}

void Executor::discard() {
  rows_.discard();
  tensor_engine_.discard();
}

}  // namespace assay::backend
