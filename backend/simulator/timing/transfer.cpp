#include "backend/simulator/timing/transfer.h"

#include <algorithm>

#include "backend/isa/rules.h"

namespace assay::backend {
namespace {

// Elements that lie next to each other, in row-major order, from any element's row start on.
int64_t contiguous_run(const AccessPattern& a) {
  int64_t run = 1;
  for (std::size_t k = a.rank; k-- > 0;) {
    if (a.sizes[k] == 1) continue;
    if (a.strides[k] != run) return run;
    run *= a.sizes[k];
  }
  if (a.space == Space::hbm && a.partitions > 1 && a.partition_stride == run) run *= a.partitions;
  return run;
}

int64_t bytes_of(const AccessPattern& a) { return a.elements() * static_cast<int64_t>(size_of(a.dtype)); }

// One side reads or writes HBM with neighbouring partitions next to each other.
bool is_transpose(const AccessPattern& hbm, const AccessPattern& tile) {
  return hbm.space == Space::hbm && on_chip(tile) && hbm.partitions > 1 && hbm.partition_stride == 1 &&
         hbm.free_elements() > 1 && hbm.dtype == tile.dtype &&
         (size_of(hbm.dtype) == 2 || size_of(hbm.dtype) == 4);
}

// Neighbours in HBM lie along a dimension that is not the innermost one.
bool swaps_dimensions(const AccessPattern& hbm) {
  if (hbm.space != Space::hbm) return false;
  bool inner = true;
  for (std::size_t k = hbm.rank; k-- > 0;) {
    if (hbm.sizes[k] == 1) continue;
    if (hbm.strides[k] == 1) return !inner;
    inner = false;
  }
  return !inner && hbm.partitions > 1 && hbm.partition_stride == 1;
}

}  // namespace

Transfer transfer_of(const Program& program, const Instruction& i, const CoreDescription& core) {
  const AccessPattern &dst = operand(program, i, 0), &src = operand(program, i, 1);
  Transfer t;
  t.issue_ns = core.dma_issue_ns;
  const int64_t elements = dst.elements();
  if (elements == 0) return t;
  const int64_t bytes = std::max(bytes_of(dst), elements * static_cast<int64_t>(size_of(src.dtype)));
  const int64_t source_bytes = elements * static_cast<int64_t>(size_of(src.dtype));
  if (src.space == Space::hbm) t.hbm_read += static_cast<uint64_t>(source_bytes);
  if (dst.space == Space::hbm) {
    t.hbm_written += static_cast<uint64_t>(bytes_of(dst));
    if (i.accumulate) t.hbm_read += static_cast<uint64_t>(bytes_of(dst));
  }
  t.transposes = i.opcode == Opcode::dma_copy && swaps_dimensions(src) != swaps_dimensions(dst);
  if (on_chip(src) && on_chip(dst)) t.on_chip = static_cast<uint64_t>(bytes);
  t.touches = static_cast<uint8_t>((src.space == Space::hbm) + (dst.space == Space::hbm) +
                                   (i.accumulate && dst.space == Space::hbm));
  t.bytes = static_cast<double>(bytes);
  t.rate = 1;

  const bool indirect = i.opcode != Opcode::dma_copy;
  const bool transpose =
      !indirect && core.dma_transpose_efficiency > 0 && (is_transpose(src, dst) || is_transpose(dst, src));
  int64_t run = std::min(contiguous_run(src), contiguous_run(dst));
  const AccessPattern& tile = on_chip(dst) ? dst : src;
  if (on_chip(tile)) run = std::min(run, tile.free_elements());
  if (indirect) {  // an index for each element of its own leading dimensions
    const AccessPattern& index = operand(program, i, 2);
    run = std::min(run, std::max<int64_t>(1, elements / std::max<int64_t>(1, index.elements())));
  }
  if (transpose) {
    t.rate = core.dma_transpose_efficiency;
    run = std::max(run, tile.free_elements());
  }
  t.descriptors = (elements + run - 1) / run;
  if (indirect) t.issue_ns += core.software_descriptor_ns * static_cast<double>(t.descriptors);

  if (on_chip(tile)) {
    const int lanes = core.partitions / kDmaEngines;
    const int first = tile.partition_start / lanes,
              last = (tile.partition_start + tile.partitions - 1) / lanes;
    t.first_engine = static_cast<uint8_t>(first);
    t.engines = static_cast<uint8_t>(last - first + 1);
    const double rows = tile.partitions;
    t.share = std::min<double>(lanes, rows) / rows;
    t.last_share = 1 - t.share * (t.engines - 1);
    if (t.last_share <= 0) {  // starts within an engine's lanes: even shares will do
      t.share = t.last_share = 1.0 / t.engines;
    }
  } else {
    const int64_t packets = (bytes + core.dma_packet_bytes - 1) / core.dma_packet_bytes;
    t.engines = static_cast<uint8_t>(
        std::min<int64_t>(kDmaEngines, std::max(packets, std::min<int64_t>(t.descriptors, kDmaEngines))));
    t.first_engine = static_cast<uint8_t>(i.queue % (kDmaEngines - t.engines + 1));
    t.share = t.last_share = 1.0 / t.engines;
  }
  t.extra_ns = core.dma_descriptor_ns * std::max(1.0, static_cast<double>(t.descriptors) * t.share);
  return t;
}

}  // namespace assay::backend
