// What a DMA instruction asks of the DMA engines.
#pragma once

#include <cstdint>

#include "backend/isa/program.h"

namespace assay::backend {

inline constexpr int kDmaEngines = 16;

// A transfer between HBM and SBUF (or PSUM) is done by the DMA engines of its partitions: 128 / 16 = 8 to an
// engine (nki-dma-overview.rst). One within HBM is split evenly among all. Every engine gets `share` of it,
// the last one `last_share`.
struct Transfer {
  uint8_t first_engine = 0;
  uint8_t engines = 0;      // 0: nothing to move
  bool transposes = false;  // neighbours in HBM are not neighbours at the other end
  uint8_t touches = 0;      // HBM accesses for each byte: read, write, read of the destination
  int64_t descriptors = 0;
  double bytes = 0;  // moved through the DMA engines, all together
  double share = 0;  // of one engine, in (0, 1]; sums to 1 over the engines
  double last_share = 0;
  double extra_ns = 0;  // of one engine, all its descriptors: their fixed time
  double rate = 1;      // of the DMA engine's bandwidth that can be used
  double issue_ns = 0;  // of the descriptor generator
  uint64_t hbm_read = 0, hbm_written = 0, on_chip = 0;  // bytes
};

// A descriptor is a piece that is contiguous on both sides, within one partition. Copies that read HBM along
// the partition dimension are transposes: the hardware does them (v3 on) for 2- and 4-byte elements at
// dma_transpose_efficiency of the bandwidth, otherwise each element is a descriptor.
Transfer transfer_of(const Program& program, const Instruction& instruction, const CoreDescription& core);

}  // namespace assay::backend
