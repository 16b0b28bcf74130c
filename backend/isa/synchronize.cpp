#include "backend/isa/synchronize.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "backend/isa/rules.h"

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

// The columns of the inner block are some of the outer one's.
bool columns_within(const AccessRegion& outer, const AccessRegion& inner) {
  if (outer.period == 0 || outer.period != inner.period) return false;
  const int64_t shift = ((inner.phase - outer.phase) % outer.period + outer.period) % outer.period;
  return shift + inner.width <= outer.width;
}

// Whether everything that overlaps(inner) overlaps(outer). Boxes do; of column blocks only their columns.
bool covers(const AccessRegion& outer, const AccessRegion& inner) {
  return (outer.dense || outer.period == 0 || columns_within(outer, inner)) && outer.begin <= inner.begin &&
         inner.end <= outer.end && outer.partition_begin <= inner.partition_begin &&
         inner.partition_end <= outer.partition_end;
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

// Who touched a memory last, in buckets of bytes so that a query meets few records.
class AccessLog {
 public:
  struct Record {
    AccessRegion region;
    std::size_t instruction;
    const AccessPattern* pattern = nullptr;  // of add_write
  };

  // Calls `conflict(instruction)` for every earlier access that must complete first, then records this one.
  // Buckets of one memory are always of `bytes`.
  template <typename F>
  void access(const AccessRegion& region, int64_t bytes, std::size_t instruction, std::size_t stream,
              const std::vector<std::size_t>& streams, F conflict) {
    for (int64_t b = region.begin / bytes; b * bytes < region.end; ++b) {
      std::vector<Record>& records = bucket(region, b);
      const AccessRegion part = part_in(region, b, bytes);
      std::size_t kept = 0;
      for (const Record& record : records) {
        if ((record.region.write || region.write) && overlaps(record.region, part))
          conflict(record.instruction);
        // A record is superseded if everything that would conflict with it conflicts with this access too.
        const bool superseded = region.write
                                    ? covers(part, record.region)
                                    : !record.region.write && streams[record.instruction] == stream &&
                                          covers(part, record.region);
        if (!superseded) records[kept++] = record;
      }
      records.resize(kept);
      records.push_back({part, instruction, nullptr});
    }
  }

  // Records a write alone; what it overwrites of earlier ones is forgotten: a `whole` one writes every byte
  // of its pattern.
  void add_write(const AccessRegion& region, int64_t bytes, std::size_t instruction,
                 const AccessPattern& pattern, bool whole) {
    for (int64_t b = region.begin / bytes; b * bytes < region.end; ++b) {
      std::vector<Record>& records = bucket(region, b);
      const AccessRegion part = part_in(region, b, bytes);
      if (part.dense) {
        cut_out(records, part);
      } else if (whole) {
        std::erase_if(records, [&](const Record& r) { return *r.pattern == pattern; });
      }
      records.push_back({part, instruction, &pattern});
    }
  }
  // Calls `found(instruction)` for every recorded write of these bytes; records nothing.
  template <typename F>
  void find_writes(const AccessRegion& region, int64_t bytes, F found) const {
    for (int64_t b = region.begin / bytes; b * bytes < region.end; ++b) {
      const auto it = buckets_.find(key_of(region, b));
      if (it == buckets_.end()) continue;
      for (const Record& record : it->second) {
        if (record.region.write && overlaps(record.region, region)) found(record.instruction);
      }
    }
  }

 private:
  // Takes the bytes of a dense write out of the records: what is left of a box is up to four boxes.
  static void cut_out(std::vector<Record>& records, const AccessRegion& written) {
    const std::size_t before = records.size();
    std::size_t kept = 0;
    for (std::size_t n = 0; n < before; ++n) {
      const Record record = records[n];
      const AccessRegion& box = record.region;
      if (!overlaps(box, written)) {
        records[kept++] = record;
        continue;
      }
      const auto leave = [&](int32_t partition_begin, int32_t partition_end, int64_t begin, int64_t end) {
        if (partition_begin >= partition_end || begin >= end) return;
        Record rest = record;
        rest.region.partition_begin = partition_begin;
        rest.region.partition_end = partition_end;
        rest.region.begin = begin;
        rest.region.end = end;
        records.push_back(rest);
      };
      const int32_t first = std::max(box.partition_begin, written.partition_begin);
      const int32_t last = std::min(box.partition_end, written.partition_end);
      leave(box.partition_begin, first, box.begin, box.end);
      leave(last, box.partition_end, box.begin, box.end);
      leave(first, last, box.begin, std::min(box.end, written.begin));
      leave(first, last, std::max(box.begin, written.end), box.end);
    }
    records.erase(records.begin() + static_cast<std::ptrdiff_t>(kept),
                  records.begin() + static_cast<std::ptrdiff_t>(before));
  }

  using Key = std::pair<int64_t, int64_t>;
  static Key key_of(const AccessRegion& region, int64_t bucket) {
    return {static_cast<int64_t>(region.space) << 32 | (region.tensor + 1), bucket};
  }
  // What of an access lies in the bucket.
  static AccessRegion part_in(AccessRegion region, int64_t b, int64_t bytes) {
    region.begin = std::max(region.begin, b * bytes);
    region.end = std::min(region.end, (b + 1) * bytes);
    return region;
  }
  std::vector<Record>& bucket(const AccessRegion& region, int64_t b) { return buckets_[key_of(region, b)]; }

  std::map<Key, std::vector<Record>> buckets_;
};

// Small enough that few records share a bucket, large enough that an access has few buckets.
int64_t bucket_bytes(const Program& program, const AccessRegion& region) {
  if (region.space != Space::hbm) return 1 << 11;
  constexpr int64_t kBuckets = 64;
  return std::clamp<int64_t>(program.tensors[static_cast<std::size_t>(region.tensor)].bytes() / kBuckets,
                             1 << 12, 1 << 20);
}

}  // namespace

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

namespace {

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

std::vector<std::vector<uint32_t>> sources_of(const Program& program) {
  const std::size_t n = program.instructions.size();
  std::vector<std::vector<uint32_t>> out(n);
  AccessLog log;
  std::vector<AccessRegion> regions;
  for (std::size_t index = 0; index < n; ++index) {
    const Instruction& i = program.instructions[index];
    regions.clear();
    append_regions(program, i, regions);
    std::vector<uint32_t>& sources = out[index];
    for (const AccessRegion& region : regions) {
      const bool read = !region.write || i.accumulate || writes_partly(i);
      if (!read || never_written(program, region)) continue;
      log.find_writes(region, bucket_bytes(program, region),
                      [&](std::size_t j) { sources.push_back(static_cast<uint32_t>(j)); });
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    std::size_t r = 0;
    for (std::size_t k = 0; k < i.operand_count; ++k) {
      const AccessPattern& pattern = operand(program, i, k);
      if (!pattern.defined()) continue;
      const AccessRegion& region = regions[r++];
      if (!region.write) continue;
      // What an instruction leaves of a tensor in HBM are its own sources, so that it stands for all of them:
      // thousands of scatters into one table have one source each.
      const bool stands_for_all = !writes_partly(i) || region.space == Space::hbm;
      log.add_write(region, bucket_bytes(program, region), index, pattern, stands_for_all);
    }
  }
  return out;
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
