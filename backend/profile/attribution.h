// Why each stretch of a Program's critical path took its time. Every second has one cause, so causes add up.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/isa/program.h"
#include "backend/simulator/timing/clock.h"

namespace assay::backend {

enum class Cause : uint8_t {
  compute,         // engines at work on at least a quarter of the partitions
  dependencies,    // instructions that wait for the result of the one before
  transposes,      // by an engine, or by DMA that swaps dimensions
  spills,          // DMA of intermediates to and from HBM
  tiny_dmas,       // DMA of pieces below kTinyPiece, or of less than kTinyTransfer in all
  load_imbalance,  // work for few partitions, DMA for few DMA engines: the others have none
  transfers,       // any other DMA
};
inline constexpr int kCauses = 7;
std::string_view name_of(Cause cause);

// nki-dma-bandwidth-guide.rst: below 256 bytes a partition a transfer is all overhead, 2 KiB are recommended;
// the ends of a piece are paid for up to about 512 bytes (derived). Transfers from 32 KiB on are ideal.
inline constexpr double kTinyPiece = 512;
inline constexpr double kTinyTransfer = 32 * 1024;

Cause cause_of(const Program& program, const PathStep& step, const CoreDescription& core);

}  // namespace assay::backend
