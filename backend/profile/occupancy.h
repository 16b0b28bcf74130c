// How much of a core's SBUF and PSUM holds data that somebody still reads, over the time of one run.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/isa/program.h"
#include "backend/simulator/timing/clock.h"

namespace assay::backend {

struct OccupancySample {
  double at_s;
  int64_t value;  // from then on
};
struct Occupancy {
  std::vector<OccupancySample> sbuf_bytes;  // a partition, in pieces of 64 bytes
  std::vector<OccupancySample> psum_banks;
};
// A piece is in use from the start of what writes it to the end of what reads it last before it is written
// anew. `timing` must hold events.
Occupancy occupancy_of(const Program& program, const CoreDescription& description, int core,
                       const TimingResult& timing);

}  // namespace assay::backend
