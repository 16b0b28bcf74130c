#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <thread>

#include "backend/isa/validate.h"
#include "backend/simulator/machine.h"
#include "backend/simulator/row_batch.h"
#include "backend/simulator/schedule.h"
#include "backend/simulator/simulator.h"
#include "backend/simulator/tensor_engine.h"
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

int choose_threads(int wanted) {
  if (wanted > 0) return std::min(wanted, 64);
  const unsigned cores = std::thread::hardware_concurrency();
  return std::clamp(static_cast<int>(cores), 1, 16);
}

}  // namespace

std::string_view name_of(TrapKind kind) {
  switch (kind) {
    case TrapKind::uninitialized_sbuf:
      return "uninitialized_sbuf";
    case TrapKind::uninitialized_psum:
      return "uninitialized_psum";
    case TrapKind::psum_accumulate:
      return "psum_accumulate";
    case TrapKind::index_out_of_bounds:
      return "index_out_of_bounds";
    case TrapKind::deadlock:
      return "deadlock";
  }
  return "invalid";
}

void Execution::trap(TrapKind kind, const std::string& what) const {
  const bool has_node = instruction.node >= 0;
  throw Trap(kind, index,
             has_node ? program.nodes[static_cast<std::size_t>(instruction.node)] : std::string(),
             program.describe(index) + " trapped: " + what);
}

// An access pattern on the chip in few words.
struct PatternKey {
  std::array<uint64_t, 7> words{};

  explicit PatternKey(const AccessPattern& a) {
    const auto low = [](int64_t v) { return static_cast<uint64_t>(static_cast<uint32_t>(v)); };
    words[0] = static_cast<uint64_t>(a.space) | uint64_t{a.rank} << 8 | static_cast<uint64_t>(a.dtype) << 16 |
               low(a.partition_start) << 24;
    words[1] = low(a.partitions) | low(a.offset) << 32;
    static_assert(kMaxRank == 5);
    for (std::size_t k = 0; k < a.rank; ++k) words[2 + k] = low(a.sizes[k]) | low(a.strides[k]) << 32;
    // Nothing on the chip is larger; a pattern that is is not known.
    for (std::size_t k = 0; k < a.rank; ++k) fits &= a.strides[k] == static_cast<int32_t>(a.strides[k]);
    fits &= a.offset == static_cast<int32_t>(a.offset);
  }
  std::size_t hash() const {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
    uint64_t h = 0;
    for (std::size_t k = 0; k < words.size(); ++k) h += (words[k] ^ words[k] >> 29) * (kOdd + 2 * k * kOdd);
    return static_cast<std::size_t>((h ^ h >> 32) * kOdd >> 32);
  }
  bool fits = true;
};

// Patterns known to be wholly written in this run. Bytes do not become uninitialised again before the next
// run, so neither their flags need to be looked at again, nor set again.
class KnownPatterns {
 public:
  KnownPatterns() : entries_(kEntries) {}
  void forget() {
    if (++run_ == 0) {  // numbers of runs begin again
      std::fill(entries_.begin(), entries_.end(), Entry{});
      run_ = 1;
    }
  }
  // `serial`: valid only together with this number (of writes that could spoil it).
  bool contains(const PatternKey& key, uint32_t serial = 0) const {
    const std::size_t slot = key.hash() % kEntries;
    return holds(entries_[slot], key, serial) || holds(entries_[slot ^ 1], key, serial);
  }
  void insert(const PatternKey& key, uint32_t serial = 0) {
    if (!key.fits) return;
    const std::size_t slot = key.hash() % kEntries;
    // Of two places one that is free, else the one of the hash; what was there moves to the other.
    if (entries_[slot].run == run_) entries_[slot ^ 1] = entries_[slot];
    entries_[slot] = {key.words, serial, run_};
  }

 private:
  struct alignas(64) Entry {
    std::array<uint64_t, 7> words{};
    uint32_t serial = 0;
    uint32_t run = 0;
  };
  bool holds(const Entry& entry, const PatternKey& key, uint32_t serial) const {
    return entry.run == run_ && entry.serial == serial && entry.words == key.words;
  }
  static constexpr std::size_t kEntries = 8192;
  std::vector<Entry> entries_;
  uint32_t run_ = 1;
};

class FunctionalSimulator::Impl {
 public:
  Impl(const CoreDescription& core, const SimulatorOptions& options)
      : machine_(core, options, choose_threads(options.threads)),
        tensor_engine_(machine_, choose_kernel(options.matmul)),
        rows_(machine_),
        banks_(static_cast<std::size_t>(core.psum_banks * options.cores)) {}

