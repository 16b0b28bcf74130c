// Bytes and time of a schedule on a group. Needs no data, so that full-size collectives can be costed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/collectives/schedule.h"

namespace assay::backend {

// Payload bytes; what a rank moves within its own memory is in hbm_* only.
struct CollectiveLedger {
  std::vector<int64_t> sent, received;         // by rank, from and to other ranks, on the chip and off it
  std::vector<int64_t> links;                  // by link of the topology: forwarded bytes count on every link
  std::vector<int64_t> hbm_read, hbm_written;  // by chip of the topology
  int64_t on_chip = 0;                         // between ranks of one chip
  int64_t off_chip = 0;                        // between chips, each message once
  int64_t messages = 0;                        // ordered pairs of ranks in a step between which bytes go
  int64_t total() const { return on_chip + off_chip; }  // = the sum of sent, and of received
};
CollectiveLedger collective_ledger(const Schedule& schedule, const Group& group);

// Of the ledger's total, the bytes that pass through a third rank on their way, in closed form: what an
// algorithm moves beyond the fewest bytes there can be (docs/collectives.md, "bytes between ranks").
int64_t staged_bytes(const Schedule& schedule, const Group& group);

struct CollectiveTime {
  double seconds = 0;
  double launch_s = 0;
  double latency_s = 0;  // steps * step_us
  // Seconds of steps beyond their latency, by what limited them: links, streams, HBM.
  double link_s = 0, stream_s = 0, hbm_s = 0;
  int steps = 0;
  // size / seconds, and that times the bus factor; bytes a second.
  double algbw = 0, busbw = 0;
};
// What the busiest link, pair of ranks and chip have to do in a step.
struct StepLoad {
  double link_ns = 0;        // at the links' rates
  int64_t stream_bytes = 0;  // from one rank to one other
  int64_t hbm_bytes = 0;     // read and written on one chip
};
std::vector<StepLoad> step_loads(const Schedule& schedule, const Group& group);

// Of groups that share no core and run collectives of the same kind at the same time, step by step: as ranks
// of a grid do along one of its dimensions. They share links and chips. One schedule a group.
std::vector<StepLoad> step_loads(std::span<const Schedule> schedules, std::span<const Group> groups);

// A step takes step_us and the longest of: a link's bytes at its rate, the bytes from one rank to another at
// stream_bytes_per_ns for each of a rank's cores, and a chip's reads and writes at hbm_efficiency of its HBM
// bandwidth. Steps follow one another; a collective is its launch and its steps. One rank alone costs its
// local copy.
CollectiveTime collective_time(const Schedule& schedule, const Group& group);
// The same collective in each of the groups at the same time, with the algorithm that its size chooses;
// `collective` is one group's. Throws Error{invalid_argument} where groups are none, differ in size or are of
// different topologies.
CollectiveTime concurrent_time(const Collective& collective, std::span<const Group> groups);
// The same of loads and with other constants, as calibration asks.
CollectiveTime collective_time(const std::vector<StepLoad>& steps, const Collective& collective,
                               const Topology& topology, const NeuronLinkDescription& link);

}  // namespace assay::backend
