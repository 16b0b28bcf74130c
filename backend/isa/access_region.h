// What instructions touch, as boxes of bytes.
#pragma once

#include <cstdint>
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
// Whether everything that may touch bytes of `inner` may touch bytes of `outer`.
bool covers(const AccessRegion& outer, const AccessRegion& inner);
// Whether both may touch the same bytes.
bool overlaps(const AccessRegion& a, const AccessRegion& b);
// Inputs and constants: whoever reads them waits for nobody.
bool never_written(const Program& program, const AccessRegion& region);

}  // namespace assay::backend
