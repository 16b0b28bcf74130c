// Numbers of the access patterns of a Program.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/isa/program.h"

namespace assay::backend {

// Equal patterns on the chip have the same number, so that what is known of one is found without looking for
// it.
class PatternNumbers {
 public:
  // Replaces what was there; allocates only if the Program has more operands than those before it.
  void assign(const Program& program);
  uint32_t of(const Instruction& i, std::size_t k) const { return numbers_[i.operands + k]; }
  uint32_t count() const { return count_; }  // numbers are 0 .. count - 1

 private:
  std::vector<uint32_t> numbers_;  // by operand in Program::operands; of those in HBM unused
  uint32_t count_ = 0;
  // While numbers are given: the operand that a pattern was met in first, at a place of its hash.
  std::vector<uint32_t> first_;
};

}  // namespace assay::backend