  ExecutionCounts run(const Program& program, std::span<const HbmBinding> inputs,
                      std::span<const HbmBinding> outputs);
  std::string_view matmul_kernel() const { return tensor_engine_.kernel().name; }

 private:
  void bind(const Program& program, std::span<const HbmBinding> inputs, std::span<const HbmBinding> outputs);
  void step(const Execution& e);
  void execute(const Execution& e);
  void check_reads(const Execution& e);
  void check_read(const Execution& e, std::size_t k);
  void mark_writes(const Execution& e);
  void mark_cleared(const AccessPattern& psum);
  void count(const Execution& e);
  // A bank of PSUM; an epoch of it ends when the next write is not of the same kind: a matmul's, or another
  // engine's.
  struct Bank {
    uint32_t epoch = 0;
    bool by_matmul = false;
  };
  std::span<Bank> banks_of(const AccessPattern& psum);
  uint32_t epoch_of(const AccessPattern& psum);
  bool is_product(const AccessPattern& psum, const PatternKey& key);  // known to be written by matmuls alone
  void begin_write(const AccessPattern& psum, bool by_matmul);

  Machine machine_;
  TensorEngine tensor_engine_;
  RowBatch rows_;
  std::vector<std::byte> scratch_hbm_;
  ByteMask mask_;
  KnownPatterns written_;           // by anything
  KnownPatterns written_in_epoch_;  // of PSUM, by the kind of write that the epoch has
  std::vector<Bank> banks_;
  ExecutionCounts counts_;
};

void FunctionalSimulator::Impl::bind(const Program& program, std::span<const HbmBinding> inputs,
                                     std::span<const HbmBinding> outputs) {
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
}

void FunctionalSimulator::Impl::check_read(const Execution& e, std::size_t k) {
  const AccessPattern& a = e.op(k);
  if (!on_chip(a)) return;
  const bool psum = a.space == Space::psum;
  const bool needs_product =
      k == 0 && e.instruction.opcode == Opcode::nc_matmul && !machine_.core.accumulate_on_any_write;
  const PatternKey key(a);
  if (needs_product ? is_product(a, key) : written_.contains(key)) return;
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
  written_.insert(key);
  if (needs_product)
    complain(TrapKind::psum_accumulate, true, " is accumulated to, but was not written by a matmul");
}

void FunctionalSimulator::Impl::check_reads(const Execution& e) {
  const Instruction& i = e.instruction;
  for (std::size_t k = 0; k < i.operand_count; ++k) {
    if (!is_written(i, k)) check_read(e, k);
  }
  const bool accumulates = i.opcode == Opcode::nc_matmul && (i.accumulate || machine_.clears_psum_first(i));
  const bool reads_destination = writes_partly(i) || (is_dma(i.opcode) && i.accumulate);
  if (reads_destination || accumulates) check_read(e, 0);
}

