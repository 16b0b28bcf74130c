#include "backend/runtime/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/io/file.h"
#include "core/philox.h"

namespace assay::backend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "ASSAYPRG1";
constexpr std::string_view kSuffix = ".program";
constexpr uint64_t kMaxContent = uint64_t{4} << 30;
constexpr int kCompression = 1;
constexpr std::string_view kSizes = "/sizes";
constexpr std::size_t kMaxSizes = std::size_t{1} << 20;  // entries; a longer note is counted anew

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// Magic, then a zstd frame, with its checksum, of the key's length, the key and the content.
std::string pack(const std::string& key, std::string_view content) {
  std::string plain;
  const uint64_t size = key.size();
  plain.append(reinterpret_cast<const char*>(&size), sizeof size);
  plain += key;
  plain += content;
  // Its tables are larger than most entries.
  static thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) return "";
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompression);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(kMagic);
  out.resize(kMagic.size() + ZSTD_compressBound(plain.size()));
  const std::size_t packed = ZSTD_compress2(context.get(), out.data() + kMagic.size(),
                                            out.size() - kMagic.size(), plain.data(), plain.size());
  if (ZSTD_isError(packed)) return "";
  out.resize(kMagic.size() + packed);
  return out;
}

// The content of a file for this key; nullopt with a note if the file is damaged, without one if it is
// another key's.
std::optional<std::string> unpack(std::string_view file, const std::string& key, std::string& note) {
  const auto damaged = [&](const std::string& what) {
    note = what;
    return std::nullopt;
  };
  if (!file.starts_with(kMagic)) return damaged("no cache entry of this format");
  file.remove_prefix(kMagic.size());
  const unsigned long long size = ZSTD_getFrameContentSize(file.data(), file.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxContent) {
    return damaged("no zstd frame of known size");
  }
  if (size < sizeof(uint64_t)) return damaged("too short");
  // A frame compresses by less than this; what claims more is no entry of ours.
  if (size / 60000 > file.size()) return damaged("an impossible size");
  std::string plain(static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), file.data(), file.size());
  if (ZSTD_isError(got)) return damaged(ZSTD_getErrorName(got));
  if (got != plain.size()) return damaged("cut off");
  uint64_t key_size = 0;
  std::memcpy(&key_size, plain.data(), sizeof key_size);
  if (key_size > plain.size() - sizeof key_size) return damaged("a key longer than the file");
  if (std::string_view(plain).substr(sizeof key_size, key_size) != key) return std::nullopt;
  return plain.substr(sizeof key_size + static_cast<std::size_t>(key_size));
}

bool write_beside_and_rename(const std::string& path, std::string_view bytes, std::string& note) {
  static std::atomic<unsigned> counter{0};
  const std::string temporary =
      path + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp";
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  bool good = file >= 0;
  // Not flushed to the disk: an entry that a crash of the machine tears has a wrong checksum.
  for (std::size_t done = 0; good && done < bytes.size();) {
    const ssize_t put = ::write(file, bytes.data() + done, bytes.size() - done);
    if (put > 0) done += static_cast<std::size_t>(put);
    if (put == 0 || (put < 0 && errno != EINTR)) good = false;
  }
  if (!good) note = std::strerror(errno);
  if (file >= 0 && ::close(file) != 0 && good) {
    good = false;
    note = std::strerror(errno);
  }
  if (good && ::rename(temporary.c_str(), path.c_str()) != 0) {
    good = false;
    note = std::strerror(errno);
  }
  if (!good && file >= 0) ::unlink(temporary.c_str());
  return good;
}

// The sections' hashes in a file's name.
std::optional<SectionHashes> parse_name(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  SectionHashes out{};
  if (name.size() != out.size() * 17 - 1) return std::nullopt;
  for (std::size_t s = 0; s < out.size(); ++s) {
    const char* first = name.data() + s * 17;
    const auto [end, error] = std::from_chars(first, first + 16, out[s], 16);
    if (error != std::errc() || end != first + 16) return std::nullopt;
  }
  return out;
}

}  // namespace

DiskCache::DiskCache(std::string directory, uint64_t limit_bytes)
    : directory_(std::move(directory) + "/trainium"), limit_bytes_(limit_bytes) {}

std::string DiskCache::folder_of(const GraphKey& key) const {
  return directory_ + "/" + hex(fnv1a64(key.structure));
}

std::string DiskCache::path_of(const GraphKey& key) const {
  std::string name;
  for (const uint64_t hash : hashes_of(key)) name += (name.empty() ? "" : "-") + hex(hash);
  return folder_of(key) + "/" + name + std::string(kSuffix);
}

