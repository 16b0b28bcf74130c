#include "backend/runtime/program_cache.h"

namespace assay::backend {

CacheEntry* ProgramCache::find(std::string_view key) {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : it->second.get();
}

CacheEntry& ProgramCache::insert(std::string_view key, CompiledCall compiled) {
  auto entry = std::make_unique<CacheEntry>();
  entry->compiled = std::move(compiled);
  return *entries_.emplace(std::string(key), std::move(entry)).first->second;
}

}  // namespace assay::backend
