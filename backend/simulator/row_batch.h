// Instructions whose rows do not depend on each other, executed together. Internal to simulator/.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backend/isa/access_region.h"
#include "backend/simulator/machine.h"

namespace assay::backend {

// What the Vector, Scalar and GpSimd engines do, and most DMA, brings bytes of a partition into the same
// partition. So a sequence of such instructions may be executed partition by partition as well as instruction
// by instruction: each worker takes some partitions through all of them, while these are in its cache, and
// waits for the others once. Instructions between different partitions (a tile that starts elsewhere than its
// source) and those that meet in HBM go on their own.
class RowBatch {
 public:
  explicit RowBatch(Machine& machine);

  // Whether the instruction is executed by rows.
  static bool takes(const Execution& e);

  bool empty() const { return works_.empty(); }
  // Takes an instruction behind those that wait.
  void add(const Execution& e);
  // Executes what waits. Must precede everything that reads or writes what these instructions do.
  void flush();
  // Forgets what waits (after a trap).
  void discard();

 private:
  struct Work {
    Execution execution;
    std::array<Row, kMaxOperands> rows;
    int origin;  // partition of row 0
  };

  bool meets_in_hbm(const Execution& e);
  void execute(const Work& work, int first_partition, int end_partition, Scratch& scratch) const;

  Machine& machine_;
  std::vector<Work> works_;
  std::vector<AccessRegion> hbm_;  // what of it waiting instructions write, and read of what is written
  std::vector<AccessRegion> regions_;
  int64_t elements_ = 0;
};

}  // namespace assay::backend
