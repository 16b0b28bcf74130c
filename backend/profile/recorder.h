// What happens on a device while a profile is recorded, on one time axis of simulated seconds: the trace
// (docs/profile.md) and the summary that goes into it as the metadata event "summary".
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/isa/program.h"
#include "backend/profile/attribution.h"
#include "backend/profile/trace_writer.h"
#include "backend/simulator/timing/clock.h"

namespace assay::backend {

// Whose instructions a Program holds: entry i for Program::nodes[i], the last one for all further nodes.
// Programs of single nodes are shared by equal ones, so that their own names say little.
struct ProfiledNodes {
  std::span<const std::string> names, sources;  // sources: "file.py:12" or ""; may be empty
  std::string_view name(int32_t node) const { return at(names, node); }
  std::string_view source(int32_t node) const { return at(sources, node); }

 private:
  static std::string_view at(std::span<const std::string> list, int32_t node) {
    if (node < 0 || list.empty()) return "";
    return list[std::min(static_cast<std::size_t>(node), list.size() - 1)];
  }
};

class Recorder {
 public:
  // `cores`: physical ones that work together. Instructions and transfers are written up to `max_events`
  // events; launches after that are one slice each.
  Recorder(const CoreDescription& core, int cores, int64_t max_events);

  // One launch of a Program by the host, and its run. `device_bytes` is what else lies in HBM. Throws as
  // Clock::time does.
  void launch(const Program& program, const ProfiledNodes& nodes, uint64_t device_bytes);
  // A copy between host and device.
  void copy(bool to_device, uint64_t bytes, double seconds);
  // A collective operation that nothing hides; the device waits for other ranks before it begins.
  void collective(std::string_view name, uint64_t bytes, double wait_s, double seconds);

  double seconds() const { return now_s_; }
  // The events as a JSON array. The recorder is used up.
  std::string finish();

 private:
  struct NodeTotals {
    std::string source;
    uint64_t launches = 0;
    double seconds = 0;   // on the critical path
    double active_s = 0;  // at least one of its instructions or transfers runs
    double flops = 0, bytes = 0;
    std::array<double, kCauses> causes{};
    double collective_s = 0;  // waiting for other ranks included
  };

  void write_names();
  void write_run(const Program& program, const ProfiledNodes& nodes, const TimingResult& timing,
                 double start_s);
  void write_occupancy(const Program& program, const TimingResult& timing, double start_s);
  void add_active(const Program& program, const ProfiledNodes& nodes, const TimingResult& timing);
  void attribute(const Program& program, const ProfiledNodes& nodes, const TimingResult& timing);
  void add_work(const Program& program);
  std::string summary() const;

  const CoreDescription& core_;
  int cores_;
  int64_t max_events_;
  Clock clock_;
  TraceWriter trace_;
  double now_s_ = 0;
  // Totals.
  TimingResult sum_;  // without per-semaphore and per-event members
  std::map<std::string, NodeTotals, std::less<>> nodes_;
  std::map<std::string, double> waiting_;  // "vector for q3"
  std::array<double, kCauses> causes_{};
  std::array<double, kMaxCores> core_active_s_{};  // at least one engine or transfer of the core
  uint64_t launches_ = 0, launches_not_shown_ = 0, copies_ = 0, copied_bytes_ = 0, collectives_ = 0;
  uint64_t collective_bytes_ = 0, transposed_bytes_ = 0;
  uint64_t sbuf_read_ = 0, sbuf_written_ = 0, psum_read_ = 0, psum_written_ = 0;
  double launch_s_ = 0, copy_s_ = 0, collective_s_ = 0, collective_wait_s_ = 0, adjusted_macs_ = 0;
};

}  // namespace assay::backend
