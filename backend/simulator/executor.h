// Executes instructions one after another. Internal to simulator/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/simulator/machine.h"
#include "backend/simulator/row_batch.h"
#include "backend/simulator/simulator.h"
#include "backend/simulator/tensor_engine.h"

namespace assay::backend {

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

// A machine with what its instructions have been seen to write, and the units that collect instructions.
class Executor {
 public:
  // `threads` work at one instruction, or at several that go together.
  Executor(const CoreDescription& core, const SimulatorOptions& options, int threads);

  // Everything on the chip counts as uninitialised again, scratch HBM as poison. Throws
  // Error{invalid_argument} if bindings do not fit.
  void begin(const Program& program, std::span<const HbmBinding> inputs, std::span<const HbmBinding> outputs);
  // Executes an instruction, or puts it with others that it may be executed with. Throws Trap.
  void step(const Program& program, std::size_t index) {
    step({machine_, program, index, program.instructions[index]});
  }
  // Executes what waits.
  void finish();
  // Forgets what waits (after a trap).
  void discard();

  const SimulatorOptions& options() const { return machine_.options; }
  const CoreDescription& core() const { return machine_.core; }
  WorkerPool& pool() { return machine_.pool; }
  std::string_view matmul_kernel() const { return tensor_engine_.kernel().name; }

 private:
  void step(const Execution& e);
  void execute(const Execution& e);
  void check_reads(const Execution& e);
  void check_read(const Execution& e, std::size_t k);
  void mark_writes(const Execution& e);
  void mark_cleared(const AccessPattern& psum);
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
};

}  // namespace assay::backend