std::string DiskCache::miss_reason(const GraphKey& key) {
  const std::string folder = folder_of(key);
  const auto [found, first] = entries_.try_emplace(folder);
  if (first) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (const auto hashes = parse_name(it->path().filename().string())) found->second.push_back(*hashes);
    }
  }
  return std::string(reason_of_miss(hashes_of(key), found->second));
}

DiskCache::Found DiskCache::load(const GraphKey& key) {
  Found out;
  const std::string path = path_of(key);
  std::error_code error;
  if (!fs::exists(path, error)) {
    out.miss = miss_reason(key);
    // Listed, and there: another process has stored it since.
    if (out.miss != kEvicted || !fs::exists(path, error)) return out;
    out.miss.clear();
  }
  try {
    const std::string file = read_file(path, kMaxContent);
    out.bytes = unpack(file, key.whole(), out.note);
    out.file_bytes = file.size();
  } catch (const Error& e) {
    out.note = e.what();
  }
  if (out.bytes) {
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // used now; best effort
  } else {
    if (out.note.empty()) return out;
    out.miss = kCorruptEntry;
    out.note = path + ": " + out.note;
  }
  return out;
}

uint64_t DiskCache::store(const GraphKey& key, std::string_view bytes, std::string& note) {
  const std::string packed = pack(key.whole(), bytes);
  if (packed.empty() || packed.size() > limit_bytes_) {
    note = "larger than the cache's " + std::to_string(limit_bytes_) + " bytes";
    return 0;
  }
  std::error_code error;
  fs::create_directories(folder_of(key), error);
  if (error) {
    note = folder_of(key) + ": " + error.message();
    return 0;
  }
  make_room(packed.size());
  const std::string path = path_of(key);
  if (!write_beside_and_rename(path, packed, note)) {
    note = path + ": " + note;
    return 0;
  }
  used_bytes_ = used_bytes_.value_or(0) + packed.size();
  note_bytes(packed.size(), false);
  if (const auto known = entries_.find(folder_of(key)); known != entries_.end()) {
    known->second.push_back(hashes_of(key));
  }
  return packed.size();
}

void DiskCache::discard(const GraphKey& key) {
  std::error_code error;
  fs::remove(path_of(key), error);
}

// The sum of the note; nullopt if there is none that can be believed. It is an estimate: entries that were
// removed still count, until all files are counted.
std::optional<uint64_t> DiskCache::noted_bytes() const {
  std::string sizes;
  try {
    sizes = read_file(directory_ + std::string(kSizes), kMaxSizes * sizeof(uint64_t));
  } catch (const Error&) {
    return std::nullopt;
  }
  if (sizes.empty() || sizes.size() % sizeof(uint64_t) != 0) return std::nullopt;
  uint64_t total = 0;
  for (std::size_t at = 0; at < sizes.size(); at += sizeof(uint64_t)) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, sizes.data() + at, sizeof bytes);
    if (bytes > std::numeric_limits<uint64_t>::max() - total) return std::nullopt;
    total += bytes;
  }
  return total;
}

// Best effort: without a note the files are counted.
void DiskCache::note_bytes(uint64_t bytes, bool anew) {
  const std::string path = directory_ + std::string(kSizes);
  const std::string_view text(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  if (anew) {
    std::string ignored;
    write_beside_and_rename(path, text, ignored);
    return;
  }
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t put = ::write(file, text.data(), text.size());
  ::close(file);
}

// Counts the files where there is no note of them and whenever the estimate says that the limit is reached;
// others may write and remove at the same time, so every step is best effort.
void DiskCache::make_room(uint64_t bytes) {
  if (!used_bytes_) used_bytes_ = noted_bytes();
  if (used_bytes_ && *used_bytes_ + bytes <= limit_bytes_) return;
  struct File {
    fs::path path;
    int64_t used;  // nanoseconds
    uint64_t bytes;
  };
  constexpr int64_t kSecond = 1'000'000'000;
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  for (fs::recursive_directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const int64_t used = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
    const std::string extension = it->path().extension().string();
    if (extension == ".tmp") {
      // A writer that was killed left it.
      std::error_code ignored;
      if (now - used > 3600 * kSecond) fs::remove(it->path(), ignored);
    } else if (extension == kSuffix) {
      const auto size = static_cast<uint64_t>(status.st_size);
      files.push_back({it->path(), used, size});
      total += size;
    }
  }
  if (total + bytes > limit_bytes_) {
    // A tenth more than needed: not every entry that follows is to count the files again.
    const uint64_t aim = limit_bytes_ - std::min(limit_bytes_, std::max(bytes, limit_bytes_ / 10));
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
    for (const File& file : files) {
      if (total <= aim) break;
      std::error_code ignored;
      fs::remove(file.path, ignored);
      total -= file.bytes;
    }
  }
  used_bytes_ = total;
  note_bytes(total, true);
}

}  // namespace assay::backend
