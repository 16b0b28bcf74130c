// Who touched which bytes. Internal to isa/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "backend/isa/access_region.h"

namespace assay::backend {

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

  // Records a write to HBM alone; what it overwrites of earlier ones is forgotten. No pattern: somewhere in
  // the region, and what it leaves there are its own sources, so that it stands for them.
  void add_write(const AccessRegion& region, int64_t bytes, std::size_t instruction,
                 const AccessPattern* pattern) {
    for (int64_t b = region.begin / bytes; b * bytes < region.end; ++b) {
      std::vector<Record>& records = bucket(region, b);
      const AccessRegion part = part_in(region, b, bytes);
      if (part.dense || pattern == nullptr) {
        cut_out(records, part);
      } else {
        std::erase_if(records,
                      [&](const Record& r) { return r.pattern != nullptr && *r.pattern == *pattern; });
      }
      records.push_back({part, instruction, pattern});
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
  // Takes the bytes of a dense write out of the records: what is left of a run of bytes is up to two runs.
  static void cut_out(std::vector<Record>& records, const AccessRegion& written) {
    const std::size_t before = records.size();
    std::size_t kept = 0;
    for (std::size_t n = 0; n < before; ++n) {
      const Record record = records[n];
      const AccessRegion& run = record.region;
      if (!overlaps(run, written)) {
        records[kept++] = record;
        continue;
      }
      const auto leave = [&](int64_t begin, int64_t end) {
        if (begin >= end) return;
        Record rest = record;
        rest.region.begin = begin;
        rest.region.end = end;
        records.push_back(rest);
      };
      leave(run.begin, std::min(run.end, written.begin));
      leave(std::max(run.begin, written.end), run.end);
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
inline int64_t bucket_bytes(const Program& program, const AccessRegion& region) {
  if (region.space != Space::hbm) return 1 << 11;
  constexpr int64_t kBuckets = 64;
  return std::clamp<int64_t>(program.tensors[static_cast<std::size_t>(region.tensor)].bytes() / kBuckets,
                             1 << 12, 1 << 20);
}

}  // namespace assay::backend
