// Programs of operator calls, compiled once each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/compiler/eager.h"
#include "backend/simulator/prepared.h"

namespace assay::backend {

struct CacheEntry {
  CompiledCall compiled;
  bool from_disk = false;
  std::string miss_reason;  // "" if it was read from disk
  bool executed = false;    // a Program that only `supports` asked for does not count as compiled yet
  // Of one execution on the device, the host's launch not included; set when it is executed first.
  double device_seconds = 0;
  uint64_t device_cycles = 0;
  std::optional<Prepared> prepared;  // for the simulation; set when it is executed again
};

class ProgramCache {
 public:
  // nullptr if the key is new.
  CacheEntry* find(std::string_view key);
  CacheEntry& insert(std::string_view key, CompiledCall compiled);
  std::size_t size() const { return entries_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::unique_ptr<CacheEntry>, Hash, std::equal_to<>> entries_;
};

}  // namespace assay::backend
