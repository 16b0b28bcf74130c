// The compile cache on disk.
//
//   DIR/trainium/STRUCTURE/VERSION-OPTIONS-DTYPES-SHAPES-ARGUMENTS.program
//
// all 64-bit hashes of the key's sections (compiler/graph_key.h). A file holds its whole key, compared when
// it is read, so that hashes that collide are a miss and never another graph's Program. Writers write beside
// and rename: compilers that work on one cache at a time never see half a file, and the last of two equal
// writers wins. DIR/trainium/sizes notes the bytes of what was stored, 8 a file in little endian, so that a
// process need not look at every file to know how full the cache is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compiler/graph_key.h"

namespace assay::backend {

inline constexpr std::string_view kCorruptEntry = "corrupt entry";

class DiskCache {
 public:
  // Makes folders when it first stores. `limit_bytes` of all files; beyond it those used longest ago go.
  DiskCache(std::string directory, uint64_t limit_bytes);

  struct Found {
    std::optional<std::string> bytes;  // what store() was given, if it is there and whole
    uint64_t file_bytes = 0;           // its size on disk
    std::string miss;                  // else why not: as reason_of_miss() says, or kCorruptEntry
    std::string note;                  // what was wrong with a corrupt entry
  };
  // Never throws for what is, or is not, on disk.
  Found load(const GraphKey& key);

  // The file's size; 0 if it could not be written, with the reason in `note`: a cache that is full or cannot
  // be written to costs time and no result.
  uint64_t store(const GraphKey& key, std::string_view bytes, std::string& note);

  // Removes a file that load() gave, but whose Program proved unusable.
  void discard(const GraphKey& key);

  const std::string& directory() const { return directory_; }

 private:
  std::string folder_of(const GraphKey& key) const;
  std::string path_of(const GraphKey& key) const;
  std::string miss_reason(const GraphKey& key);
  void make_room(uint64_t bytes);
  std::optional<uint64_t> noted_bytes() const;
  void note_bytes(uint64_t bytes, bool anew);

  std::string directory_;
  uint64_t limit_bytes_;
  std::optional<uint64_t> used_bytes_;  // as noted or counted, plus what was written since
  // By structure: the entries as listed at the first miss, plus what was stored since. A run of single
  // operators misses thousands of times in one folder.
  std::map<std::string, std::vector<SectionHashes>> entries_;
};

}  // namespace assay::backend
