#include "core/io/zip.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>

#include "core/error.h"

namespace assay {
namespace {

constexpr int64_t kMaxEntries = 100'000;
constexpr uint64_t kMaxTotal = uint64_t{64} << 30;
constexpr uint64_t kFreeSize = uint64_t{64} << 20;  // below it the ratio does not matter
constexpr uint64_t kMaxRatio = 100;

[[noreturn]] void malformed(const std::string& origin, const std::string& what) {
  throw Error(ErrorCode::malformed_file, fmt::format("{}: {}", origin, what));
}

bool is_safe_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.size() > 4096) return false;
  if (name.size() > 1 && name[1] == ':') return false;  // a drive letter
  for (const char c : name) {
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part == "..") return false;
    name.remove_prefix(std::min(name.size(), part.size() + 1));
  }
  return true;
}

// A name fit for a message.
std::string printable(std::string_view name) {
  std::string text(name.substr(0, 200));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text;
}

bool is_bomb(uint64_t size, uint64_t compressed) { return size > kFreeSize && size / kMaxRatio > compressed; }

}  // namespace

struct ZipArchive::State {
  zip_t* archive = nullptr;
  std::map<std::string, zip_uint64_t> index;
  ~State() {
    if (archive != nullptr) zip_discard(archive);
  }
};

ZipArchive::ZipArchive(std::string_view bytes, std::string origin)
    : origin_(std::move(origin)), state_(std::make_unique<State>()) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source != nullptr) {
    state_->archive = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (state_->archive == nullptr) zip_source_free(source);
  }
  if (state_->archive == nullptr) {
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    malformed(origin_, fmt::format("not a readable zip archive (cut off or damaged?): {}", reason));
  }
  zip_error_fini(&error);

  const zip_int64_t count = zip_get_num_entries(state_->archive, 0);
  if (count > kMaxEntries)
    malformed(origin_, fmt::format("{} zip entries, the limit is {}", count, kMaxEntries));
  uint64_t total = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t info;
    const char* raw_name = zip_get_name(state_->archive, index, ZIP_FL_ENC_RAW);
    if (raw_name == nullptr || zip_stat_index(state_->archive, index, 0, &info) != 0) {
      malformed(origin_, fmt::format("zip entry {} cannot be read", i));
    }
    const std::string name = raw_name;
    const auto fail = [&](const std::string& what) {
      malformed(origin_, fmt::format("zip entry '{}': {}", printable(name), what));
    };
    if (!is_safe_name(name)) fail("unsafe name (absolute, with '..', a backslash or control characters)");
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((info.valid & kNeeded) != kNeeded) fail("its sizes are missing");
    if ((info.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && info.encryption_method != ZIP_EM_NONE)
      fail("is encrypted");
    if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE) {
      fail(fmt::format("compression method {} is not supported (expected stored or deflated)",
                       info.comp_method));
    }
    if (info.comp_size > bytes.size())
      fail(fmt::format("claims {} bytes in a file of {}", info.comp_size, bytes.size()));
    if (info.comp_method == ZIP_CM_STORE && info.size != info.comp_size) {
      fail(fmt::format("is stored, but {} bytes of content take {}", info.size, info.comp_size));
    }
    if (is_bomb(info.size, info.comp_size)) {
      fail(fmt::format("{} bytes out of {}: looks like a zip bomb", info.size, info.comp_size));
    }
    if (info.size > kMaxTotal - total)
      fail(fmt::format("the archive unpacks to more than {} bytes", kMaxTotal));
    total += info.size;
    if (!sizes_.emplace(name, info.size).second) fail("the name occurs twice");
    state_->index.emplace(name, index);
  }
  if (is_bomb(total, bytes.size())) {
    malformed(origin_, fmt::format("{} bytes unpack to {}: looks like a zip bomb", bytes.size(), total));
  }
}

ZipArchive::~ZipArchive() = default;

void ZipArchive::read_into(const std::string& name, char* destination, uint64_t size) const {
  const auto fail = [&](const std::string& what) {
    malformed(origin_, fmt::format("zip entry '{}': {}", printable(name), what));
  };
  const auto found = state_->index.find(name);
  if (found == state_->index.end()) fail("is missing");
  const uint64_t declared = sizes_.at(name);
  if (declared != size) fail(fmt::format("has {} bytes, expected {}", declared, size));
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(state_->archive, found->second, 0), zip_fclose);
  if (!file) fail(fmt::format("cannot be opened (damaged?): {}", zip_strerror(state_->archive)));
  const auto check = [&](zip_int64_t got) {
    if (got < 0) fail(fmt::format("cannot be read (damaged?): {}", zip_file_strerror(file.get())));
    return static_cast<uint64_t>(got);
  };
  uint64_t done = 0;
  while (done < size) {
    const uint64_t got = check(zip_fread(file.get(), destination + done, size - done));
    if (got == 0) fail(fmt::format("ends after {} of {} bytes", done, size));
    done += got;
  }
  // Reading to the end also makes libzip compare the checksum.
  char more = 0;
  if (check(zip_fread(file.get(), &more, 1)) != 0)
    fail(fmt::format("holds more than the {} bytes it declares", size));
}

std::string ZipArchive::read(const std::string& name, uint64_t limit) const {
  const auto found = sizes_.find(name);
  if (found == sizes_.end()) malformed(origin_, fmt::format("zip entry '{}' is missing", printable(name)));
  if (found->second > limit) {
    malformed(origin_, fmt::format("zip entry '{}': {} bytes, the limit is {}", printable(name),
                                   found->second, limit));
  }
  std::string bytes(static_cast<std::size_t>(found->second), '\0');
  read_into(name, bytes.data(), found->second);
  return bytes;
}

}  // namespace assay
