// Why something is compiled again.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/compiler/graph_key.h"

namespace assay::backend {

enum class CacheHit { miss, disk, memory };

// Of what one process has seen and of what the cache on disk says, which may be missing or not writable.
class MissReasons {
 public:
  // `unknown`: the reason where nothing of the key's structure was seen ("new graph").
  explicit MissReasons(std::string unknown) : unknown_(std::move(unknown)) {}

  // What was compiled or read from disk.
  void add(const GraphKey& key) { seen_[key.structure].push_back(hashes_of(key)); }

  // `on_disk`: DiskCache::Found::miss; "" without a disk.
  std::string of(const GraphKey& key, std::string_view on_disk) const {
    if (!on_disk.empty()) return std::string(on_disk);
    const auto it = seen_.find(key.structure);
    if (it == seen_.end()) return unknown_;
    const std::string_view reason = reason_of_miss(hashes_of(key), it->second);
    return reason.empty() ? unknown_ : std::string(reason);
  }

 private:
  std::string unknown_;
  std::map<std::string, std::vector<SectionHashes>> seen_;  // by structure
};

}  // namespace assay::backend
