// Fusion of chains: what a kernel stores and the next one loads again stays in SBUF.
//
// Looks at a Program while it is linked. A DMA between HBM and SBUF leaves the tile in SBUF equal to the
// bytes in HBM until either is written. A later load of the same bytes into a tile of the same layout is
// dropped, and its readers read the tile that is there. A store whose bytes nobody has loaded when their
// tensor is retired is dropped, too. Values are unchanged, since moves between equal dtypes change no bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "backend/isa/access_region.h"
#include "backend/isa/program.h"

namespace assay::backend {

class Residency {
 public:
  // `program` grows by whole kernels, without semaphores, and outlives this.
  explicit Residency(Program& program) : program_(program) {}

  // Instructions from `first` to the end are one kernel's, new since the last call.
  void scan(std::size_t first);

  // No later instruction reads what the scratch tensor holds now.
  void retire(int32_t tensor);

  // Takes the dropped instructions and their operands out of the Program.
  void remove_dropped();

  int64_t dropped_loads() const { return loads_; }
  int64_t dropped_stores() const { return stores_; }

 private:
  // The tile equals the bytes [begin, end) of the tensor.
  struct Fact {
    int32_t tensor;
    int64_t begin, end;
    AccessPattern tile;
    uint8_t core;
  };
  struct Usage {
    bool kept = false;                // read, or written by what cannot be dropped
    std::vector<std::size_t> stores;  // of tiles
  };

  bool redirect_readers(std::size_t load, const AccessPattern& from, const AccessPattern& to);
  void forget(const AccessRegion& written);

  Program& program_;
  std::vector<Fact> facts_;         // oldest first
  std::map<int32_t, Usage> usage_;  // by tensor
  std::vector<bool> dropped_;       // by instruction
  std::vector<AccessRegion> regions_;
  int64_t loads_ = 0, stores_ = 0;
};

}  // namespace assay::backend
