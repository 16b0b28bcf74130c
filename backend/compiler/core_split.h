// Divides a kernel's Program between the two physical cores of a logical one (LNC 2).
//
// Owner computes: every instruction that writes HBM goes to one core, and each core gets what its writes need
// from SBUF and PSUM: backwards through all that wrote it. What both need (a weight that all rows use) both
// execute. So a core's results come about by the same instructions in the same order as on one core, bit for
// bit; where one core reads what the other wrote, they meet in HBM and a semaphore orders them
// (isa/sources.h).
//
// Writes that read what earlier writes of the kernel stored form a stage of their own; each stage is cut into
// a first and a last part where the slower of the two cores takes least, which is where kernels tile: blocks
// of rows or columns, heads, tiles of elements.
#pragma once

#include "backend/compiler/options.h"
#include "backend/isa/program.h"

namespace assay::backend {

// `program` is of one core; semaphores that it has are given up, and the result has none. All instructions
// stay on core 0 where there is little to gain: less than the time that a semaphore takes from core to core.
Program split_over_cores(Program program, const CoreDescription& core);

// The fastest by the clock of a kernel's Programs on a pair of cores, with semaphores: `whole` (as for one
// core) on one of them or divided, `halves` (written for LNC 2, in smaller tiles where it takes those to
// divide it) divided.
Program fastest_on_two_cores(const Program& whole, const Program& halves, const CoreDescription& core);

// The same of the Programs that `write` makes with options of LNC 1 and 2.
template <typename Write>
Program fastest_on_two_cores(CompileOptions options, const CoreDescription& core, const Write& write) {
  options.lnc = 2;
  const Program halves = write(options);
  options.lnc = 1;
  return fastest_on_two_cores(write(options), halves, core);
}

}  // namespace assay::backend
