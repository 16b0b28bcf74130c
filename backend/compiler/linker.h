// Puts the Programs of single calls behind one another in one Program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "backend/compiler/residency.h"
#include "backend/compiler/storage.h"
#include "backend/isa/program.h"

namespace assay::backend {

class Linker {
 public:
  // `cores`: of every piece and of the Program. `fuse`: tiles that are still in SBUF are not loaded again
  // (residency.h).
  Linker(const CoreDescription& core, int cores, bool fuse);

  int32_t input(std::string name, DType dtype, int64_t elements);
  int32_t output(std::string name, DType dtype, int64_t elements);
  // Scratch of the graph: given back when no later piece reads it.
  int32_t take(int64_t bytes) { return pool_.take(bytes); }
  void give_back(int32_t tensor);
  const HbmPool& pool() const { return pool_; }
  const Residency& residency() const { return residency_; }

  // Appends a piece (semaphores not needed): its inputs and outputs become the given tensors of this Program,
  // its scratch is taken from the pool and given back, equal constants are stored once. Pieces go round in
  // SBUF and PSUM, and their DMA through the queues, so that one can begin while the one before ends.
  // Instructions belong to the node `name`, those of a piece of several nodes (regions.h) to names[n], n as
  // the piece calls its node. Throws ProgramError{instruction_limit}.
  void append(const Program& piece, std::span<const int32_t> inputs, std::span<const int32_t> outputs,
              std::span<const std::string> names);

  // Adds the semaphores and validates. Throws ProgramError. The linker is used up.
  Program finish();
  const Program& program() const { return program_; }

 private:
  int32_t constant(const Program& piece, const HbmTensor& tensor);
  uint8_t queue_of(const Instruction& instruction);

  const CoreDescription& core_;
  Program program_;
  HbmPool pool_;
  Residency residency_;
  bool fuse_;
  std::map<std::string, int32_t, std::less<>> constants_;  // by content
  int64_t sbuf_top_ = 0, psum_top_ = 0;
  std::array<int, kMaxCores * kEngines> transfers_{};  // that each engine has triggered
};

}  // namespace assay::backend