std::span<FunctionalSimulator::Impl::Bank> FunctionalSimulator::Impl::banks_of(const AccessPattern& psum) {
  const AccessPattern::Extent extent = psum.extent();
  const int64_t bytes = machine_.core.psum_bank_bytes, first = extent.begin / bytes,
                end = (extent.end + bytes - 1) / bytes;
  return std::span(banks_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
}

uint32_t FunctionalSimulator::Impl::epoch_of(const AccessPattern& psum) {
  const std::span<Bank> banks = banks_of(psum);
  return std::accumulate(banks.begin(), banks.end(), uint32_t{0},
                         [](uint32_t sum, const Bank& bank) { return sum + bank.epoch; });
}

bool FunctionalSimulator::Impl::is_product(const AccessPattern& psum, const PatternKey& key) {
  const std::span<Bank> banks = banks_of(psum);
  return std::all_of(banks.begin(), banks.end(), [](const Bank& bank) { return bank.by_matmul; }) &&
         written_in_epoch_.contains(key, epoch_of(psum));
}

void FunctionalSimulator::Impl::begin_write(const AccessPattern& psum, bool by_matmul) {
  for (Bank& bank : banks_of(psum)) {
    if (bank.by_matmul != by_matmul) ++bank.epoch;
    bank.by_matmul = by_matmul;
  }
}

// Another engine than the Tensor engine wrote it.
void FunctionalSimulator::Impl::mark_cleared(const AccessPattern& psum) {
  begin_write(psum, false);
  mask_.assign(psum);
  machine_.psum.mark(psum, mask_, false);
  written_.insert(PatternKey(psum));
}

void FunctionalSimulator::Impl::mark_writes(const Execution& e) {
  const Instruction& i = e.instruction;
  for (std::size_t k = 0; k < i.operand_count; ++k) {
    const AccessPattern& a = e.op(k);
    if (!is_written(i, k) || !on_chip(a)) continue;
    const bool psum = a.space == Space::psum, product = i.opcode == Opcode::nc_matmul;
    if (psum) begin_write(a, product);
    TileMemory& memory = psum ? machine_.psum : machine_.sbuf;
    const PatternKey key(a);
    const uint32_t epoch = psum ? epoch_of(a) : 0;
    if (psum ? written_in_epoch_.contains(key, epoch) : written_.contains(key)) {
      memory.touch(a);
      continue;
    }
    mask_.assign(a);
    memory.mark(a, mask_, product);
    written_.insert(key);
    if (psum) written_in_epoch_.insert(key, epoch);
  }
}

void FunctionalSimulator::Impl::count(const Execution& e) {
  const Instruction& i = e.instruction;
  ++counts_.instructions;
  ++counts_.by_engine[static_cast<std::size_t>(i.engine)];
  if (i.opcode == Opcode::nc_matmul) {
    counts_.macs += static_cast<uint64_t>(e.op(1).partitions * e.op(0).elements());
  } else if (is_dma(i.opcode)) {
    const auto bytes = [](const AccessPattern& a) {
      return static_cast<uint64_t>(a.elements()) * static_cast<uint64_t>(size_of(a.dtype));
    };
    if (e.op(1).space == Space::hbm) counts_.dma_bytes_read += bytes(e.op(1));
    if (e.op(0).space == Space::hbm) counts_.dma_bytes_written += bytes(e.op(0));
  }
}

// Products, and instructions by rows, wait for others of their kind.
void FunctionalSimulator::Impl::execute(const Execution& e) {
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

void FunctionalSimulator::Impl::step(const Execution& e) {
  if (machine_.clears_psum_first(e.instruction)) mark_cleared(e.op(0));
  if (machine_.options.traps) check_reads(e);
  if (machine_.options.quirks.uninitialized_sbuf && e.instruction.opcode == Opcode::memset &&
      e.op(0).space == Space::sbuf) {
    return count(e);
  }
  execute(e);
  mark_writes(e);
  count(e);
}

ExecutionCounts FunctionalSimulator::Impl::run(const Program& program, std::span<const HbmBinding> inputs,
                                               std::span<const HbmBinding> outputs) {
  if (program.cores > machine_.options.cores) {
    throw Error(ErrorCode::invalid_argument, "the Program is for " + std::to_string(program.cores) +
                                                 " physical cores, the device has " +
                                                 std::to_string(machine_.options.cores) + "; set lnc=2");
  }
  if (machine_.options.validate) validate(program, machine_.core);
  bind(program, inputs, outputs);
  machine_.sbuf.reset();
  machine_.psum.reset();
  written_.forget();
  written_in_epoch_.forget();
  std::fill(banks_.begin(), banks_.end(), Bank{});
  tensor_engine_.discard();
  counts_ = {};
  const std::size_t n = program.instructions.size();
  try {
    if (machine_.options.shuffle) {
      const std::vector<std::size_t> order = shuffled_order(program, machine_.options.shuffle_seed);
      for (std::size_t index : order) step({machine_, program, index, program.instructions[index]});
      if (order.size() != n) {
        throw Trap(TrapKind::deadlock, order.size(), "",
                   "deadlock: " + std::to_string(n - order.size()) + " of " + std::to_string(n) +
                       " instructions wait for semaphores that nothing will signal");
      }
    } else {
      for (std::size_t index = 0; index < n; ++index)
        step({machine_, program, index, program.instructions[index]});
    }
    rows_.flush();
    tensor_engine_.flush();
  } catch (...) {
    rows_.discard();
    tensor_engine_.discard();
    throw;
  }
  return counts_;
}

FunctionalSimulator::FunctionalSimulator(const CoreDescription& core, const SimulatorOptions& options)
    : impl_(std::make_unique<Impl>(core, options)) {}
FunctionalSimulator::~FunctionalSimulator() = default;

ExecutionCounts FunctionalSimulator::run(const Program& program, std::span<const HbmBinding> inputs,
                                         std::span<const HbmBinding> outputs) {
  return impl_->run(program, inputs, outputs);
}

std::string_view FunctionalSimulator::matmul_kernel() const { return impl_->matmul_kernel(); }

}  // namespace assay::backend
