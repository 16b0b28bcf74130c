#include "harness/record/results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw Error(ErrorCode::io, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

std::string read_text(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return "";
  // Opening a pipe that nobody writes to waits for ever.
  if (!fs::is_regular_file(status)) throw Error(ErrorCode::io, path + ": is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Calls `parse(line, origin)` for each whole line and returns where a torn last line begins.
template <typename Parse>
uint64_t for_each_line(const std::string& path, Parse parse) {
  const std::string text = read_text(path);
  std::size_t begin = 0;
  int number = 0;
  while (begin < text.size()) {
    ++number;
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return begin;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const std::string origin = fmt::format("{}:{}", path, number);
    if (!line.empty()) parse(line, origin);
    begin = end + 1;
  }
  return begin;
}

void append_text(int fd, const std::string& path, const std::string& text, uint64_t& size) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n == 0 ? ENOSPC : errno;
      // Take back the part of a line, so that the next reader finds whole lines only.
      if (::ftruncate(fd, static_cast<off_t>(size)) != 0 && done > 0) errno = error;
      errno = error;
      fail(path, "cannot be written");
    }
    done += static_cast<std::size_t>(n);
  }
  size += text.size();
}

// Whole or not at all, even if this process is killed.
void replace_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0) fail(path, "cannot be written");
  uint64_t size = 0;
  try {
    append_text(fd, path, text, size);
  } catch (...) {
    ::close(fd);
    ::unlink(temporary.c_str());
    throw;
  }
  ::fsync(fd);
  ::close(fd);
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail(path, "cannot be written");
}

int open_log(const std::string& path, uint64_t& size) {
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) fail(path, "cannot be written");
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail(path, "cannot be read");
  size = static_cast<uint64_t>(status.st_size);
  return fd;
}

}  // namespace

std::vector<Record> read_results(const std::string& path, uint64_t* complete_bytes) {
  std::vector<Record> records;
  const uint64_t complete = for_each_line(path, [&](std::string_view line, const std::string& origin) {
    records.push_back(record_from_json(line, origin));
  });
  if (complete_bytes != nullptr) *complete_bytes = complete;
  return records;
}

std::vector<NodeRecord> read_nodes(const std::string& path) {
  std::vector<NodeRecord> nodes;
  for_each_line(path, [&](std::string_view line, const std::string& origin) {
    nodes.push_back(node_record_from_json(line, origin));
  });
  return nodes;
}

std::string safe_path(const std::string& id) {
  std::string out;
  std::istringstream parts(id);
  std::string part;
  while (std::getline(parts, part, '/')) {
    if (part.empty()) continue;
    for (char& c : part) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         std::strchr("._-+=@,", c) != nullptr;
      if (!plain || c == '\0') c = '_';
    }
    if (part.find_first_not_of('.') == std::string::npos) part.assign(part.size(), '_');
    if (part.size() > 200) part.resize(200);
    out += (out.empty() ? "" : "/") + part;
  }
  return out.empty() ? "_" : out;
}

RunFolder::RunFolder(const std::string& path, bool resume) : path_(path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    throw Error(ErrorCode::io, fmt::format("--out {}: cannot be created: {}", path,
                                           error ? error.message() : "it is not a folder"));
  }
  const std::string lock_path = path + "/.lock";
  lock_ = ::open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (lock_ < 0) fail("--out " + path, "cannot be written");
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw Error(ErrorCode::io, fmt::format("--out {}: in use by another run", path));
  }
  const std::string results = path + "/results.jsonl";
  try {
    if (!resume && (fs::exists(results, error) || fs::exists(path + "/run.json", error))) {
      throw Error(ErrorCode::io,
                  fmt::format("--out {}: already holds results; give --resume to go on with them or "
                              "choose another folder",
                              path));
    }
    uint64_t complete = 0;
    previous_ = read_results(results, &complete);
    results_ = open_log(results, results_size_);
    if (complete < results_size_) {
      if (::ftruncate(results_, static_cast<off_t>(complete)) != 0) fail(results, "cannot be written");
      results_size_ = complete;
    }
    // Details of nodes whose record was never written belong to cases that run again.
    const std::string nodes = path + "/nodes.jsonl";
    std::set<std::pair<std::string, std::string>> recorded;
    for (const Record& record : previous_) recorded.emplace(record.id, record.mode);
    std::string kept;
    for (const NodeRecord& node : read_nodes(nodes)) {
      if (recorded.count({node.case_id, node.mode}) != 0) kept += to_json_line(node) + "\n";
    }
    if (fs::exists(nodes, error) && kept.size() != fs::file_size(nodes)) replace_file(nodes, kept);
    nodes_ = open_log(nodes, nodes_size_);
  } catch (...) {
    for (const int fd : {lock_, results_, nodes_}) {
      if (fd >= 0) ::close(fd);
    }
    throw;
  }
}

RunFolder::~RunFolder() {
  for (const int fd : {results_, nodes_, lock_}) {
    if (fd >= 0) ::close(fd);
  }
}

std::string RunFolder::read_run_json() const { return read_text(path_ + "/run.json"); }

void RunFolder::write_run_json(const std::string& text) { replace_file(path_ + "/run.json", text); }

void RunFolder::append(const Record& record, const std::vector<NodeRecord>& nodes) {
  std::string lines;
  for (const NodeRecord& node : nodes) lines += to_json_line(node) + "\n";
  const std::string line = to_json_line(record) + "\n";
  const std::lock_guard lock(mutex_);
  if (!lines.empty()) append_text(nodes_, path_ + "/nodes.jsonl", lines, nodes_size_);
  append_text(results_, path_ + "/results.jsonl", line, results_size_);
}

void RunFolder::save_tensors(const std::string& id, const std::string& name, const TensorFile& file,
                             uint64_t limit) {
  uint64_t bytes = 0;
  for (const auto& [key, tensor] : file.tensors) bytes += tensor.bytes();
  {
    const std::lock_guard lock(mutex_);
    if (saved_bytes_ + bytes > limit) return;
    saved_bytes_ += bytes;
  }
  try {
    const fs::path folder = fs::path(path_) / "failures" / safe_path(id);
    std::error_code error;
    fs::create_directories(folder, error);
    write_safetensors((folder / (name + ".safetensors")).string(), file);
  } catch (const std::exception&) {
    return;
  }
}

void RunFolder::sync() {
  if (::fsync(results_) != 0) fail(path_ + "/results.jsonl", "cannot be written");
  if (::fsync(nodes_) != 0) fail(path_ + "/nodes.jsonl", "cannot be written");
}

}  // namespace assay
