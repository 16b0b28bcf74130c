// Semaphores from data dependences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backend/isa/program.h"

namespace assay::backend {

// What an instruction touches, as boxes that contain every byte: a partition range times a byte range (HBM:
// tensor and byte range).
struct AccessRegion {
  Space space;
  int32_t tensor;  // HBM
  int32_t partition_begin, partition_end;
  int64_t begin, end;
  bool write;
  bool dense;  // every byte of the box is touched
  // HBM rows: touched are `width` bytes from `phase` on in every `period`; period 0: not known.
  int64_t period, phase, width;
};
void append_regions(const Program& program, const Instruction& instruction, std::vector<AccessRegion>& out);
// Whether both may touch the same bytes, one of them writing.
bool conflict(const AccessRegion& a, const AccessRegion& b);
// Inputs and constants: whoever reads them waits for nobody.
bool never_written(const Program& program, const AccessRegion& region);

// Replaces all waits and signals by those that order every read-after-write, write-after-read and
// write-after-write between instructions of different engines and DMA queues. Each engine and each queue has
// one semaphore; waits that others imply are left out.
void synchronize(Program& program);

// For each instruction, earlier ones that wrote bytes which it reads, in SBUF, PSUM or HBM: all whose bytes
// may still be there. Executing an instruction after its sources, their sources and so on, in program order
// and nothing else, gives it the operands that the whole Program gives it.
std::vector<std::vector<uint32_t>> sources_of(const Program& program);

// A pair of instructions (earlier, later in program order) that touch the same bytes, one of them writing,
// and that the semaphores do not order; nullopt if there is none. Quadratic in the worst case: for tests.
std::optional<std::pair<std::size_t, std::size_t>> find_race(const Program& program);

}  // namespace assay::backend
