#include "backend/isa/synchronize.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "backend/isa/access_log.h"

namespace assay::backend {
namespace {

// A stream completes its instructions in order. A DMA is issued in its engine's order (after that engine's
// earlier work, and only there it waits) but completes in its queue's.
template <int kCores>
using VectorClock = std::array<int32_t, kCores * kStreams>;  // completed instructions of each stream

template <std::size_t kSize>
void merge(std::array<int32_t, kSize>& into, const std::array<int32_t, kSize>& other) {
  for (std::size_t s = 0; s < kSize; ++s) into[s] = std::max(into[s], other[s]);
}

template <int kCores>
void synchronize_cores(Program& program) {
  using Clock = VectorClock<kCores>;
  const std::size_t n = program.instructions.size();
  std::vector<std::size_t> streams(n);
  std::vector<int32_t> position(n);                 // 1-based, in its stream
  std::vector<Clock> completion(n);                 // what has completed when this instruction has
  std::vector<std::vector<std::size_t>> needed(n);  // instructions whose completion is waited for
  std::array<Clock, kCores * kEngines> known{};     // what an engine knows to have completed
  std::array<Clock, kCores * kDmaQueues> queue_clock{};
  Clock counts{};
  AccessLog log;
  std::vector<AccessRegion> regions;
  std::vector<std::size_t> conflicts;

  for (std::size_t index = 0; index < n; ++index) {
    Instruction& i = program.instructions[index];
    i.signal = -1;
    i.wait_count = 0;
    i.waits = 0;
    const std::size_t stream = stream_of(i);
    streams[index] = stream;
    position[index] = ++counts[stream];
    regions.clear();
    append_regions(program, i, regions);
    conflicts.clear();
    for (const AccessRegion& region : regions) {
      if (never_written(program, region)) continue;
      log.access(region, bucket_bytes(program, region), index, stream, streams, [&](std::size_t j) {
        if (j != index) conflicts.push_back(j);
      });
    }
    // Latest first: what it implies need not be waited for again.
    std::sort(conflicts.begin(), conflicts.end(), std::greater<>());
    conflicts.erase(std::unique(conflicts.begin(), conflicts.end()), conflicts.end());
    Clock& engine_known = known[lane_of(i)];
    const bool dma = is_dma(i.opcode);
    for (std::size_t j : conflicts) {
      const std::size_t s = streams[j];
      if (s == stream) continue;  // a stream is in order
      if (engine_known[s] >= position[j]) continue;
      if (dma && queue_clock[ring_of(i)][s] >= position[j]) continue;
      needed[index].push_back(j);
      merge(engine_known, completion[j]);
    }
    Clock done = engine_known;
    if (dma) {
      merge(done, queue_clock[ring_of(i)]);
      done[stream] = position[index];
      queue_clock[ring_of(i)] = done;
    } else {
      done[stream] = position[index];
      engine_known = done;
    }
    completion[index] = done;
  }

  // A semaphore a stream, raised only by instructions that somebody waits for.
  std::vector<bool> awaited(n, false);
  for (const auto& list : needed) {
    for (std::size_t j : list) awaited[j] = true;
  }
  Clock semaphore;
  semaphore.fill(-1);
  program.semaphores = 0;
  program.waits.clear();
  Clock raised{};
  std::vector<int32_t> value(n, 0);
  for (std::size_t index = 0; index < n; ++index) {
    Instruction& i = program.instructions[index];
    i.waits = static_cast<uint32_t>(program.waits.size());
    for (std::size_t j : needed[index]) program.waits.push_back({semaphore[streams[j]], value[j]});
    i.wait_count = static_cast<uint16_t>(needed[index].size());
    if (awaited[index]) {
      const std::size_t s = streams[index];
      if (semaphore[s] < 0) semaphore[s] = program.semaphores++;
      i.signal = semaphore[s];
      value[index] = ++raised[s];
    }
  }
}

}  // namespace

void synchronize(Program& program) {
  program.cores == 1 ? synchronize_cores<1>(program) : synchronize_cores<kMaxCores>(program);
}

std::optional<std::pair<std::size_t, std::size_t>> find_race(const Program& program) {
  using Clock = VectorClock<kMaxCores>;
  const std::size_t n = program.instructions.size();
  // Clocks from the semaphores alone: a wait implies the completion of the instruction that raised it to that
  // value.
  std::map<std::pair<int32_t, int32_t>, std::size_t> raiser;
  std::vector<int32_t> value(static_cast<std::size_t>(program.semaphores), 0);
  for (std::size_t index = 0; index < n; ++index) {
    const int32_t s = program.instructions[index].signal;
    if (s >= 0) raiser[{s, ++value[static_cast<std::size_t>(s)]}] = index;
  }
  std::vector<Clock> start(n), completion(n);
  std::vector<int32_t> position(n);
  std::vector<std::vector<AccessRegion>> regions(n);
  std::array<Clock, kMaxCores * kEngines> known{};
  std::array<Clock, kMaxCores * kDmaQueues> queue_clock{};
  Clock counts{};
  for (std::size_t index = 0; index < n; ++index) {
    const Instruction& i = program.instructions[index];
    const std::size_t stream = stream_of(i);
    position[index] = ++counts[stream];
    append_regions(program, i, regions[index]);
    Clock& engine_known = known[lane_of(i)];
    for (const SemaphoreWait& wait : program.waits_of(i)) {
      const auto it = raiser.find({wait.semaphore, wait.at_least});
      if (it != raiser.end() && it->second < index) merge(engine_known, completion[it->second]);
    }
    Clock done = engine_known;
    if (is_dma(i.opcode)) merge(done, queue_clock[ring_of(i)]);
    start[index] = done;
    done[stream] = position[index];
    (is_dma(i.opcode) ? queue_clock[ring_of(i)] : engine_known) = done;
    completion[index] = done;
    for (std::size_t j = 0; j < index; ++j) {
      if (start[index][stream_of(program.instructions[j])] >= position[j]) continue;
      for (const AccessRegion& a : regions[index]) {
        for (const AccessRegion& b : regions[j]) {
          if (conflict(a, b)) return std::pair{j, index};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace assay::backend
