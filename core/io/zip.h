// Reads zip archives that may be hostile. Writes none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace assay {

class ZipArchive {
 public:
  // `bytes` must outlive the archive. Throws Error{malformed_file} naming file and entry: no zip, cut off,
  // more than 100,000 entries, duplicate or unsafe names (absolute, "..", backslash, control characters),
  // encryption, sizes that contradict each other, more than 64 GiB in all, or beyond 64 MiB a ratio of more
  // than 100.
  ZipArchive(std::string_view bytes, std::string origin);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  const std::map<std::string, uint64_t>& entries() const { return sizes_; }  // name -> uncompressed bytes
  bool contains(const std::string& name) const { return sizes_.count(name) != 0; }
  // Throws Error{malformed_file}: no such entry, larger than `limit`, damaged, or not of the size it
  // declares.
  std::string read(const std::string& name, uint64_t limit = uint64_t{64} << 30) const;
  void read_into(const std::string& name, char* destination, uint64_t size) const;

 private:
  struct State;
  std::string origin_;
  std::unique_ptr<State> state_;
  std::map<std::string, uint64_t> sizes_;
};

}  // namespace assay
