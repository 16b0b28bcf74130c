#include "core/io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace assay {
namespace {

[[noreturn]] void io_error(const std::string& path, const char* action, int code) {
  throw Error(ErrorCode::io, fmt::format("{}: cannot {}: {}", path, action, std::strerror(code)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

}  // namespace

std::string read_file(const std::string& path, uint64_t limit) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to waits for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) io_error(path, "open", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) io_error(path, "stat", errno);
  if (S_ISDIR(info.st_mode))
    throw Error(ErrorCode::io, fmt::format("{}: is a directory, expected a file", path));
  const bool pipe = S_ISFIFO(info.st_mode);
  if (!pipe && !S_ISREG(info.st_mode))
    throw Error(ErrorCode::io, fmt::format("{}: is a device or socket, expected a file", path));
  const auto too_big = [&] {
    return Error(ErrorCode::io,
                 fmt::format("{}: larger than {} bytes, the limit for a file of this kind", path, limit));
  };
  if (info.st_size > 0 && static_cast<uint64_t>(info.st_size) > limit) throw too_big();

  // Size is only a hint: pipes have none, and files may grow.
  std::string bytes;
  std::size_t used = 0;
  bytes.resize(info.st_size > 0 ? static_cast<std::size_t>(info.st_size) + 1 : std::size_t{1} << 16);
  for (;;) {
    const ssize_t got = ::read(file.get(), bytes.data() + used, bytes.size() - used);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (pipe && errno == EAGAIN) {
        pollfd ready{file.get(), POLLIN, 0};
        if (::poll(&ready, 1, -1) < 0 && errno != EINTR) io_error(path, "read", errno);
        continue;
      }
      io_error(path, "read", errno);
    }
    if (got == 0 && pipe && used == 0)
      throw Error(ErrorCode::io, fmt::format("{}: is a pipe that nobody writes to, expected a file", path));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > limit) throw too_big();
    if (used == bytes.size()) bytes.resize(2 * used);
  }
  bytes.resize(used);
  return bytes;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), counter++);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) io_error(path, "create", errno);
  const auto give_up = [&](const char* action) {
    const int code = errno;
    ::unlink(temporary.c_str());
    io_error(path, action, code);
  };
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0) {
      if (errno == EINTR) continue;
      give_up("write");
    }
    done += static_cast<std::size_t>(put);
  }
  if (::fsync(file.get()) != 0 && errno != EINVAL) give_up("flush");
  if (file.close() != 0) give_up("close");
  if (::rename(temporary.c_str(), path.c_str()) != 0) give_up("rename");
}

std::optional<uint64_t> checked_bytes(const Shape& shape, DType dtype) {
  constexpr uint64_t kLimit = uint64_t{1} << 62;
  uint64_t total = size_of(dtype);
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (total > kLimit / static_cast<uint64_t>(size)) {
      return std::nullopt;  // also for [2^62, 0]: element_count refuses such shapes as well
    } else {
      total *= static_cast<uint64_t>(size);
    }
  }
  return empty ? 0 : total;
}

}  // namespace assay
