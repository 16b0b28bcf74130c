#include "backend/isa/access_region.h"

#include <algorithm>

#include "backend/isa/rules.h"

namespace assay::backend {
namespace {

// The columns of the inner block are some of the outer one's.
bool columns_within(const AccessRegion& outer, const AccessRegion& inner) {
  if (outer.period == 0 || outer.period != inner.period) return false;
  const int64_t shift = ((inner.phase - outer.phase) % outer.period + outer.period) % outer.period;
  return shift + inner.width <= outer.width;
}

AccessRegion region_of(const AccessPattern& a, bool write) {
  AccessRegion r{};
  r.space = a.space;
  r.tensor = a.space == Space::hbm ? a.tensor : -1;
  const AccessPattern::Extent e = a.extent();
  r.begin = e.begin;
  r.end = e.end;
  r.partition_begin = a.space == Space::hbm ? 0 : a.partition_start;
  r.partition_end = a.space == Space::hbm ? 1 : a.partition_start + a.partitions;
  r.write = write;
  const auto element = static_cast<int64_t>(size_of(a.dtype));
  r.dense = a.is_dense();
  if (a.space == Space::hbm && a.partitions > 1 && a.partition_stride > 0) {
    // What repeats every so many rows (chunks of a sequence) touches the same columns.
    AccessPattern columns = a.partition_slice(0, 1);
    for (std::size_t d = 0; d < columns.rank; ++d) {
      if (columns.strides[d] % a.partition_stride == 0) columns.sizes[d] = 1;
    }
    const AccessPattern::Extent row = columns.extent();
    const int64_t period = a.partition_stride * element;
    if (row.end - row.begin <= period) {
      r.period = period;
      r.phase = row.begin % period;
      r.width = row.end - row.begin;
    }
  }
  return r;
}

}  // namespace

bool overlaps(const AccessRegion& a, const AccessRegion& b) {
  if (a.space != b.space || a.tensor != b.tensor || a.end <= b.begin || b.end <= a.begin) return false;
  if (a.space != Space::hbm) {
    return a.partition_begin < b.partition_end && b.partition_begin < a.partition_end;
  }
  // Two column blocks of the same row-major matrix: their boxes overlap, their columns may not.
  if (a.period > 0 && a.period == b.period) {
    const int64_t shift = ((b.phase - a.phase) % a.period + a.period) % a.period;
    return shift < a.width || shift + b.width > a.period;
  }
  return true;
}

// Boxes do; of column blocks only their columns.
bool covers(const AccessRegion& outer, const AccessRegion& inner) {
  return (outer.dense || outer.period == 0 || columns_within(outer, inner)) && outer.begin <= inner.begin &&
         inner.end <= outer.end && outer.partition_begin <= inner.partition_begin &&
         inner.partition_end <= outer.partition_end;
}

bool conflict(const AccessRegion& a, const AccessRegion& b) { return (a.write || b.write) && overlaps(a, b); }

// Validation refuses writes to them (validate.h).
bool never_written(const Program& program, const AccessRegion& region) {
  if (region.space != Space::hbm) return false;
  const HbmKind kind = program.tensors[static_cast<std::size_t>(region.tensor)].kind;
  return kind == HbmKind::input || kind == HbmKind::constant;
}

void append_regions(const Program& program, const Instruction& i, std::vector<AccessRegion>& out) {
  for (std::size_t k = 0; k < i.operand_count; ++k) {
    const AccessPattern& a = operand(program, i, k);
    if (!a.defined()) continue;
    AccessRegion r = region_of(a, is_written(i, k));
    const bool indirect =
        (i.opcode == Opcode::dma_gather && k == 1) || (i.opcode == Opcode::dma_scatter && k == 0);
    if (indirect) {  // anywhere in the tensor
      r.begin = 0;
      r.end = std::max<int64_t>(program.tensors[static_cast<std::size_t>(a.tensor)].bytes(), r.end);
      r.period = 0;
    }
    // Partial writers leave the rest as it was, and so depend on it.
    if (indirect || writes_partly(i)) r.dense = false;
    out.push_back(r);
  }
}

}  // namespace assay::backend
